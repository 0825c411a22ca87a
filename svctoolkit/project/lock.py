"""What the last import or sync wrote, to distinguish changes of the export from edits: `import.lock.json`.

It contains the generated workspace.yaml as data, with references in place of secrets, and hashes of code and plans.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from svctoolkit import yamlfile
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json

NAME = "import.lock.json"
WORKSPACE = "workspace.yaml"
_FOLDERS = ("transformations", "tracking")


@dataclass(frozen=True, slots=True)
class Lock:
    """`workspace` is the data of workspace.yaml, `files` the SHA-256 of each file with code or a plan."""

    workspace: Mapping[str, Json]
    files: Mapping[str, str]

    def text(self) -> str:
        """Return the content of the file."""
        return json.dumps({"version": 1, "workspace": self.workspace, "files": self.files}, indent=1) + "\n"


def lock_of(folder: Path) -> Lock:
    """Return the lock of a project in its present state."""
    files = [path for name in _FOLDERS for path in sorted((folder / name).rglob("*")) if path.is_file()]
    hashes = {path.relative_to(folder).as_posix(): digest(path) for path in files}
    return Lock(yamlfile.load(folder / WORKSPACE).data, hashes)


def digest(path: Path) -> str:
    """Return the SHA-256 of a file; empty if it does not exist."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def read_lock(folder: Path) -> Lock:
    """Read a project's lock. Raises `UsageError` without one, or if it is damaged."""
    path = folder / NAME
    try:
        data = json.loads(path.read_text("utf-8"))
        return Lock(dict(data["workspace"]), dict(data["files"]))
    except FileNotFoundError:
        text = (
            "does not exist, so edits of the project and changes of the export look the same: import the export again"
        )
        raise UsageError(f"{yamlfile.display_name(path)} {text}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{yamlfile.display_name(path)} cannot be read: {error}") from error
