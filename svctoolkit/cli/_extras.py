"""The packages that svctoolkit requires, and its optional groups (extras), as the metadata of the installation says.

Only svctoolkit's own metadata is read. Whether other packages are installed, and their versions, are in the names of
the folders with their metadata: `importlib.metadata` takes 15 ms to import, and would read and parse a file of each.
"""

from __future__ import annotations

import os
import re
import sys
from typing import NamedTuple

PACKAGE = "svctoolkit"
_DEVELOPMENT = ("test", "bench")  # extras for work on svctoolkit itself
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")
_KINDS = (".dist-info", ".egg-info")


class Requirement(NamedTuple):
    """A required package: its name, the accepted versions, the installed version (empty if it is not installed)."""

    name: str
    wanted: str
    version: str

    @property
    def problem(self) -> str:
        """Why the package does not fit; an empty text if it does."""
        if not self.version:
            return f"{self.name} is not installed"
        least = lowest(self.wanted)
        older = numbers(self.version)[: len(least)] < least
        return f"{self.name} {self.version} is too old ({self.wanted})" if older else ""


def requirements() -> dict[str, list[Requirement]]:
    """The requirements of each extra by its name; the group `""` has those of every installation.

    Empty if svctoolkit itself is not installed as a package, so that nothing is known.
    """
    installed = _installed()
    lines = _headers(installed, "Requires-Dist")
    groups: dict[str, list[Requirement]] = {"": []} if lines else {}
    for requirement in lines:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        extra = _EXTRA.search(match[3] or "")
        if match[3] and extra is None:  # for other systems or versions of Python
            continue
        group = extra[1] if extra else ""
        if group not in _DEVELOPMENT and match[1].lower() != PACKAGE:
            version = _version(installed.get(_normal(match[1]), ""))
            groups.setdefault(group, []).append(Requirement(match[1], match[2].strip(), version))
    return groups


def least_python() -> tuple[int, ...]:
    """The oldest version of Python that svctoolkit supports; empty if it is not installed as a package."""
    return lowest(next(iter(_headers(_installed(), "Requires-Python")), ""))


def _installed() -> dict[str, str]:
    """The folders with the metadata of the installed packages, by their normalised names."""
    folders: dict[str, str] = {}
    for place in sys.path:
        try:
            names = os.listdir(place or ".")
        except OSError:  # missing, or an archive
            continue
        for name in names:
            if name.endswith(_KINDS):
                folders.setdefault(_normal(name.partition("-")[0].removesuffix(".egg")), os.path.join(place, name))
    return folders


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version(folder: str) -> str:
    """The version in a name such as `PyYAML-6.0.2.dist-info` or `PyYAML-6.0.2-py3.11.egg-info`; empty without one."""
    return os.path.splitext(os.path.basename(folder))[0].partition("-")[2].partition("-")[0]


def _headers(installed: dict[str, str], name: str) -> list[str]:
    """The values of one header in svctoolkit's own metadata; none if it is not installed as a package."""
    values = []
    try:
        with open(os.path.join(installed.get(PACKAGE, ""), "METADATA"), encoding="utf-8") as file:
            for line in file:
                header, _, value = line.strip().partition(": ")
                if not header:  # the description follows
                    break
                if header == name:
                    values.append(value)
    except OSError:
        return []
    return values


def lowest(wanted: str) -> tuple[int, ...]:
    """The lowest accepted version: `>=1.2,<2` as `(1, 2)`."""
    match = re.search(r">=\s*([\d.]+)", wanted)
    return numbers(match[1]) if match else ()


def numbers(version: str) -> tuple[int, ...]:
    """The numbers at the start of a version: `2026.8.0rc1` as `(2026, 8, 0)`."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
