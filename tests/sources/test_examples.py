"""The worked examples of every type hold, and bad input gives a refusal."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import sources
from svctoolkit.errors import InvalidWebhook
from svctoolkit.sources import CATALOGUE, Example, Memory, Webhook, difference, pack, receive
from tests.examples import up_to

examples = cache(sources.examples)
ALL = [(name, example) for name in CATALOGUE.names() for example in examples(name)]
SCALARS = [None, True, False, 0, -1, 12.5, 1e300, 10**30, "", "text", "12.5", "\ud800\x00", "2026-01-14", "a" * 300]
KEYS = ["", "a.b", "id", "0", "email", "\ud800", "__proto__"]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
ODD_SETTINGS: list[dict[str, Any]] = [
    {"customMapping": "x", "putRequestDetailsInContext": []},
    {"customMapping": [None, {"from": {}}]},
]


@pytest.mark.parametrize(("name", "example"), ALL, ids=[f"{name}: {example.name}" for name, example in ALL])
def test_a_type_does_what_its_example_says(name: str, example: Example) -> None:
    assert difference(CATALOGUE[name], example) == ""


def test_every_type_has_a_sample_with_events() -> None:
    assert [name for name in CATALOGUE.names() if not any(example.events for example in examples(name))] == []


def test_a_wrong_example_is_described() -> None:
    example, *_ = examples("webhook")
    assert difference(CATALOGUE["Segment"], example).startswith("expected ([{'type': 'track'")


def places(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all members and elements."""
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [at, *(path for key, item in below for path in places(item, (*at, key)))]


def changed(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a path."""
    if not path:
        return value
    copy = dict(node) if isinstance(node, dict) else list(node)
    copy[path[0]] = changed(node[path[0]], path[1:], value)
    return copy


@settings(max_examples=up_to(150), derandomize=True, deadline=None, database=None)
@given(data=st.data())
def test_odd_values_anywhere_give_events_or_a_refusal(data: st.DataObject) -> None:
    """Never a traceback: the events can be written as JSON, and the sender always gets an answer."""
    name, example = data.draw(st.sampled_from(ALL))
    body, query = example.body, dict(example.query)
    for _ in range(data.draw(st.integers(1, 3))):
        body = changed(body, data.draw(st.sampled_from(places(body))), data.draw(VALUES))
    if query:
        query[data.draw(st.sampled_from(sorted(query)))] = data.draw(st.sampled_from([[], [""], ["x", "y"], ["1e999"]]))
    request = pack(json.dumps(body), query=query)
    memory = Memory()
    memory.update(example.memory)
    with suppress(InvalidWebhook):
        handled = CATALOGUE[name].handle(Webhook(request, config=example.config, memory=memory))
        json.dumps(handled.events)
        assert all(isinstance(event, dict) for event in handled.events)
    answer = receive(name, request, config=example.config, memory=dict(example.memory))
    assert (type(answer["status"]), type(answer["body"])) == (int, str)


@pytest.mark.parametrize("config", ODD_SETTINGS)
def test_odd_settings_give_events_or_a_refusal(config: dict[str, Any]) -> None:
    for name, example in ALL:
        assert receive(name, example.request(), config=config)["status"] in (200, 400, 500)


def test_a_request_without_members_is_an_empty_body() -> None:
    for name in CATALOGUE.names():
        assert receive(name, {})["status"] in (200, 400, 500)


def test_a_large_body_is_read() -> None:
    body = {"items": [{"id": number, "text": "x" * 90} for number in range(20_000)]}
    event, = CATALOGUE["webhook"].events(pack(json.dumps(body)))  # fmt: skip
    assert len(event["properties"]["items"]) == 20_000
