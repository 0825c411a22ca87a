"""Builds that can be compared: this tree as it is, and a revision in a temporary work tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Build:
    """A folder with `svctoolkit` and `tests`, and the interpreter whose environment has what they require."""

    folder: Path
    python: str = sys.executable

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which every process, also below others, imports this build and not an installed one."""
        before = os.environ.get("PYTHONPATH")
        return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(self.folder), before)))}

    def compile(self) -> None:
        """Write bytecode: a sandbox never does, so that a fresh work tree would be slower."""
        command = [self.python, "-m", "compileall", "-q", "-j", "0", "svctoolkit", "tests/benchmarks"]
        subprocess.run(command, cwd=self.folder, check=False, stdout=subprocess.DEVNULL)


@dataclass(frozen=True, slots=True)
class Revision:
    """An earlier build. `shared` is its package with this tree's tests, `own` the revision as it was."""

    shared: Build
    own: Build


@contextmanager
def checked_out(revision: str) -> Iterator[Revision]:
    """Check out a revision in a work tree that is removed afterwards.

    It gets its own environment if this one does not meet its requirements. Raises `LookupError` for an unknown one.
    """
    _run(["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"], f"there is no revision {revision!r}")
    with tempfile.TemporaryDirectory(prefix="svctoolkit-benchmarks-") as name:
        tree = Path(name).resolve() / "tree"
        _run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision])
        try:
            own = Build(tree, _python(tree))
            own.compile()
            yield Revision(Build(_with_tests_of(ROOT, tree), own.python), own)
        finally:
            _run(["git", "worktree", "remove", "--force", str(tree)])


def _with_tests_of(root: Path, tree: Path) -> Path:
    """A folder of links: everything of `tree`, but the tests of `root`."""
    folder = tree.with_name("shared")
    folder.mkdir()
    for file in tree.iterdir():
        if file.name not in (".git", "tests"):
            (folder / file.name).symlink_to(file)
    (folder / "tests").symlink_to(root / "tests")
    return folder


def _python(tree: Path) -> str:
    """The interpreter of an environment that meets the requirements of `tree`: usually this one."""
    missing = sorted(line for line in _requirements(tree) - _requirements(ROOT) if not _is_met(Requirement(line)))
    if not missing:
        return sys.executable
    print(f"an environment of its own, for {', '.join(missing)}", flush=True)
    folder = tree.with_name("environment")
    _run([sys.executable, "-m", "venv", str(folder)])
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    _run([python, "-m", "pip", "install", "-q", "-e", f"{tree}[test]"])
    return python


def _requirements(tree: Path) -> set[str]:
    project = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tables = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    return {line for table in tables for line in table if Requirement(line).name != project["name"]}


def _is_met(requirement: Requirement) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    try:
        return requirement.specifier.contains(metadata.version(requirement.name), prereleases=True)
    except metadata.PackageNotFoundError:
        return False


def _run(command: Sequence[str], otherwise: str = "") -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LookupError(otherwise or f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
