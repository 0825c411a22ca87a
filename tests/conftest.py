"""What holds for every test: in CI a skipped one did not run, and fails; nobody is refused for being slow."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# Bytecode is kept, as everywhere: hundreds of tests start an interpreter, or pytest, which rewrites what it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

#: Each pytest that a test starts would import nbval, which takes longer than most of those tests.
WITHOUT_NBVAL = "-p no:nbval"
os.environ.setdefault("PYTEST_ADDOPTS", WITHOUT_NBVAL)

# How fast examples are drawn depends on the machine; what is limited in time is limited by `tests.pace`.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest's own, which takes away the options of the outer run."""
    monkeypatch.setenv("PYTEST_ADDOPTS", WITHOUT_NBVAL)
    return pytester


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
