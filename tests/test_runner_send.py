"""Scenarios that send events or SDK calls through the data plane to the destination."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.cli import main
from svctoolkit.errors import UsageError
from svctoolkit.runner import Outcome
from svctoolkit.server import Backoff
from svctoolkit.workspace import Person

HEAD = """\
transformations:
  clean:
    language: python
    code: |
      def transformEvent(event, metadata):
          if event.get("event") == "Internal":
              return None
          event["event"] = event["event"].lower()
          return event
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  crm: {type: WEBHOOK, transformation: clean, config: {webhookUrl: https://crm.example/in}}
sources:
  web: {destinations: [hook, crm]}
  shop: {destinations: [hook]}
"""
EVENT = "{type: track, event: Order, userId: u1, properties: {n: 1}}"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write `s.suite.yaml` in an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def written(scenarios: str, head: str = "") -> Path:
        path = Path("s.suite.yaml")
        path.write_text(f"{HEAD}{head}scenarios:\n{scenarios}", encoding="utf-8")
        return path

    return written


def outcomes(path: Path, **options: Any) -> list[Outcome]:
    with runner.open_planes(limit=60) as planes:
        found = runner.run(runner.load(path).scenarios, planes, **options)
        return [notice for notice in found if isinstance(notice, Outcome)]


def sends(expect: str, send: str = EVENT, source: str = "shop", **more: str) -> str:
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"  - {{name: a, source: {source}, send: {send}, expect: {expect}{extra}}}\n"


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (sends("{delivered: [{method: POST, url: https://hook.example/in, body: {event: Order}}]}"), ""),
        (sends("{delivered: {body: {event: Order}}}"), ""),
        (sends("{delivered: {hook: [{body: {event: Order}}]}}"), ""),
        (sends("{delivered: {$length: 1}, attempts: 1}"), ""),
        (sends("{delivered: []}"), "delivered: expected 0 elements, got 1"),
        (sends("{delivered: [{}, {}]}"), "delivered: expected 2 elements, got 1"),
        (sends("{delivered: [{body: {event: B}}, {body: {event: A}}]}",
               "[{type: track, event: A, userId: u}, {type: track, event: B, userId: u}]"),
         'delivered.0.body.event: expected "B", got "A"'),
        (sends("{delivered: {hook: [{}], crm: [{body: {event: order}}]}}", source="web"), ""),
        (sends("{delivered: [{body: {event: order}}]}", source="web", destination="crm"), ""),
        (sends("{user_transform: {crm: {event: order}, hook: {event: Order}}}", source="web"), ""),
        (sends("{dest_transform: {hook: {endpoint: https://hook.example/in}}}", source="web"), ""),
        (sends("{delivered: {hook: [{}], crm: []}, dropped: {destination: crm, by: user_transform}}",
               "{type: track, event: Internal, userId: u}", source="web"), ""),
        (sends("{dropped: []}"), ""),
        (sends("{response: {status: 400, body: {$contains: userId}}, delivered: []}", "{type: track, event: A}"), ""),
        (sends("{delivered: []}", "{type: track, event: A}"), "response.status: expected 200, got 400"),
        (sends("{delivered: [{body: {event: Order}}], attempts: {hook: 3}}",
               recorder="{hook: [{status: 503}, {status: 429, headers: {Retry-After: 1}}, {status: 200}]}"), ""),
        (sends("{delivered: [], failed: {by: send_to_destination, destination: hook}}",
               recorder="{hook: {status: 400}}"), ""),
        (sends("{delivered: [{body: {originalTimestamp: 2026-01-01T12:00:00.000Z, messageId: {$ends: '0001'}}}]}",
               freeze="{time: 2026-01-01T12:00:00Z, ids: sequence}"), ""),
    ],
)  # fmt: skip
def test_fates_of_events_can_be_expected(write: Callable[..., Path], scenario: str, said: str) -> None:
    """One line each: the event, the expectation, and the difference."""
    (outcome,) = outcomes(write(scenario))

    assert outcome.reason == ""
    assert bool(outcome.differences) == bool(said)
    assert said in " ".join(map(str, outcome.differences))


def test_sdk_calls_are_sent(write: Callable[..., Path]) -> None:
    """Named and positional arguments, the specified names; no events after an opt-out."""
    calls = (
        "[{identify: {userId: u1, traits: {plan: pro}}}, {track: [Signed Up, {n: 1}]}, {group: g1}, "
        "{optOut: true}, {track: Later}]"
    )
    expect = "{delivered: [{body: {type: identify}}, {body: {event: Signed Up, userId: u1}}, {body: {groupId: g1}}]}"
    (outcome,) = outcomes(write(f"  - {{name: a, source: shop, calls: {calls}, expect: {expect}}}\n"))

    assert (outcome.reason, [str(d) for d in outcome.differences]) == ("", [])


@pytest.mark.parametrize(
    ("call", "said"),
    [("{track: 5}", "must be a string"), ("{identify: {userId: u, traits: 5}}", "traits")],
)
def test_an_invalid_sdk_call_fails_the_scenario(write: Callable[..., Path], call: str, said: str) -> None:
    """The message names the call."""
    (outcome,) = outcomes(write(f"  - {{name: a, source: shop, calls: [{call}], expect: {{delivered: []}}}}\n"))

    assert outcome.status == "failed"
    assert any(said in str(difference) for difference in outcome.differences)


def test_a_raw_request_can_expect_fates(write: Callable[..., Path]) -> None:
    """The fates of its events."""
    request = "{path: /v1/track, auth: {source: shop}, json: {event: X, userId: u}}"
    (outcome,) = outcomes(
        write(f"  - {{name: a, request: {request}, expect: {{delivered: {{body: {{event: X}}}}}}}}\n")
    )

    assert outcome.differences == []


def test_setup_and_teardown_are_not_compared(write: Callable[..., Path]) -> None:
    """Their events do not count, and use no scripted answers."""
    scenario = sends(
        "{delivered: [{body: {event: Order}}], attempts: 2}", recorder="{hook: [{status: 503}, {status: 200}]}"
    )
    around = "setup: [{type: identify, userId: u1}]\nteardown: [{send: {type: track, event: End, userId: u1}}]\n"
    (outcome,) = outcomes(write(scenario, f"defaults: {{source: shop}}\n{around}"))

    assert (outcome.reason, [str(d) for d in outcome.differences]) == ("", [])


def test_parallel_scenarios_are_isolated(write: Callable[..., Path]) -> None:
    """Fifty with the same event: each sees only its own delivery, and they are reported in order."""
    event, numbers = EVENT.replace("{", "{messageId: m$(n), ", 1), list(range(50))
    row = f"{{name: a, matrix: {{n: {numbers}}}, source: shop, send: {event}, expect: {{delivered: [{{}}]}}}}"
    found = outcomes(write(f"  - {row}\n"), jobs=8)

    assert [o.status for o in found] == ["passed"] * 50
    assert [o.scenario.id for o in found] == [f"a[{n}]" for n in range(50)]


def test_steps_can_capture_delivered_values(write: Callable[..., Path]) -> None:
    """From a request that arrived, for the next event."""
    steps = (
        f"[{{send: {EVENT}, expect: {{delivered: [{{}}], capture: {{id: delivered.0.body.messageId}}}}}}, "
        "{send: {type: track, event: Refund, userId: u1, properties: {of: $(id)}}, "
        "expect: {delivered: [{body: {properties: {of: {$type: uuid}}}}]}}]"
    )
    (outcome,) = outcomes(write(f"  - {{name: a, source: shop, steps: {steps}}}\n"))

    assert (outcome.reason, [str(d) for d in outcome.differences]) == ("", [])


def test_of_many_failures_only_the_first_are_listed(tmp_path: Path) -> None:
    """300 events fail for different reasons; 20 unexpected failures are enough to read."""
    path = tmp_path / "many.suite.yaml"
    many = ", ".join(f"{{type: track, event: E{number}, userId: u}}" for number in range(300))
    path.write_text(f"""\
transformations:
  boom:
    language: python
    code: |
      def transformEvent(event, metadata):
          raise ValueError(event["event"])
destinations: {{bad: {{type: WEBHOOK, transformation: boom, config: {{webhookUrl: https://bad.example/in}}}}}}
sources: {{web: {{destinations: [bad]}}}}
scenarios:
  - {{name: a, source: web, send: [{many}], expect: {{failed: {{$contains: {{by: none}}}}}}}}
""")

    (outcome,) = outcomes(path)

    assert len([d for d in outcome.differences if "failed in user_transform: ValueError: E" in str(d)]) == 20


def test_suites_run_against_a_served_data_plane(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--base-url`: unsupported parts are skipped, the rest is the same, scripted answers included."""
    path = write(
        sends("{delivered: [{body: {event: Order}}], attempts: 1}")
        + "  - {name: b, destination: hook, event: {type: track}, expect: {dest_transform: {method: POST}}}\n"
        + sends("{failed: {status: 400}}", recorder="{hook: {status: 400}}").replace("name: a", "name: c")
        + sends("{attempts: 3}", recorder="{hook: [{status: 503, times: 2}, {}]}").replace("name: a", "name: d")
        + sends("{attempts: [{}, {after: 10s}]}", recorder="{hook: [{close: true}, {}]}").replace("name: a", "name: e")
        + "  - {name: f, destination: hook, event: {type: track}, recorder: {hook: {status: 418}}, "
        "stages: {send_to_destination: true}, expect: {send_to_destination: {status: 418}}}\n"
        + sends("{delivered: [{}]}").replace("name: a", "name: g")
    )
    workspace = Workspace.loads(HEAD)
    workspace.users.append(Person.with_token("a@b.example", "token"))
    monkeypatch.setenv("SVC_TOKEN", "token")
    with DataPlane(workspace, backoff=Backoff(scale=0)) as plane:
        code = main(["run", str(path), "--base-url", plane.url, "--email", "a@b.example"])

    text = capsys.readouterr().out
    assert code == 0, text
    assert "6 passed, 1 skipped" in text


def test_an_unfinished_run_at_a_service_is_a_timeout(write: Callable[..., Path]) -> None:
    """The service still retries at the limit: the scenario fails, and says what is in progress."""
    path = write(sends("{delivered: [{}]}", recorder="{hook: {status: 503, times: 9}}"))
    workspace = Workspace.loads(HEAD)
    workspace.users.append(Person.with_token("a@b.example", "token"))
    with DataPlane(workspace, backoff=Backoff(first=3600.0)) as plane:
        planes = runner.remote_planes(plane.url, "a@b.example", "token", limit=0.2)
        outcome = runner.attempt(runner.load(path).scenarios[0], planes)
        planes.close()

    assert "it took longer than its limit of 0.2 s" in str(outcome.differences[0])


def test_an_unreachable_base_url_is_wrong_usage(write: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    """It is reported once, before anything runs."""
    path = write(sends("{delivered: [{}]}"))

    assert main(["run", str(path), "--base-url", "http://127.0.0.1:1"]) == 4
    assert "no response from http://127.0.0.1:1" in capsys.readouterr().err
    with pytest.raises(UsageError, match="expected an address"):
        runner.remote_planes("ftp://x", "", "")


# Fixtures and helpers for tests in Python


CONFTEST = f"""
import pytest
from svctoolkit import Workspace

@pytest.fixture
def workspace():
    return Workspace.loads('''{HEAD}''')
"""
pytest_plugins = ["pytester"]


def test_pytest_fixtures(pytester: pytest.Pytester) -> None:
    """A running data plane, its recorder, a client that sends to it, scenarios, and helpers that report differences."""
    pytester.makeconftest(CONFTEST)
    code = """
        import pytest
        from svctoolkit.pytest_plugin import assert_delivered, assert_dropped

        def test_plane(data_plane, recorder):
            data_plane.send({"type": "track", "event": "A", "userId": "u"}, source="shop")
            assert_delivered(data_plane, {"body": {"event": "A", "messageId": {"$type": "uuid"}}})
            assert_dropped(data_plane)
            assert len(recorder.requests) == 1
            assert data_plane.url.startswith("http://127.0.0.1:")

        def test_client(data_plane, service_client):
            service_client.track("Internal")
            assert service_client.flush()
            assert_delivered(data_plane, {"body": {"event": "Internal"}}, destination="hook")
            assert_dropped(data_plane, {"destination": "crm", "by": "user_transform"})

        def test_failure(data_plane):
            data_plane.send({"type": "track", "event": "A", "userId": "u"}, source="shop")
            with pytest.raises(AssertionError, match='delivered.0.body.event: expected "B", got "A"'):
                assert_delivered(data_plane, {"body": {"event": "B"}})

        def test_scenario(run_scenario):
            one = {"name": "x", "source": "shop", "send": {"type": "track", "event": "A", "userId": "u"}}
            run_scenario({**one, "expect": {"delivered": [{"body": {"event": "A"}}]}})
            with pytest.raises(AssertionError, match="expected 0 elements"):
                run_scenario({**one, "expect": {"delivered": []}})
    """
    pytester.makepyfile(code)
    result = pytester.runpytest_subprocess("-W", "error")

    result.assert_outcomes(passed=4)
