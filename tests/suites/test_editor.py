"""The schema for editors shows mistakes before a run, and accepts every suite of this project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from svctoolkit import runner, yamlfile

SUITES = Path(__file__).parent.parent.parent / "suites"
HEAD = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in, webhookMethod: POST}}
sources: {web: {destinations: [hook]}}
freeze: {time: 2026-01-01T12:00:00Z, ids: sequence}
recorder: {hook: [{status: 503}, {status: 200, delay: 10ms}]}
never: ["4111", {key: password}]
always: {delivered: {headers: {a: {$absent: false}}}}
exact: [delivered]
scenarios:
  - name: a
    source: web
    setup: [{type: identify, userId: u}]
    limit: 20s
    calls: [{track: {name: A, properties: {n: 1}}}, {identify: [u1, {plan: pro}]}, {reset: null}]
    expect:
      response: {status: 200}
      delivered: {hook: [{method: POST, body: {id: {$regex: "^o"}, n: {$approx: 1, $tol: 0.1}, $os: x}}]}
      attempts: [{status: 503}, {status: 200, after: 500ms}]
      failed: any
      dropped: []
"""
MISTAKES = [
    ("$regex:", "$regexx:"),
    ("$approx: 1", "$approx: one"),
    ("$tol: 0.1", "$tol: -1"),
    ("$absent: false", "$absent: maybe"),
    ('$regex: "^o"', '$length: "^o"'),
    ('$regex: "^o"', "$type: uid"),
    ('$regex: "^o"', '$regex: "^o", other: 1'),
    ("type: WEBHOOK", "type: WEBHOK"),
    ("webhookUrl:", "webhookUrll:"),
    ("webhookMethod: POST", "webhookMethod: POTS"),
    ("{destinations: [hook]}", "{destination: [hook]}"),
    ("{track: {name", "{trak: {name"),
    ("{name: A, properties", "{nam: A, properties"),
    ("{method: POST", "{metod: POST"),
    ("response: {status", "response: {stauts"),
    ("failed: any", "failed: anny"),
    ("attempts: [{status: 503}", "attempts: [{statuss: 503}"),
    ("delay: 10ms", "delay: soon"),
    ("ids: sequence", "ids: sequential"),
    ("[{status: 503}, {status: 200, delay", "[{status: 5003}, {status: 200, delay"),
    ("limit: 20s", "limit: long"),
    ("exact: [delivered]", "exact: [deliverd]"),
    ("    expect:", "    expects:"),
    ("delivered: {hook", "deliverd: {hook"),
    ("- name: a", "- nme: a"),
]


@pytest.fixture(scope="module")
def validator() -> Any:
    return jsonschema_rs.validator_for(runner.editor_schema())


@pytest.mark.parametrize(("right", "wrong"), MISTAKES)
def test_the_schema_finds_each_mistake(validator: Any, right: str, wrong: str) -> None:
    """Each is one change to a valid suite."""
    assert right in HEAD
    assert not validator.is_valid(yamlfile.load(HEAD.replace(right, wrong), name="s").data)


def test_the_schema_accepts_valid_suites(validator: Any) -> None:
    """The suite that the mistakes are based on, and every suite of this project."""
    files = sorted(SUITES.rglob("*.suite.yaml"))

    assert files
    for data in (yamlfile.load(HEAD, name="s").data, *(yamlfile.load(file).data for file in files)):
        assert [str(error) for error in validator.iter_errors(data)] == []


def properties(schema: Any) -> Iterator[tuple[str, Any]]:
    for name, definition in schema["$defs"].items():
        for key, part in definition.get("properties", {}).items():
            yield f"{name}.{key}", part


def test_every_property_is_described() -> None:
    """Editors show the description next to a key."""
    assert [name for name, part in properties(runner.editor_schema()) if not part.get("description")] == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("{trak: [A]}", "ServiceClient has no call 'trak'. Did you mean 'track'?"),
        ("{track: {nam: A}}", "track has no argument 'nam'. Did you mean 'name'?"),
        ("{track: {properties: {}}}", "track needs 'name'"),
        ("{reset: [1, 2, 3, 4]}", "positional arguments, got 4"),
        ("{track: A, page: B}", "a call must be one name with its arguments"),
    ],
)
def test_calls_are_checked_when_a_suite_is_read(call: str, said: str) -> None:
    """A misspelt call is reported with its position before anything runs."""
    from svctoolkit import Workspace
    from svctoolkit.errors import InvalidSuite

    hook = "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/}}}"
    workspace = Workspace.loads(f"{hook}\nsources: {{web: {{destinations: [hook]}}}}")
    with pytest.raises(InvalidSuite) as raised:
        runner.loads(f"scenarios: [{{name: a, calls: [{call}], expect: {{delivered: [{{}}]}}}}]", workspace)

    assert said in str(raised.value)
