"""Each mistake that a finding reported as green is noticed, walked as a user: files in a folder, and a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from svctoolkit.cli import main
from tests.wrong_greens.entries import Entry, entries

pytest_plugins = ["pytester"]

COMMANDS = [entry for entry in entries() if not entry.test and not entry.program]
TESTS = [entry for entry in entries() if entry.test]
PROGRAMS = [entry for entry in entries() if entry.program]


def _id(entry: Entry) -> str:
    return entry.id


@pytest.mark.parametrize("entry", COMMANDS, ids=_id)
def test_a_command_notices_it(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its exit code, and by a text that names the mistake."""
    entry.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    code = main(list(entry.run))
    shown = "".join(capsys.readouterr())

    assert "internal error" not in shown
    assert code or entry.any_code, shown
    assert entry.says in shown


@pytest.mark.parametrize("entry", TESTS, ids=_id)
def test_pytest_notices_it(entry: Entry, pytester: pytest.Pytester) -> None:
    """The test fails, or ends with an error."""
    entry.write(pytester.path)
    pytester.makepyfile(entry.test)
    options = ["-p", "no:cacheprovider", *(["-o", "svctoolkit_strict=true"] if entry.strict else [])]
    outcomes = pytester.runpytest_inprocess(*options).parseoutcomes()

    assert outcomes.get("failed", 0) + outcomes.get("errors", 0)


@pytest.mark.parametrize("entry", PROGRAMS, ids=_id)
def test_a_program_notices_it(entry: Entry) -> None:
    """A program that uses the Python interface sees the failure."""
    names: dict[str, Any] = {}
    exec(compile(entry.program, entry.id, "exec"), names)

    assert names["noticed"] is True, names
