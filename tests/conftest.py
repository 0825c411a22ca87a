"""Settings for all tests: in CI a skipped test is a failure; slow machines are allowed."""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests import brief, shares
from tests.examples import DEFAULT

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Bytecode is kept: hundreds of tests start an interpreter, or pytest, which rewrites its imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests neither read nor change what the user of this machine trusts.
_TRUSTED = tempfile.TemporaryDirectory(prefix="svctoolkit-trust-")
os.environ["SVCTOOLKIT_TRUST_STORE"] = _TRUSTED.name

#: Every pytest started by a test would import these, which takes longer than most of those tests.
WITHOUT_OTHERS = "-p no:nbval -p no:schemathesis -p no:syrupy"
os.environ.setdefault("PYTEST_ADDOPTS", WITHOUT_OTHERS)

# The time to draw examples depends on the machine; limits of time are checked by `tests.pace`.
settings.register_profile("patient", deadline=None, max_examples=DEFAULT, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

ROOT = Path(__file__).parent.parent
#: Files whose slow tests take longest run first: started last, one would run while other workers have nothing to do.
LONGEST = (
    "tests/data_plane/test_client_faults.py",
    "tests/notebooks/test_browser.py",
    "tests/test_attacks.py",
    "tests/test_benchmarks.py",
    "tests/test_contributing.py",
    "tests/data_plane/test_openapi_routes.py",
    "tests/notebooks/test_notebooks.py",
    "tests/notebooks/test_code_editor.py",
    "tests/data_plane/test_console.py",
    "tests/replay/test_cluster.py",
    "tests/imports/test_mistakes.py",
    "tests/test_site_in_a_browser.py",
    "tests/mutation/test_ourselves.py",
    "tests/bounded_time/test_mappings.py",
    "tests/data_plane/test_store.py",
    "tests/test_honest_layers.py",
    "tests/data_plane/test_memory.py",
    "tests/suites/test_inputs.py",
    "tests/bounded_time/test_patterns.py",
    "tests/warehouse/test_change.py",
)

#: By selection: the words of a file that may have one of the selected tests.
_WORDS = {
    "slow": ("mark.slow", "some_by_default"),
    "slow or hypothesis": ("mark.slow", "some_by_default", "hypothesis"),
}
_ALL_SLOW = re.compile(r"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("TESTS_CPU"):
        from tests import cpu  # not on Windows

        cpu.register(config)
    shares.register(config)
    brief.register(config)


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest's own fixture, without the options of the outer run."""
    monkeypatch.setenv("PYTEST_ADDOPTS", WITHOUT_OTHERS)
    return pytester


@pytest.fixture(scope="module")
def started_chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # only slow tests need it

    from tests.data_plane.packages import chromium

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def browser(started_chromium: Browser) -> Iterator[Browser]:
    """Chromium. Its pages are closed after the test: forgotten ones would be painted, and connect, until the last."""
    yield started_chromium
    for context in started_chromium.contexts:
        context.close()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """The garbage collector does not search 700,000 objects of 12,000 tests, which live to the end, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test that would run are not imported: it takes minutes, and each worker does it."""
    words = _WORDS.get(config.option.markexpr, ())
    if not (words or config.option.markexpr == "not slow") or not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    if words:
        return None if any(word in text for word in words) else True
    if not _ALL_SLOW.search(text):
        return None
    config.stash.setdefault(brief.FILES, set()).add(collection_path)
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names = Counter(item.nodeid for item in items)
    if len(names) < len(items):
        raise pytest.UsageError(f"pytest-xdist runs one of the tests with equal names: {names.most_common(1)[0][0]}")
    if config.option.markexpr in _WORDS:
        place = {ROOT / name: number for number, name in enumerate(LONGEST)}
        items.sort(key=lambda item: place.get(item.path, len(place)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped in CI: {report.longrepr}"
    return report
