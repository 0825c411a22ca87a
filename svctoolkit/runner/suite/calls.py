"""The calls of `ServiceClient` that a suite may make, and what each takes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json

#: The specified ones, and what an application tells of its life.
CALLS = (
    "identify", "track", "group", "screen", "alias", "reset", "optOut", "putAnonymousId", "putAdvertisingId",
    "putDeviceToken", "flush", "foreground", "background",
)  # fmt: skip


@cache
def parameters(call: str) -> Mapping[str, inspect.Parameter]:
    """What a call takes, by name as Python spells it, in the order in which a list gives them."""
    from svctoolkit.sdk import ServiceClient  # most suites make no calls

    signature = inspect.signature(getattr(ServiceClient, call))
    return {name: parameter for name, parameter in signature.parameters.items() if name != "self"}


def spelt_in_python(name: str) -> str:
    """A name as Python spells it: `userId` and `user_id` are the same argument.

    >>> spelt_in_python("externalIds")
    'external_ids'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def call_problems(call: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], str]]:
    """What is wrong with a call as it is written: its name, the names and the number of its arguments."""
    if len(call) != 1:
        yield (), "a call is one name with its arguments: {track: {name: Order Completed}}"
        return
    ((name, arguments),) = call.items()
    if name not in CALLS:
        hint = did_you_mean(name, CALLS) or f" There are {', '.join(CALLS)}."
        yield (name,), f"ServiceClient has no call {name!r}.{hint}"
        return
    takes = parameters(name)
    if isinstance(arguments, Mapping):
        for argument in arguments:
            if spelt_in_python(argument) not in takes:
                hint = did_you_mean(argument, takes) or (f" It takes {', '.join(takes)}." if takes else "")
                yield (name, argument), f"{name} takes no {argument!r}.{hint}"
        names = {spelt_in_python(argument) for argument in arguments}
        for parameter in takes.values():
            if parameter.default is parameter.empty and parameter.name not in names and _is_named(parameter):
                yield (name,), f"{name} needs {parameter.name!r}"
    else:
        count = len(arguments) if isinstance(arguments, list) else arguments is not None
        places = [p for p in takes.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        if count > len(places):
            yield (name,), f"{name} takes {len(places) or 'no'} arguments in a list, not {int(count)}"
        elif any(p.default is p.empty for p in places[count:]):
            yield (name,), f"{name} needs {places[count].name!r}"


def _is_named(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
