"""Which lines have changed since a git revision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from svctoolkit.errors import UsageError
from svctoolkit.git import git
from svctoolkit.mutation.change import Change

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def changed_since(changes: Sequence[Change], ref: str) -> list[Change]:
    """Return the changes at lines of the working tree that differ from `ref`.

    Raises `UsageError` without git or `ref`.
    """
    lines = changed_lines(ref)
    return [c for c in changes if (found := lines.get(Path(c.file).resolve(), ())) is None or c.line in found]


def changed_lines(ref: str) -> dict[Path, set[int] | None]:
    """Return the numbers of changed and new lines by file; None for a file that git does not have."""
    if ref.startswith("-"):  # git would read it as an option
        raise UsageError(f"--since {ref}: expected a branch, a tag or a commit")
    root = Path(_git(Path.cwd(), "rev-parse", "--show-toplevel").strip())
    _git(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", wrong=f"unknown revision {ref!r}")
    new = _git(root, "ls-files", "-o", "--exclude-standard", "-z").split("\0")
    found: dict[Path, set[int] | None] = {(root / name).resolve(): None for name in new if name}
    for name in _git(root, "diff", "--name-only", "-z", ref).split("\0"):
        if name:
            diff = _git(root, "diff", "--unified=0", "--no-color", "--no-ext-diff", ref, "--", name)
            hunks = [match for line in diff.splitlines() if (match := _HUNK.match(line))]
            numbers = {int(hunk[1]) + offset for hunk in hunks for offset in range(int(hunk[2] or 1))}
            found[(root / name).resolve()] = numbers
    return found


def _git(folder: Path, *arguments: str, wrong: str = "") -> str:
    return git(folder, *arguments, option="--since", wrong=wrong)
