"""Each expected row or element needs one of its own, and lists are complete unless they say otherwise."""

from __future__ import annotations

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite
from svctoolkit.expect.pairing import pair
from svctoolkit.runner import differences

WORKSPACE = """
destinations:
  mp: {type: MP, config: {token: t, strictMode: true, identityMergeApi: simplified}, simulate: simulated}
  wh: {type: POSTGRES, config: {}}
sources: {sim: {destinations: [mp]}, db: {destinations: [wh]}}
"""
ONE = "{type: track, event: A, userId: u1, properties: {n: 1}}"
TWO = f"[{ONE}, {{type: track, event: A, userId: u2, properties: {{n: 2}}}}]"
TABLE = "source: db, send: %s, expect: {warehouse: {wh: {a: %s}}}"
HELD = "source: sim, send: %s, expect: {holds: {mp: {events: %s}}}"

FAILS = {
    HELD % (ONE, "[{name: A}, {name: A}, {name: A}]"): "mp: 1 event held, and each of 3 expected rows needs its own",
    HELD % (ONE, "[{name: A}, {}]"): "each of 2 expected rows needs its own: none is left for {}",
    HELD % (TWO, "[{name: A}]"): "mp: 2 events held, not 1; also {",
    HELD % (TWO, "{$contains: [{name: A}, {name: A}, {name: A}]}"): "each expected element needs one of its own",
    HELD % (TWO, "{$length: 1}"): "mp: events: expected a length of 1, got 2",
    HELD % (ONE, "[]"): "mp: 1 event held, not 0",
    TABLE % (TWO, "[{n: 1}, {n: 1}]"): "warehouse.wh.a.1.n: expected 1",
}
#: In these, only one of the possible pairings is complete.
PASSES = (
    HELD % (TWO, "[{name: A}, {name: A}]"),
    HELD % (TWO, "[{name: A}, {properties: {n: 1}}]"),
    HELD % (TWO, "[{}, {properties: {n: 1}}]"),
    HELD % (TWO, "{$contains: [{properties: {n: 2}}]}"),
    HELD % (TWO, "{$each: {name: A}}"),
    TABLE % (TWO, "[{event: a}, {n: 1}]"),
    TABLE % (TWO, "[{n: {$gte: 1}}, {n: 1}]"),
)


def test_suites_pair_rows() -> None:
    rows = [f"  - {{name: a{number}, {scenario}}}\n" for number, scenario in enumerate([*FAILS, *PASSES])]
    suite = runner.loads("scenarios:\n" + "".join(rows), Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        outcomes = [runner.attempt(scenario, planes) for scenario in suite.scenarios]
    texts = ["" if outcome.ok else runner.explanation(outcome) for outcome in outcomes]

    assert [(want, got) for want, got in zip(FAILS.values(), texts, strict=False) if want not in got] == []
    assert [text for text in texts[len(FAILS) :] if text] == []


def test_a_table_of_holds_is_a_list_or_matchers() -> None:
    with pytest.raises(InvalidSuite, match=r"must be a list of rows, or \{\$contains: \[\.\.\.\]\}"):
        runner.loads(f"scenarios:\n  - {{name: a, {HELD % (ONE, '{name: A}')}}}\n", Workspace.loads(WORKSPACE))


@pytest.mark.parametrize(
    ("expected", "actual", "fits"),
    [
        ({"$contains": [{"sku": "a"}, {"q": 1}]}, [{"sku": "a", "q": 1}], False),
        ({"$contains": [{"sku": "a"}, {"q": 1}]}, [{"sku": "a", "q": 1}, {"sku": "a"}], True),
        ({"$contains": [{}, {"q": 1}, {"sku": "a"}]}, [{"q": 1, "sku": "a"}, {"q": 1}, {"sku": "b"}], True),
        ({"$contains": ["vip", "vip"]}, ["vip", "new"], False),
        ({"$unordered": [{}, {"q": 1}, {"sku": "a"}]}, [{"q": 1, "sku": "a"}, {"q": 1}, {"sku": "b"}], True),
        ({"$unordered": [{}, {}]}, [{}], False),
    ],
    ids=str,
)
def test_lists_are_paired_one_to_one(expected: dict[str, object], actual: list[object], fits: bool) -> None:
    assert (differences(expected, actual) == []) is fits


def test_long_lists_are_paired() -> None:
    """Every pair has to give way to the last expectation, more often than Python functions may call themselves."""
    many = 5000

    pairs = pair([*([number, number + 1] for number in range(many)), [0]])

    assert pairs == {many: 0, **{number: number + 1 for number in range(many)}}
