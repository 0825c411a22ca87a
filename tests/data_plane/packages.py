"""Unmodified event SDKs from PyPI and npm, and a Chromium, installed once per machine into `.cache/clients`.

If a registry is unreachable, the tests are skipped, which CI counts as a failure.
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent / "clients"
CACHE = Path(__file__).parents[2] / ".cache" / "clients"
_PIP = (sys.executable, "-m", "pip", "install", "--quiet")
_NPM = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts")
_NODE = (
    "@rudderstack/rudder-sdk-node",
    "@segment/analytics-node",
    "analytics-node",
    "@rudderstack/analytics-js",
    "rudder-sdk-js",
    "@segment/analytics-next",
    "playwright-core",
    "axe-core",
    "@playwright/test",
)


def python_clients() -> Path:
    """A folder for `PYTHONPATH` with rudder-sdk-python and segment-analytics-python."""
    return _install("python", *_PIP, "rudder-sdk-python", "segment-analytics-python", "--target")


def superseded_python_client() -> Path:
    """The same folder for analytics-python, which needs other versions of its dependencies."""
    return _install("analytics-python", *_PIP, "analytics-python", "--target")


def node_clients() -> Path:
    """A folder with `node_modules`: the SDKs for Node and for browsers, and the library that drives a browser."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    return _install("node", *_NPM, *_NODE, "--prefix")


def chromium() -> str:
    """The Chromium executable."""
    command = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if command is None:
        pytest.skip("Chromium is not installed")
    return command


def _install(kind: str, *command: str) -> Path:
    """Run `command` in its installation folder unless that has been done on this machine; return the folder."""
    folder, stamp = CACHE / kind, CACHE / f"{kind}.done"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests may run in parallel
        if not stamp.exists() or stamp.read_text() != " ".join(command):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            run = subprocess.run([*command, str(folder)], capture_output=True, text=True, timeout=300)
            if run.returncode:
                pytest.skip(f"cannot install the clients: {run.stderr[-300:]}")
            stamp.write_text(" ".join(command))
    return folder
