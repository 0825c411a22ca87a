"""Write several files: all of them or none."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from svctoolkit.errors import ConfigError, Problem, ToolkitError


class FileNames:
    """Unique file names derived from arbitrary text: letters, digits and dashes."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def of(self, words: str) -> str:
        return self.of_key(re.sub(r"[^A-Za-z0-9]+", "-", words)[:80].strip("-").lower() or "file")

    def of_key(self, base: str) -> str:
        """Return `base` itself, or with a number if it was given before."""
        name, number = base, 1
        while name in self._given:
            number += 1
            name = f"{base}-{number}"
        self._given.add(name)
        return name


def write_texts(texts: Mapping[str, str], folder: Path) -> None:
    """Write files by their names in a folder."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def check_free(folder: Path, names: Sequence[Path | str], hint: str) -> None:
    """Raise a `ConfigError` that lists the files that already exist, if any."""
    there = [folder / name for name in names if (folder / name).exists()]
    if there:
        problems = [Problem("already exists", str(path)) for path in there]
        raise ConfigError([*problems, Problem(f"nothing was written; {hint}")])


def move_all(source: Path, folder: Path, *, hint: str) -> list[Path]:
    """Move every file below `source` to the same place below `folder`; return the new paths.

    Raises `ConfigError` if one already exists, `ToolkitError` if one cannot be written; in both cases none is written.
    """
    names = sorted(path.relative_to(source) for path in source.rglob("*") if path.is_file())
    check_free(folder, names, hint)
    try:
        if folder.exists():
            _copy(source, names, folder)
        else:
            _copy_as_whole(source, names, folder)
    except OSError as error:
        raise ToolkitError(f"cannot write a project to {folder}: {error.filename}: {error.strerror}") from error
    return [folder / name for name in names]


def _copy_as_whole(source: Path, names: Sequence[Path], folder: Path) -> None:
    """Create a folder with files that appear at once: a process that is killed leaves no half of a project."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = folder.with_name(f".{folder.name[:50]}.{uuid4().hex[:8]}")
    try:
        _copy(source, names, new)
        new.rename(folder)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def _copy(source: Path, names: Sequence[Path], folder: Path) -> None:
    written: list[Path] = []
    try:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            written.append(folder / name)
            shutil.copy2(source / name, folder / name)
    except BaseException:  # Ctrl-C, too
        for path in written:
            path.unlink(missing_ok=True)
        raise
