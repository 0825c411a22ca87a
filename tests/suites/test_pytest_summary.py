"""pytest's summary names what `run` names: overlooked files, unknown members, one annotation for each cause."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: t}
  plain: {type: WEBHOOK, config: {webhookUrl: https://plain.example/in}}
sources: {web: {destinations: [hook]}, raw: {destinations: [plain]}}
transformations: {t: {language: python, file: t.py}}
"""
BROKEN = "def transformEvent(event, metadata):\n    return event['a']['b']\n"
SCENARIO = """
  - name: s%d
    source: %s
    send: {type: identify, userId: u%d, properties: {plan: x}}
    expect: {delivered: [{body: {userId: u%d}}]}
"""


def test_the_summary_names_causes_overlooked_files_and_unknown_members(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One annotation at the line of code, for three scenarios. What is only named fails nothing with `-W error`."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(pytester.path.parent))
    rows = [SCENARIO % (n, "web" if n else "raw", n, n) for n in range(4)]
    for name in ("a.suite.yaml", "b.yaml"):
        (pytester.path / name).write_text(f"workspace: workspace.yaml\nscenarios:{''.join(rows)}", encoding="utf-8")
    (pytester.path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (pytester.path / "t.py").write_text(BROKEN, encoding="utf-8")
    # Modules that are first imported inside a run in this process are imported again afterwards.
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=1, failed=3)
    (annotation,) = [line for line in result.outlines if line.startswith("::error ")]
    assert annotation.startswith(f"::error file={pytester.path.name}/t.py,line=2,col=")
    assert "fails 3 scenarios" in annotation.partition("::")[2].partition("::")[0]
    assert [line for line in result.outlines if line.startswith("b.yaml: has scenarios, but is not run: ")] != []
    assert len([line for line in result.outlines if "'properties' " in line and "a.suite.yaml:" in line]) == 4


def test_an_always_without_any_value_fails_the_session(pytester: pytest.Pytester) -> None:
    """All scenarios pass, and a rule of the suite has shown nothing."""
    head = "workspace: workspace.yaml\nalways: {user_transform: {event: X}}\n"
    (pytester.path / "a.suite.yaml").write_text(f"{head}scenarios:{SCENARIO % (0, 'raw', 0, 0)}", encoding="utf-8")
    (pytester.path / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (pytester.path / "t.py").write_text(BROKEN, encoding="utf-8")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*a.suite.yaml:2:*: always: user_transform had no values to check*"])
