"""Verdicts of earlier runs, by the content of everything that they depend on: a second run costs only what changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import svctoolkit
from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.mutation.baseline import EVERYTHING, parts_of
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.verdict import Verdict
from svctoolkit.runner import Scenario, Suite
from svctoolkit.runner.expect.snapshots import write
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Workspace

FILE = Path(".svctoolkit") / "mutate.json"
_OWN = ("destinations", "transformations", "libraries")  # parts of a workspace that are compared one by one


class Cache:
    """The results of `file`, and those that are added.

    Keys are digests, so that the file contains no settings. A file that cannot be read is empty.
    """

    def __init__(self, file: Path = FILE) -> None:
        self._file = file
        self._digests: dict[str, str] = {}
        self._parts: dict[tuple[int, str], str] = {}
        self._used: dict[str, Any] = {}
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            stored = {}
        self._stored: Mapping[str, Any] = stored if isinstance(stored, dict) else {}
        self._program = _program()

    def lines(self, scenario: Scenario) -> dict[str, dict[int, int]] | None:
        """Return how often each line of code ran when the scenario passed; None if it did not run like this before."""
        stored = self._get(self.digest(scenario))
        if not isinstance(stored, dict):
            return None
        return {file: {int(line): count for line, count in counts.items()} for file, counts in stored.items()}

    def keep_lines(self, scenario: Scenario, counts: Mapping[str, Mapping[int, int]]) -> None:
        """Store that a scenario passes, and the lines of code that it runs."""
        self._used[self.digest(scenario)] = {
            file: {str(line): int(count > 0) for line, count in lines.items()} for file, lines in counts.items()
        }

    def verdict(self, change: Change, scenarios: Sequence[Scenario]) -> Verdict | None:
        """Return the verdict on a change by these scenarios, if nothing that it depends on has changed."""
        stored = self._get(self._key(change, scenarios))
        if not isinstance(stored, list) or len(stored) != 5:
            return None
        status, scenario, lines, names_place, reason = stored
        return Verdict(change, status, scenario, tuple(lines), names_place, reason)

    def keep(self, verdict: Verdict, scenarios: Sequence[Scenario]) -> None:
        """Store a verdict."""
        values = [verdict.status, verdict.scenario, list(verdict.lines), verdict.names_place, verdict.reason]
        self._used[self._key(verdict.change, scenarios)] = values

    def save(self, *, complete: bool) -> None:
        """Write the file, after a `complete` run without what it did not use. An unwritable folder is not an error."""
        with suppress(ConfigError):
            write(self._file, json.dumps(self._used if complete else {**self._stored, **self._used}))

    def _get(self, key: str) -> Any:
        value = self._stored.get(key, self._used.get(key))
        if value is not None:
            self._used[key] = value
        return value

    def _key(self, change: Change, scenarios: Sequence[Scenario]) -> str:
        return _digest([repr(change.alteration), change.text, *(self.digest(scenario) for scenario in scenarios)])

    def digest(self, scenario: Scenario) -> str:
        """Return the digest of everything that the result of a scenario depends on."""
        if scenario.name not in self._digests:
            self._digests[scenario.name] = _digest(self._inputs(scenario))
        return self._digests[scenario.name]

    def _inputs(self, scenario: Scenario) -> Iterator[Any]:
        suite = scenario.suite
        data = suite.document.data
        yield self._program
        yield scenario.name
        yield suite.document.text if "scenarios" not in data else {k: v for k, v in data.items() if k != "scenarios"}
        yield data["scenarios"][scenario.written[1]] if "scenarios" in data else ""
        yield self._shared(suite)
        for file in sorted(suite.snapshot_folder.glob(f"{_literal(scenario.id)}.*")):
            yield _content(file)
        parts = set(parts_of(scenario))
        keys = suite.workspace.destinations.keys() if EVERYTHING in parts else parts
        for key in sorted(keys):
            yield self._part(suite.workspace, key)

    def _shared(self, suite: Suite) -> str:
        """Return the digest of what all scenarios of a suite may use: its other files, the rest of its workspace."""
        key = (id(suite), "")
        if key not in self._parts:
            self._parts[key] = _digest(_shared(suite))
        return self._parts[key]

    def _part(self, workspace: Workspace, name: str) -> str:
        """Return the digest of a destination with its code, or of a transformation."""
        key = (id(workspace), name)
        if key not in self._parts:
            destination = workspace.destinations.get(name)
            used = destination.transformation if destination else name.removeprefix("transformation ")
            item = workspace.transformations.get(used or "")
            settings = [destination.type, destination.enabled, reveal(destination.config)] if destination else []
            self._parts[key] = _digest([name, settings, used, item and [item.language, item.code, item.code_version]])
        return self._parts[key]


def _shared(suite: Suite) -> Iterator[Any]:
    workspace = suite.workspace
    folder = workspace.folder or Path()
    code = {(folder / t.file).resolve() for t in workspace.transformations.values() if t.file}
    code |= {(folder / library.file).resolve() for library in workspace.libraries.values() if library.file}
    for file in suite.files:
        if workspace.file is not None and file.resolve() == workspace.file.resolve():
            with suppress(ConfigError):
                data = yamlfile.load(file).data
                yield {key: value for key, value in data.items() if key not in _OWN}
        elif file.resolve() not in code:
            yield _content(file)
    yield [[library.key, library.code] for library in workspace.libraries.values()]
    yield [[d.key, d.enabled, d.transformation] for d in workspace.destinations.values()]
    for plan in workspace.tracking_plans.values():
        yield from map(_content, plan.project.files)
    yield dict(suite.environment.secrets)


def _content(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return "missing"


def _literal(id: str) -> str:
    """Return the pattern that matches an id."""
    return "".join(f"[{character}]" if character in "[]*?" else character for character in id)


def _program() -> str:
    """Return the digest of this program: its version, and when each of its files was written."""
    root = Path(svctoolkit.__file__).parent
    files = sorted((str(file), file.stat().st_mtime_ns) for file in root.rglob("*.py"))
    return _digest([svctoolkit.__version__, files])


def _digest(values: Any) -> str:
    content = json.dumps(list(values), sort_keys=True, default=repr, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()
