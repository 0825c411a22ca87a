"""Webhook source types: events, answers and refusals, through the catalogue."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from svctoolkit.errors import InvalidWebhook, UnknownName
from svctoolkit.sources import CATALOGUE, Memory, check_events, receive, remember


def test_a_name_in_the_wrong_case_is_unknown_and_the_right_one_is_suggested() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'Segment'"):
        CATALOGUE["segment"]


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_a_type_is_registered_under_the_name_of_its_definition(name: str) -> None:
    assert CATALOGUE[name].name == name


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([], "empty batch payload"),
        ([{"userId": "u"}, "x"], "event is not a valid rudder event"),
        ([{"userId": "u"}, {"userId": " ", "anonymousId": None}], "request neither has anonymousId nor userId"),
    ],
)
def test_the_gateway_refuses_all_events_of_a_webhook_together(events: list[object], text: str) -> None:
    with pytest.raises(InvalidWebhook, match=text):
        check_events(events)


def test_a_number_counts_as_an_id() -> None:
    check_events([{"userId": 42}])


def test_a_get_request_is_answered_and_ignored() -> None:
    answer = receive("webhook", {"method": "GET", "body": "not json"})
    assert answer == {"status": 200, "body": "", "contentType": "text/plain; charset=utf-8"}


BROKEN = ["not json", '{"a":', "[" * 100_000, '{"a":' * 300 + "1" + "}" * 300, "NaN", "1 2"]


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_a_body_that_cannot_be_read_is_refused(name: str) -> None:
    for body in BROKEN:
        answer = receive(name, {"method": "POST", "body": body, "query_parameters": {}})
        assert (answer["status"], answer["body"][-1]) == (400, "\n")


def test_a_body_with_a_lone_surrogate_is_read() -> None:
    event, = CATALOGUE["webhook"].events({"body": '{"a": "\\ud800", "b": 1e400}'})  # fmt: skip
    assert event["properties"] == {"a": "\ud800", "b": None}


def test_entries_of_a_memory_expire_by_its_clock() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    memory = Memory(now=lambda: now)
    remember(memory, "cart", {"a": "1"}, timedelta(hours=1))
    now += timedelta(minutes=59)
    remember(memory, "cart", {"b": "2"}, timedelta(hours=1))
    now += timedelta(minutes=59)
    assert memory["cart"] == {"a": "1", "b": "2"}
    now += timedelta(minutes=1)
    assert (list(memory), len(memory), memory.get("cart")) == ([], 0, None)


def test_a_plain_dict_is_a_memory_without_expiry() -> None:
    memory: dict[str, dict[str, str]] = {"cart": {"a": "1"}}
    remember(memory, "cart", {"b": "2"}, timedelta(hours=1))
    assert json.dumps(memory) == '{"cart": {"a": "1", "b": "2"}}'
