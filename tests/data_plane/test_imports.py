"""A data plane is ready to serve before its thread starts."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, threading

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("svctoolkit") and threading.current_thread() is not threading.main_thread():
            print(threading.current_thread().name, "imports", name)

sys.meta_path.insert(0, Watch())

import httpx
from svctoolkit import DataPlane, Workspace

with DataPlane(Workspace("shop")) as plane:
    print(httpx.get(plane.url + "/health", timeout=120).status_code)
"""


def test_no_thread_of_a_data_plane_that_starts_imports_the_package() -> None:
    """The program may import the same modules meanwhile. Python ends one of two imports that wait for each other."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    assert done.stdout == "200\n"
