"""Invalid files and options are reported clearly, with their position, and no file is left half-written."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svctoolkit import yamlfile
from svctoolkit.cli import main
from svctoolkit.runner.suite import format as suite_format
from svctoolkit.workspace._shapes import WorkspaceShape, schema

HEAD = """\
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
scenarios:
"""
SCENARIO = "  - {name: a, destination: hook, event: {type: track}, expect: {status: 200}}\n"
LONG = """\
  - name: order {n}
    destination: hook
    event:
      type: track
      event: Order Completed
      properties:
        revenue: {n}
    expect:
      status: 200
      dest_transform:
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Write `s.suite.yaml`, run it with options, and return the message: a user error without a traceback."""
    monkeypatch.chdir(tmp_path)

    def run(text: str | bytes, *options: str) -> str:
        Path("s.suite.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
        before = {path.name for path in Path().iterdir()}
        assert main(["run", *options]) == 4
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "Traceback" not in captured.err
        assert {path.name for path in Path().iterdir()} == before
        return captured.err

    return run


@pytest.mark.slow
def test_a_mistake_in_100_000_lines_has_its_position(told: Callable[..., str]) -> None:
    """A wrong key and an unclosed bracket are reported where they are."""
    text = HEAD + "".join(LONG.format(n=n) + "        method: POST\n" for n in range(9100))

    assert "s.suite.yaml:100104:6: unknown key 'nam'. Did you mean 'name'?" in told(
        text + SCENARIO.replace("name", "nam")
    )
    assert "s.suite.yaml:100104:12: a value is missing here, or a bracket" in told(text + "  - name: [\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "  - name: a\n\tdestination: hook\n", "s.suite.yaml:5:1: a tab in the indentation"),
        ((HEAD + SCENARIO.replace("status", "statu")).encode("utf-8-sig").replace(b"\n", b"\r\n"),
         "s.suite.yaml:4:65: unknown key 'statu'. Did you mean 'status'?"),
        (HEAD.encode("utf-16"), "s.suite.yaml:1:1: not UTF-8"),
        (HEAD + SCENARIO.replace("{status: 200}", "{error: {$regex: '(a'}}"),
         "s.suite.yaml:4:73: $regex must be a valid pattern: missing )"),
        ("fixtures: {a: {$use: b}, b: [{$use: a}]}\n" + HEAD + SCENARIO.replace("{type: track}", "{$use: a}"),
         "s.suite.yaml:1:37: circular fixture: a -> b -> a"),
        ("fixtures: {a: none.json}\n" + HEAD + SCENARIO.replace("{type: track}", "{$use: a}"),
         "s.suite.yaml:1:15: none.json: cannot be read: No such file"),
        ("fixtures: {a: {$use: b}, b: [{$use: a}]}\n" + HEAD + SCENARIO,
         "s.suite.yaml:1:37: circular fixture: a -> b -> a"),
        ("fixtures: {a: 1, b: {$use: aa}}\n" + HEAD + SCENARIO,
         "s.suite.yaml:1:28: unknown fixture 'aa'. Did you mean 'a'?"),
        ("fixtures: {a: none.json}\n" + HEAD + SCENARIO, "s.suite.yaml:1:15: none.json: cannot be read: No such file"),
        (HEAD + SCENARIO.replace("- {", "- &a {").replace("track", "track, again: *a"),
         "s.suite.yaml:4:5: values nest more than 100 levels deep"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_position(told: Callable[..., str], text: str | bytes, said: str) -> None:
    """Tabs, a byte-order mark with Windows line ends, other encodings, patterns, fixture cycles, missing files.

    Unused fixtures are checked, too.
    """
    assert said in told(text)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--report", "junit=s.suite.yaml/x.xml"], "cannot write s.suite.yaml/x.xml"),
        (["--report", "html=."], "cannot write .: is a folder"),
        (["--report", "pdf=x.pdf"], "unknown reporter 'pdf'. Available: console, frame"),
        (["--base-url", "ftp://here"], "expected an address like https://"),
        (["--vars", "none.yaml"], "none.yaml: cannot be read: No such file"),
        (["none.suite.yaml"], "no such file or folder: none.suite.yaml"),
        (["s.suite.yaml::b"], "s.suite.yaml: unknown scenario 'b'"),
    ],
)
def test_a_wrong_option_is_reported_before_the_run(told: Callable[..., str], options: list[str], said: str) -> None:
    """Nothing runs."""
    assert said in told(HEAD + SCENARIO, *options)


def test_an_unreachable_base_url_is_reported_once(told: Callable[..., str]) -> None:
    """Not again for each scenario."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nothing listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"

        assert told(HEAD + SCENARIO, "--base-url", url).count(f"base URL: no response from {url}") == 1


_KEYS = st.sampled_from(
    ["name", "id", "tags", "skip", "xfail", "limit", "always", "never", "exact", "freeze", "batch", "recorder", "delay"]
) | st.sampled_from(["status", "times", "cases", "event", "send", "stages", "expect", "delivered", "key", "unknown"])
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.sampled_from([0.5, 1.0, 10**30, "", "a", "a\n", "5s", "5s\n", "off", "error", "sequence", "$(x)"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=4))
@example({"limit": "5s\n"})
@example({"tags": ["a\n"]})
@example({"always": {"key": 1}})
def test_a_scenario_that_fits_the_types_matches_the_schema(scenario: dict[str, Any]) -> None:
    """The types, which are checked first, accept nothing that the schema of suites rejects."""
    suite = {"scenarios": [{"name": "a", **scenario}]}

    assert not (yamlfile.fits(suite, suite_format.Suite) and yamlfile.misfits(suite, suite_format.schema()))


@given(st.dictionaries(st.sampled_from(["url", "writeKey", "answer", "more"]), _VALUES))
@example({"url": "https://a\n", "writeKey": "k"})
def test_a_workspace_that_fits_the_types_matches_the_schema(forward: dict[str, Any]) -> None:
    """The same for workspaces."""
    workspace = {"sources": {"web": {"forward": forward}}}

    assert not (yamlfile.fits(workspace, WorkspaceShape) and yamlfile.misfits(workspace, schema()))
