"""Steps in Python: `python: NAME` in a suite calls the function that is registered under this name.

Packages register one with an entry point in the group `svctoolkit.steps`; a program adds it to `STEPS`:

>>> def double(context, *, number):
...     return 2 * number
>>> STEPS.add("double", double)
>>> run_step("double", Context(Workspace(), {}, ()), {"number": 21}, limit=60)
42
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from svctoolkit.errors import StillWaiting
from svctoolkit.json_types import Json
from svctoolkit.registry import Registry
from svctoolkit.workspace import Workspace


class Context(msgspec.Struct, frozen=True):
    """What a step may use: the workspace, captured values, and the results of earlier steps.

    Results are under the names that expectations use: `results[0]["delivered"]`.
    """

    workspace: Workspace
    captured: Mapping[str, Json]
    results: Sequence[Mapping[str, Json]]


#: `step(context, **arguments)` returns a JSON value, the step's `result`; an exception is a failure of the scenario.
PythonStep: TypeAlias = Callable[..., Json]

STEPS: Registry[PythonStep] = Registry(
    Callable, package=__name__, group="svctoolkit.steps", attribute="step", what="Python step"
)


def run_step(name: str, context: Context, arguments: Mapping[str, Json], *, limit: float) -> Json:
    """Return what the step returns.

    Raises what it raises, `UnknownName`, and `StillWaiting` after `limit` seconds; its thread is then left behind.
    """
    step = STEPS[name]
    returned: list[Json] = []
    raised: list[BaseException] = []

    def call() -> None:
        try:
            returned.append(step(context, **arguments))
        except BaseException as error:  # noqa: BLE001 - raised again in the scenario's thread
            raised.append(error)

    thread = threading.Thread(target=call, name=f"svctoolkit-step-{name}", daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        raise StillWaiting(f"the Python step {name!r} has not returned")
    if raised:
        raise raised[0]
    return returned[0]
