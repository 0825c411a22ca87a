"""The files of a folder that Git would track, by its `.gitignore` files. Git itself is not needed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_NEVER = {".git", ".env", ".svctoolkit"}


def tracked_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that Git would track. Values of secrets and results of runs are never among them.

    Links to folders are not followed, as Git does not follow them.
    """
    yield from _tracked(folder, folder, ())


def copy_tracked(folder: Path, copy: Path) -> None:
    """Copy what Git would track to another folder."""
    for file in tracked_files(folder):
        target = copy / file.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, target)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A line of a `.gitignore` in `base`. The last rule that matches decides."""

    base: Path
    pattern: re.Pattern[str]
    ignores: bool
    folders_only: bool

    def matches(self, path: Path, *, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        return self.pattern.fullmatch(PurePosixPath(path.relative_to(self.base)).as_posix()) is not None


def _tracked(top: Path, folder: Path, rules: Sequence[_Rule]) -> Iterator[Path]:
    rules = (*rules, *_rules(folder))
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path, is_folder = Path(entry.path), entry.is_dir(follow_symlinks=False)
        if entry.name in _NEVER or _is_ignored(path, rules, is_folder=is_folder):
            continue
        if is_folder:
            yield from _tracked(top, path, rules)
        elif entry.is_file():
            yield path


def _is_ignored(path: Path, rules: Sequence[_Rule], *, is_folder: bool) -> bool:
    return next((rule.ignores for rule in reversed(rules) if rule.matches(path, is_folder=is_folder)), False)


def _rules(folder: Path) -> Iterator[_Rule]:
    file = folder / ".gitignore"
    if not file.is_file():
        return
    for line in file.read_text("utf-8", "replace").splitlines():
        text = line.rstrip()
        if text.endswith("\\"):  # a space after a backslash belongs to the name
            text = line[: len(text) + 1]
        if not text or text.startswith("#"):
            continue
        ignores = not text.startswith("!")
        text = text if ignores else text[1:]
        folders_only = text.endswith("/")
        text = text.rstrip("/")
        anywhere = "/" not in text
        yield _Rule(folder, _pattern(text.removeprefix("/"), anywhere=anywhere), ignores, folders_only)


_GLOB = re.compile(r"\*\*/|/\*\*$|\*|\?|\[(?:\[|[^]\[/])[^]\[/]*\]|\\.|.")
_GLOBS = {"**/": "(?:.*/)?", "/**": "/.*", "*": "[^/]*", "?": "[^/]"}


def _pattern(text: str, *, anywhere: bool) -> re.Pattern[str]:
    """Return a pattern for paths relative to the folder of the `.gitignore`. A name alone matches in any folder."""
    parts = [_GLOBS.get(part) or _literal(part) for part in _GLOB.findall(text)]
    return re.compile(("(?:.*/)?" if anywhere else "") + "".join(parts))


def _literal(part: str) -> str:
    if part.startswith("[") and len(part) > 1:
        return "[^" + part[2:] if part.startswith("[!") else part
    return re.escape(part.removeprefix("\\") or part)
