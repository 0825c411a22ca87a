"""Suites send webhooks to sources, and expect the events that they become."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import runner
from svctoolkit.errors import InvalidSuite
from svctoolkit.runner.suite.dependencies import dependents

pytest_plugins = ["pytester"]

FILES = {
    "workspace.yaml": """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  other: {type: WEBHOOK, config: {webhookUrl: https://other.example/in}}
sources:
  any: {type: webhook, config: {putRequestDetailsInContext: true}, destinations: [hook]}
  proxy: {type: Segment, destinations: [hook]}
  web: {destinations: [other]}
""",
    "order.json": '{"order": 7}',
    "order.yaml": "order: 8",
    "s.suite.yaml": """
workspace: workspace.yaml
fixtures: {order: order.json}
scenarios:
  - name: a file
    send: {webhook: any, topic: orders_create, body: order.json, query: {page: 2}, headers: {X-Trace: t1}}
    expect:
      received: {type: track, event: webhook_source_event, properties: {order: 7},
                 context: {query_parameters: {topic: orders_create, page: "2"}, headers: {X-Trace: t1}}}
      delivered: [{body: {properties: {order: 7}}}]
  - {name: YAML, send: {webhook: any, body: order.yaml}, expect: {received: {properties: {order: 8}}}}
  - {name: a form, send: {webhook: any, form: {tag: [a, b]}}, expect: {received: {properties: {tag: [a, b]}}}}
  - {name: a fixture, vars: {n: 9}, send: {webhook: any, body: {$use: order, $set: {order: $(n)}}},
     expect: {received: {properties: {order: 9}}}}
  - {name: refused, send: {webhook: any, text: "{"},
     expect: {received: [], response: {status: 400, body: "Malformed JSON in request body\\n"}}}
  - {name: several,
     send: {webhook: proxy, body: [{type: track, event: A, userId: u}, {type: track, event: B, userId: u}]},
     expect: {received: [{event: A}, {event: B}], attempts: 2}}
  - name: steps
    setup: [{send: {webhook: any, body: order.json}}]
    steps:
      - {send: [{webhook: any, body: {n: 1}}, {webhook: any, body: {n: 2}}],
         expect: {received: [{properties: {n: 1}}, {properties: {n: 2}}], capture: {id: received.1.anonymousId}}}
      - {send: {webhook: any, body: {id: $(id)}}, expect: {received: {properties: {id: {$type: string}}}}}
  - {name: an event, source: web, send: {type: track, event: A, userId: u}, expect: {received: {event: A}}}
""",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def failures(folder: Path, scenario: str = "") -> dict[str, str]:
    """Return why scenarios fail, by name: those of the suite, or the only one."""
    file = folder / "s.suite.yaml"
    if scenario:
        file.write_text(f"workspace: workspace.yaml\nscenarios:\n  - {scenario}\n")
    with runner.open_planes(limit=60) as planes:
        notices = list(runner.run(runner.load(file).scenarios, planes))
    found = [notice for notice in notices if isinstance(notice, runner.Outcome)]
    assert found
    return {outcome.scenario.title: runner.explanation(outcome) for outcome in found if not outcome.ok}


def test_webhooks_become_events(folder: Path) -> None:
    """Bodies are files, JSON, texts and forms; the expectation has events, responses and deliveries."""
    assert failures(folder) == {}


def test_a_refused_webhook_fails_with_its_reason(folder: Path) -> None:
    """Nothing else needs to be expected: the response must be 200 by default."""
    suite = "{name: lost, send: {webhook: proxy, body: {type: track}}, expect: {delivered: [{}]}}"

    assert "request neither has anonymousId nor userId" in failures(folder, suite)["lost"]


def test_the_file_of_a_body_is_an_input(folder: Path) -> None:
    """`--changed` and `--watch` run the scenarios that send it."""
    scenarios = runner.load(folder / "s.suite.yaml").scenarios

    assert [s.title for s in dependents(scenarios, files=[folder / "order.yaml"])] == ["YAML"]
    assert [s.title for s in dependents(scenarios, files=[folder / "order.json"])] == ["a file", "a fixture", "steps"]
    assert "an event" not in [s.title for s in dependents(scenarios, items=["sources.any"])]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("{webhook: anny}", "unknown source 'anny'. Did you mean 'any'?"),
        ("{webhook: web}", "source 'web' does not accept webhooks: its type is 'http'"),
        ("{webhook: any, bdy: 1}", "a webhook has no member 'bdy'. Did you mean 'body'?"),
        ("{webhook: any, body: none.json}", "cannot read none.json: No such file or directory"),
        ("{webhook: any, body: 3}", "must be a file, an object or a list"),
        ("{webhook: any, body: {}, text: x}", "a webhook has 'body' or 'text', not both"),
        ("{webhook: any, method: PUT}", "must be GET or POST"),
        ("[{webhook: any}, {type: track, event: A, userId: u}]", "must be events or webhooks, not both"),
    ],
)
def test_a_mistake_has_its_place(folder: Path, sent: str, said: str) -> None:
    """Before anything runs, with line and column."""
    with pytest.raises(InvalidSuite) as refused:
        failures(folder, f"{{name: a, send: {sent}, expect: {{delivered: [{{}}]}}}}")

    assert said in str(refused.value)
    assert ":3:" in str(refused.value)


def test_the_fixture_sends_webhooks(pytester: pytest.Pytester, folder: Path) -> None:
    """To the source that is named, or to the only one that accepts webhooks."""
    (pytester.path / "workspace.yaml").write_text((folder / "workspace.yaml").read_text())
    (pytester.path / "order.json").write_text('{"order": 7}')
    pytester.makepyfile(
        """
        from pathlib import Path
        import pytest
        from svctoolkit.errors import UsageError

        def test_it(data_plane, send_webhook):
            assert send_webhook(Path("order.json"), source="any").body == b"ok"
            assert data_plane.received[0].event["properties"] == {"order": 7}
            with pytest.raises(UsageError, match="name the webhook source: any, proxy"):
                send_webhook({})
        """
    )

    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=1)
