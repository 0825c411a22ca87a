"""Scenarios whose events share requests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from svctoolkit import runner
from svctoolkit.runner import Outcome

HEAD = """\
destinations:
  braze: {type: BRAZE, config: {restApiKey: k-1, dataCenter: EU-01, appKey: a-1}}
sources:
  web: {destinations: [braze]}
"""
EVENTS = [{"type": "track", "event": f"E{n}", "userId": f"u{n}", "messageId": f"m{n}"} for n in range(20)]


def outcomes(tmp_path: Path, scenarios: str, head: str = "") -> list[Outcome]:
    path = tmp_path / "s.suite.yaml"
    path.write_text(f"{HEAD}{head}scenarios:\n{scenarios}", encoding="utf-8")
    with runner.open_planes(limit=60) as planes:
        return [o for o in runner.run(runner.load(path).scenarios, planes) if isinstance(o, Outcome)]


def sends(expect: str) -> str:
    return f"  - {{name: a, source: web, send: {EVENTS}, expect: {expect}}}\n"


@pytest.mark.parametrize(
    "expect",
    [
        "{delivered: [{body: {events: {$contains: {name: E7}}}}]}",
        f"{{delivered: [{{events: {[*range(20)]}}}]}}",
        "{delivered: {events: {$contains: m19}}, attempts: 1}",
        "{delivered: [{events: {$length: 20}}]}",
    ],
)
def test_twenty_events_are_one_request(tmp_path: Path, expect: str) -> None:
    """`delivered` counts requests; each has its `events`, by position or by message id; items match anywhere in it."""
    (outcome,) = outcomes(tmp_path, sends(expect))

    assert outcome.ok, outcome


@pytest.mark.parametrize("expect", ["{delivered: [{events: [0, 1]}]}", "{delivered: {events: {$contains: m20}}}"])
def test_unexpected_events_in_a_request_fail_the_scenario(tmp_path: Path, expect: str) -> None:
    """The request has other events than those expected."""
    (outcome,) = outcomes(tmp_path, sends(expect))

    assert not outcome.ok


@pytest.mark.parametrize(("batch", "requests"), [("off", 20), (5, 4), (100, 1)])
def test_a_suite_can_set_the_batch_size(tmp_path: Path, batch: Any, requests: int) -> None:
    """`batch: off` to test mappings alone, or the number of events per call."""
    (outcome,) = outcomes(tmp_path, sends(f"{{delivered: {{$length: {requests}}}}}"), f"batch: {batch}\n")

    assert outcome.ok, outcome


def test_batches_do_not_depend_on_timing(tmp_path: Path) -> None:
    """Events that a client sends one by one share a request, as if RudderStack had waited for them."""
    scenario = dedent("""\
      - name: calls
        source: web
        calls:
          - track: [A]
          - track: [B]
        expect: {delivered: [{events: [0, 1]}]}
    """)
    (outcome,) = outcomes(tmp_path, scenario)

    assert outcome.ok, outcome


def test_an_answer_can_refuse_some_events_of_a_request(tmp_path: Path) -> None:
    """`failed` in a recorder's answer refuses events by position, in the format of the destination."""
    config = {"apiKey": "k", "apiSecret": "s", "apiBaseUrl": "https://bloomreach.example", "projectToken": "p"}
    path = tmp_path / "s.suite.yaml"
    path.write_text(
        dedent(f"""\
        destinations:
          bloom: {{type: BLOOMREACH, config: {config | {"hardID": "registered", "softID": "cookie"}}}}
        sources:
          web: {{destinations: [bloom]}}
        recorder:
          bloom: {{failed: [1]}}
        scenarios:
          - name: a
            source: web
            send: {EVENTS[:3]}
            expect:
              delivered: [{{events: [0, 1, 2]}}]
              failed: {{by: send_to_destination, event: {{messageId: m1}}}}
        """),
        encoding="utf-8",
    )
    with runner.open_planes(limit=60) as planes:
        (outcome,) = (o for o in runner.run(runner.load(path).scenarios, planes) if isinstance(o, Outcome))

    assert outcome.ok, outcome


def test_a_request_with_one_event_has_no_new_fields_in_snapshots(tmp_path: Path) -> None:
    """Its events can be expected, but whole-request comparisons such as snapshots do not include them."""
    send = f"send: {EVENTS[:1]}"
    scenarios = (
        f"  - {{name: a, source: web, {send}, expect: {{delivered: {{events: [0]}}}}}}\n"
        f"  - {{name: b, source: web, {send}, expect: {{delivered: [{{events: [m0]}}]}}}}\n"
        f"  - {{name: c, source: web, {send}, expect: {{delivered: {{events: [1]}}}}}}\n"
    )

    assert [outcome.ok for outcome in outcomes(tmp_path, scenarios)] == [True, True, False]


def test_a_scenario_can_set_the_batch_size(tmp_path: Path) -> None:
    """It overrides the suite's size; other scenarios keep that, even if they share a data plane."""
    scenarios = [
        sends("{attempts: 10}"),
        sends("{attempts: 20}").replace("name: a", "name: b, batch: off"),
        sends("{attempts: 4}").replace("name: a", "name: c, batch: 5"),
        sends("{attempts: 1}").replace("name: a", "name: d, batch: 100, recorder: {braze: {status: 200}}"),
        sends("{attempts: 10}").replace("name: a", "name: e"),
    ]
    results = outcomes(tmp_path, "".join(scenarios), "batch: 2\n")

    assert [outcome.ok for outcome in results] == [True] * 5, results
