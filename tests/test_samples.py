"""Sample events through every destination type, with a small and with a large configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest

from svctoolkit import errors, events
from svctoolkit.destinations import CATALOGUE
from svctoolkit.destinations import definitions as defs
from svctoolkit.events import ROOTS
from tests.catalogue import examples

TYPES = CATALOGUE.names()


def configurations(name: str) -> list[dict[str, Any]]:
    """The smallest and the largest configuration among a type's examples that send something, if there are any."""
    shown = [example for example in examples(name) if example.payloads or not CATALOGUE[name].handlers]
    configs = sorted((example.config for example in shown), key=len)
    return [configs[0], configs[-1]]


def lookup(name: str) -> Any:
    """Answers of the type's examples, and an empty object for any other query."""
    answers = {(item.method, item.url): (item.status, item.body) for e in examples(name) for item in e.lookups}

    def answer(request: Mapping[str, Any]) -> tuple[int, Any]:
        return answers.get((request.get("method", "GET"), str(request.get("url"))), (200, {}))

    return answer


@cache
def refusals(name: str) -> list[errors.EventError]:
    """The refusals of the samples by a type."""
    out: list[errors.EventError] = []
    answers = lookup(name)
    for config in configurations(name):
        mapping = CATALOGUE[name].prepare(config)
        for event in events.samples().values():
            try:
                mapping.payloads(event, lookup=answers)
            except errors.EventError as error:
                out.append(error)
    return out


@pytest.mark.parametrize("name", TYPES)
def test_a_refusal_of_a_sample_is_helpful(name: str) -> None:
    """A realistic event is never too old and never crashes a mapping.

    A refusal names a field of the event or a variable of the configuration, or quotes the destination's answer.
    """
    taken = CATALOGUE[name].handlers
    for error in refusals(name):
        if isinstance(error, errors.UnsupportedEvent):
            assert f"only {', '.join(taken)}" in str(error)
            continue
        words = re.findall(r"[\w.]+", str(error).replace("$.", ""))
        roots, variables = {word.split(".")[0] for word in words}, {*defs.variables(name), "metadata"}
        assert "mapping failed" not in str(error)
        assert " takes the last " not in str(error)
        reports_response = re.search("answer|response", str(error))
        assert roots & ROOTS or set(words) & variables or error.field or reports_response, str(error)


@pytest.mark.parametrize("name", TYPES)
def test_a_supported_event_type_is_not_rejected_as_such(name: str) -> None:
    """If it has a handler, for any configuration."""
    unsupported = [error for error in refusals(name) if isinstance(error, errors.UnsupportedEvent)]
    others = {event["type"] for event in events.samples().values()} - set(CATALOGUE[name].handlers)

    assert len(unsupported) == 2 * sum(event["type"] in others for event in events.samples().values())


def test_samples_have_recent_times() -> None:
    """Several destinations reject old events; the intervals within an event are kept."""
    before = datetime.now(UTC)
    for event in [events.sample("track"), *events.samples().values()]:
        when = datetime.fromisoformat(event["originalTimestamp"])
        assert before - timedelta(seconds=30) < when < datetime.now(UTC)
        assert datetime.fromisoformat(event["receivedAt"]) - when == timedelta(milliseconds=490)
