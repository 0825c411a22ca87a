"""A scenario needs evidence: an expectation that fails if nothing arrives, or that says that nothing does.

User code drops the events of `bot`, so nothing of them arrives anywhere. Each expectation of `NOTHING` holds all the
same; next to them are those that say that it is right, and the same expectations with an event that arrives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: clean}
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}}
  mp:
    type: MP
    config: {token: t, strictMode: true, identityMergeApi: simplified}
    simulate: simulated
    transformation: clean
  kl: {type: KLAVIYO, config: {publicApiKey: p, privateApiKey: k}, simulate: simulated}
  wh: {type: POSTGRES, config: {}, transformation: clean}
sources:
  web: {destinations: [hook]}
  sim: {destinations: [mp]}
  both: {destinations: [crm, mp]}
  db: {destinations: [wh]}
transformations:
  clean:
    language: python
    code: "def transformEvent(event, metadata):\\n    return None if event.get('userId') == 'bot' else event\\n"
"""
BOT = "{type: track, event: Order, userId: bot}"
ADA = "{type: track, event: Order, userId: ada}"

#: Expectations of `sim` that hold if nothing arrives.
NOTHING = (
    "lost: []",
    "lost: {$length: {$lt: 2}}",
    "lost: {mp: []}",
    "fetched: []",
    "logs: []",
    "logs: {$not: {$contains: [failed]}}",
    "losses: []",
    "failed: []",
    "failed: any, lost: []",
    "holds: {mp: {counts: {events: {$lt: 2}}}}",
    "holds: {mp: {nobody: [{distinct_id: bob}]}}",
    "response: {status: 200}",
    "response: {status: {$lt: 300}}",
    "response: {body: {$not: {$contains: error}}}",
    "delivered: {$length: {$lte: 3}}",
    "delivered: {mp: {$length: {$lte: 3}}}",
    "delivered: {$not: {$contains: [{body: {event: X}}]}}",
    "delivered: {$each: {method: POST}, $length: {$gte: 0}}",
    "delivered: {$any: [[{path: /none}], {$length: {$lt: 5}}]}",
    "dest_transform: {$not: {$contains: [{method: GET}]}}",
    "user_transform: {$length: {$lt: 2}}",
    "attempts: {$lt: 3}",
)
#: Expectations of `sim` that say that nothing arrives, and why.
SAID = (
    "delivered: []",
    "delivered: {mp: []}",
    "delivered: {$length: 0}",
    "delivered: {$exact: []}",
    "user_transform: []",
    "dropped: [{}]",
    "dropped: {by: user_transform}",
    "dropped: {$length: 1}",
    "lost: [], dropped: [{}]",
)
OF_ONE = (
    "status: 200",
    "status: {$lt: 300}",
    "logs: []",
    "body: {destination: MP}",
    "headers: {content-type: {$starts: app}}",
)


def outcomes(scenarios: Mapping[str, str] | Sequence[str]) -> dict[str, str]:
    """Return why each scenario fails, by its text; an empty text if it passes."""
    rows = [f"  - {{name: a{number}, {scenario}}}\n" for number, scenario in enumerate(scenarios)]
    suite = runner.loads("scenarios:\n" + "".join(rows), Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        found = [runner.attempt(scenario, planes) for scenario in suite.scenarios]
    assert not [outcome.reason for outcome in found if outcome.reason]
    return {
        text: "" if outcome.ok else runner.explanation(outcome) for text, outcome in zip(scenarios, found, strict=True)
    }


def sends(source: str, event: str, expect: str) -> str:
    return f"source: {source}, send: {event}, expect: {{{expect}}}"


def test_what_holds_without_events_is_no_evidence() -> None:
    """Each scenario fails, says where nothing arrived and why, and what to add."""
    found = outcomes([sends("sim", BOT, expect) for expect in NOTHING])

    assert [text for text, why in found.items() if "nothing arrived at mp" not in why] == []
    assert [text for text, why in found.items() if "add `dropped: [{}]` or `delivered: []`" not in why] == []
    assert [text for text, why in found.items() if "event dropped by user_transformation" not in why] == []


def test_saying_that_nothing_arrives_is_evidence() -> None:
    assert [why for why in outcomes([sends("sim", BOT, expect) for expect in SAID]).values() if why] == []


def test_the_same_expectations_count_if_something_arrives() -> None:
    assert [why for why in outcomes([sends("sim", ADA, expect) for expect in NOTHING]).values() if why] == []


def test_what_arrives_elsewhere_does_not_count() -> None:
    """The event arrives at crm, the expectations are about mp."""
    about = [f"{{mp: {claim}}}" for claim in ("{$length: {$lt: 3}}", "{$not: {$contains: [{method: GET}]}}")]
    wrong = [f"delivered: {claim}" for claim in about] + ["holds: {mp: {counts: {events: 0}}}", "lost: []", "logs: []"]
    wrong += [
        f"delivered: {{crm: [{{method: POST}}], mp: {claim}}}" for claim in ("{$length: {$lt: 3}}", "{$type: array}")
    ]
    wrong += ["delivered: {crm: [{}]}, lost: []", "delivered: {$contains: [{}]}, holds: {mp: {counts: {events: 0}}}"]
    right = ["delivered: {crm: [{method: POST}], mp: []}", "delivered: {crm: {$length: {$lt: 3}}}"]
    right += [
        "delivered: [{destination: crm}], lost: []",
        "dropped: [{destination: mp}], lost: [], delivered: {crm: [{}]}",
    ]
    right += ["delivered: {$length: 1}, holds: {mp: {counts: {events: 0}}}", "delivered: {crm: [{}]}, failed: []"]
    found = outcomes([sends("both", BOT, expect) for expect in (*wrong, *right)])

    assert ["nothing arrived at mp" in why for why in found.values()] == [True] * len(wrong) + [False] * len(right)
    assert [why for why in list(found.values())[len(wrong) :] if why] == []


def test_an_empty_warehouse_is_no_evidence() -> None:
    empty = (
        *("warehouse: {wh: {discards: [], losses: []}}", "warehouse: {losses: []}"),
        "warehouse: {wh: {sql: {query: select 1 as a where false, rows: []}}}",
    )
    found = outcomes([sends("db", BOT, expect) for expect in empty])
    full = outcomes([sends("db", ADA, expect) for expect in empty])

    assert ["nothing arrived at wh" in why for why in found.values()] == [True] * len(empty)
    assert [why for why in full.values() if why] == []


def test_the_test_api_and_transformations_need_evidence_too() -> None:
    verify = "destination: mp, event: %s, expect: {%s}"
    code = "transformation: clean, event: %s, expect: {%s}"
    of_code = ("logs: []", "losses: []", "user_transform: {$length: {$lt: 3}}")
    found = outcomes([*(verify % (BOT, e) for e in OF_ONE), *(code % (BOT, e) for e in of_code)])
    arrived = outcomes([*(verify % (ADA, e) for e in OF_ONE), code % (ADA, "logs: []")])
    said = outcomes(
        [
            verify % (BOT, "user_transform: {error: event dropped by user_transformation}"),
            verify % (BOT, "user_transform: {error: {$type: string}}"),
            code % (BOT, "user_transform: []"),
        ]
    )

    assert [text for text, why in found.items() if "nothing arrived" not in why] == []
    assert [why for why in (*arrived.values(), *said.values()) if why] == []


def test_each_step_with_expectations_needs_evidence() -> None:
    """What an earlier step sent is no evidence of a later one, nor are the rows that it left."""
    first = f"{{source: sim, send: {ADA}, expect: {{delivered: [{{}}]}}}}"
    idle = [
        f"{{source: sim, send: {BOT}, expect: {{{e}}}}}" for e in ("lost: []", "holds: {mp: {counts: {events: 1}}}")
    ]
    said = [
        f"{{source: sim, send: {BOT}, expect: {{delivered: []}}}}",
        f"{{source: sim, send: {BOT}, expect: {{dropped: [{{}}], holds: {{mp: {{counts: {{events: 1}}}}}}}}}}",
    ]
    found = outcomes([f"steps: [{first}, {second}]" for second in (*idle, *said)])

    assert ["nothing arrived at mp" in why for why in found.values()] == [True, True, False, False]
    assert [why for why in list(found.values())[2:] if why] == []


def test_what_a_scenario_is_given_is_no_evidence() -> None:
    """`holds` would find the given profile even if nothing arrived."""
    given = "given: {mp: {profiles: [{ids: {distinct_id: ada}, attributes: {plan: pro}}]}}, "
    holds = "holds: {mp: {profiles: [{ids: {distinct_id: ada}}], counts: {profiles: 1}}}"
    (why,) = outcomes([given + sends("sim", BOT, holds)]).values()

    assert "nothing arrived at mp" in why


#: Scenarios with a name that none of their steps reaches, and what the rejection says.
UNREACHED = {
    "holds: {kl: {counts: {events: 0}}}": "no step of this scenario sends to 'kl'. It sends to mp.",
    "holds: {kl: {nobody: [{email: ada@x.example}]}}": "no step of this scenario sends to 'kl'. It sends to mp.",
    "lost: {kl: []}": "no step of this scenario sends to 'kl'. It sends to mp.",
    "warehouse: {wh: {discards: [], losses: []}}": "no step of this scenario sends to 'wh'. It sends to mp.",
    "warehouse: {losses: []}": "no step of this scenario sends to 'wh'. It sends to mp.",
    "violations: []": "the source 'sim' has no tracking plan",
    "holds: {mp: {nobody: [{distinctid: u1}]}}": "a profile of MP has no id 'distinctid': it has distinct_id. Did you",
    "holds: {mp: {nobody: [{external_id: u1}]}}": "a profile of MP has no id 'external_id': it has distinct_id.",
    "delivered: [{}]}, given: {kl: {profiles: []}": "no step of this scenario sends to 'kl'. It sends to mp.",
    "delivered: [{}]}, recorder: {hook: {status: 500}": "no step of this scenario sends to 'hook'. It sends to mp.",
    "delivered: [{}]}, faults: {destinations: {kl: {latency: 1}}": "no step of this scenario sends to 'kl'.",
    "delivered: [{}]}, faults: {sources: {web: {latency: 1}}": "no step of this scenario sends from 'web'. It sends "
    "from sim.",
}


def rejection(text: str) -> str:
    with pytest.raises(InvalidSuite) as caught:
        runner.loads(text, Workspace.loads(WORKSPACE))
    return str(caught.value)


@pytest.mark.parametrize(("claim", "text"), UNREACHED.items(), ids=str)
def test_what_no_step_reaches_is_rejected(claim: str, text: str) -> None:
    assert text in rejection(f"scenarios:\n  - {{name: a, {sends('sim', ADA, claim)}}}\n")


def test_lost_needs_a_simulated_destination_that_is_reached() -> None:
    (text,) = rejection(f"scenarios:\n  - {{name: a, {sends('web', ADA, 'lost: []')}}}\n").splitlines()

    assert "no destination that this scenario sends to is simulated, so nothing can be lost: set `simulate" in text


@pytest.mark.parametrize("claim", ["lost: []", "holds: {mp: {counts: {events: 0}}}", "lost: {mp: []}"])
def test_an_event_that_is_only_mapped_reaches_no_simulated_server(claim: str) -> None:
    verify = f"  - {{name: a, destination: mp, event: {ADA}, expect: {{{claim}}}}}\n"

    assert "add `stages: {send_to_destination: true}`" in rejection(f"scenarios:\n{verify}")


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("lost: forbid", "1:1: no scenario of this suite sends to a simulated destination, so nothing can be lost"),
        ("violations: forbid", "1:1: no source that this suite sends from has a tracking plan"),
        ("given: {kl: {profiles: []}}", "1:9: no scenario of this suite sends to 'kl'"),
    ],
)
def test_settings_of_a_suite_must_apply_to_a_scenario(head: str, text: str) -> None:
    scenario = f"scenarios:\n  - {{name: a, {sends('web', ADA, 'delivered: [{}]')}}}\n"

    assert text in rejection(f"{head}\n{scenario}")


def test_a_raw_request_may_reach_any_destination() -> None:
    request = "request: {path: /v1/track, auth: {source: web}, json: {userId: ada, event: A}}"
    scenario = f"scenarios:\n  - {{name: a, {request}, expect: {{status: 200, lost: []}}}}\n"

    runner.loads(f"lost: forbid\n{scenario}", Workspace.loads(WORKSPACE))


def test_a_repeat_that_is_dropped_lacks_no_required_value() -> None:
    """It does not arrive, so that a policy about what arrives holds."""
    policies = "policies: [{required: {event: Order, at: {hook: [properties.a]}}}]\n"
    workspace = Workspace.loads(
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}\n"
        f"sources: {{web: {{destinations: [hook]}}}}\n{policies}"
    )
    event = "type: track, event: Order, userId: u, messageId: m, properties"
    repeated = "{delivered: [], dropped: [{reason: {$contains: same messageId}}]}"

    def ok(wait: str, expect: str) -> bool:
        steps = (
            f"{{send: {{{event}: {{a: 1}}}}, expect: {{delivered: [{{}}]}}}}",
            f"{{wait: {wait}, send: {{{event}: {{b: 1}}}}, expect: {expect}}}",
        )
        suite = runner.loads(f"scenarios: [{{name: a, source: web, steps: [{', '.join(steps)}]}}]\n", workspace)
        with runner.open_planes(limit=60) as planes:
            return runner.attempt(suite.scenarios[0], planes).ok

    assert ok("10m", repeated)
    assert not ok("2h", "{delivered: [{}]}")  # it arrives without the value
