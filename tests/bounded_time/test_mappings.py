"""Every handler of every destination type takes time in proportion to the size of the event."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest

from svctoolkit.destinations import CATALOGUE, Example
from svctoolkit.errors import ToolkitError
from tests.bounded_time.growth import superlinear
from tests.catalogue import examples

Path = tuple[str | int, ...]

#: (before, repeated, after): what readers of numbers, addresses, URLs, times, JSON and templates go astray on
PUMPS = (
    ("", "1", "x"), ("1.", "1", "."), ("", " ", "x"), ("a@", ".", "@"), ("", "a", "@"), ("a@a.", "a", " "),
    ("https://", "a", " "), ("https://a.example/?", "a=1&", " "), ("https://a.example/", "/", ""), ("+", "1 (", ""),
    ("", "[", ""), ("", '{"a":', ""), ("", "(", ")"), ("2026-01-15T10:00:00.", "0", "x"), ("", "{{", ""),
    ("", "é", "x"), ("", "aB", ""), ("", "a, ", ""),
)  # fmt: skip


def _pumped(pump: tuple[str, str, str], size: int) -> str:
    before, repeated, after = pump
    return before + repeated * (size // len(repeated)) + after


def _leaves(value: Any, at: Path = ()) -> Iterator[Path]:
    if isinstance(value, (dict, list)) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*at, key))
    elif at not in ((("type",)), ("event",)):
        yield at


def _lists(value: Any, at: Path = ()) -> Iterator[Path]:
    if isinstance(value, (dict, list)) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _lists(item, (*at, key))
        yield at


def _node(event: Any, at: Path) -> Any:
    for key in at:
        event = event[key]
    return event


def _map(name: str, example: Example) -> Callable[[dict[str, Any]], None]:
    """A function that maps an event as the example does. Questions that the example does not answer are answered as
    its last one is."""
    known = {(asked.method, asked.url): (asked.status, asked.body) for asked in example.lookups}
    other = (example.lookups[-1].status, example.lookups[-1].body) if example.lookups else (404, {})
    mapping = CATALOGUE[name].prepare(example.config)

    def act(event: dict[str, Any]) -> None:
        with suppress(ToolkitError):
            mapping.payloads(
                event,
                clock=example.now,
                lookup=lambda request: known.get((request.get("method", "GET"), request.get("url")), other),
                metadata=example.metadata,
            )

    return act


def _with_leaf(event: dict[str, Any], at: Path, pump: tuple[str, str, str]) -> Callable[[int], dict[str, Any]]:
    def make(size: int) -> dict[str, Any]:
        changed = deepcopy(event)
        _node(changed, at[:-1])[at[-1]] = _pumped(pump, size)
        return changed

    return make


def _with_members(event: dict[str, Any], at: Path) -> Callable[[int], dict[str, Any]]:
    """The event with a list or an object of so many kilobytes."""

    def make(size: int) -> dict[str, Any]:
        changed = deepcopy(event)
        node = _node(changed, at)
        if isinstance(node, dict):
            node.update({f"member {number}": number for number in range(size // 16)})
        else:
            node += [deepcopy(node[0]) for _ in range(size // 128)]
        return changed

    return make


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE.names())  # also those without examples: to read all of them takes a second
def test_mapping_takes_linear_time(name: str) -> None:
    """Pumped leaves, and lists and objects with many members, cost what their size costs."""
    slow, done = [], set()
    for example in examples(name):
        try:
            act = _map(name, example)
        except ToolkitError:  # an example of wrong settings
            continue
        kind = repr((example.event.get("type"), example.event.get("event"), example.config))
        cases = [(at, _with_leaf(example.event, at, pump), pump) for at in _leaves(example.event) for pump in PUMPS]
        cases += [(at, _with_members(example.event, at), "members") for at in _lists(example.event)]
        for at, make, pump in cases:
            if (kind, at, pump) in done:
                continue
            done.add((kind, at, pump))
            if problem := superlinear(act, make):
                slow.append(f"{example.name}: {pump} at {'.'.join(map(str, at)) or 'the event'}: {problem}")

    assert not slow, "\n".join(slow)


def test_an_event_causes_a_limited_number_of_requests() -> None:
    """An event with a list of 1001 groups is refused by Mixpanel, which gets a request for each; 998 are sent."""
    config = {"token": "t", "dataResidency": "us", "groupKeySettings": [{"groupKey": "company"}]}

    def payloads(groups: int) -> list[dict[str, Any]]:
        event = {"type": "group", "userId": "u", "traits": {"company": [str(n) for n in range(groups)]}}
        return CATALOGUE["MP"].payloads(event, config)

    assert len(payloads(998)) == 999
    with pytest.raises(ToolkitError, match="leads to more than 1000 requests; shorten its lists"):
        payloads(1001)
