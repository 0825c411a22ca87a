"""Requests that an answer is for: `when` of an `Answer`, an expectation with the words and matchers of suites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from svctoolkit.errors import did_you_mean
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Path
from svctoolkit.expect.expectation import problems
from svctoolkit.json_types import Json

MEMBERS = ("method", "url", "path", "query", "headers", "body")
#: Matchers that need the files or the results of a suite.
_OF_SUITES = ("snapshot", "schema", "conforms")


def matches(when: Json, view: Mapping[str, Json]) -> bool:
    """Whether a request, as `view_of` returns it, meets a condition. One that takes too long is not met.

    >>> matches({"method": "POST", "path": {"$ends": "/users"}}, {"method": "POST", "path": "/v1/users"})
    True
    """
    return Comparison().matches(when, view)


def condition_problems(when: Json, *, pending: bool = False) -> Iterator[tuple[Path, str]]:
    """Yield the mistakes of a condition, each with its path. With `pending`, variables in it may not be set yet.

    >>> list(condition_problems({"pth": "/users"}))
    [(('pth',), "a request has no member 'pth'. Did you mean 'path'?")]
    """
    if not isinstance(when, Mapping) or not when:
        yield (), f"must be an object with some of {', '.join(MEMBERS)}"
        return
    for name, value in when.items():
        if name not in MEMBERS:
            hint = did_you_mean(name, MEMBERS) or f" It has {', '.join(MEMBERS)}"
            yield (name,), f"a request has no member {name!r}.{hint}"
        yield from problems(value, (name,), pending=pending)
        yield from ((path, f"${path[-1][1:]} is only for expectations") for path in _of_suites(value, (name,)))


def _of_suites(value: Json, path: Path) -> Iterator[tuple[str, ...]]:
    """Yield the paths of matchers that conditions may not have."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        place = (*path, step)
        if isinstance(step, str) and step[:1] == "$" and step[1:] in _OF_SUITES:
            yield tuple(map(str, place))
        else:
            yield from _of_suites(below, place)
