"""The calls of `ServiceClient` that a suite may make, and their parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json

#: The calls of the event spec, and the application lifecycle events.
CALLS = (
    "identify", "track", "group", "screen", "alias", "reset", "optOut", "putAnonymousId", "putAdvertisingId",
    "putDeviceToken", "flush", "foreground", "background",
)  # fmt: skip


@cache
def parameters(call: str) -> Mapping[str, inspect.Parameter]:
    """Return a call's parameters by their Python name, in positional order."""
    from svctoolkit.sdk import ServiceClient  # few suites make calls

    signature = inspect.signature(getattr(ServiceClient, call))
    return {name: parameter for name, parameter in signature.parameters.items() if name != "self"}


def spelt_in_python(name: str) -> str:
    """Return the Python spelling of a name: `userId` and `user_id` are the same argument.

    >>> spelt_in_python("externalIds")
    'external_ids'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def call_problems(call: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the mistakes in a call: its name, and the names and number of its arguments."""
    if len(call) != 1:
        yield (), "a call must be one name with its arguments: {track: {name: Order Completed}}"
        return
    ((name, arguments),) = call.items()
    if name not in CALLS:
        hint = did_you_mean(name, CALLS) or f" Available: {', '.join(CALLS)}."
        yield (name,), f"ServiceClient has no call {name!r}.{hint}"
        return
    takes = parameters(name)
    if isinstance(arguments, Mapping):
        for argument in arguments:
            if spelt_in_python(argument) not in takes:
                hint = did_you_mean(argument, takes) or (f" It accepts {', '.join(takes)}." if takes else "")
                yield (name, argument), f"{name} has no argument {argument!r}.{hint}"
        names = {spelt_in_python(argument) for argument in arguments}
        for parameter in takes.values():
            if parameter.default is parameter.empty and parameter.name not in names and _is_named(parameter):
                yield (name,), f"{name} needs {parameter.name!r}"
    else:
        count = len(arguments) if isinstance(arguments, list) else arguments is not None
        places = [p for p in takes.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        if count > len(places):
            yield (name,), f"{name} accepts {len(places) or 'no'} positional arguments, got {int(count)}"
        elif any(p.default is p.empty for p in places[count:]):
            yield (name,), f"{name} needs {places[count].name!r}"


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
