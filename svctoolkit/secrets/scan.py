"""Find secrets in files: snapshots, notebooks, reports, cassettes."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from svctoolkit.secrets._named import NamedSecrets

_LONGEST = 256 << 20  # bytes of a file, also after decompression
_FOLDERS = frozenset({".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache"})
_ENV_FILES = frozenset({".env"})  # where the secrets belong


class Place(NamedTuple):
    """Where a secret is in a file: line and column from 1, and its name."""

    line: int
    column: int
    name: str


class Skipped(Exception):
    """A file is not searched. The text says why."""


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the given files, and the files in the given folders in order of their names.

    Of a folder, files named `.env`, and the folders of version control, packages and caches, are left out.
    """
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(set(folders) - _FOLDERS)
            yield from (Path(folder, name) for name in sorted(set(names) - _ENV_FILES))


def scan(file: Path, secrets: NamedSecrets) -> Iterator[Place]:
    """Yield the secrets in a file, in order. Raises `Skipped` for a file that cannot be read."""
    text = _text(file)
    line, start, counted = 1, 0, 0  # the current line, where it starts, and up to where lines are counted
    for found in secrets.find(text):
        lines = text.count("\n", counted, found.start)
        if lines:
            line, start = line + lines, text.rindex("\n", counted, found.start) + 1
        counted = found.start
        yield Place(line, found.start - start + 1, found.name)


def _text(file: Path) -> str:
    try:
        if not file.is_file():
            raise Skipped("it is not a regular file")
        with file.open("rb") as opened:
            data = opened.read(_LONGEST + 1)
        if data[:2] == b"\x1f\x8b":
            with gzip.open(file) as unpacked:
                data = unpacked.read(_LONGEST + 1)
    except OSError as error:
        raise Skipped(error.strerror or str(error)) from error
    except (EOFError, zlib.error):
        raise Skipped("it is not a complete gzip file") from None
    if len(data) > _LONGEST:
        raise Skipped(f"it has more than {_LONGEST >> 20} MB")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return data.decode(encoding, "replace")
