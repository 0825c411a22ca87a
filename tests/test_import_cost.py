"""How a command starts: what it loads, and the processor time until its first result, beside Python's own modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks._processes import best
from tests.benchmarks.suites import SCENARIO, WORKSPACE

#: packages that take 30 ms to import, or more
HEAVY = "pandas numpy pyarrow httpx starlette uvicorn py_mini_racer IPython ipywidgets matplotlib hypothesis"

STANDARD = (
    "argparse, asyncio, concurrent.futures, csv, dataclasses, email.message, http.client, json, logging, sqlite3, "
    "unittest, urllib.request, xml.dom.minidom, zipfile"
)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """The folder of a suite with one scenario."""
    (tmp_path / "one.suite.yaml").write_text(f"{WORKSPACE}scenarios:\n{SCENARIO.format(n=1)}")
    return tmp_path


def test_run_loads_nothing_that_it_does_not_use(suite: Path) -> None:
    """A suite without JavaScript and frames needs none of the large packages."""
    code = (
        "import sys\n"
        "from svctoolkit.cli import main\n"
        "assert main(['run', 'one.suite.yaml']) == 0\n"
        f"print('loaded', *set({HEAVY!r}.split()) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=suite, check=True, capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "loaded"


@pytest.mark.slow
@pytest.mark.parametrize("listen", [False, True])
def test_a_data_plane_loads_no_pictures(listen: bool, tmp_path: Path) -> None:
    """A plane draws nothing until its page is opened."""
    code = (
        "import sys\n"
        "from svctoolkit import DataPlane, Workspace\n"
        f"with DataPlane(Workspace('shop'), listen={listen}) as plane:\n"
        "    plane.drain()\n"
        "print('loaded', *sorted({'svctoolkit.pictures', 'svctoolkit.display', 'difflib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "loaded"


def test_run_starts_in_the_time_of_a_few_imports(suite: Path) -> None:
    """The first result takes at most 3.5 times the import of some standard modules. It takes 2 to 2.5 times.

    They are read, like ours, from many files: a bare interpreter is none of that, and a slow disk or memory changed the
    ratio by half.
    """
    modules = best([sys.executable, "-c", f"import {STANDARD}"], 5)
    ran = best([sys.executable, "-m", "svctoolkit", "run", "one.suite.yaml"], 5, suite)

    assert ran.cpu < 3.5 * modules.cpu


def test_run_does_not_look_for_garbage_in_modules(suite: Path) -> None:
    """Nothing that imports have made is looked at again and again, nor at the end of the process."""
    code = (
        "import gc, sys\n"
        "from svctoolkit.__main__ import main\n"
        "sys.argv = ['svctoolkit', 'run', 'one.suite.yaml']\n"
        "assert main() == 0\n"
        "print(gc.get_stats()[-1]['collections'] < 2, gc.get_freeze_count() > 10_000)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=suite, check=True, capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "True True"
