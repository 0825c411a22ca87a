"""What a built wheel contains: the package, its notebooks and its license, nothing else; what PyPI shows of it."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import pytest

pytestmark = pytest.mark.slow  # builds the wheel: seconds, and the code editor with npm
ROOT = Path(__file__).parent.parent
#: 4.1 MB today, of which code 2.5, definitions and data 0.3, scripts of pages 0.3, notebooks 0.25. Each job of a CI
#: system downloads it, so a recording, a map or a second bundle must not slip in.
MOST_BYTES = 5_000_000
LARGEST_BYTES = 250_000  # of one file, compressed: the code editor has 187 kB
_SUFFIXES = {
    ".css",
    ".html",
    ".ipynb",
    ".js",
    ".json",
    ".md",
    ".mplstyle",
    ".ndjson",
    ".png",
    ".py",
    ".pyi",
    ".svg",
} | {".ts", ".txt", ".typed", ".yaml"}
_METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
_UNWANTED = re.compile(
    r"(^|/)(tests?|node_modules|__pycache__|bundle|\.[^/]*|.*cache.*)/|\.(map|pyc|whl|db|log|webm|mp4)$|(^|/)test_[^/]*$"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=600)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def files(wheel: Path) -> dict[str, int]:
    """The files of the wheel, with their compressed sizes."""
    with zipfile.ZipFile(wheel) as archive:
        return {item.filename: item.compress_size for item in archive.infolist()}


def test_a_wheel_has_the_package_and_its_metadata_only(files: dict[str, int]) -> None:
    """No tests, caches, source maps, bundles; no second package. License and metadata are complete."""
    metadata = {name.partition(".dist-info/")[2] for name in files if ".dist-info/" in name}
    package = [name for name in files if ".dist-info/" not in name]

    assert metadata == _METADATA
    assert [name for name in package if not name.startswith("svctoolkit/")] == []
    assert [name for name in package if _UNWANTED.search(name)] == []
    kinds = {PurePosixPath(name).suffix for name in package if PurePosixPath(name).name not in ("LICENSE", "NOTICE")}
    assert kinds - _SUFFIXES == set()
    assert {name for name in files if name.endswith(".ipynb")} == {
        f"svctoolkit/_notebooks/{file.name}" for file in (ROOT / "notebooks").glob("*.ipynb")
    }


def test_a_wheel_has_every_tracked_file_of_the_package(files: dict[str, int]) -> None:
    """And no file that Git does not track, except the code editor, which is built."""
    command = ["git", "ls-files", "-z", "svctoolkit"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout
    apart = re.compile(r"svctoolkit/(widgets/_base/code_editor/(bundle|dist)/|sdk/[^/]+$|_notebooks/)")
    tracked = {name for name in listing.split("\0") if name and not apart.match(name)}
    packed = {name for name in files if ".dist-info/" not in name and not apart.match(name)}

    assert packed ^ tracked == set()
    assert "svctoolkit/widgets/_base/code_editor/dist/codemirror.js" in files


def test_a_wheel_is_small(wheel: Path, files: dict[str, int]) -> None:
    """The whole, and each file; and the bound is not so loose that it would say nothing."""
    size = wheel.stat().st_size

    assert MOST_BYTES / 2 < size < MOST_BYTES
    assert {name: size for name, size in files.items() if size > LARGEST_BYTES} == {}


def test_a_wheel_passes_the_check_of_twine(wheel: Path) -> None:
    """Its description is one that PyPI accepts."""
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel)]
    check = subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert check.returncode == 0, check.stdout + check.stderr
