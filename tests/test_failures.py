"""Failures are data: rule, events, field and value."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import svctoolkit
from svctoolkit import CATALOGUE, Pipeline, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import EventError
from svctoolkit.pipeline import Stages
from svctoolkit.replay import replay
from svctoolkit.results import Failures, SourceResult, failures
from tests.catalogue import examples

CODE = "def transformEvent(event, metadata):\n    event['n'] = 1 / event['properties']['total']\n    return event\n"


@pytest.fixture
def shop() -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("divide", code=CODE)
    fb = {"pixelId": "p1", "accessToken": "t0ken-s3cret"}
    workspace.destination("fb", "FACEBOOK_PIXEL", config=fb)
    workspace.destination("am", "AM", config={"apiKey": "k-1"})
    config = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("hook", "WEBHOOK", config=config)
    workspace.destination("code", "WEBHOOK", config=config, transformation="divide")
    return workspace


def order(number: int, **properties: Any) -> dict[str, Any]:
    head = {"type": "track", "event": "Order Completed", "messageId": f"m{number}", "userId": "u"}
    return {**head, "properties": properties}


def test_a_failure_has_its_rule_field_and_value(shop: Workspace) -> None:
    """The expected and the actual value: for a refusal, for user code, for an answer of the destination."""
    pipeline = Pipeline(shop)
    pipeline.recorder.answer("*", Answer(400, body={"error": "no list 17"}))
    (code,) = pipeline.test_destination("code", order(1, total=0)).failures()
    (sent,) = pipeline.test_destination("hook", order(2), stages=Stages(send_to_destination=True)).failures()

    assert (code.stage, code.error, code.where) == ("user_transform", "ZeroDivisionError", "divide.py:2:18")
    assert (code.rule, code.event_id, code.template) == (
        "code.divide.py.transformEvent.ZeroDivisionError", "m1", "ZeroDivisionError: division by zero",
    )  # fmt: skip
    assert (sent.stage, sent.error, sent.rule) == ("send_to_destination", "HTTP 400", "WEBHOOK.http-400")
    assert "no list 17" in sent.message
    assert "17" not in sent.template


def test_different_values_break_the_same_rule(shop: Workspace) -> None:
    """A hundred events that break one rule with a hundred values are one row, with the most frequent values."""
    events = [{"type": "identify", "messageId": f"m{n}"} for n in range(3)]
    events += [{**order(n), "timestamp": f"soon {n}", "properties": {"revenue": n}} for n in range(100)]
    results = SourceResult([Pipeline(shop).test_destination("fb", event) for event in events])
    told = results.failures()
    counts = told.counts()

    assert len(told) == len(told.frame()) == 103
    assert len(counts) == len({(f.rule, f.event_name) for f in told})
    top = counts.iloc[0]
    assert (top.events, top.event_name, top.stage) == (100, "Order Completed", "dest_transform")
    assert top.field
    assert len(repr(told).splitlines()) == len(counts) + 1


def test_the_responsible_code_or_setting_is_named(shop: Workspace) -> None:
    """A setting that forbids anonymous events, and a line of code that raises."""
    shop.transformation("boom", code="def transformEvent(event, metadata):\n    return evnt\n")
    shop.destination("hook2", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="boom")
    shop.destination("ct", "CLEVERTAP", config={"accountId": "a", "passcode": "p", "trackAnonymous": False})
    pipeline, event = Pipeline(shop), {"type": "track", "event": "E", "anonymousId": "a1"}
    told = SourceResult([pipeline.test_destination(key, event) for key in ("hook2", "ct", "ct")]).failures()

    assert dict(told.counts()[["destination", "decides"]].values.tolist()) == {
        "ct": "trackAnonymous",
        "hook2": "boom.py:2:12",
    }
    assert "decided by setting trackAnonymous" in repr(told)
    assert told.counts().events.tolist() == [2, 1]


def test_failures_survive_pickling_and_hide_secrets(shop: Workspace) -> None:
    """Pickled failures are equal; secrets of the workspace are masked in all of them."""
    event = {"type": "identify", "messageId": "t0ken-s3cret"}
    result = Pipeline(shop).test_destination("fb", event)

    (failure,) = result.failures()
    assert failure.event_id != "t0ken-s3cret"
    assert pickle.loads(pickle.dumps(result)).failures().frame().equals(result.failures().frame())


def test_successful_results_have_no_failures(shop: Workspace) -> None:
    """The frame has its columns, but no rows."""
    none = Pipeline(shop).test_destination("hook", order(1)).failures()

    assert (len(none), len(none.frame()), len(none.counts())) == (0, 0, 0)
    assert list(none.frame().columns) == list(failures([]).frame().columns)
    assert isinstance(none[:0], tuple)
    assert isinstance(none, Failures)


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_every_refusal_of_every_type_has_a_rule(name: str) -> None:
    """Row and error have the same field; the value is in the event there; ids contain no value."""
    for example in (example for example in examples(name) if example.error and not example.lookups):
        workspace = Workspace("shop")
        try:
            workspace.destination("d", name, config=example.config)
            result = Pipeline(workspace).test_destination("d", example.event)
        except EventError:
            continue
        except Exception:  # noqa: BLE001 - examples with an invalid configuration
            continue
        for failure in result.failures():
            assert failure.rule.startswith(f"{name}.")
            assert " " not in failure.rule
            assert failure.error in ("MappingError", "UnsupportedEvent")
            if failure.value is not None and failure.field in example.event:
                value = example.event[failure.field]
                assert (value if isinstance(value, str) else json.dumps(value)).startswith(failure.value.rstrip("…"))


def test_a_replay_groups_failures_by_rule(shop: Workspace) -> None:
    """One bad shape in many events is one line with count, field and example; unsupported types are filtered."""
    events = [{"type": "identify", "messageId": f"i{n}", "userId": "u"} for n in range(5)]
    events += [{**order(n, total=0)} for n in range(20)]
    result = replay(events, shop, destinations=["code", "am"])
    frame = result.groups.frame()

    broken = frame[frame.kind == "failed"].iloc[0]
    assert (broken.destination, broken.stage, broken["count"]) == ("code", "user_transform", 20)
    assert broken.before == "code.divide.py.transformEvent.ZeroDivisionError"
    assert broken.decides.startswith("divide.py:")
    assert broken.event_id == "m0"
    assert len(frame) == len(result.groups)
    assert "ZeroDivisionError" in repr(result.groups)


def test_all_columns_of_failures_are_documented(shop: Workspace) -> None:
    """The table in `notebooks.md` has exactly the columns of `failures().frame()`, grouped by subject."""
    page = (Path(svctoolkit.__file__).parent / "docs" / "notebooks.md").read_text(encoding="utf-8")
    table = page.split("| column of `failures().frame()` |")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    result = Pipeline(shop).test_destination("am", {"type": "track", "event": "E"})

    names = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(names) == sorted(result.failures().frame())
