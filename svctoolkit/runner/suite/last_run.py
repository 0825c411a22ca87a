"""What is known of the last run, in the folder `.svctoolkit`.

`failed.json` has the scenarios that failed, for `--failed`. `passed.json` has a digest of every input of each scenario
when it last passed: it shows what has changed since then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from svctoolkit.errors import ConfigError
from svctoolkit.expect.snapshots import write
from svctoolkit.inputs import Inputs, digest
from svctoolkit.yamlfile import display_name

_FOLDER = Path(".svctoolkit")
_FILE = _FOLDER / "failed.json"
_PASSED = _FOLDER / "passed.json"
_IGNORE = _FOLDER / ".gitignore"


def failures() -> set[str]:
    """Return the names (`file::id`) of the scenarios that failed when they last ran here."""
    try:
        names = json.loads(_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {str(name) for name in names} if isinstance(names, list) else set()


def keep(ran: Mapping[str, bool]) -> None:
    """Store which scenarios failed: `ran` maps names to success. The results of scenarios that did not run are kept.

    A folder that is not writable is not an error.
    """
    before = failures()
    # A run of one scenario must not forget that others have failed.
    names = sorted({name for name, ok in ran.items() if not ok} | (before - ran.keys()))
    if names or before:
        with suppress(ConfigError):
            write(_FILE, json.dumps(names, indent=0))


class _Stored(msgspec.Struct):
    """`inputs` are paths with digests, `groups` numbers of inputs, `scenarios` numbers of groups by name."""

    inputs: list[tuple[str, str]] = []
    groups: list[list[int]] = []
    scenarios: dict[str, list[int]] = {}


@dataclass(slots=True)
class Passed:
    """The inputs of scenarios when they last passed: digests by path, in groups that scenarios share."""

    scenarios: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    file: Path = _PASSED
    _now: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, file: Path = _PASSED) -> Passed:
        """Return what is stored; nothing if the file is missing or damaged."""
        try:
            stored = msgspec.json.decode(file.read_bytes(), type=_Stored)
            groups = [dict(stored.inputs[number] for number in group) for group in stored.groups]
            return cls({name: [groups[n] for n in numbers] for name, numbers in stored.scenarios.items()}, file)
        except (OSError, ValueError, IndexError):
            return cls(file=file)

    def changed_since(self, failed: Iterable[str]) -> list[str]:
        """Return the names of the inputs of failed scenarios that differ from when these last passed."""
        return sorted({display_name(path) for name in failed for path in self.changed(name)})

    def changed(self, name: str, paths: Iterable[Path] | None = None) -> list[Path]:
        """Return the inputs of a scenario that differ from when it last passed.

        Of `paths`, those that differ, or were no inputs then. Without a pass, all `paths` differ, and nothing is known
        of others.
        """
        then = {path: content for group in self.scenarios.get(name, ()) for path, content in group.items()}
        wanted = then if paths is None else map(str, paths)
        return [Path(path) for path in wanted if then.get(path) != self._digest(path)]

    def _digest(self, path: str) -> str:
        if path not in self._now:
            self._now[path] = digest(Path(path))
        return self._now[path]

    def keep(self, passed: Mapping[str, Iterable[Inputs]]) -> None:
        """Store the inputs of scenarios that passed, by name, and keep those of others.

        A file that has changed since it was read is left out. A folder that is not writable is not an error.
        """
        groups: dict[int, dict[str, str]] = {}
        for name, inputs in passed.items():
            for each in inputs:
                if id(each) not in groups:
                    current = each.unchanged()
                    groups[id(each)] = {str(path): self._digest(str(path)) for path in current}
            self.scenarios[name] = [group for each in inputs if (group := groups[id(each)])]
        stored = msgspec.json.encode(self._stored())
        with suppress(ConfigError, OSError):
            if not self.file.exists() or self.file.read_bytes() != stored:
                write(self.file, stored.decode())
            if self.file == _PASSED and not _IGNORE.exists():
                write(_IGNORE, "*\n")

    def _stored(self) -> _Stored:
        stored = _Stored([], [], {})
        numbers: dict[tuple[str, str], int] = {}
        places: dict[int, int] = {}
        for name, groups in self.scenarios.items():
            for group in groups:
                if id(group) not in places:
                    places[id(group)] = len(places)
                    stored.groups.append([numbers.setdefault(item, len(numbers)) for item in group.items()])
            stored.scenarios[name] = [places[id(group)] for group in groups]
        stored.inputs = [*numbers]
        return stored
