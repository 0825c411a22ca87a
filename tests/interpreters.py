"""Build the packages, check them, and try the wheel with every supported Python that this machine has or can install.

    python -m tests.interpreters

With each Python: install the wheel, run the project's suites and a few fast test files against it, create a project and
run it. The oldest Python does so twice, the second time with the oldest dependencies that the metadata allows. A Python
that is neither here nor can be downloaded is named, and is not a failure. Needs `uv`, and for the
checks `twine` and `check-wheel-contents`: `pip install uv check-wheel-contents` in an environment for tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parent.parent
#: test files that need nothing but `svctoolkit[pytest]`
FAST = ("test_events.py", "test_mapping.py", "test_pipeline.py", "test_results.py", "test_transformations.py")

#: The oldest dependencies. Releases of pandas from before NumPy 2 do not say that they need an older one.
OLDEST = ("--resolution", "lowest-direct", "numpy>=1.26,<2")


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        with ThreadPoolExecutor(2) as pool:
            oldest = pool.submit(_try, versions()[0], wheel, folder / "oldest", OLDEST)
            tried = list(pool.map(lambda version: _try(version, wheel, folder / version), versions()))
            oldest.result()
        run([uv(), "tool", "run", "-q", "--python", sys.executable, "--from", str(wheel), "svctoolkit", "--version"])
    print(f"The packages work with {sum(tried)} of {len(tried)} versions of Python")
    return 0


def versions() -> list[str]:
    """The versions of Python that the project's metadata names."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def build(folder: Path) -> Path:
    """Build wheel and sdist, the wheel from the sdist as installers do, and check both. Returns the wheel."""
    run([uv(), "build", "-q", "--python", sys.executable, "--out-dir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    run([sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)])
    run([sys.executable, "-m", "check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), str(wheel)])
    return wheel


def _try(version: str, wheel: Path, folder: Path, dependencies: Sequence[str] = ()) -> bool:
    """Whether there is such a Python. Raises `CalledProcessError` if something does not work with it.

    `dependencies` are options for their installation.
    """
    python = interpreter(version)
    if python is None:
        print(f"Python {version}: not on this machine, and it cannot be downloaded; not tried", flush=True)
        return False
    print(" ".join([f"Python {version}: {python}", *dependencies]), flush=True)
    run([uv(), "venv", "-q", "--python", python, str(folder)])
    here = folder / ("Scripts" if os.name == "nt" else "bin")
    run([uv(), "pip", "install", "-q", "--python", str(here / "python"), f"{wheel}[pytest]", *dependencies])
    svctoolkit = str(here / "svctoolkit")
    project = folder / "project"
    shutil.copytree(ROOT / "suites", project / "suites", ignore=shutil.ignore_patterns(".svctoolkit"))
    run([svctoolkit, "run", "suites"], cwd=project)
    run([svctoolkit, "init", str(folder / "shop")])
    run([svctoolkit, "run"], cwd=folder / "shop")
    # Tests import `svctoolkit` from where it is installed: here only their own folder is on the path.
    shutil.copytree(ROOT / "tests", project / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", project)
    run([str(here / "python"), "-m", "pytest", "-q", *(f"tests/{file}" for file in FAST)], cwd=project)
    return True


def interpreter(version: str) -> str | None:
    """A Python of this version: on the path, of uv or pyenv, or downloaded; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for path in (shutil.which(f"python{version}"), *map(str, pyenv.glob(f"{version}.*/bin/python{version}"))):
        if path and subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return path
    find = [uv(), "python", "find", "-q", "--no-project", version]
    if subprocess.run([*find, "--no-python-downloads"], capture_output=True, check=False).returncode:
        subprocess.run([uv(), "python", "install", "-q", version], capture_output=True, check=False, timeout=300)
    found = subprocess.run([*find, "--no-python-downloads"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def uv() -> str:
    """The uv of this environment, or the one on the path. Raises `SystemExit` without it."""
    path = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return path or sys.exit("tests.interpreters needs uv: pip install uv")


def run(command: Sequence[str], cwd: Path = ROOT) -> None:
    """Run a command, and print it with its output if it fails. Raises `CalledProcessError` then."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print("+", *command, "\n", done.stdout, file=sys.stderr)
    done.check_returncode()


if __name__ == "__main__":
    sys.exit(main())
