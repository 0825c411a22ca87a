"""Answers to look-ups of mappings where nothing else answers: those in the examples of the type.

A recorder answers other requests with `{"success": true}`, in which a mapping finds no id.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from svctoolkit import simulations
from svctoolkit.errors import ToolkitError

if TYPE_CHECKING:
    from svctoolkit.destinations._examples import Asked


def looks_up(type: str) -> bool:
    """Whether the mapping of a type may ask the destination's server before it makes a request."""
    from svctoolkit.destinations import CATALOGUE

    return type in CATALOGUE and "lookup" in CATALOGUE[type].needs


def asks_in_order(type: str) -> bool:
    """Whether a destination's scripted answers are for look-ups, too: a type without a simulation has no other way."""
    return looks_up(type) and not simulations.is_simulated(type)


def example_answer(type: str, method: str, url: str) -> Asked | None:
    """Return the look-up of the type's examples that is most like a request: with the same method, and a similar path.

    One that succeeds is preferred, in an example that becomes a payload. None if no path is similar.
    """
    best: tuple[int, Asked] | None = None
    for (known, steps), asked in _known(type).items():
        own = _steps(url)
        same = sum(one == other for one, other in zip(own, steps, strict=False))
        if known == method.upper() and len(own) == len(steps) and same and (best is None or same > best[0]):
            best = same, asked
    return best[1] if best else None


@cache
def _known(type: str) -> Mapping[tuple[str, tuple[str, ...]], Asked]:
    from svctoolkit.destinations import examples

    found: dict[tuple[str, tuple[str, ...]], tuple[bool, Asked]] = {}
    try:
        known = examples(type)
    except ToolkitError:  # the file of a user's own type has a mistake, which its own tests report
        return {}
    for example in known:
        for asked in example.lookups:
            place = asked.method, _steps(asked.url)
            is_good = bool(example.payloads) and 200 <= asked.status < 300
            if place not in found or (is_good and not found[place][0]):
                found[place] = is_good, asked
    return {place: asked for place, (_, asked) in found.items()}


def _steps(url: str) -> tuple[str, ...]:
    return tuple(filter(None, urlsplit(url).path.split("/")))
