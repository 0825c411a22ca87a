"""The test files that a change can affect: those that import a changed module, or that name a changed file.

    python -m tests.affected REV

prints them, one a line. `.ci/run --since REV` runs them. A module counts as changed if it imports a changed one, even
in a function, and if its package's `__init__.py` or a `conftest.py` above it has changed. Files that are loaded by
their folder, and data, are found by name: `commands/lost.py` affects the test files that have the word `lost`,
`definitions.json` the modules that name it, and a destination those that go through the whole catalogue. This can miss
an effect, so the whole of `.ci/run` decides.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from svctoolkit import _HOME

ROOT = Path(__file__).parent.parent
#: Files with which every test is affected.
FOR_ALL = ("pyproject.toml", "tests/conftest.py", "tests/examples.py", ".ci/run")
#: Words that name no particular file.
COMMON = {"init", "tests", "svctoolkit", "docs", "main", "api", "suites", "data", "index"}


def changed(revision: str) -> list[str]:
    """The paths that differ from a revision, with new files that git does not track yet."""
    commands = [["diff", "--name-only", revision], ["ls-files", "--others", "--exclude-standard"]]
    outputs = [subprocess.check_output(["git", *command], cwd=ROOT, text=True) for command in commands]
    return sorted({line for output in outputs for line in output.splitlines()})


@cache
def text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def modules() -> dict[str, Path]:
    """The modules of the package and of the tests, by dotted name."""
    files = [file for folder in ("svctoolkit", "tests") for file in (ROOT / folder).rglob("*.py")]
    return {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}


def imported(name: str, file: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules that a module imports, in functions and by the tables of packages that load names when needed."""
    for node in ast.walk(ast.parse(text(file))):
        if isinstance(node, ast.Import):
            yield from (module_of(alias.name, known) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "svctoolkit":
            yield from (module_of(f"svctoolkit.{_HOME.get(alias.name) or alias.name}", known) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folder = ".".join(file.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            base = ".".join(filter(None, [folder, node.module]))
            yield from (module_of(f"{base}.{alias.name}", known) for alias in node.names)
        elif isinstance(node, ast.Constant) and file.name == "__init__.py" and name != "svctoolkit":
            yield f"{name}.{node.value}"


def module_of(name: str, known: dict[str, Path]) -> str:
    """The module that has a name; empty for those of other projects."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def words(path: str) -> list[str]:
    """Names by which other files may know one: its own, without ending, and that of its folder."""
    file = Path(path)
    if file.parts[:2] == ("svctoolkit", "destinations"):
        return ["CATALOGUE", *file.parts[2:3]]
    return [word for word in (file.stem.lstrip("_"), file.parent.name) if word and word.lower() not in COMMON]


@cache
def importers() -> dict[str, set[str]]:
    """The modules that import a module."""
    found: dict[str, set[str]] = {}
    known = modules()
    for name, file in known.items():
        for other in imported(name, file, known):
            found.setdefault(other, set()).add(name)
    return found


def affected(paths: Iterable[str]) -> list[str]:
    """The test files, and the folder of suites, that changes of these paths can affect."""
    paths = list(paths)
    if any(path in FOR_ALL for path in paths):
        return ["tests", "suites"]
    known = modules()
    names = {file: name for name, file in known.items()}
    found = {names[ROOT / path] for path in paths if ROOT / path in names}
    packages = [f"{names[ROOT / path]}." for path in paths if path.endswith("__init__.py") and ROOT / path in names]
    found |= {name for name in known if name.startswith(tuple(packages))}
    found |= {name for name, file in known.items() for path in paths if mentions(file, path)}
    left = list(found)
    while left:
        name = left.pop()
        new = importers().get(name, set()) - found
        if name.endswith(".conftest"):
            new |= {other for other in known if other.startswith(name.removesuffix("conftest"))} - found
        found |= new
        left += new
    files = sorted(known[name].relative_to(ROOT).as_posix() for name in found if known[name].name.startswith("test_"))
    return [*files, *(["suites"] if any(path.startswith(("suites/", "svctoolkit/")) for path in paths) else [])]


def mentions(file: Path, path: str) -> bool:
    """Whether a test file has the name of a file that may be loaded by its folder, or a module that of a data file."""
    if is_test(file) and (path.startswith("svctoolkit/") or not path.endswith(".py")) and has_word(file, path):
        return True
    return not path.endswith(".py") and is_alone(Path(path).name) and Path(path).name in text(file)


@cache
def is_alone(name: str) -> bool:
    """Whether no other file has the name: `examples.yaml` says nothing."""
    return len(subprocess.check_output(["git", "ls-files", f":(glob)**/{name}"], cwd=ROOT).splitlines()) == 1


def is_test(file: Path) -> bool:
    return file.name.startswith("test_")


def has_word(file: Path, path: str) -> bool:
    return any(re.search(rf"\b{re.escape(word)}\b", text(file), re.IGNORECASE) for word in words(path))


if __name__ == "__main__":
    for name in affected(changed(sys.argv[1])):
        print(name)
