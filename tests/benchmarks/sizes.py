"""How large an installation is: its files by package, without compiled bytecode, and what each extra adds.

Sizes are of this environment's packages, so run it in one with `svctoolkit[test]`. The interpreter and pip are not
counted, and a package that two others require is counted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

import svctoolkit
from tests.benchmarks._figures import Figure, Options

EXTRAS = ("dask", "mcp", "notebooks", "plot", "pytest", "replay", "testcontainers", "warehouse")
_LARGE = 1.0  # MB: smaller packages are one figure


def run(options: Options) -> Iterator[Figure]:
    core = packages("svctoolkit")
    sizes = {name: _megabytes(name) for name in core}
    total = sum(sizes.values())
    yield Figure("core installation", total, "MB", "pandas and what it requires", _sum(packages("pandas")))
    large = {name: size for name, size in sizes.items() if size >= _LARGE}
    for name, size in sorted(large.items(), key=lambda item: -item[1]):
        yield Figure(f"of it {name}", size, "MB", "core installation", total)
    yield Figure(
        f"of it {len(core) - len(large)} others", total - sum(large.values()), "MB", "core installation", total
    )
    for extra in EXTRAS:
        added = packages("svctoolkit", extra) - core
        yield Figure(f"added by svctoolkit[{extra}]", _sum(added), "MB", "core installation", total)


def packages(name: str, *extras: str) -> set[str]:
    """The names of the packages that installing this one brings, itself included."""
    found: set[str] = set()
    waiting = [(name, extras)]
    seen = set(waiting)
    while waiting:
        name, extras = waiting.pop()
        found.add(_normal(name))
        for line in metadata.requires(name) or ():
            requirement = Requirement(line)
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                following = (_normal(requirement.name), tuple(sorted(requirement.extras)))
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
    return found


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def _sum(names: set[str]) -> float:
    return sum(map(_megabytes, names))


def _megabytes(name: str) -> float:
    """The files of a package. svctoolkit may be a checkout, whose list of files names only a link to it."""
    if name == "svctoolkit":
        folder = Path(svctoolkit.__file__).parent
        files = [file for file in folder.rglob("*") if file.is_file() and "node_modules" not in file.parts]
    else:
        files = [Path(str(file.locate())) for file in metadata.files(name) or ()]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.exists()) / 1e6
