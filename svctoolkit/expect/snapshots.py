"""Snapshots: one JSON file for each scenario and place, in `__snapshots__` next to the suite."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit import inputs
from svctoolkit.errors import ConfigError
from svctoolkit.expect.compare import Comparison, differences
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.failed import Failed
from svctoolkit.json_types import Json
from svctoolkit.secrets import NamedSecrets

Update: TypeAlias = Literal["none", "new", "all"]

SNAPSHOT = " (snapshot)"  # ends what a difference from a snapshot expects
_LONGEST = 200  # bytes of a file name; file systems allow 255, and a temporary name is longer
_KEPT = 160


class Snapshots(msgspec.Struct):
    """The snapshots of a run. `update` selects which are written: none, missing ones, or all that differ.

    `new_files` has the written files, each with what its value is if that is unusual (a failure, nothing),
    `files_in_use` those that a scenario used. `complete` has the file name
    prefixes of scenarios that passed, and so have used all of their snapshots.
    """

    update: Update = "none"
    new_files: dict[Path, str] = {}
    files_in_use: set[Path] = set()
    complete: set[Path] = set()

    def find_unused(self, folder: Path, scenarios: Iterable[str] = ()) -> list[Path]:
        """Return the files in a suite's folder that no scenario used; only meaningful after a run of the whole suite.

        `scenarios` are the ids of the suite's scenarios. Files of a scenario that did not run to its end are not
        returned.
        """
        others = tuple(_start(f"{id_}.") for id_ in scenarios if folder / id_ not in self.complete)
        unused = (path for path in inputs.listing(folder, "*.json") if path not in self.files_in_use)
        return sorted(path for path in unused if not path.name.startswith(others))


class PendingSnapshot(msgspec.Struct, frozen=True):
    """A value that an update would write to `path`, and the differences that it would resolve."""

    path: Path
    value: Json
    actual: Json
    place: Comparison
    differences: Sequence[Difference]


class ScenarioSnapshots(msgspec.Struct, frozen=True):
    """Read the snapshots of one scenario: files in `folder` whose names start with `prefix`.

    `pending` collects what an update would write; `write` does it, once the step is known not to have failed.
    """

    run: Snapshots
    folder: Path
    prefix: str
    secrets: NamedSecrets
    pending: list[PendingSnapshot] = msgspec.field(default_factory=list)

    def write(self, snapshot: PendingSnapshot, what: str = "") -> None:
        """Write a snapshot; `what` describes an unusual value."""
        # Sorted, so that a review shows changed values and not a changed order.
        write(snapshot.path, json.dumps(snapshot.value, indent=2, ensure_ascii=False, sort_keys=True) + "\n")
        self.run.new_files[snapshot.path] = what
        inputs.noted(snapshot.path)

    def differences(self, name: str, actual: Json, comparison: Comparison) -> Iterator[Difference]:
        path = self.folder / _file_name(f"{self.prefix}{name}")
        self.run.files_in_use.add(path)
        actual = _without_ignored(actual, comparison)
        value = self.secrets.mask(actual)
        try:
            golden = json.loads(inputs.read(path).decode())
        except FileNotFoundError:
            missing = comparison.difference("a snapshot", value, got="no snapshot yet: --update=new writes it")
            yield from self._unless_updated(PendingSnapshot(path, value, actual, comparison, [missing]), "none")
            return
        except (OSError, ValueError) as error:
            yield comparison.difference(f"a snapshot in {path}", value, got=f"a file that cannot be read: {error}")
            return
        # `$literal`: a payload may contain keys such as `$set`, which are not matchers here.
        differing = differences({"$exact": {"$literal": golden}}, self.secrets.align(golden, actual))
        if differing:
            found = [
                Difference(
                    comparison.expectation,
                    (*comparison.path, *difference.path),
                    f"{difference.expected}{SNAPSHOT}",
                    difference.got,
                )
                for difference in differing
            ]
            yield from self._unless_updated(PendingSnapshot(path, value, actual, comparison, found), "none", "new")

    def _unless_updated(self, snapshot: PendingSnapshot, *kept: Update) -> Iterator[Difference]:
        if self.run.update in kept:
            yield from snapshot.differences
        else:
            self.pending.append(snapshot)


def _file_name(name: str) -> str:
    """Return the file name of a snapshot. A long one ends in a hash, as names of scenarios and keys have any length."""
    if len(name.encode()) > _LONGEST:
        name = f"{_start(name)}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    return f"{name}.json"


def _start(name: str) -> str:
    return name.encode()[:_KEPT].decode(errors="ignore")


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
    """Write a file atomically. Raises `ConfigError` if it cannot be written."""
    import tempfile  # 10 ms, and most runs write nothing

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.write(text)
            # `mkstemp` creates files that only the owner can read; snapshots are committed.
            Path(temporary).chmod(0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=str(path)) from error
