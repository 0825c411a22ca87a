"""One destination can be tested alone, whatever happens at the others of its source."""

from __future__ import annotations

import base64

import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.errors import InvalidSuite

WORKSPACE = """
transformations:
  noisy: {language: javascript, code: "export function transformEvent(e) { log('work'); return e }"}
  broken: {language: javascript, code: "export function transformEvent(e) { throw new Error('no') }"}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in, headers: [{from: x-key, to: k1}]}}
  loud: {type: WEBHOOK, transformation: noisy, config: {webhookUrl: https://loud.example/in}}
  bad: {type: WEBHOOK, transformation: broken, config: {webhookUrl: https://bad.example/in}}
  wh: {type: POSTGRES, config: {host: h, database: d, user: u, password: p, port: "5432", namespace: n}}
sources:
  web: {destinations: [hook, loud, bad]}
  good: {destinations: [hook, loud, wh]}
"""
EVENT = "{type: track, event: A, userId: u1}"


def outcome(scenario: str, head: str = "") -> runner.Outcome:
    suite = runner.loads(f"{head}scenarios:\n  - {{name: a, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        return runner.attempt(suite.scenarios[0], planes)


@pytest.mark.parametrize("freeze", ["", "freeze: {ids: sequence}, "])
@pytest.mark.parametrize(
    "scenario",
    [
        f"source: web, destination: hook, send: {EVENT}, expect: {{delivered: [{{}}]}}",
        f"source: web, only: hook, send: {EVENT}, expect: {{delivered: [{{}}]}}",
        f"source: web, only: [hook, loud], send: {EVENT}, expect: {{delivered: {{hook: [{{}}], loud: [{{}}]}}}}",
        "source: web, only: hook, calls: [{track: {name: A}}], expect: {delivered: [{body: {event: A}}]}",
        f"source: web, only: hook, steps: [{{send: {EVENT}, expect: {{delivered: [{{}}]}}}}, "
        f"{{only: bad, send: {EVENT}, expect: {{delivered: [], failed: [{{destination: bad}}]}}}}]",
        f"source: web, send: {EVENT}, expect: {{failed: {{bad: [{{error: {{$contains: 'no'}}}}]}}}}",
        f"source: web, send: {EVENT}, expect: {{failed: [{{destination: bad}}]}}",
        f"source: web, only: hook, never: [work], send: {EVENT}, expect: {{delivered: [{{}}]}}",
    ],
)
def test_failures_of_other_destinations_do_not_count(freeze: str, scenario: str) -> None:
    """With `only`, or with a `destination`; without them, `failed` names the failures of each destination."""
    found = outcome(freeze + scenario)

    assert found.ok, runner.explanation(found)


@pytest.mark.parametrize(
    "scenario",
    [
        f"source: web, send: {EVENT}, expect: {{delivered: {{hook: [{{}}]}}}}",
        f"source: web, destination: bad, send: {EVENT}, expect: {{delivered: []}}",
        f"source: web, only: [hook, bad], send: {EVENT}, expect: {{delivered: {{hook: [{{}}]}}}}",
    ],
)
def test_failures_of_the_destinations_under_test_count(scenario: str) -> None:
    """As before."""
    assert "no" in runner.explanation(outcome(scenario))


def test_other_destinations_do_no_work() -> None:
    """The data plane does not even route the event to them."""
    suite = runner.loads(
        f"scenarios:\n  - {{name: a, source: web, destination: hook, send: {EVENT}, expect: {{delivered: [{{}}]}}}}\n",
        Workspace.loads(WORKSPACE),
    )
    with DataPlane(Workspace.loads(WORKSPACE), listen=False) as plane:
        headers = {
            "authorization": f"Basic {base64.b64encode(plane.write_key('web').encode() + b':').decode()}",
            "content-type": "application/json",
            "x-svctoolkit-only": "hook",
        }
        body = b'{"batch": [{"type": "track", "event": "A", "userId": "u1"}]}'
        assert plane.ingest("POST", "/v1/batch", headers=headers, body=body).status == 200
        plane.drain(60)
        assert [fate.destination for fate in plane.fates] == ["hook"]
        assert plane.logs == []
    with runner.open_planes(limit=60) as planes:
        assert runner.attempt(suite.scenarios[0], planes).ok


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"source: web, only: wh, send: {EVENT}, expect: {{delivered: []}}", "not connected to 'wh'"),
        (f"source: web, only: hok, send: {EVENT}, expect: {{delivered: []}}", "Did you mean 'hook'"),
        (f"source: web, only: hook, destination: hook, send: {EVENT}, expect: {{delivered: [{{}}]}}", "exclude each"),
        (f"source: web, only: hook, event: {EVENT}, expect: {{status: 200}}", "events that are sent"),
        (f"source: web, only: hook, recorder: {{loud: {{}}}}, send: {EVENT}, expect: {{delivered: [{{}}]}}", "'loud'"),
    ],
)
def test_a_wrong_only_is_an_error(scenario: str, said: str) -> None:
    """With a suggestion."""
    with pytest.raises(InvalidSuite, match=said):
        outcome(scenario)


KEYED = "always: {delivered: {hook: {headers: {x-key: k1}}}}\n"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (KEYED, ""),
        (KEYED.replace("k1", "k2"), "delivered.hook.0.headers.x-key"),
        ("always: {delivered: {headers: {content-type: {$starts: application/json}}}}\n", ""),
        ("always: {delivered: {wh: {headers: {x: {$absent: false}}}}}\n", "delivered.wh.0"),
        ("always: {dest_transform: {method: POST}}\n", ""),
    ],
)
def test_always_can_be_said_of_one_destination_and_ignores_warehouses(head: str, said: str) -> None:
    """A LOAD is not a request, unless the rule names the warehouse."""
    found = outcome(f"source: good, send: {EVENT}, expect: {{delivered: {{hook: [{{}}], loud: [{{}}]}}}}", head)

    assert found.ok == (not said), runner.explanation(found)
    assert said in runner.explanation(found)


@pytest.mark.parametrize(
    ("expect", "passes"),
    [
        ("{delivered: {$only: {hook: [{}], loud: [{}]}}}", True),
        ("{delivered: {$only: {hook: [{}]}}}", False),
        ("{delivered: {$only: {hook: [{}], loud: [{}], wh: {$length: {$gte: 1}}}}}", True),
    ],
)
def test_only_ignores_warehouses(expect: str, passes: bool) -> None:
    """`$only` excludes other destinations that get requests; a warehouse may be named."""
    found = outcome(f"source: good, send: {EVENT}, expect: {expect}")

    assert found.ok == passes, runner.explanation(found)


def test_a_warehouse_can_be_checked_beside_a_destination() -> None:
    """A step that expects tables sends to the warehouse, too."""
    found = outcome(
        f"source: good, destination: hook, send: {EVENT}, "
        "expect: {delivered: [{}], warehouse: {wh: {a: [{event: a}]}}}"
    )

    assert found.ok, runner.explanation(found)
