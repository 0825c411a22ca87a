"""Load a workspace from a path or from a git revision."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.errors import InvalidWorkspace, Problem, UnsetVariables, UsageError, WorkspaceNotes

if TYPE_CHECKING:
    from svctoolkit.workspace import Workspace

_FILE = "workspace.yaml"


def file_of(ref: str) -> Path | None:
    """The workspace at a path: the file itself, `workspace.yaml` in a folder, or the folder of a rudder-cli project.

    A `workspace.yaml` that does not exist means the project in its folder. None if there is nothing.
    """
    from svctoolkit.workspace import project_at

    path = Path(ref)
    project = project_at(path)
    if project is not None:
        return project
    if path.is_dir():
        return path / _FILE
    return path if path.exists() else None


def workspace_at(revision: str, file: Path) -> Workspace:
    """The workspace in `file` as of a git revision, with the secrets of the current folder's `.env`.

    Raises `UsageError` if the revision or the file in it does not exist, `InvalidWorkspace` for an invalid workspace.
    """
    from svctoolkit.workspace import Workspace, load_env

    base = file if file.is_dir() else file.parent
    environ = load_env(base, os.environ)
    with _check_out(revision, base) as folder, _own_paths(folder, base, revision):
        place = folder if file.is_dir() else folder / file.name
        if not place.exists():
            raise UsageError(f"revision {revision} does not contain {file}")
        workspace = Workspace.load(place, environ=environ)
    if file.is_dir():  # a project is named after its folder, which is temporary here
        workspace.name = base.resolve().name
    workspace.folder = base  # the checkout is deleted; cassettes are found in the current folder
    return workspace


def changed_files(revision: str, folder: Path) -> list[str]:
    """The files in a folder that differ from those of a git revision, by their paths in the folder."""
    names = _git(folder, revision, "diff", "--name-only", "--relative", "--end-of-options", revision, "--", ".")
    return names.decode("utf-8", "replace").splitlines()


def text_at(revision: str, file: Path) -> str | None:
    """The text of a file as of a git revision; None if the revision does not have it."""
    try:
        return _git(file.parent, revision, "show", "--end-of-options", f"{revision}:./{file.name}").decode("utf-8")
    except (UsageError, UnicodeDecodeError):
        return None


@contextmanager
def _own_paths(checkout: Path, folder: Path, revision: str) -> Iterator[None]:
    """Report problems of files in the checkout under the paths of the same files in the user's folder."""

    def name(problem: Problem) -> Problem:
        where, message = (text.replace(f"{checkout}{os.sep}", prefix) for text in (problem.where, problem.message))
        return Problem(f"{message} (in revision {revision})", where)

    prefix = "" if folder == Path() else f"{folder}{os.sep}"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except InvalidWorkspace as error:
            raise InvalidWorkspace([name(problem) for problem in error.problems]) from None
    for warning in caught:
        if not isinstance(warning.message, (UnsetVariables, WorkspaceNotes)):  # as for the current workspace
            warnings.warn(warning.message, stacklevel=3)


@contextmanager
def _check_out(revision: str, folder: Path) -> Iterator[Path]:
    """Check out the folder to a temporary place; the repository and its working tree are not touched.

    The whole repository is checked out, since a workspace may refer to files outside its folder.
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
        raise UsageError(f"{revision} is not a path, and git is not installed") from None
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        why = f": {message}" if message else ""
        raise UsageError(f"{revision} is neither a path nor a git revision of {folder}{why}") from None
