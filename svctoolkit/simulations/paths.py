"""Paths to members of a record, such as `properties.time`, `items[].name`, `params.*` or `params.~`.

`[]` means each item of a list, `*` each value of an object, and `~` each name of an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

from svctoolkit.json_types import Json

#: a converted value that is left out
REMOVED: Final = object()
Select: TypeAlias = Callable[[Json], Iterable[Json]]
Steps: TypeAlias = tuple[str, ...]


def steps_of(path: str) -> Steps:
    """Return the steps of a path.

    >>> steps_of("items[].name"), steps_of("")
    (('items', '[]', 'name'), ())
    """
    return tuple(step for step in path.replace("[]", ".[]").split(".") if step)


#: steps to several values
SEVERAL: Final = frozenset({"[]", "*", "~"})


def getter(path: str) -> Callable[[Json], Json] | None:
    """Return a function that gets the one value at a path, None if it is missing; None for a path to several values."""
    steps = steps_of(path)
    if SEVERAL & set(steps):
        return None
    if len(steps) == 1:
        name = steps[0]
        return lambda record: record.get(name) if isinstance(record, dict) else None
    if len(steps) == 2:
        outer, inner = steps
        return lambda record: value.get(inner) if isinstance(value := record.get(outer), dict) else None
    return lambda record: next(iter(_select(record, steps)))


def selector(path: str) -> Select:
    """Return a function that yields the values at a path; None for a member that is missing."""
    steps, get = steps_of(path), getter(path)
    if get is not None:
        return lambda record: (get(record),)
    outer = getter(path.removesuffix(".*"))
    if steps[-1] == "*" and outer is not None:
        return lambda record: value.values() if isinstance(value := outer(record), dict) else ()
    names_of = getter(path.removesuffix(".~"))
    if steps[-1] == "~" and names_of is not None:
        return lambda record: value if isinstance(value := names_of(record), dict) else ()
    return lambda record: _select(record, steps)


def _select(value: Json, steps: Steps) -> Iterator[Json]:
    if not steps:
        yield value
    elif steps[0] == "[]":
        for item in value if isinstance(value, list) else ():
            yield from _select(item, steps[1:])
    elif steps[0] == "*":
        for item in value.values() if isinstance(value, dict) else ():
            yield from _select(item, steps[1:])
    elif steps[0] == "~":
        yield from value if isinstance(value, dict) else ()
    else:
        yield from _select(value.get(steps[0]) if isinstance(value, dict) else None, steps[1:])


def convert(value: Json, steps: Steps, change: Callable[[Json], Json]) -> Json:
    """Return a value with `change` applied to what is at a path; the value itself is never changed.

    What `change` returns `REMOVED` for is left out, with its name or place. Missing members stay missing.
    """
    if not steps:
        return change(value)
    step, inner = steps[0], steps[1:]
    if step == "[]":
        if not isinstance(value, list):
            return value
        return [item for item in (convert(item, inner, change) for item in value) if item is not REMOVED]
    if not isinstance(value, dict):
        return value
    if step == "~":
        named = ((change(name), item) for name, item in value.items())
        return {name: item for name, item in named if name is not REMOVED}
    names = list(value) if step == "*" else [step] if step in value else []
    changed = {**value, **{name: convert(value[name], inner, change) for name in names}}
    for name in names:
        if changed[name] is REMOVED:
            del changed[name]
    return changed
