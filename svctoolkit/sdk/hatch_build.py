"""Builds the client alone. Its shared modules are above this folder in the repository, and in `shared` in an sdist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_OWN = ("README.md", "LICENSE", "pyproject.toml", "hatch_build.py", "PKG-INFO", ".gitignore")


def _shared(root: str) -> Path:
    """Return the folder of the modules that the client shares with the rest of svctoolkit."""
    unpacked = Path(root, "shared")
    return unpacked if unpacked.is_dir() else Path(root).parent


class Version(MetadataHookInterface):
    """The version is that of svctoolkit."""

    PLUGIN_NAME = "custom"

    # Any: the members of [project]
    def update(self, metadata: dict[str, Any]) -> None:
        text = (_shared(self.root) / "__init__.py").read_text(encoding="utf-8")
        version = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
        if version is None:
            raise ValueError("svctoolkit/__init__.py has no __version__")
        metadata["version"] = version[1]


class Modules(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the shared modules, to a wheel also the client's own as `svctoolkit.sdk`."""

    PLUGIN_NAME = "custom"

    # Any: what hatchling builds
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del version
        shared = _shared(self.root)
        target = "svctoolkit" if self.target_name == "wheel" else "shared"
        files = {str(shared / name): f"{target}/{name}" for name in self.config["modules"]}
        if self.target_name == "wheel":
            for path in Path(self.root).iterdir():
                if path.name not in _OWN and path.name not in ("shared", "dist", "__pycache__"):
                    files[str(path)] = f"svctoolkit/sdk/{path.name}"
        build_data["force_include"].update(files)
