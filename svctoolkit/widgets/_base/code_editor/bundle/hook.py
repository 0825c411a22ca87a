"""Build hook that adds the code editor's bundle to the wheel if npm is available. Otherwise a text area is used.

In a checkout, run `npm ci && npm run build` in this folder to create the bundle for an editable install.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_HERE = Path(__file__).parent
_SOURCES = ("package.json", "package-lock.json", "codemirror.js", "build.mjs")
_TARGET = "svctoolkit/widgets/_base/code_editor/dist"
_RESULTS = ("codemirror.js", "codemirror.licenses.txt")
_LONGEST = 120  # seconds per command
#: run no code of packages; give up after ten seconds, not minutes, if the registry is unreachable
_INSTALL = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=10000")


class EditorHook(BuildHookInterface):  # type: ignore[type-arg]  # generic at run time in newer versions only
    """Adds the bundle and its licences to the wheel."""

    # Any: hatchling's own signature
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._folder = TemporaryDirectory(prefix="svctoolkit-editor-")
        problem = _make(Path(self._folder.name))
        if problem:
            self.app.display_warning(f"The code editor is not included, a plain text area replaces it: {problem}")
            return
        for name in _RESULTS:
            build_data["force_include"][str(Path(self._folder.name, "dist", name))] = f"{_TARGET}/{name}"

    # Any: hatchling's own signature
    def finalize(self, version: str, _build_data: dict[str, Any], _artifact: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def _make(folder: Path) -> str:
    """Build the bundle in `folder`/dist. Returns an error text, empty on success."""
    if os.environ.get("SVCTOOLKIT_EDITOR") == "textarea":
        return "SVCTOOLKIT_EDITOR=textarea"
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return "npm is not installed"
    for name in _SOURCES:
        shutil.copy(_HERE / name, folder)
    return _run([npm, *_INSTALL], folder) or _run([node, "build.mjs", "dist"], folder)


def _run(command: list[str], folder: Path) -> str:
    what = f"{Path(command[0]).stem} {command[1]}"
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_LONGEST, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{what}: {error}"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line.lower() and "log" not in line]
    return f"{what}: {(lines or done.stderr.splitlines() or ['it failed'])[0].strip()}"
