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
from svctoolkit.expect.snapshots import write
from svctoolkit.inputs import digest
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.verdict import Verdict
from svctoolkit.runner import Scenario, Suite
from svctoolkit.runner.suite.dependencies import inputs_of, items_of
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
        self._items: dict[tuple[int, str], str] = {}
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
        if not isinstance(stored, list) or len(stored) != 6:
            return None
        status, scenario, lines, names_place, reason, is_covered = stored
        return Verdict(change, status, scenario, tuple(lines), names_place, reason, is_covered)

    def keep(self, verdict: Verdict, scenarios: Sequence[Scenario]) -> None:
        """Store a verdict."""
        self._used[self._key(verdict.change, scenarios)] = [
            verdict.status,
            verdict.scenario,
            list(verdict.lines),
            verdict.names_place,
            verdict.reason,
            verdict.is_covered,
        ]

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
        suite, data = scenario.suite, scenario.suite.document.data
        first, number, *_ = (*scenario.written, None)
        yield self._program, scenario.name, self._shared(suite)
        yield data["scenarios"][number] if first == "scenarios" else suite.document.text
        for file in sorted(suite.snapshot_folder.glob(f"{_literal(scenario.id)}.*")):
            yield digest(file)
        split = {suite.path.resolve(), suite.workspace.file.resolve() if suite.workspace.file else None}
        files = {path for read in inputs_of(scenario) for path in read.files if path.resolve() not in split}
        yield [digest(path) for path in sorted(files)]
        for item in sorted(items_of(scenario)):
            yield self._item(suite.workspace, item)

    def _shared(self, suite: Suite) -> str:
        """Return the digest of what all scenarios of a suite may use: its other files, the rest of its workspace."""
        key = (id(suite), "")
        if key not in self._items:
            self._items[key] = _digest(_shared(suite))
        return self._items[key]

    def _item(self, workspace: Workspace, item: str) -> str:
        """Return the digest of an item of a workspace."""
        key = (id(workspace), item)
        if key not in self._items:
            self._items[key] = _digest(_content(workspace, item))
        return self._items[key]


def _content(workspace: Workspace, item: str) -> Iterator[Any]:
    section, _, key = item.partition(".")
    yield item
    if section == "destinations":
        d = workspace.destinations[key]
        yield [d.type, d.enabled, reveal(d.config), d.transformation, d.account, d.declared, d.simulate]
    elif section == "transformations":
        t = workspace.transformations[key]
        yield [t.language, t.code, t.code_version]
    elif section == "libraries":
        yield [workspace.libraries[key].language, workspace.libraries[key].code]


def _shared(suite: Suite) -> Iterator[Any]:
    """Yield what all scenarios of a suite may use: its own settings, and its workspace without single items."""
    yield {key: value for key, value in suite.document.data.items() if key != "scenarios" and key not in _OWN}
    yield dict(suite.environment.secrets)
    file = suite.workspace.file
    if file is not None and file.resolve() != suite.path.resolve():
        try:
            data = yamlfile.load(file).data
        except ConfigError:  # the form of a service's export, which has its own reader
            yield digest(file)
            return
        yield {key: value for key, value in data.items() if key not in _OWN}


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
