"""The only reader of the files that suites and workspaces consist of; it records what is read.

Whatever loads or runs a suite reads files with `read`, `exists` and `listing`. Inside `recording()`, each of them is
noted, also files that do not exist (yet): an input that is missing today may appear tomorrow. So `--changed`, `--watch`
and `svctoolkit mutate` learn what a scenario depends on without a list kept by hand.

>>> with recording() as inputs:
...     exists(Path("no-such-folder/.env"))
False
>>> [path.name for path in inputs.files]
['.env']
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

#: Modification time in nanoseconds and size; None for a file that does not exist.
Stamp: TypeAlias = tuple[int, int] | None

#: How the name of a suite ends.
SUITE_SUFFIXES = (".suite.yaml", ".suite.yml")

_ACTIVE: ContextVar[tuple[Inputs, ...]] = ContextVar("recordings", default=())


def is_suite(path: Path) -> bool:
    """Return whether a file is a suite, by its name: what runs suites, reads, writes and names them asks this."""
    return path.name.endswith(SUITE_SUFFIXES)


@dataclass(slots=True)
class Inputs:
    """Files by absolute path, each with its stamp when it was read; folders that were searched, with what was found."""

    files: dict[Path, Stamp] = field(default_factory=dict)
    listings: dict[tuple[Path, str], tuple[Path, ...]] = field(default_factory=dict)

    def add(self, other: Inputs) -> None:
        """Add all of the other inputs."""
        self.files.update(other.files)
        self.listings.update(other.listings)

    def touched(self, paths: Iterable[Path]) -> set[Path]:
        """Return those of the absolute `paths` that are inputs: read, looked for, or found by a search of a folder."""
        return {path for path in paths if path in self.files or any(self._finds(path))}

    def _finds(self, path: Path) -> Iterator[bool]:
        for folder, pattern in self.listings:
            above, _, name = pattern.rpartition("/")
            if path.is_relative_to(folder):
                yield path.match(name) and (above == "**" or path.parent == folder)

    def changed(self) -> list[Path]:
        """Return the inputs that differ from what was read, and the files that a search would find or miss now."""
        files = [path for path, before in self.files.items() if stamp(path) != before]
        searches = (
            {*_matching_files(folder, pattern)} ^ {*found} for (folder, pattern), found in self.listings.items()
        )
        return [*files, *(path for differing in searches for path in sorted(differing))]

    def refresh(self) -> None:
        """Take the present state of all files and folders as what was read."""
        self.files = {path: stamp(path) for path in self.files}
        self.listings = {(folder, pattern): _matching_files(folder, pattern) for folder, pattern in self.listings}

    def unchanged(self) -> list[Path]:
        """Return the files that are as they were read, and those that a search has found."""
        found = (path for paths in self.listings.values() for path in paths)
        return [*dict.fromkeys([*(path for path, before in self.files.items() if stamp(path) == before), *found])]


@contextmanager
def recording() -> Iterator[Inputs]:
    """Record what this thread reads inside the block. Recordings may be nested: the outer one gets everything."""
    inputs = Inputs()
    token = _ACTIVE.set((*_ACTIVE.get(), inputs))
    try:
        yield inputs
    finally:
        _ACTIVE.reset(token)


def replay(inputs: Inputs) -> None:
    """Record these inputs again, for a value that was read earlier and is cached."""
    for active in _ACTIVE.get():
        active.add(inputs)


def read(path: Path, most: int = -1) -> bytes:
    """Return the content of a file, or its first `most` bytes. Raises `OSError`, and `ValueError` for a NUL in it."""
    if not _ACTIVE.get():
        with path.open("rb") as file:
            return file.read(most)
    try:
        with path.open("rb") as file:
            # The stamp of the opened file: if it is replaced later, that is a change.
            status = os.fstat(file.fileno())
            _note(path, (status.st_mtime_ns, status.st_size))
            return file.read(most)
    except OSError:
        _note(path, stamp(path))
        raise


def exists(path: Path) -> bool:
    """Return whether there is such a file or folder."""
    found = path.exists()
    if _ACTIVE.get() and not path.is_dir():
        _note(path, stamp(path))
    return found


def is_file(path: Path) -> bool:
    """Return whether there is such a file."""
    return exists(path) and path.is_file()


def listing(folder: Path, pattern: str) -> list[Path]:
    """Return the files in a folder that match a pattern such as `*.json`, or `**/*` for all below it, sorted."""
    found = _matching_files(folder, pattern)
    if _ACTIVE.get():
        absolute = tuple(Path(os.path.abspath(path)) for path in found)
        for active in _ACTIVE.get():
            active.listings[Path(os.path.abspath(folder)), pattern] = absolute
    return list(found)


def noted(path: Path) -> None:
    """Record a file as it is now: it was written, or was read by something else, such as Python's import."""
    if _ACTIVE.get():
        _note(path, stamp(path))


def _note(path: Path, seen: Stamp) -> None:
    if "\0" in str(path):
        return  # no file can have this name
    # Both names of a link: it may be replaced, or what it points to.
    for name in dict.fromkeys([os.path.abspath(path), os.path.realpath(path)]):
        for active in _ACTIVE.get():
            active.files[Path(name)] = seen


def stamp(path: Path) -> Stamp:
    """Return when a file was last changed, and its size; None if it does not exist."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def _matching_files(folder: Path, pattern: str) -> tuple[Path, ...]:
    return tuple(path for path in sorted(folder.glob(pattern)) if path.is_file())


def digest(path: Path) -> str:
    """Return a digest of a file's content; an empty string if it does not exist or cannot be read."""
    try:
        return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()
    except OSError:
        return ""
