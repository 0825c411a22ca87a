"""The schema for editors shows mistakes before a run, and accepts every suite of this project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from svctoolkit import runner, yamlfile
from svctoolkit.cli import main

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


#: A suite and, in `WORKSPACE`, what it uses. Each mistake is one that was made while suites were written.
SHOP = """
workspace: workspace.yaml
fixtures: {order: {type: track, event: Order Done, userId: u1}}
defaults: {source: web}
trackingPlans: {extra: {file: plan.json, strict: false}}
recorder: {hook: {status: 202}}
scenarios:
  - name: a
    source: web
    destination: hook
    destinationConfig: {webhookMethod: POST}
    send: [{type: track, event: Order Done, userId: u1}, {$use: order, $set: {userId: u2}}]
    expect:
      delivered: [{body: {event: Order Done}}, {body: {$conforms: Order Done}}]
      warehouse: {wh: {orders: [{id: 1}], columns: {orders: {id: int}}, discards: [], sql: {query: select 1, rows: []}}}
"""
WORKSPACE = """
destinations:
  hook: {id: d-1, type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  wh: {type: POSTGRES, config: {}}
sources: {web: {destinations: [hook, wh], trackingPlan: shop}}
trackingPlans: {shop: {file: plan.json}}
"""
NAMED_MISTAKES = [
    ("defaults: {source: web}", "defaults: {source: wbe}"),
    ("    source: web", "    source: wep"),
    ("destination: hook", "destination: hok"),
    ("recorder: {hook:", "recorder: {hooc:"),
    ("$use: order", "$use: ordre"),
    ("event: Order Done, userId: u1}, {$use", "event: Order Dnoe, userId: u1}, {$use"),
    ("$conforms: Order Done", "$conforms: Order Paid"),
]
GENERAL_MISTAKES = [
    ("{type: track, event: Order Done, userId: u1}, {$use", "{type: trak, event: Order Done, userId: u1}, {$use"),
    ("    send:", "    event: {type: track}\n    send:"),
    ("file: plan.json", "fiel: plan.json"),
    ("strict: false", "strict: no thanks"),
    ("columns: {orders", "colums: {orders"),
    ("columns: {orders: {id: int}}", "columns: {orders: int}"),
    ("discards: []", "discads: []"),
    ("sql: {query:", "sql: {qery:"),
]
SETTINGS = [
    ("webhookUrl: https://hook.example/in", "webhookUrl: [https://hook.example/in]"),
    ("webhookUrl: https://hook.example/in", "webhookUrl: {a: b}"),
    ("webhookMethod: POST", "webhookMethod: [POST]"),
]


@pytest.fixture
def named(tmp_path: Path) -> Any:
    """The schema with the names of a workspace, as `svctoolkit schema suite --workspace` writes it."""
    plan = '{"id": "tp", "events": [{"name": "Order Done", "eventType": "track", "rules": {"type": "object"}}]}'
    (tmp_path / "plan.json").write_text(plan, encoding="utf-8")
    (tmp_path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (tmp_path / "s.suite.yaml").write_text(SHOP, encoding="utf-8")
    out = tmp_path / "suite.schema.json"
    assert main(["schema", "suite", "--workspace", str(tmp_path / "workspace.yaml"), "-o", str(out)]) == 0
    return jsonschema_rs.validator_for(json.loads(out.read_text(encoding="utf-8")))


def test_names_of_a_workspace_are_checked(named: Any, validator: Any) -> None:
    """Sources, destinations, planned events and fixtures; ids and variables are accepted, and so is any other event."""

    def is_valid(schema: Any, right: str, wrong: str) -> bool:
        assert right in SHOP
        return bool(schema.is_valid(yamlfile.load(SHOP.replace(right, wrong, 1), name="s").data))

    assert [str(error) for error in named.iter_errors(yamlfile.load(SHOP, name="s").data)] == []
    assert [wrong for right, wrong in NAMED_MISTAKES if is_valid(named, right, wrong)] == []
    assert [wrong for right, wrong in NAMED_MISTAKES if not is_valid(validator, right, wrong)] == []
    assert [wrong for right, wrong in GENERAL_MISTAKES if is_valid(validator, right, wrong)] == []
    for right, wrong in (
        ("destination: hook", "destination: d-1"),
        ("destination: hook", "destination: $(where)"),
        ("recorder: {hook:", "recorder: {'https://crm.example':"),
        ("type: track, event: Order Done, userId: u1}, {", "type: track, event: Something Else, userId: u1}, {"),
        ("type: track, event: Order Done", "type: bogus, event: Order Done"),
    ):
        assert is_valid(named, right, wrong), wrong


@pytest.mark.parametrize(("right", "wrong"), SETTINGS)
def test_settings_of_the_wrong_kind_are_mistakes(validator: Any, right: str, wrong: str) -> None:
    """As the definition of the destination type says; templates of RudderStack and variables are valid everywhere."""
    assert not validator.is_valid(yamlfile.load(HEAD.replace(right, wrong), name="s").data)
    for later in ('"{{ event.url || https://hook.example }}"', "$(url)", "env.URL"):
        assert validator.is_valid(yamlfile.load(HEAD.replace("https://hook.example/in", later), name="s").data)


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
