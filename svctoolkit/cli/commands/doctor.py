"""`svctoolkit doctor`: whether this machine has everything that svctoolkit needs."""

from __future__ import annotations

import argparse
import platform
import sys
import textwrap
from collections.abc import Iterator
from typing import Literal, NamedTuple

from svctoolkit import __version__
from svctoolkit.cli import _extras
from svctoolkit.cli._command import Command, Exit

_SIGNS = {"ok": "✓", "missing": "✗", "note": "–"}


class Finding(NamedTuple):
    """One line of the report: `missing` is essential, `note` is not."""

    state: Literal["ok", "missing", "note"]
    name: str
    text: str


def _run(_args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    findings = [*_python(), *_packages(), *_sandbox(), *_trusted(), *_languages(), *_store()]
    width = max(len(finding.name) for finding in findings)
    colours = {"ok": "green", "missing": "red", "note": "dim"}
    for state, name, text in findings:
        sign = _terminal.style(_SIGNS[state], colours[state])
        room = max(20, _terminal.width() - width - 4)
        first, *others = [
            part for line in text.splitlines() for part in textwrap.wrap(_terminal.plain(line), room)
        ] or [""]
        _terminal.out(f"{sign} {name:<{width}}  {first}")
        for line in others:
            _terminal.out(f"  {'':<{width}}  {line}")
    missing = [finding.name for finding in findings if finding.state == "missing"]
    _terminal.out(f"\nmissing: {', '.join(missing)}" if missing else "\neverything essential is available")
    return Exit.FAILED if missing else Exit.OK


def _python() -> Iterator[Finding]:
    yield Finding("ok", "svctoolkit", __version__)
    least = _extras.least_python()
    text = f"{platform.python_version()} ({sys.executable})"
    if sys.version_info[: len(least)] < least:
        yield Finding("missing", "Python", f"{text}; {'.'.join(map(str, least))} or newer is required")
    else:
        yield Finding("ok", "Python", text)
    yield Finding("ok", "system", f"{platform.system()} {platform.release()} {platform.machine()}")


def _packages() -> Iterator[Finding]:
    """Yield the required packages in one line if they are all there, and a line per optional group."""
    groups = _extras.requirements()
    if not groups:
        yield Finding("note", "packages", "svctoolkit is not installed as a package, so its requirements are unknown")
    for group, packages in groups.items():
        wrong = [package.problem for package in packages if package.problem]
        if not wrong:
            yield Finding("ok", group or "packages", ", ".join(f"{item.name} {item.version}" for item in packages))
        elif group:
            yield Finding("note", group, f"{'; '.join(wrong)} (pip install 'svctoolkit[{group}]')")
        else:
            yield Finding("missing", "packages", "; ".join(wrong))


def _sandbox() -> Iterator[Finding]:
    """Yield whether user code can run here: without the essential layers, only trusted code does."""
    from svctoolkit.errors import ToolkitError
    from svctoolkit.transformations import code_is_trusted, layers

    try:
        sandbox = layers()
    except (ToolkitError, OSError) as error:
        yield Finding("missing", "sandbox", f"cannot be started: {error}")
        return
    missing = [f"missing: {name.replace('_', ' ')}: {what}" for name, what in sandbox.missing.items()]
    count = f"{len(sandbox.active)} of {len(sandbox.active) + len(missing)} layers"
    if sandbox.essential:
        yield Finding("ok" if not missing else "note", "sandbox", "\n".join([count, *missing]))
        return
    why = "all code is trusted, so it runs" if code_is_trusted() else "Python code runs only if it is yours"
    advice = "`svctoolkit trust FILE` records your code; JavaScript runs without these layers"
    yield Finding("note", "sandbox", "\n".join([f"{count}; {why}", *missing, advice]))


def _trusted() -> Iterator[Finding]:
    """Yield where the hashes of trusted code are, and how many there are."""
    from svctoolkit.cli import _terminal
    from svctoolkit.transformations import TrustStore

    store = TrustStore()
    yield Finding("ok", "trusted code", f"{_terminal.quantity(len(store.entries()), 'record')} in {store.folder}")


def _languages() -> Iterator[Finding]:
    """Yield for each language whether a transformation in it runs, and whether its sandbox starts quickly."""
    from svctoolkit.errors import ToolkitError
    from svctoolkit.transformations import Limits, template_problem
    from svctoolkit.workspace import Workspace

    codes = {
        "JavaScript": "export function transformEvent(event) { return event; }",
        "Python": "def transformEvent(event, metadata):\n    return event\n",
    }
    for language, code in codes.items():
        workspace = Workspace("doctor", limits=Limits(trust=True))
        probe = workspace.transformation("probe", code=code, language=language.lower())  # type: ignore[arg-type]
        name = f"{language} code"
        try:
            problem = str(probe.run({"type": "track"}).error or "")
        except (ToolkitError, OSError) as error:
            problem = str(error)
        if problem:
            yield Finding("missing", name, problem)
        elif why := template_problem(language.lower()):
            slow = "a transformation runs; each sandbox is a new process instead of a fork of a warm one"
            yield Finding("note", name, f"{slow}: {why}")
        else:
            yield Finding("ok", name, "a transformation runs")


def _store() -> Iterator[Finding]:
    """Yield whether a data plane can keep its events on disk."""
    import sqlite3
    import tempfile
    from pathlib import Path

    try:
        with tempfile.TemporaryDirectory(prefix="svctoolkit-") as folder:
            connection = sqlite3.connect(Path(folder) / "probe.db")
            try:
                (mode,) = connection.execute("pragma journal_mode=wal").fetchone()
                connection.execute("create table probe (value)")
            finally:
                connection.close()
    except (OSError, sqlite3.Error) as error:
        yield Finding("missing", "store", f"cannot write a SQLite file in the folder for temporary files: {error}")
        return
    text = f"SQLite {sqlite3.sqlite_version}"
    yield (
        Finding("ok", "store", text)
        if mode == "wal"
        else Finding("note", "store", f"{text}, without a write-ahead log")
    )


command = Command(
    help="check that this machine has what svctoolkit needs",
    description="""
        Report Python, packages and optional groups, the layers of the sandbox for transformations, whether JavaScript
        and Python code runs, and the store. The exit code is 1 if something essential is missing. Include the output
        when you report a bug: it contains no settings and no secrets.
    """,
    examples=("svctoolkit doctor",),
    run=_run,
    runs_code=True,
)
