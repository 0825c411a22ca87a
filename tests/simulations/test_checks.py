"""Checks and answers as data: conditions, replaced values, and the forms of answers."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit.errors import ConfigError
from svctoolkit.simulations import Request, SimulatedServer, Simulation, Visit, load_rules
from svctoolkit.simulations.answers import filler
from svctoolkit.simulations.checks import FINE, Check, ReadyCheck, Words
from svctoolkit.simulations.formats import FORMATS
from svctoolkit.simulations.measures import MEASURES
from svctoolkit.simulations.paths import REMOVED, convert, selector, steps_of
from tests.examples import up_to

NOW = datetime(2026, 8, 6, 10, tzinfo=UTC)
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
RECORDS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
PATHS = st.sampled_from(["a", "a.b", "a.*", "a[]", "a[].b", "a.*.c", "a.b.c", "*", "a[][]"])
few = settings(max_examples=up_to(60))


def ready(limit: Any = None, **members: Any) -> ReadyCheck:
    check = Check(on="events", **members)
    return ReadyCheck("x.rule", "cut", check, limit, Words())


# --- paths


@few
@given(record=RECORDS, path=PATHS)
def test_converting_what_is_selected(record: dict[str, Any], path: str) -> None:
    """`convert` changes exactly the values that `selector` yields, and never the record that it gets."""
    before, seen = copy.deepcopy(record), []
    same = convert(record, steps_of(path), lambda value: seen.append(value) or value)

    assert record == before == same
    assert [value for value in selector(path)(record) if value is not None] == [v for v in seen if v is not None]


@few
@given(record=RECORDS, path=PATHS)
def test_what_is_removed_is_not_selected_any_more(record: dict[str, Any], path: str) -> None:
    """After removing everything at a path, nothing is at it."""
    assert not [v for v in selector(path)(convert(record, steps_of(path), lambda _: REMOVED)) if v is not None]


# --- conditions

REPAIRS: list[tuple[dict[str, Any], Any]] = [
    ({"at": "a", "most": "longest", "becomes": "cut"}, 2),
    ({"at": "a", "is": "lower", "becomes": "lower"}, None),
    ({"at": "a", "is": "trimmed", "becomes": "trimmed"}, None),
    ({"at": "a.*", "most": "letters", "becomes": "nothing"}, 2),
    ({"at": "a", "most": "items", "becomes": "first"}, 1),
    ({"at": "a[]", "is": "number", "becomes": "nothing"}, None),
]


@pytest.mark.parametrize(("members", "limit"), REPAIRS)
@few
@given(record=RECORDS)
def test_a_replaced_value_breaks_the_rule_no_more(members: dict[str, Any], limit: Any, record: dict[str, Any]) -> None:
    """`becomes` is idempotent: the record that is kept passes the check; one that passes is kept as it is."""
    check = ready(limit, **{{"is": "is_"}.get(name, name): value for name, value in members.items()})
    before = copy.deepcopy(record)
    kept = check.repair(record, NOW)

    assert record == before
    assert check.value_of(kept, NOW) is FINE
    assert check.repair(kept, NOW) == kept
    if check.value_of(record, NOW) is FINE:
        assert kept == record


@few
@given(record=RECORDS, bound=st.integers(0, 5), measure=st.sampled_from(sorted(MEASURES)))
def test_a_higher_limit_never_refuses_more(record: dict[str, Any], bound: int, measure: str) -> None:
    """What passes at a limit passes at a higher one, for every measure of every value."""
    low, high = ready(bound, at="a", most=measure), ready(bound + 1, at="a", most=measure)
    assert low.value_of(record, NOW) is not FINE or high.value_of(record, NOW) is FINE


@pytest.mark.parametrize("name", sorted(FORMATS))
@few
@given(value=VALUES)
def test_every_format_answers_for_every_value(name: str, value: Any) -> None:
    """No value makes a check fail, and a missing one breaks no rule but `needs` and `has`."""
    check = ready(at="a", is_=name)
    assert (check.value_of({"a": value}, NOW) is FINE) == (value is None or bool(FORMATS[name](value)))
    assert check.value_of({}, NOW) is FINE


@few
@given(record=RECORDS)
def test_needs_is_stricter_than_has(record: dict[str, Any]) -> None:
    """An empty value is there, but not filled."""
    needs, has = ready(needs=("a", "b")), ready(has=("a", "b"))
    assert (has.value_of(record, NOW) is FINE) == any(record.get(name) is not None for name in "ab")
    assert needs.value_of(record, NOW) is not FINE or has.value_of(record, NOW) is FINE


def test_conditions_limit_a_check() -> None:
    """`when` applies a check to records with one of its values; lists are searched."""
    check = ready(needs=("phone",), when={"channels[]": ["sms", "call"]})
    assert check.value_of({"channels": ["email"]}, NOW) is FINE
    assert check.value_of({"channels": ["email", "sms"]}, NOW) == "phone"
    assert check.value_of({"channels": ["sms"], "phone": "1"}, NOW) is FINE


# --- answers


@few
@given(template=RECORDS, values=st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3))
def test_filling_is_stable(template: dict[str, Any], values: dict[str, Any]) -> None:
    """A template without placeholders is the answer, and one with them has the values or leaves the member out."""
    plain = {name: value for name, value in template.items() if "$" not in repr(value)}
    assert filler(plain)(values) == plain
    assert filler({name: f"${name}" for name in "abc"})(values) == values
    assert filler({"text": "<${a}>"})({"a": 5}) == {"text": "<5>"}


FACTS = """
sources: {docs: {title: Docs, checked: 2026-11-01}}
answers: {refused: {status: 422, body: {error: $message, at: $place}}, done: {status: 200, body: {refused: $refused}}}
rules:
  - {id: x.auth, effect: refused, confidence: doc, source: docs, says: s}
  - id: x.name
    effect: refused
    confidence: doc
    source: docs
    limit: 3
    says: s
    checks: [{on: events, at: name, most: letters, answer: {message: "over ${limit}"}}]
  - id: x.drop
    effect: dropped
    confidence: doc
    source: docs
    says: s
    checks: [{on: events, at: drop, absent: true}]
  - id: x.strict
    effect: refused
    confidence: inf
    source: docs
    says: s
    checks: [{on: events, needs: [time], answer: {message: time}}]
"""


def server(tmp_path: Path, level: Any = "simulated") -> SimulatedServer:
    facts = tmp_path / "facts.yaml"
    facts.write_text(FACTS)
    simulation = Simulation("X", facts=facts)
    events = simulation.table("events")

    @simulation.on("POST /events")
    def keep(visit: Visit, request: Request) -> Any:
        batch = visit.batch()
        for place, event in batch.judge(events, request.body):
            visit.record(events, event, None, place)
        assert batch.good[events] + len(batch.refused) == len(request.body)
        return visit.answer("done", refused=batch.errors)

    @simulation.on("POST /event")
    def keep_one(visit: Visit, request: Request) -> Any:
        return visit.refuse(events, request.body, 0) or visit.answer("done", refused=[])

    return SimulatedServer(simulation, {}, level=level)


@few
@given(names=st.lists(st.text(max_size=6), max_size=8))
def test_a_batch_is_the_sum_of_its_records(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each record is kept or refused as if it came alone, in its place."""
    held = server(tmp_path_factory.mktemp("facts"))
    body = held.answer("POST", "https://x/events", body=[{"name": name} for name in names])[2]

    assert [error["place"] for error in body["refused"]] == [n for n, name in enumerate(names) if len(name) > 3]
    assert [row["name"] for row in held.held()["events"]] == [name for name in names if len(name) <= 3]
    assert [loss.place for loss in held.losses] == [error["place"] for error in body["refused"]]


def test_effects_and_levels_of_checks(tmp_path: Path) -> None:
    """Refused records are named in the answer, dropped ones are not; inferred rules apply at level `strict` only."""
    held = server(tmp_path)
    assert held.answer("POST", "https://x/event", body={"name": "long"})[::2] == (422, {"error": "over 3", "at": 0})
    assert held.answer("POST", "https://x/events", body=[{"drop": 1}])[::2] == (200, {"refused": []})
    assert [(loss.what, loss.rule) for loss in held.losses] == [("refused", "x.name"), ("dropped", "x.drop")]
    assert held.held()["events"] == []

    assert server(tmp_path, "strict").answer("POST", "https://x/event", body={"name": "a"})[0] == 422
    assert server(tmp_path, "answers").answer("POST", "https://x/event", body={"name": "long"})[0] == 200


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("{on: events, at: a}", "exactly one condition, not none"),
        ("{on: events, at: a, is: text, most: letters}", "exactly one condition, not is, most"),
        ("{on: events, at: a, is: txet}", "no format is called 'txet'"),
        ("{on: events, at: a, most: leters}", "no measure is called 'leters'"),
        ("{on: events, at: a, is: text, becomes: lowr}", "no conversion is called 'lowr'"),
        ("{on: events, at: a, most: letters, limit: other}", "limit is not a number"),
        ("{on: events, at: a, among: true}", "does not list values"),
        ("{on: events, at: a, is: text, form: gone}", "no answer is called 'gone'"),
    ],
)
def test_a_check_that_cannot_run_does_not_load(tmp_path: Path, check: str, message: str) -> None:
    """Mistakes in the file are reported with their place, not when an event arrives."""
    file = tmp_path / "facts.yaml"
    file.write_text(
        "sources: {page: {title: t, checked: 2026-11-01}}\nanswers: {refused: {status: 400}}\nrules:\n"
        f"  - {{id: x.a, effect: refused, says: s, confidence: doc, source: page, checks: [{check}]}}\n"
    )
    with pytest.raises(ConfigError, match=message) as error:
        load_rules(file)
    assert "facts.yaml:4" in str(error.value)
