"""The packages that svctoolkit requires, and its optional groups (extras), as the metadata of the installation says."""

from __future__ import annotations

import re
from importlib import metadata
from typing import NamedTuple

PACKAGE = "svctoolkit"
_DEVELOPMENT = ("test", "bench")  # extras for work on svctoolkit itself
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*([^;]*)(?:;(.*))?")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([\w-]+)['\"]")


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
    if not is_installed(PACKAGE):
        return {}
    groups: dict[str, list[Requirement]] = {"": []}
    for requirement in metadata.requires(PACKAGE) or ():
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        extra = _EXTRA.search(match[3] or "")
        if match[3] and extra is None:  # for other systems or versions of Python
            continue
        group = extra[1] if extra else ""
        if group not in _DEVELOPMENT and match[1].lower() != PACKAGE:
            version = metadata.version(match[1]) if is_installed(match[1]) else ""
            groups.setdefault(group, []).append(Requirement(match[1], match[2].strip(), version))
    return groups


def is_installed(name: str) -> bool:
    """Whether a package is installed."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def lowest(wanted: str) -> tuple[int, ...]:
    """The lowest accepted version: `>=1.2,<2` as `(1, 2)`."""
    match = re.search(r">=\s*([\d.]+)", wanted)
    return numbers(match[1]) if match else ()


def numbers(version: str) -> tuple[int, ...]:
    """The numbers at the start of a version: `2026.8.0rc1` as `(2026, 8, 0)`."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match[0].split("."))) if match else ()
