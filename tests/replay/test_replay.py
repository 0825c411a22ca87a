"""Runs many events through one workspace."""

from __future__ import annotations

import gc
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from svctoolkit import Pipeline, Recorder, Workspace, events
from svctoolkit.delivery import Answer, Cassette
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.events import EVENT_TYPES
from svctoolkit.pipeline import Stages
from svctoolkit.replay import Progress, replay
from svctoolkit.replay.tally.spill import Rows
from svctoolkit.results import frame
from tests.replay.shops import killing_once, ndjson, order, orders, revenue_as_text, shop

SHARED = ["event_id", "event_type", "event_name", "user_id", "destination_id", "stage", "part", "status", "error"]


def test_a_replay_equals_the_pipeline() -> None:
    """Event by event and stage by stage, its rows equal those of `test_destination`."""

    def clean(event: dict[str, Any]) -> Any:
        if event["type"] == "page":
            return None
        return [event, event] if event["type"] == "group" else {**event, "n": 1 // (event["type"] != "alias")}

    workspace = shop(clean)
    given = [events.sample(kind) for kind in EVENT_TYPES]
    result = replay(given, workspace)
    pipeline = Pipeline(workspace)
    alone = frame([pipeline.test_destination("hook", event) for event in given])

    pd.testing.assert_frame_equal(
        result.frame()[SHARED].astype(object).fillna(""), alone[SHARED].astype(object).fillna("")
    )
    assert dict(result.counts["hook"]) == {"delivered": 4, "dropped": 1, "failed": 1}


def test_user_code_gets_many_events_in_one_call() -> None:
    """A batch function gets as many events as `batch` says."""
    code = "export function transformBatch(events) { return events.map((e) => ({ ...e, seen: events.length })) }"
    result = replay(orders(5), shop(code=code), batch=3)

    table = result.frame()
    seen = [json.loads(output)["seen"] for output in table[table.stage == "user_transform"].output]
    assert seen == [3, 3, 3, 2, 2]


def test_failures_are_grouped() -> None:
    """Errors that differ only in a number or a quoted text are one group, with its first examples."""

    def clean(event: dict[str, Any]) -> Any:
        raise ValueError(f"no price for {event['properties']['revenue']} of '{event['userId']}'")

    (group,) = replay(orders(10), shop(clean)).groups

    assert (group.count, group.after) == (10, "ValueError: no price for … of …")
    assert group.examples[0].after.startswith("ValueError: no price for 0 of 'u0'")
    assert [example.place for example in group.examples] == ["[0]", "[1]", "[2]"]


def test_a_replay_never_sends() -> None:
    """Mode live with send_to_destination is refused; requests of user code are answered by a recorder."""
    code = "export async function transformEvent(e) { e.answer = await fetch('http://127.0.0.1:9'); return e }"
    live = shop(code=code)
    live.delivery.mode = "live"
    result = replay(orders(1), live)

    assert json.loads(result.frame().output[0])["answer"] == {"success": True}
    with pytest.raises(ConfigError, match="a replay never sends"):
        replay(orders(1), live, stages=Stages(send_to_destination=True))


def test_a_recorder_can_answer_requests() -> None:
    """With a transport that answers, the third stage runs, and a refusal is a failure."""
    recorder = Recorder()
    recorder.answer("*", Answer(200), Answer(503))
    workspace = shop()
    workspace.delivery.mode = "live"
    result = replay(orders(3), workspace, stages=Stages(send_to_destination=True), transport=recorder)

    assert dict(result.counts["hook"]) == {"delivered": 1, "failed": 2}
    assert len(recorder.requests) == 3


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cassette_can_answer_requests(tmp_path: Path, workers: int) -> None:
    """With the file of an earlier run, mode cassette sends nothing; without it, the replay is refused."""
    workspace = shop()
    workspace.delivery.mode, workspace.delivery.cassette = "cassette", tmp_path / "answers.json"
    stages = Stages(send_to_destination=True)
    with pytest.raises(ConfigError, match="'shop' has the delivery mode cassette: events are sent"):
        replay(orders(1), workspace, stages=stages)
    recorder = Recorder()
    recorder.answer("*", Answer(200), Answer(503))
    once = Pipeline(workspace, transport=Cassette(tmp_path / "answers.json", recorder.exchange))
    for event in orders(2):
        once.test_destination("hook", event, stages=stages)
    result = replay(orders(3), workspace, stages=stages, workers=workers)

    assert dict(result.counts["hook"]) == {"delivered": 1, "failed": 2}
    errors = result.frame().query("stage == 'send_to_destination'").output
    assert "has no response from hook.example to this request" in errors.iloc[-1]


def test_look_ups_are_answered_as_in_the_pipeline() -> None:
    """A mapping that looks something up gets the same answer as for a single event."""
    workspace = Workspace()
    workspace.destination("intercom", "INTERCOM", config={"apiKey": "s3cr3t"})
    event = events.identify("u1", traits={"email": "mira@mail.example"})
    result = replay([event], workspace)
    alone = Pipeline(workspace).test_destination("intercom", event)

    assert dict(result.counts["intercom"]) == {"delivered": 1}
    payload = json.loads(result.frame().output.iloc[-1])
    assert payload["body"] == alone.data[0].dest_transformed_payload[0]["body"]


def test_destinations_can_be_chosen() -> None:
    """By default all; those of a source; or the named ones. Disabled ones and types without a mapping get nothing."""
    workspace = shop()
    workspace.destination("second", "WEBHOOK", config={"webhookUrl": "https://b.example"})
    workspace.destination("off", "WEBHOOK", enabled=False, config={"webhookUrl": "https://c.example"})
    workspace.destination("lake", "S3", config={})
    workspace.source("web", destinations=["second"])

    assert {key: dict(counts) for key, counts in replay(orders(1), workspace).counts.items()} == {
        "hook": {"delivered": 1},
        "second": {"delivered": 1},
        "off": {"filtered": 1},
        "lake": {"unmapped": 1},
    }
    assert list(replay(orders(1), workspace, source="web").counts) == ["second"]
    assert list(replay(orders(1), workspace, destinations=["hook"]).counts) == ["hook"]
    with pytest.raises(ConfigError, match="no enabled destination to replay to: off is disabled"):
        replay(orders(1), workspace, destinations=["off"])
    with pytest.raises(UnknownName, match="Did you mean 'hook'"):
        replay(orders(1), workspace, destinations=["hok"])


def test_secrets_do_not_reach_the_rows(tmp_path: Path) -> None:
    """A secret header is masked in frames, files and HTML."""
    workspace = shop()
    config = {"webhookUrl": "https://x.example", "headers": [{"from": "x-key", "to": "s3cr3t/key"}]}
    workspace.destination("hook", "WEBHOOK", config=config)
    result = replay(orders(2), workspace, out=tmp_path / "out")

    assert json.loads(result.frame().output.iloc[-1])["headers"]["x-key"] == "••••"
    assert not any(b"s3cr3t" in file.read_bytes() for file in (tmp_path / "out").rglob("*.*"))


def test_personal_data_is_masked_on_request() -> None:
    """Names, addresses and similar values are hidden; event names, ids and amounts stay."""
    event = events.identify("u1", traits={"email": "ann@example.com", "note": "call +49 151 2345678", "plan": "gold"})
    person = {**event, "messageId": "m1", "context": {"ip": "10.1.2.3", "library": {"name": "web"}}}
    result = replay([person, "mail ann@example.com"], shop(), mask_personal=True)

    table = result.frame()
    body = json.loads(table.output.dropna().iloc[-1])["body"]["JSON"]
    assert body["traits"] == {"email": "••••", "note": "call ••••", "plan": "gold"}
    assert body["context"] == {"ip": "••••", "library": {"name": "web"}}
    assert (table.user_id[0], table.event_id[0]) == ("••••", "m1")
    assert result.rejects[0].text == ""


def test_a_sample_keeps_rare_shapes() -> None:
    """One unusual event in a thousand is in every sample; the sample is reproducible."""
    given = [*orders(999), order(999, coupon="X")]
    random.Random(1).shuffle(given)
    result, again = (replay(given, shop(), sample=0.02) for _ in range(2))

    assert 5 < result.events < 60
    assert "m999" in set(result.frame().event_id)
    assert list(result.frame().event_id) == list(again.frame().event_id)
    assert f"a sample: {result.events} of 1,000 events were run" in repr(result)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_sample_estimates_the_counts_of_all_events(workers: int, tmp_path: Path) -> None:
    """Each shape counts for all of its events, in whatever chunk; the truth is within the error."""
    given = [order(n, **({"coupon": "X"} if n % 500 == 0 else {}), **({"gift": True} if n % 4 == 0 else {}))
             for n in range(10_000)]  # fmt: skip
    files = [ndjson(tmp_path / f"{part}.ndjson", given[part::5]) for part in range(5)]
    code = """export function transformEvent(event) {
      if (event.properties.revenue % 10 === 3 || event.properties.coupon) return
      if (event.properties.gift) throw new Error('no gifts')
      return event }"""
    whole = replay(files, shop(code=code)).counts["hook"]
    result = replay(files, shop(code=code), sample=0.1, workers=workers)
    estimates = result.estimates["hook"]

    assert sum(e.events for e in estimates.values()) == pytest.approx(10_000)
    for what, count in whole.items():
        assert (
            abs(estimates[what].events - count) <= 1.5 * estimates[what].error
        )  # 99.7%; the sample is always the same
        assert 0 < estimates[what].error < 0.06 * 10_000
    assert f"hook: estimated for all events: {estimates[next(iter(estimates))]} " in repr(result)
    exact = replay(files[:1], shop(code=code))
    assert exact.estimates["hook"] == {what: (count, 0.0) for what, count in exact.counts["hook"].items()}


def test_parquet_has_the_rows_of_the_frame(tmp_path: Path) -> None:
    """With `out` the rows are on disk, any reader of Parquet can open the folder, and the frame is the same."""
    given = orders(3)
    kept = replay(given, shop(revenue_as_text)).frame()
    result = replay(given, shop(revenue_as_text), out=tmp_path / "out")

    pd.testing.assert_frame_equal(result.frame(), kept)
    assert len(pd.read_parquet(tmp_path / "out" / "rows")) == len(kept) == 6


def test_mappings_see_the_time_of_the_event() -> None:
    """Last month's events give last month's payloads: the current time is when an event was received."""
    from svctoolkit.destinations import CATALOGUE, Context, DestinationType, Payload, Settings
    from svctoolkit.events import Event

    class ClockSettings(Settings, frozen=True, kw_only=True):
        pass

    clock = DestinationType("Clock", ClockSettings)

    @clock.on()
    def send(event: Event, settings: ClockSettings, context: Context) -> Payload:
        return Payload(endpoint="https://x.example", json={"now": context.clock().isoformat(), "id": context.new_id()})

    CATALOGUE.add("WEBHOOK", clock)
    try:
        workspace = Workspace()
        workspace.destination("clock", "WEBHOOK")
        event = {**order(1), "receivedAt": "2024-05-01T10:00:00.000Z"}
        first, second = (replay([event], workspace).frame().output.iloc[-1] for _ in range(2))
    finally:
        CATALOGUE._added.pop("WEBHOOK")

    assert json.loads(first)["body"]["JSON"]["now"] == "2024-05-01T10:00:00+00:00"
    assert first == second


def test_processes_give_the_same_result(tmp_path: Path) -> None:
    """Two workers give the same rows in the same order as one process, and the same groups."""
    for number in range(5):
        ndjson(tmp_path / f"{number}.ndjson", [order(10 * number + n) for n in range(10)])
    one, two = (replay(tmp_path, shop(revenue_as_text), workers=workers) for workers in (1, 2))

    pd.testing.assert_frame_equal(one.frame(), two.frame())
    assert one.counts == two.counts


def test_a_killed_worker_loses_no_event(tmp_path: Path) -> None:
    """And no event is there twice."""
    marker = tmp_path / "kill"
    marker.touch()
    files = [ndjson(tmp_path / f"{n}.ndjson", [order(n, kill=str(marker) if n == 3 else "")]) for n in range(8)]
    result = replay(files, shop(killing_once), workers=2)

    assert not marker.exists()
    assert list(result.frame().event_id[::2]) == [f"m{n}" for n in range(8)]


def test_a_workspace_that_cannot_be_pickled_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without cloudpickle, functions of a notebook cannot be sent, and the error says what to do."""
    import sys

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(ConfigError, match="Use workers=1, write the transformation as code"):
        replay(orders(1), shop(lambda event: event), workers=2)


def test_progress_is_reported() -> None:
    """A callback gets the progress; at the end it is complete."""
    heard: list[Progress] = []
    replay(orders(5), shop(), progress=heard.append)

    assert (heard[-1].events, heard[-1].share, heard[-1].done) == (5, 1.0, True)
    assert str(heard[-1]).startswith("100%  5 events")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sample": 0.0}, "sample must be more than 0"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"resume": True}, "resume requires `out`"),
        ({"transport": Recorder(), "workers": 2}, "a transport only works in this process"),
    ],
)
def test_wrong_options_are_errors(options: dict[str, Any], said: str) -> None:
    """Before the first event."""
    with pytest.raises(ConfigError, match=said):
        replay(orders(1), shop(), **options)


def test_rows_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without `out`, a long run keeps few rows in memory; the frame is the same, and no file remains."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    events = orders(4500)  # three chunks
    whole = replay(events, shop(), out=tmp_path / "out").frame()
    monkeypatch.setattr(Rows.__init__, "__defaults__", (5000,))
    result = replay(events, shop())
    folders = [*tmp_path.glob("svctoolkit-rows-*")]

    assert result._rows.in_memory == 5000
    assert [len([*folder.iterdir()]) for folder in folders] == [1]
    pd.testing.assert_frame_equal(result.frame(), whole)
    del result
    gc.collect()
    assert not folders[0].exists()
