"""pytest collects and runs `*.suite.yaml`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml  # noqa: F401 - pytester forgets modules between runs, and the C parser does not survive that

from svctoolkit import runner
from tests.suites.service import SUITE as LIVE
from tests.suites.service import Service

pytest_plugins = ["pytester"]

SUITE = """\
suite: Orders
tags: [orders]
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
scenarios:
  - name: Passes, with $(n)
    tags: [slow]
    cases: [{n: 1}, {id: two, n: 2}]
    destination: hook
    event: {type: track, event: E, n: $(n)}
    expect: {dest_transform: {body: {JSON: {n: $(n)}}}}
  - name: fails
    destination: hook
    event: {type: track, event: E}
    expect:
      dest_transform:
        body: {JSON: {event: F}}
  - {name: skipped, destination: hook, event: {type: track}, expect: {status: 1}, skip: not yet}
  - {name: gap, destination: hook, event: {type: track}, expect: {status: 1}, xfail: BUG-1}
"""


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Import everything that a suite needs before pytester starts to forget modules: registries keep theirs."""
    path: Path = tmp_path_factory.mktemp("loaded") / "s.suite.yaml"
    path.write_text(SUITE, encoding="utf-8")
    with runner.open_planes(limit=60) as planes:
        assert len(list(runner.run(runner.load(path).scenarios, planes))) == 7


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makefile(".suite.yaml", orders=SUITE)
    return pytester


def test_scenarios_are_tests(suite: pytest.Pytester) -> None:
    """Every scenario and row is one; skip and xfail have pytest's meaning."""
    result = suite.runpytest_inprocess("-W", "error", "--strict-markers")

    result.assert_outcomes(passed=2, failed=1, skipped=1, xfailed=1)


def test_a_failure_has_the_runners_text(suite: pytest.Pytester) -> None:
    """Place, both values, the source line and a caret; the first line is in the short summary."""
    result = suite.runpytest_inprocess()

    result.stdout.fnmatch_lines(
        [
            "*__ fails __*",
            'orders.suite.yaml:17:30: dest_transform.body.JSON.event: expected "F", got "E"',
            "            body: {JSON: {event: F}}",
            "                                 ^",
            "FAILED orders.suite.yaml::fails - *orders.suite.yaml:17:30: dest_transform*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_items_have_ids_lines_and_titles(suite: pytest.Pytester) -> None:
    """Editors jump to the line; ids are slugs, with rows in brackets."""
    items, _ = suite.inline_genitems()

    assert [item.nodeid for item in items] == [
        "orders.suite.yaml::passes-with-n[1]",
        "orders.suite.yaml::passes-with-n[two]",
        "orders.suite.yaml::fails",
        "orders.suite.yaml::skipped",
        "orders.suite.yaml::gap",
    ]
    assert [item.location[1] + 1 for item in items] == [8, 8, 12, 18, 19]
    assert items[1].location[2] == "Passes, with 2"


@pytest.mark.parametrize(
    ("arguments", "passed", "failed"),
    [
        (["-m", "slow"], 2, 0),
        (["-m", "orders and not slow"], 0, 1),
        (["-k", "passes"], 2, 0),
        (["orders.suite.yaml::passes-with-n[two]"], 1, 0),
        (["orders.suite.yaml::fails"], 0, 1),
    ],
)
def test_scenarios_can_be_selected(suite: pytest.Pytester, arguments: list[str], passed: int, failed: int) -> None:
    """Tags are markers; ids and words select as with any test."""
    outcomes = suite.runpytest_inprocess(*arguments).parseoutcomes()

    assert (outcomes.get("passed", 0), outcomes.get("failed", 0)) == (passed, failed)


def test_xfail_is_strict(pytester: pytest.Pytester) -> None:
    """A scenario that passes although it is expected to fail is a failure."""
    pytester.makefile(".suite.yml", s=SUITE.replace("status: 1}, xfail", "status: 200}, xfail"))
    result = pytester.runpytest_inprocess("-k", "gap")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*BUG-1*"])


def test_a_broken_suite_fails_at_collection(pytester: pytest.Pytester) -> None:
    """The mistake is reported with its position, and no scenario of the file runs."""
    pytester.makefile(".suite.yaml", orders=SUITE.replace("skip:", "skipp:"))
    result = pytester.runpytest_inprocess()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["orders.suite.yaml:18:*: unknown key 'skipp'. Did you mean 'skip'?"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_other_yaml_files_are_ignored(pytester: pytest.Pytester) -> None:
    """Only the suffix makes a suite."""
    pytester.makefile(".yaml", orders=SUITE)

    assert pytester.runpytest_inprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_junit_has_line_and_title(suite: pytest.Pytester) -> None:
    """A CI report leads to the scenario."""
    suite.runpytest_inprocess("--junitxml=report.xml", "-o", "junit_family=xunit1")
    report = (suite.path / "report.xml").read_text(encoding="utf-8")

    assert 'name="fails" file="orders.suite.yaml" line="11"' in report
    assert '<property name="title" value="Passes, with 2"' in report


@pytest.mark.slow
def test_workers_share_the_scenarios(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under xdist, workers collect the same ids, and each has its own data plane."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = suite.runpytest_subprocess("-p", "xdist", "-p", "svctoolkit.pytest_plugin", "-n2", "-W", "error")

    result.assert_outcomes(passed=2, failed=1, skipped=1, xfailed=1)


def test_a_session_without_suites_loads_nothing(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugin is loaded in every session; it imports only pytest until there is a suite."""
    code = """
        import sys

        def test_modules():
            ours = {name for name in sys.modules if name.partition(".")[0] == "svctoolkit"}
            assert {name for name in ours if not name.startswith("svctoolkit.pytest_plugin")} <= {
                "svctoolkit", "svctoolkit.inputs", "svctoolkit.json_types"}
            assert not {"yaml", "msgspec", "starlette", "jsonschema_rs"} & sys.modules.keys()
    """
    pytester.makepyfile(code)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    result = pytester.runpytest_subprocess("-p", "svctoolkit.pytest_plugin")

    result.assert_outcomes(passed=1)


SNAPSHOT = """\
vars: {n: 1}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
scenarios:
  - {name: snap, destination: hook, event: {type: track, n: $(n)}, expect: {dest_transform: {$snapshot: true}}}
  - name: live
    live: {within: 1s}
    destination: hook
    event: {type: track}
    expect: {status: 200}
"""


def test_snapshots_are_written_on_request(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--suite-update`; a missing one fails; in CI nothing is written. Live scenarios are skipped."""
    monkeypatch.delenv("CI", raising=False)
    pytester.makefile(".suite.yaml", s=SNAPSHOT)

    pytester.runpytest_inprocess().assert_outcomes(failed=1, skipped=1)
    pytester.runpytest_inprocess("--suite-update=new").assert_outcomes(passed=1, skipped=1)
    pytester.runpytest_inprocess().assert_outcomes(passed=1, skipped=1)
    pytester.runpytest_inprocess("--suite-var", "n=2").assert_outcomes(failed=1, skipped=1)
    monkeypatch.setenv("CI", "true")
    assert pytester.runpytest_inprocess("--suite-update").ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--suite-var", "n"], "--suite-var n: expected NAME=VALUE"),
        (["--suite-var", "n:=[1"], "--suite-var n:=[1: invalid JSON: "),
        (["--suite-base-url", "nonsense"], "base URL nonsense: expected an address like https://api.example.com"),
    ],
)
def test_invalid_options_are_reported_in_one_line(pytester: pytest.Pytester, options: list[str], said: str) -> None:
    """A variable without a value ends the run; an invalid address is reported by the scenario, without a traceback."""
    pytester.makefile(".suite.yaml", s=SNAPSHOT)
    result = pytester.runpytest_inprocess(*options)
    lines = [*result.outlines, *result.errlines]

    assert result.ret in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.TESTS_FAILED)
    assert any(said in line for line in lines)
    assert not [line for line in lines if line.startswith((">", "E   ")) or "Traceback" in line]


def test_a_variable_may_have_a_type(pytester: pytest.Pytester) -> None:
    """`NAME:=JSON`, as for `svctoolkit run`."""
    text = SNAPSHOT.partition("  - name: live")[0].replace("{$snapshot: true}", "{body: {JSON: {n: [2]}}}")
    pytester.makefile(".suite.yaml", s=text)
    pytester.runpytest_inprocess("--suite-var", "n:=[2]").assert_outcomes(passed=1)


def test_a_missing_workspace_is_reported(pytester: pytest.Pytester) -> None:
    """The fixture says so in a line, and how to name another one."""
    pytester.makepyfile("def test(workspace): pass")
    result = pytester.runpytest_inprocess()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*workspace.yaml: cannot be read: *", "*`suite_workspace`*"])
    assert not [line for line in result.outlines if line.startswith((">", "E   "))]


@pytest.mark.usefixtures("no_plugins")
def test_live_scenarios_run_on_request(pytester: pytest.Pytester) -> None:
    """`--suite-live` really sends the requests of a live scenario."""
    with Service("new", "active") as service:
        pytester.makefile(".suite.yaml", s=LIVE.format(url=service.url))

        alone(pytester).assert_outcomes(skipped=1)
        assert service.received == []
        alone(pytester, arguments=("--suite-live",)).assert_outcomes(passed=1)
        assert len(service.received) == 1


def alone(pytester: pytest.Pytester, *plugins: str, arguments: tuple[str, ...] = ()) -> pytest.RunResult:
    """Run pytest with our plugin and the named ones only; every warning is an error."""
    loaded = [argument for plugin in ("svctoolkit.pytest_plugin", *plugins) for argument in ("-p", plugin)]
    return pytester.runpytest_subprocess(*loaded, "-W", "error", "--strict-markers", *arguments)


@pytest.fixture
def no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load only named plugins; not in CI, where snapshots are not written."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("CI", raising=False)


@pytest.mark.slow
@pytest.mark.usefixtures("no_plugins")
@pytest.mark.parametrize("plugins", [(), ("xdist",), ("syrupy",), ("xdist", "syrupy")], ids="-".join)
def test_other_plugins_are_optional(suite: pytest.Pytester, plugins: tuple[str, ...]) -> None:
    """The outcomes are the same with xdist and syrupy and without, and there are no warnings."""
    alone(suite, *plugins).assert_outcomes(passed=2, failed=1, skipped=1, xfailed=1)


@pytest.mark.slow
@pytest.mark.usefixtures("no_plugins")
def test_options_of_syrupy_apply_to_suites(pytester: pytest.Pytester) -> None:
    """`--snapshot-update` writes all snapshots, `--snapshot-update-new-only` missing ones."""
    pytester.makefile(".suite.yaml", s=SNAPSHOT)
    changed = ("--suite-var", "n=2")

    alone(pytester, "syrupy", arguments=("--snapshot-update-new-only",)).assert_outcomes(passed=1, skipped=1)
    alone(pytester, "syrupy", arguments=("--snapshot-update-new-only", *changed)).assert_outcomes(failed=1, skipped=1)
    alone(pytester, "syrupy", arguments=("--snapshot-update", *changed)).assert_outcomes(passed=1, skipped=1)
    alone(pytester, "syrupy", arguments=changed).assert_outcomes(passed=1, skipped=1)


@pytest.mark.slow
@pytest.mark.usefixtures("no_plugins")
def test_coverage_is_merged_across_workers(suite: pytest.Pytester) -> None:
    """Under xdist the table is the same as without."""
    here = alone(suite, arguments=("--suite-coverage",))
    spread = alone(suite, "xdist", arguments=("--suite-coverage", "-n2"))

    table, of_both = ([line for line in run.outlines if re.search(r"\d of \d", line)] for run in (here, spread))
    assert any("destinations" in line and "1 of 1" in line for line in table)
    assert of_both == table


@pytest.mark.usefixtures("no_plugins")
def test_coverage_without_scenarios_is_reported(suite: pytest.Pytester) -> None:
    """If every scenario is deselected, everything is missing and nothing fails."""
    result = alone(suite, arguments=("--suite-coverage", "-k", "nothing"))

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*destinations*0 of 1*missing: hook"])


def test_coverage_and_annotations_are_printed(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the summary: what no scenario touches; in GitHub Actions the differences as annotations."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = suite.runpytest_inprocess("--suite-coverage")

    result.stdout.fnmatch_lines(["::error file=orders.suite.yaml,line=17,*", "coverage *", "*destinations*1 of 1*"])


def test_serial_scenarios_are_one_group_of_xdist(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """For `--dist loadgroup`. Without xdist there is no such marker, and no error."""
    event = "event: {type: track, n: $(n)}"
    scenario = f"serial: one, matrix: {{n: [1, 2]}}, destination: hook, {event}, expect: {{status: 200}}"
    head = SNAPSHOT.partition("scenarios:")[0]
    pytester.makefile(".suite.yaml", s=f"{head}scenarios:\n  - {{name: a, {scenario}}}\n")
    items, _ = pytester.inline_genitems("-p", "xdist")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    alone = pytester.runpytest_subprocess("-p", "svctoolkit.pytest_plugin", "-W", "error", "--strict-markers")

    assert [mark.args for item in items for mark in item.iter_markers("xdist_group")] == [("one",), ("one",)]
    alone.assert_outcomes(passed=2)


PLANE = """
import pytest
from svctoolkit import Workspace

@pytest.fixture
def workspace():
    return Workspace.loads('''
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  lake: {type: WEBHOOK, config: {webhookUrl: https://lake.example/in}}
sources: {web: {destinations: [hook]}, app: {destinations: [lake]}}
''')
"""


def test_helpers_check_count_and_order(pytester: pytest.Pytester) -> None:
    """Count, any order, at least, never; also in coroutine tests, and for another source's client."""
    pytester.makeconftest(PLANE)
    pytester.makepyfile(
        """
        import asyncio
        import pytest
        from svctoolkit.pytest_plugin import assert_delivered, assert_dropped, assert_never_delivered

        A, B = {"body": {"event": "A"}}, {"body": {"event": "B"}}

        def send(plane, *names):
            for name in names:
                plane.send({"type": "track", "event": name, "userId": "u"}, source="web")

        def test_how_many(data_plane):
            send(data_plane, "B", "A", "A")
            assert_delivered(data_plane, A, count=2)
            assert_delivered(data_plane, count=3)
            assert_delivered(data_plane, A, A, B, any_order=True)
            assert_delivered(data_plane, B, at_least=True)
            assert_never_delivered(data_plane, {"body": {"event": "C"}})
            assert_never_delivered(data_plane, destination="lake")
            for wrong in (lambda: assert_delivered(data_plane, A, count=3), lambda: assert_delivered(data_plane, A, B),
                          lambda: assert_delivered(data_plane, {"body": {"event": "C"}}, at_least=True),
                          lambda: assert_delivered(data_plane, A, A, any_order=True),
                          lambda: assert_never_delivered(data_plane, B), lambda: assert_dropped(data_plane, count=1)):
                with pytest.raises(AssertionError):
                    wrong()

        def test_a_coroutine(data_plane):
            async def main():
                await asyncio.to_thread(send, data_plane, "A")
                assert_delivered(data_plane, A, timeout=60)

            asyncio.run(main())

        def test_clients(data_plane, service_client):
            other = service_client(source="app")
            other.track("A")
            assert other.flush()
            assert_delivered(data_plane, A, destination="lake")
            assert_never_delivered(data_plane, destination="hook")

        def test_a_scenario_needs_no_name(run_scenario):
            run_scenario({"source": "web", "send": {"type": "track", "event": "A", "userId": "u"},
                          "expect": {"delivered": [{}]}})
        """
    )
    pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(passed=4)


def test_a_failing_helper_has_a_short_report(pytester: pytest.Pytester) -> None:
    """The line of the test and the difference, without source code of this library."""
    pytester.makeconftest(PLANE)
    pytester.makepyfile(
        """
        from svctoolkit.pytest_plugin import assert_delivered

        def test_it(data_plane):
            assert_delivered(data_plane, {"body": {"event": "A"}})
        """
    )
    text = pytester.runpytest_inprocess().stdout.str()

    assert "delivered: expected 1 element, got 0: []" in text
    assert "__tracebackhide__" not in text
    assert "pytest_plugin.py" not in text.partition("short test summary")[0].replace("svctoolkit.pytest_plugin", "")


def test_unused_snapshots_are_reported(pytester: pytest.Pytester) -> None:
    """After a complete run, and not after a partial one."""
    send = "send: {type: track, event: E, userId: u, messageId: m}, ignore: [receivedAt, sentAt, originalTimestamp]"
    expect = "expect: {delivered: [{body: {event: {$snapshot: event}}}]}"
    head = SUITE.partition("scenarios:")[0] + "sources: {web: {destinations: [hook]}}\nscenarios:\n"
    rows = "".join(f"  - {{name: {name}, {send}, {expect}}}\n" for name in ("one", "two"))
    pytester.makefile(".suite.yaml", orders=head + rows)
    folder = pytester.path / "__snapshots__" / "orders"
    folder.mkdir(parents=True)
    for name in ("one.event", "two.event", "old.event"):
        (folder / f"{name}.json").write_text('"E"\n', encoding="utf-8")
    whole, part = (pytester.runpytest_inprocess(*more) for more in ((), ("-k", "one")))

    whole.assert_outcomes(passed=2)
    whole.stdout.fnmatch_lines(["*__snapshots__/orders/old.event.json: no scenario uses this snapshot*"])
    part.stdout.no_fnmatch_line("*no scenario uses this snapshot*")
