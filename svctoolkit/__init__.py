"""An offline test bench for customer-event pipelines, in one Python process.

>>> import svctoolkit
>>> workspace = svctoolkit.Workspace("shop")
>>> hook = workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
>>> event = svctoolkit.events.track("Order Completed", user_id="u1", properties={"revenue": 10})
>>> result = svctoolkit.Pipeline(workspace).test_destination("hook", event)
>>> result.data[0].dest_transformed_payload[0]["endpoint"]
'https://hook.example/in'

Names are imported on first use, so `import svctoolkit` alone loads no third-party package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svctoolkit import errors as errors
    from svctoolkit import events as events
    from svctoolkit.client import TestApiClient as TestApiClient
    from svctoolkit.delivery import Recorder as Recorder
    from svctoolkit.destinations import CATALOGUE as CATALOGUE
    from svctoolkit.errors import ToolkitError as ToolkitError
    from svctoolkit.lost import find_losses as find_losses
    from svctoolkit.lost import search_losses as search_losses
    from svctoolkit.pipeline import Pipeline as Pipeline
    from svctoolkit.results import DestinationResult as DestinationResult
    from svctoolkit.results import frame as frame
    from svctoolkit.runner.record.api import record as record
    from svctoolkit.sdk import ServiceClient as ServiceClient
    from svctoolkit.secrets import Secret as Secret
    from svctoolkit.server import DataPlane as DataPlane
    from svctoolkit.workspace import Workspace as Workspace

__version__ = "0.1.0"

_HOME = {
    "CATALOGUE": "destinations",
    "DataPlane": "server",
    "DestinationResult": "results",
    "Pipeline": "pipeline",
    "Recorder": "delivery",
    "Secret": "secrets",
    "ServiceClient": "sdk",
    "TestApiClient": "client",
    "ToolkitError": "errors",
    "Workspace": "workspace",
    "errors": "",
    "events": "",
    "find_losses": "lost",
    "frame": "results",
    "record": "runner.record.api",
    "search_losses": "lost",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'svctoolkit' has no attribute {name!r}")
    home = _HOME[name]
    found = getattr(import_module(f"svctoolkit.{home}"), name) if home else import_module(f"svctoolkit.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__


# Any: IPython's shell
def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext svctoolkit`: adds `%%transform`, `%%suite` and `%svc`, and shows events as trees."""
    from svctoolkit.magics import load

    load(shell)


# Any: IPython's shell
def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext svctoolkit`."""
    from svctoolkit.magics import unload

    unload(shell)
