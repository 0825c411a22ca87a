"""What git says about a project, for options that compare with another revision."""

from __future__ import annotations

import subprocess
from pathlib import Path

from svctoolkit.errors import UsageError


def git(folder: Path, *arguments: str, option: str, wrong: str = "") -> str:
    """Return the output of git in a folder.

    Raises `UsageError`, which names the `option`, if git is missing or fails; `wrong` says why, instead of git's text.
    """
    try:
        result = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8"
        )
    except OSError as error:
        raise UsageError(f"{option} needs git: {error.strerror}") from error
    if result.returncode:
        raise UsageError(f"{option}: {wrong or result.stderr.strip() or 'git failed'}")
    return result.stdout
