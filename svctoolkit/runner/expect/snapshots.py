"""Golden files: one JSON file for each scenario and place, in `__snapshots__` beside the suite."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.runner.expect.compare import Comparison, differences
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.failed import Failed
from svctoolkit.secrets import Masker

Update: TypeAlias = Literal["none", "new", "all"]


@dataclass(slots=True)
class Snapshots:
    """The snapshots of a run. `update` says which are written: none, those that are not there, or all that differ.

    `new_files` has those that were written, `files_in_use` those that a scenario looked at, `complete` how the files of
    each scenario begin that passed, and so looked at all that it has.
    """

    update: Update = "none"
    new_files: list[Path] = field(default_factory=list)
    files_in_use: set[Path] = field(default_factory=set)
    complete: set[Path] = field(default_factory=set)

    def find_unused(self, folder: Path, scenarios: Iterable[str] = ()) -> list[Path]:
        """The files in a suite's folder that no scenario looked at; worth asking after a run of all of it.

        `scenarios` are the ids of those it has: what one may look at that did not run, or not to its end, is not told.
        """
        others = tuple(f"{id_}." for id_ in scenarios if folder / id_ not in self.complete)
        unused = (path for path in folder.glob("*.json") if path not in self.files_in_use)
        return sorted(path for path in unused if not path.name.startswith(others))


@dataclass(frozen=True, slots=True)
class ScenarioSnapshots:
    """Finds and writes the snapshots of one scenario: files in `folder` whose names begin with `prefix`."""

    run: Snapshots
    folder: Path
    prefix: str
    masker: Masker

    def differences(self, name: str, actual: Json, comparison: Comparison) -> Iterator[Difference]:
        path = self.folder / f"{self.prefix}{name}.json"
        self.run.files_in_use.add(path)
        value = self.masker.mask(_without_ignored(actual, comparison))
        try:
            golden = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if self.run.update == "none":
                yield comparison.difference("a snapshot", value, got="no snapshot yet: --update=new writes it")
            else:
                self._write(path, value)
            return
        except (OSError, ValueError) as error:
            yield comparison.difference(f"a snapshot in {path}", value, got=f"a file that cannot be read: {error}")
            return
        differing = differences({"$exact": {"$literal": golden}}, value)
        if differing and self.run.update == "all":
            self._write(path, value)
            return
        for difference in differing:
            where = (*comparison.path, *difference.path)
            yield Difference(comparison.expectation, where, f"{difference.expected} (snapshot)", difference.got)

    def _write(self, path: Path, value: Any) -> None:
        write(path, json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
        self.run.new_files.append(path)


def _without_ignored(value: Any, comparison: Comparison) -> Any:
    if isinstance(value, Failed):
        value = value.without_wording()
    if isinstance(value, dict):
        inner = {key: (comparison.child(key), v) for key, v in value.items()}
        return {key: _without_ignored(v, place) for key, (place, v) in inner.items() if not place.is_ignored()}
    if isinstance(value, list):
        return [_without_ignored(v, comparison.child(n)) for n, v in enumerate(value)]
    return value


def write(path: Path, text: str) -> None:
    """Write a file as a whole or not at all. Raises `ConfigError` where it cannot be written."""
    import tempfile  # 10 ms, and most runs write nothing

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
            Path(temporary).chmod(0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"cannot write it: {error.strerror}", where=str(path)) from error
