"""How the tests run: shares of workers, short output, and the tests that a change affects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.affected import affected
from tests.cpu import OTHERS, Cpu, main
from tests.shares import divided

pytest_plugins = ["pytester"]

CONFTEST = """
from pathlib import Path

import pytest
from tests import brief, shares

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    shares.register(config)
    brief.register(config)
"""
SETTINGS = "[pytest]\ntestpaths = .\nmarkers = slow\naddopts = -m 'not slow'\n"
TESTS = """
import os, pytest

@pytest.mark.parametrize("number", range(30))
def test_number(number):
    if os.environ.get("ENDS") == "{name}" and number == 3:
        os._exit(3)

@pytest.mark.slow
def test_slow():
    pass
"""


def test_shares_have_each_file_once_and_nearly_equal_costs() -> None:
    costs = {"a": 5.0, "b": 4.0, "c": 3.0, "d": 3.0, "e": 0.2, "f": 0.2}
    shares = divided(costs, 2)

    assert sorted(name for share in shares for name in share) == sorted(costs)
    assert abs(sum(costs[name] for name in shares[0]) - sum(costs[name] for name in shares[1])) < 1


@pytest.mark.slow
def test_workers_run_each_test_once_and_the_output_is_short(pytester: pytest.Pytester, project: None) -> None:
    """The last line says what was left out."""
    result = pytester.runpytest_subprocess("-n2", "-p", "no:svctoolkit")

    assert result.ret == 0
    result.assert_outcomes(passed=360)
    assert result.outlines[-1] == "left out: 12 slow tests; they run with: bash .ci/run"
    assert len(result.outlines) < 30
    assert "360 of 360 tests" in result.outlines


@pytest.mark.slow
def test_the_share_of_a_worker_that_crashes_goes_on(
    pytester: pytest.Pytester, project: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test that ended it fails, and all others run."""
    monkeypatch.setenv("ENDS", "test_f5")
    result = pytester.runpytest_subprocess("-n2", "-p", "no:svctoolkit")

    result.assert_outcomes(passed=359, failed=1)
    result.stdout.fnmatch_lines(["*crashed while running 'test_f5.py::test_number?3?'*"])


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve test files with thirty tests each, and a slow one."""
    pytester.makeconftest(CONFTEST)
    pytester.makefile(".ini", pytest=SETTINGS)
    pytester.makepyfile(**{f"test_f{n}": TESTS.replace("{name}", f"test_f{n}") for n in range(12)})
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))


@pytest.mark.slow
def test_the_tests_of_a_changed_module_are_those_that_import_it() -> None:
    """Also through other modules, or `from .module`; a destination affects what goes through the catalogue."""
    assert "tests/plans/test_check.py" in affected(["svctoolkit/plans/check.py"])
    assert "tests/sdk/test_lanes.py" in affected(["tests/sdk/gateway.py"])
    assert "tests/test_destinations.py" in affected(["svctoolkit/destinations/braze/examples.yaml"])
    assert "tests/test_events.py" not in affected(["svctoolkit/widgets/_base/__init__.py"])
    assert affected(["pyproject.toml"]) == ["tests", "suites"]
    assert affected(["svctoolkit/pipeline/run.py"])[-1] == "suites"


def test_a_test_with_too_much_cpu_time_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its processes; what several tests share has a line, but no limit. Four times as much fails."""
    file = tmp_path / "cpu.tsv"
    file.write_text(f"1.0\t2.0\ta::one\n9.0\t7.0\ta::two\n20.0\t1.0\ta::fixture site\n30.0\t0\t{OTHERS[0]}\n")

    assert main([str(file)]) == 0
    printed = capsys.readouterr()
    assert printed.err.splitlines() == ["a::two: more than 15 s of CPU; split it, or test a smaller input"]
    assert "CPU: 70 s, 14% in other processes" in printed.out
    assert " 20.0         1.0  a::fixture site" in printed.out
    file.write_text("59.0\t2.0\ta::one\n")
    assert main([str(file)]) == 1
    assert Cpu(1, 2) + Cpu(1, 0) == Cpu(2, 2)
