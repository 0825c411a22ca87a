"""Runs events through the three stages, in this order:

    event -> user_transform -> [event] -> dest_transform -> [payload] -> send_to_destination -> response

`Pipeline` has the same two calls as the Test API and its client, and returns the same results.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from svctoolkit.pipeline.api import Pipeline
from svctoolkit.pipeline.outside import lookup_at, payload_of_lookup, server_of
from svctoolkit.pipeline.route import Route, route
from svctoolkit.pipeline.run import run, run_many
from svctoolkit.pipeline.simulated import HeldChanges, Simulated, read_request, state_run
from svctoolkit.pipeline.stages.stages import Stages, check_config, check_flag
from svctoolkit.pipeline.warehouses import Warehouses, check_runs

if TYPE_CHECKING:
    from svctoolkit.pipeline.alone import transform_alone
    from svctoolkit.pipeline.fates import Fate, Passage, pass_many

#: Imported on first use: the Test API needs none of them.
_HOME = {"Fate": "fates", "Passage": "fates", "pass_many": "fates", "transform_alone": "alone"}

__all__ = [
    "Fate",
    "HeldChanges",
    "Passage",
    "Pipeline",
    "Route",
    "Simulated",
    "Stages",
    "Warehouses",
    "check_config",
    "check_flag",
    "check_runs",
    "lookup_at",
    "pass_many",
    "payload_of_lookup",
    "read_request",
    "route",
    "run",
    "run_many",
    "server_of",
    "state_run",
    "transform_alone",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
