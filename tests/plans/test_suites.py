"""Tracking plans in suites and pytest: expected and forbidden violations, matchers, coverage, assertions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.cli import main
from svctoolkit.errors import InvalidSuite
from svctoolkit.workspace import Person
from tests.plans.test_formats import PROJECT, write

SUITE = """\
sources:
  web: {destinations: [hook], trackingPlan: shop}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example"}}
trackingPlans:
  shop: {project: tracking}
"""
GOOD = {"type": "track", "event": "Order Paid", "userId": "u", "properties": {"total": 3, "method": "cash"}}
BAD = {**GOOD, "properties": {"totl": 3}}


def suite(*scenarios: tuple[Any, Any], head: str = "") -> str:
    """A suite with a scenario for each event and expectation."""
    bodies = [
        {"id": f"s{n}", "name": "s", "source": "web", "send": event, "expect": expect}
        for n, (event, expect) in enumerate(scenarios)
    ]
    return f"{SUITE}{head}scenarios: {json.dumps(bodies)}\n"


def run(folder: Path, text: str) -> tuple[list[str], str]:
    """The status of each scenario, and the messages of those that fail."""
    write(folder / "tracking", PROJECT)
    (folder / "s.suite.yaml").write_text(text, encoding="utf-8")
    with runner.open_planes(limit=60) as planes:
        notices = list(runner.run(runner.load(folder / "s.suite.yaml").scenarios, planes))
    outcomes = [notice for notice in notices if isinstance(notice, runner.Outcome)]
    failures = (runner.explanation(outcome) for outcome in outcomes if not outcome.ok)
    return [outcome.status for outcome in outcomes], "\n".join(failures)


MISSING = {"type": "Required-Missing", "property": "total"}
EXTRA = {"type": "Additional-Properties", "path": "/properties"}


def test_violations_are_compared_as_a_list(tmp_path: Path) -> None:
    """With the rules of lists: exactly these, in this order, each a subset."""
    cases: list[tuple[Any, Any, str]] = [
        (GOOD, [], "passed"),
        (BAD, [], "failed"),
        (BAD, [MISSING, EXTRA], "passed"),
        (BAD, [MISSING], "failed"),
        (BAD, {"$contains": [EXTRA]}, "passed"),
        (BAD, {"$unordered": [EXTRA, MISSING]}, "passed"),
        (GOOD, [MISSING], "failed"),
        (BAD, [MISSING, {**EXTRA, "message": {"$regex": "'totl'"}}], "passed"),
    ]
    statuses, said = run(tmp_path, suite(*((event, {"violations": operand}) for event, operand, _ in cases)))

    assert statuses == [status for _, _, status in cases]
    assert "violations: /properties: Additional-Properties: must NOT have unevaluated properties 'totl'" in said
    assert "tracking/plan.yaml:8:7) Did you mean 'total'?" in said


def test_violations_of_a_remote_data_plane_are_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--base-url`: expected and forbidden violations are those of the served data plane."""
    write(tmp_path / "tracking", PROJECT)
    scenarios: list[tuple[Any, Any]] = [
        (BAD, {"violations": [MISSING, EXTRA]}),
        (BAD, {"violations": []}),
        (GOOD, {"delivered": [{}]}),
        (BAD, {"delivered": [{}]}),
    ]
    (tmp_path / "s.suite.yaml").write_text(suite(*scenarios, head="violations: forbid\n"), encoding="utf-8")
    (tmp_path / "workspace.yaml").write_text(SUITE, encoding="utf-8")
    workspace = Workspace.load(tmp_path / "workspace.yaml")
    workspace.users.append(Person.with_token("a@b.example", "token"))
    monkeypatch.setenv("SVC_TOKEN", "token")
    options = ["--email", "a@b.example", "--report", f"json={tmp_path / 'out.json'}"]
    with DataPlane(workspace) as plane:
        code = main(["run", str(tmp_path / "s.suite.yaml"), "--base-url", plane.url, *options])

    text = "".join(capsys.readouterr())
    assert code == 1, text
    assert "2 passed, 2 failed" in text or "2 failed, 2 passed" in text, text
    assert "Required-Missing" in text
    assert "tracking/plan.yaml" in text


def test_a_suite_can_forbid_violations(tmp_path: Path) -> None:
    """In every scenario, except where violations are expected."""
    scenarios: list[tuple[Any, Any]] = [
        (GOOD, {"delivered": [{}]}),
        (BAD, {"delivered": [{}]}),
        (BAD, {"delivered": [{}], "violations": [MISSING, EXTRA]}),
    ]

    assert run(tmp_path, suite(*scenarios, head="violations: forbid\n"))[0] == ["passed", "failed", "passed"]
    assert run(tmp_path, suite(*scenarios))[0] == ["passed"] * 3


def test_conforms_checks_a_value_against_a_rule(tmp_path: Path) -> None:
    """A whole event or its properties, with the workspace's plans or another; failures name the broken rule."""
    operands = ["Order Paid", "identify", {"plan": "tracking", "event": "Order Paid"}, "Order Payed"]
    scenarios = [(GOOD, {"delivered": [{"body": {"properties": {"$conforms": operand}}}]}) for operand in operands]
    whole = (BAD, {"delivered": [{"body": {"$conforms": "Order Paid"}}]})
    statuses, said = run(tmp_path, suite(*scenarios, whole))

    assert statuses == ["passed", "passed", "passed", "failed", "failed"]
    assert "Did you mean 'Order Paid'?" in said
    assert "must have required property 'total'" in said
    assert "plan.yaml:12:11" in said


def test_schema_matches_with_a_file_next_to_the_suite(tmp_path: Path) -> None:
    """Any valid schema of the drafts 4 to 2020-12, also one that RudderStack would reject in a tracking plan."""
    draft = "https://json-schema.org/draft/{}/schema"
    old = "http://json-schema.org/draft-0{}/schema#"
    total = "properties.total: "
    schemas: list[tuple[Any, str]] = [
        ({"type": "object", "required": ["total"]}, ""),
        ({"type": "object", "required": ["event"], "x-owner": "shop"}, 'properties: "event" is a required property'),
        (
            {"properties": {"total": {"type": "string"}}},
            f'{total}3 is not of type "string" (2.json: #/properties/total',
        ),
        ({"properties": {"total": {"$ref": "0.json#/$defs/text"}}}, f'{total}3 is not of type "string"'),
        ({"$schema": old.format(4), "properties": {"total": {"minimum": 3, "exclusiveMinimum": True}}}, total),
        ({"$schema": old.format(6), "properties": {"total": {"const": 4}}}, f"{total}4 was expected"),
        ({"$schema": old.format(7), "if": {"required": ["total"]}, "then": {"maxProperties": 0}}, "properties: "),
        ({"$schema": draft.format("2019-09"), "dependentRequired": {"total": ["tax"]}}, '"tax" is a required property'),
        ({"$schema": draft.format("2020-12"), "type": "object", "unevaluatedProperties": False}, "properties: "),
        (
            {"properties": {"total": {"$dynamicRef": "#n"}}, "$defs": {"n": {"$dynamicAnchor": "n", "type": "null"}}},
            total,
        ),
    ]
    schemas[0][0]["$defs"] = {"text": {"type": "string"}}
    for n, (schema, _) in enumerate(schemas):
        (tmp_path / f"{n}.json").write_text(json.dumps(schema))
    bodies = [{"properties": {"$schema": f"{n}.json"}} for n in range(len(schemas))]
    statuses, said = run(tmp_path, suite(*((GOOD, {"delivered": [{"body": body}]}) for body in bodies)))

    assert statuses == ["failed" if text else "passed" for _, text in schemas]
    assert [text for _, text in schemas if text not in said] == []


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "every value is valid under this schema, so it proves nothing"),
        (True, "every value is valid under this schema"),
        ({"title": "Order", "properties": {"total": {"description": "in euros"}}}, "every value is valid"),
        ({"tpye": "object"}, "every value is valid under this schema, so it proves nothing. Did you mean 'type'?"),
        ({"type": "objekt"}, 's.json:1:10: not a valid JSON Schema: "objekt" is not valid under'),
        ({"$schema": "http://json-schema.org/draft-03/schema#", "type": "string"}, "Unknown meta-schema"),
        ({"$ref": "https://example.com/order.json"}, "schemas are not fetched from the network"),
        ({"$ref": "other.json"}, "other.json: cannot be read: No such file or directory"),
        (7, "s.json:1:1: a JSON Schema must be an object"),
    ],
)
def test_a_schema_that_proves_nothing_or_is_invalid_is_rejected(tmp_path: Path, schema: Any, message: str) -> None:
    """Before the run, with its position in the suite and in the file."""
    (tmp_path / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    with pytest.raises(InvalidSuite) as error:
        run(tmp_path, suite((GOOD, {"delivered": [{"body": {"properties": {"$schema": "s.json"}}}]})))

    assert "$schema s.json cannot be used: " in str(error.value)
    assert message in str(error.value)


def test_low_coverage_of_a_plan_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uncovered events, properties, values and variants; optional properties that are always present."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tracking", PROJECT)
    (tmp_path / "s.suite.yaml").write_text(suite((GOOD, {"violations": []})), encoding="utf-8")

    assert main(["run", "s.suite.yaml", "--coverage", "--fail-under", "100"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "planned events 1 of 2 missing: identify" in said
    assert "missing: Order Paid: method = card" in said
    assert "variants 0 of 1 missing: Order Paid: method is card" in said
    assert "Order Paid: method," not in said.partition("left out")[0].partition("properties")[2].partition("values")[0]


TEST = """\
import pytest
from svctoolkit.pytest_plugin import assert_conforms, assert_violations

GOOD, BAD = {good!r}, {bad!r}

def test_all(data_plane, tracking_plan):
    data_plane.send(BAD, source="web")
    assert_violations(data_plane, {{"property": "total"}}, {{"property": "totl"}})
    assert_violations(data_plane, {{"property": "totl"}}, at_least=True)
    assert_conforms(GOOD, tracking_plan)
    with pytest.raises(AssertionError, match="plan.yaml:8:7. Did you mean 'total'"):
        assert_conforms(BAD, tracking_plan)
    with pytest.raises(AssertionError):
        assert_violations(data_plane)
"""


@pytest.mark.slow
def test_pytest_has_fixtures_and_assertions(tmp_path: Path) -> None:
    """`tracking_plan`, `assert_violations`, `assert_conforms`; a failure names the rule's line."""
    write(tmp_path / "tracking", PROJECT)
    (tmp_path / "workspace.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "test_it.py").write_text(TEST.format(good=GOOD, bad=BAD), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
