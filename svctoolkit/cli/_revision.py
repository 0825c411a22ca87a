"""A workspace as it is, or as it was in a git revision."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.workspace import Workspace

_FILE = "workspace.yaml"


def file_of(ref: str) -> Path | None:
    """The workspace file that a path names: itself, or `workspace.yaml` in it; None where there is no such path."""
    path = Path(ref)
    if path.is_dir():
        return path / _FILE
    return path if path.exists() else None


def workspace_at(revision: str, file: Path) -> Workspace:
    """What the workspace in `file` was in a git revision.

    Raises `UsageError` for what is no revision, or has no such file, `InvalidWorkspace` for what is wrong in it.
    """
    from svctoolkit.workspace import Workspace

    with _check_out(revision, file.parent) as folder:
        if not (folder / file.name).is_file():
            raise UsageError(f"in revision {revision} there is no {file}")
        workspace = Workspace.load(folder / file.name)
    workspace.folder = file.parent  # the other one is gone; a cassette is looked for here
    return workspace


@contextmanager
def _check_out(revision: str, folder: Path) -> Iterator[Path]:
    """The folder as it was; the repository and its working tree stay as they are.

    All of the repository is taken, since a workspace may name files beside its folder.
    """
    top = Path(_git(folder, revision, "rev-parse", "--show-toplevel").decode().strip())
    prefix = _git(folder, revision, "rev-parse", "--show-prefix").decode().strip()
    commit = _git(folder, revision, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    archive = _git(top, revision, "archive", "--format=tar", commit.decode().strip())
    with (
        tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary,
        tarfile.open(fileobj=io.BytesIO(archive)) as tar,
    ):
        tar.extractall(temporary, filter="data")
        yield Path(temporary) / prefix


def _git(folder: Path, revision: str, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True).stdout
    except FileNotFoundError:
        raise UsageError(f"{revision} is no path, and git is not installed") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        why = f": {said}" if said else ""
        raise UsageError(f"{revision} is neither a path nor a git revision of {folder}{why}") from None
