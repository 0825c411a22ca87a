"""Requests and log lines of user code can be scripted, checked and searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.delivery import Answer, Recorder
from svctoolkit.errors import InvalidSuite
from svctoolkit.pytest_plugin import assert_fetched, assert_logged

WORKSPACE = """
transformations:
  crm:
    language: javascript
    code: |
      export async function transformEvent(event) {
        log("looking up", event.userId);
        let plan;
        for (let attempt = 0; attempt < 2 && !plan; attempt++) {
          try {
            const answer = await fetchV2("https://crm.example/lookup?id=" + event.userId,
              { method: "POST", body: JSON.stringify({ id: event.userId }) });
            if (answer.status === 200) plan = answer.body.plan;
          } catch (error) { log("failed") }
        }
        return { ...event, userId: "someone", properties: { plan: plan || "unknown" } };
      }
  quick:
    language: python
    code: |
      def transformEvent(event, metadata):
          log("plan", fetch("https://crm.example/plan"))
          return event
destinations:
  hook: {type: WEBHOOK, transformation: crm, config: {webhookUrl: https://hook.example/in}}
  plain: {type: WEBHOOK, config: {webhookUrl: https://plain.example/in}}
sources: {web: {destinations: [hook]}, both: {destinations: [hook, plain]}}
"""
EVENT = "{type: track, event: A, userId: u1}"
SENT = "expect: {delivered: [{}]}"
PRO = "{body: {plan: pro}}"
URL = '"https://crm.example/lookup"'


def workspace() -> Workspace:
    return Workspace.loads(WORKSPACE)


def outcome(scenario: str, head: str = "", repeat: int = 1) -> runner.Outcome:
    """Return the first outcome that is not ok, or else the last."""
    suite = runner.loads(f"{head}scenarios:\n  - {{name: a, {scenario}}}\n", workspace())
    with runner.open_planes(limit=60) as planes:
        found = [o for o in runner.run(suite.scenarios * repeat, planes) if isinstance(o, runner.Outcome)]
    return next((o for o in found if not o.ok), found[-1])


@pytest.mark.parametrize("freeze", ["", "freeze: {time: 2026-01-01T12:00:00Z}, "])
@pytest.mark.parametrize(
    "scenario",
    [
        f"source: web, recorder: {{{URL}: [{{status: 503}}, {PRO}]}}, send: {EVENT}, expect: {{"
        "delivered: [{body: {properties: {plan: pro}}}], logs: [looking up u1], fetched: ["
        "{method: POST, url: https://crm.example/lookup?id=u1, path: /lookup, query: {id: u1}, body: {id: u1}, "
        "status: 503, transformation: crm, destination: hook}, {status: 200, response: {plan: pro}}]}",
        f"source: web, recorder: {{{URL}: [{{close: true}}, {PRO}]}}, send: {EVENT}, expect: {{"
        "delivered: [{body: {properties: {plan: pro}}}], logs: [looking up u1, failed], "
        "fetched: [{status: {$absent: true}}, {status: 200}]}",
        f"source: both, recorder: {{'https://crm.example': {PRO}}}, send: {EVENT}, expect: {{"
        "logs: {hook: [{level: info, text: looking up u1}]}, fetched: {hook: {status: 200}, plain: []}}",
        f"destination: hook, recorder: {{{URL}: {PRO}}}, event: {EVENT}, expect: {{"
        "user_transform: {properties: {plan: pro}}, fetched: [{status: 200}], logs: {$contains: [looking up u1]}}",
        f"transformation: crm, recorder: {{{URL}: {PRO}}}, event: [{EVENT}, {{type: track, userId: u2}}], expect: {{"
        "user_transform: [{}, {}], logs: [looking up u1, looking up u2], "
        "fetched: [{query: {id: u1}}, {query: {id: u2}}]}",
        "transformation: quick, recorder: {'https://crm.example/plan': {body: gold}}, event: {type: page}, "
        "expect: {user_transform: {type: page}, logs: [plan ERROR], fetched: [{response: gold}]}",
    ],
)
def test_requests_are_scripted_and_checked(freeze: str, scenario: str) -> None:
    """In each kind of scenario, as often as it runs."""
    found = outcome(freeze + scenario, repeat=3)

    assert found.ok, runner.explanation(found)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"source: web, recorder: {{{URL}: [{PRO}, {PRO}]}}, send: {EVENT}, {SENT}", "used 1 of"),
        (f"source: web, recorder: {{{URL}x: {PRO}}}, send: {EVENT}, expect: {{delivered: [{{}}]}}", "used 0 of its 1"),
        (f"source: web, send: {EVENT}, expect: {{fetched: []}}", "fetched: expected 0 elements, got 2"),
        (f"source: web, send: {EVENT}, expect: {{logs: []}}", "logs: expected 0 elements, got 1"),
        (f"source: web, send: {EVENT}, expect: {{fetched: [{{url: x}}, {{}}]}}", "fetched.0.url"),
        (f"source: web, send: {EVENT}, never: [{{$regex: 'id=u1'}}], {SENT}", "fetched.hook.0.url"),
        (f"source: web, send: {EVENT}, never: [looking up], expect: {{delivered: [{{}}]}}", "logs.hook.0.text"),
        (f"destination: hook, event: {EVENT}, never: [looking up], expect: {{status: 200}}", "logs.hook.0.text"),
        (f"transformation: crm, event: {EVENT}, never: [u1], expect: {{user_transform: [{{}}]}}", "fetched.crm.0.url"),
        (f"source: web, recorder: {{{URL}: {{delay: 3s}}}}, send: {EVENT}, expect: {{delivered: [{{}}]}}", "timed out"),
    ],
)  # fmt: skip
def test_what_differs_fails(scenario: str, said: str) -> None:
    """Unused answers, other requests, leaks into requests and logs, and delays beyond the time of a call."""
    found = outcome(scenario.replace('"x', 'x"'))

    assert not found.ok
    assert said in runner.explanation(found)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (f"source: web, recorder: {{'https://': {PRO}}}, send: {EVENT}, {SENT}", "not a valid URL"),
        (f"source: web, send: {EVENT}, expect: {{fetched: [{{urll: x}}]}}", "no member 'urll'. Did you mean 'url'"),
        (f"destination: plain, event: {EVENT}, expect: {{logs: [], status: 200}}", "'plain' has no transformation"),
        (f"source: both, send: {EVENT}, expect: {{fetched: {{hok: []}}}}", "hok"),
    ],
)  # fmt: skip
def test_expectations_that_prove_nothing_are_errors(scenario: str, said: str) -> None:
    """With a suggestion."""
    with pytest.raises(InvalidSuite, match=said):
        outcome(scenario)


def test_a_suite_can_script_requests_for_all_scenarios() -> None:
    """Like the answers of destinations."""
    found = outcome(
        f"source: web, send: {EVENT}, expect: {{delivered: [{{body: {{properties: {{plan: pro}}}}}}]}}",
        head=f"recorder: {{{URL}: {PRO}}}\n",
    )

    assert found.ok, runner.explanation(found)


def test_many_requests_of_one_call_get_the_answers_in_order() -> None:
    """Twenty events of one call: the answers fit the events in every run."""
    shop = workspace()
    with DataPlane(shop, listen=False) as plane:
        plane.script("https://crm.example/", *(Answer(body={"plan": f"p{n}"}) for n in range(20)))
        plane.send([{"type": "track", "event": "A", "userId": f"u{n}"} for n in range(20)], source="web")
        plane.drain(60)
        plans = [(r.json["id"], r.response.body) for r in plane.fetched if r.response]  # type: ignore[index,call-overload]

    assert plans == [(f"u{n}", b'{"plan":"p%d"}' % n) for n in range(20)]


def test_the_helpers_of_pytest_check_requests_and_logs() -> None:
    """`data_plane.script(URL, ...)`, `assert_fetched` and `assert_logged`."""
    with DataPlane(workspace(), listen=False) as plane:
        plane.script("https://crm.example/lookup", Answer(503), Answer(body={"plan": "pro"}))
        plane.send({"type": "track", "event": "A", "userId": "u1"}, source="web", run="r")

        assert_fetched(plane, {"status": 503}, {"response": {"plan": "pro"}}, timeout=60)
        assert_fetched(plane, {"status": 200}, at_least=True)
        assert_logged(plane, "looking up u1", run="r")
        assert_logged(plane, {"level": "info", "text": {"$starts": "looking"}})
        with pytest.raises(AssertionError, match="no event has arrived"):
            assert_fetched(plane, run="other")
        with pytest.raises(AssertionError, match="fetched"):
            assert_fetched(plane)
        with pytest.raises(AssertionError, match="logs"):
            assert_logged(plane, "something else")
        plane.reset()
        for nothing in (assert_fetched, assert_logged):
            with pytest.raises(AssertionError, match="no event has arrived"):
                nothing(plane)


def test_a_transformation_in_python_can_have_its_own_recorder() -> None:
    """`Transformation.run(event, recorder=...)`: scripted answers, and what was requested."""
    recorder = Recorder()
    recorder.answer("crm.example", Answer(503), Answer(body={"plan": "pro"}))
    output = workspace().transformation("crm").run({"type": "track", "userId": "u1"}, recorder=recorder)

    assert output.events[0]["properties"] == {"plan": "pro"}
    assert [request.response.status for request in recorder.fetched if request.response] == [503, 200]
    assert [log.text for log in output.logs] == ["looking up u1"]


def test_secrets_in_requests_and_logs_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in a failure nor in the log lines."""
    monkeypatch.setenv("CRM_KEY", "sesame-3141592")
    text = WORKSPACE.replace('"looking up", event.userId', 'getCredential("key")')
    (tmp_path / "workspace.yaml").write_text(f"credentials: {{key: $(env:CRM_KEY)}}\n{text}", encoding="utf-8")
    shop = Workspace.load(tmp_path / "workspace.yaml")
    suite = runner.loads(f"scenarios:\n  - {{name: a, source: web, send: {EVENT}, expect: {{logs: []}}}}\n", shop)
    with runner.open_planes(limit=60) as planes:
        said = runner.explanation(runner.attempt(suite.scenarios[0], planes))

    assert "logs: expected 0 elements, got 1" in said
    assert "sesame" not in said
