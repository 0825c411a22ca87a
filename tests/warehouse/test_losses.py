"""Losses: parts of an event that do not arrive as they were sent; and the fast path finds every event with losses."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from svctoolkit.warehouse import explain, rows
from svctoolkit.warehouse.rows.tables import Tables

NOW = "2026-03-04T05:06:07.890Z"


def track(properties: Any, **members: Any) -> dict[str, Any]:
    common = {"type": "track", "messageId": "m1", "userId": "u1", "event": "Order Completed"}
    return {**common, "properties": properties, **members}


def split(text: str, first: int = 0) -> dict[str, str]:
    """The characters of a text as an object, as some clients send it."""
    return {str(number): character for number, character in enumerate(text, first)}


#: an event, and the reported losses
LOSSES = {
    "a field called as one of ours": (
        track({"user_id": "x"}),
        "user_id is a reserved column of the warehouse: the value is dropped. Send it under another name",
    ),
    "a name without letters": (
        track({"😀": 1}),
        "the name has no ASCII letters or digits, so it gets no column. Rename it",
    ),
    "two fields of one column": (
        track({"a b": 1, "a_b": 2}),
        "properties.a_b also maps to the column a_b, and wins. Rename one of them",
    ),
    "a number beyond doubles": (
        track({"n": 2**53 + 1}),
        "9007199254740993 is more than 2^53: numbers travel as doubles, so 9007199254740992 arrives. Send it as text",
    ),
    "an impossible date": (
        track({"d": "2026-02-30"}),
        "2026-02-30 is not a calendar date: 2026-03-02T00:00:00.000Z arrives",
    ),
    "microseconds": (
        track({"d": "2026-02-03T04:05:06.123456Z"}),
        "2026-02-03T04:05:06.123456Z arrives with milliseconds: 2026-02-03T04:05:06.123Z",
    ),
    "properties that are not an object": (track(["a"]), "properties is not an object: nothing of it is stored"),
    "traits of a group that are a text": (
        {"type": "group", "messageId": "m1", "userId": "u1", "groupId": "g", "traits": split("abc")},
        "traits is a string split into characters: not stored here",
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_is_reported_at_its_field(name: str) -> None:
    """In one sentence, with advice if there is any."""
    event, text = LOSSES[name]

    assert [loss.text for loss in explain(event, "POSTGRES", clock=NOW).losses] == [text]


@pytest.mark.parametrize("name", LOSSES)
def test_the_fast_path_leaves_lossy_events_to_the_slow_one(name: str) -> None:
    """Most events have no losses; the fast path must not miss one that has."""
    event, _ = LOSSES[name]

    assert Tables("POSTGRES").lossless_rows(event, NOW, None) is None


@pytest.mark.parametrize(
    "properties",
    [
        {"a": 1, "b": 1.5, "c": "x", "d": True, "e": [1], "f": {"g": 2}},
        {"d": "2026-02-28", "t": "2026-02-03T04:05:06.123Z", "u": "2026-02-03T04:05:06.1200Z"},
        {"n": 2**53, "m": -(2**53), "x": 10.0},
        {"empty": "", "none": None, "list": [], "nested": {"empty": ""}},
    ],
)
def test_the_fast_path_gives_the_same_rows(properties: dict[str, Any]) -> None:
    """For events without losses."""
    event = track(properties)

    assert Tables("POSTGRES").lossless_rows(event, NOW, None) == rows(event, "POSTGRES", clock=NOW)


@pytest.mark.parametrize("first", [0, 1])
def test_context_traits_split_into_characters_are_one_column(first: int) -> None:
    """Some clients send the characters of a text as an object; its keys are sorted as numbers."""
    event = track({}, context={"traits": split("abcdefghijkl", first)})
    data = rows(event, "POSTGRES", clock=NOW)[0]["data"]

    assert data["context_traits"] == "abcdefghijkl"
    assert not [column for column in data if column.startswith("context_traits_")]


@pytest.mark.parametrize(
    "traits",
    [split("abc", 2), {"0": "a", "1": "bc"}, {"0": "a", "1": 2}, {"0": "a", "2": "b"}, {"0": "a", "name": "b"}],
)
def test_other_traits_are_separate_columns(traits: dict[str, Any]) -> None:
    """Keys that do not count up from 0 or 1, and values that are not characters, are not a split text."""
    data = rows(track({}, context={"traits": traits}), "POSTGRES", clock=NOW)[0]["data"]

    assert len([column for column in data if column.startswith("context_traits_")]) == len(traits)


def test_empty_traits_are_not_a_split_text() -> None:
    data = rows(track({}, context={"traits": {}}), "POSTGRES", clock=NOW)[0]["data"]

    assert "context_traits" not in data


def test_any_mapping_is_flattened_like_a_dict() -> None:
    """Events made in Python may use other mappings than dicts."""
    inner = MappingProxyType({"b": MappingProxyType({"c": 1})})
    data = rows(track(MappingProxyType({"a": inner})), "POSTGRES", clock=NOW)[-1]["data"]

    assert data["a_b_c"] == 1


def test_numbers_and_lists_have_their_types() -> None:
    """A whole double is an int, a number too large for it a float; a long list is a text in Redshift."""
    event = track({"whole": 2.0, "part": 2.5, "huge": 10**400, "list": list(range(300)), "short": [1]})
    row = rows(event, "RS", clock=NOW)[-1]

    assert {name: row["columns"][name] for name in ("whole", "part", "list", "short")} == {
        "whole": "int",
        "part": "float",
        "list": "text",
        "short": "string",
    }
    assert row["columns"]["huge"] == "float"
