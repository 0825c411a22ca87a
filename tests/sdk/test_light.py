"""The client alone: a small distribution of the same modules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.pace import slowness

from .gateway import KEY, Gateway

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
before = set(sys.modules)
import time
began = time.process_time()
import svctoolkit.sdk
seconds = time.process_time() - began
from svctoolkit import ServiceClient
from svctoolkit.sdk.compat import rudder, segment
from svctoolkit.sdk.factories import NdjsonFactory
from svctoolkit.sdk.middleware import TrackingASGI
client = ServiceClient(data_plane_url=sys.argv[1], application_name="light", track_lifecycle_events=False)
client.initialize(sys.argv[2])
client.track("one")
assert client.shutdown()
client._repr_mimebundle_()
assert "1 delivered" in client.diagnose()
print(svctoolkit.sdk.__file__)
print(seconds)
"""


def test_the_light_distribution_has_all_that_it_imports():
    """Every module of the package that it needs is named in its build file."""
    package = ROOT / "svctoolkit"
    build = tomllib.loads((package / "sdk/pyproject.toml").read_text())
    shared = build["tool"]["hatch"]["build"]["hooks"]["custom"]["modules"]
    files = [package / name for name in (*shared, "sdk") if name != "__init__.py"]
    modules = {file.stem for file in files}
    imported = set()
    for file in files:
        for source in [file] if file.is_file() else file.rglob("*.py"):
            imported |= set(re.findall(r"from svctoolkit\.(\w+)", source.read_text()))
            imported |= set(re.findall(r"from svctoolkit import (\w+)$", source.read_text(), re.MULTILINE))

    assert {name for name in imported if not name.startswith("__")} <= modules


@pytest.mark.slow
def test_the_light_distribution_is_small_and_works(gateway: Gateway, tmp_path: Path):
    """Installed with its one dependency, it is under 10 MB, imports in under 50 ms, and delivers."""
    pytest.importorskip("hatchling")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # From the source distribution, as `python -m build` does: it must be complete by itself.
    source = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(source, cwd=ROOT / "svctoolkit/sdk", check=True, capture_output=True)
    (archive,) = tmp_path.glob("svctoolkit_client-*.tar.gz")
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(archive)]
    built = subprocess.run(wheel, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (file,) = tmp_path.glob("svctoolkit_client-*.whl")
    site = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(site), str(file)], check=True, capture_output=True)
    import platformdirs

    (site / "platformdirs").symlink_to(Path(platformdirs.__file__).parent)
    environment = {"PYTHONPATH": str(site), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    result = subprocess.run(
        [sys.executable, "-S", "-c", PROGRAM, gateway.url, KEY],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    place, seconds = result.stdout.split()
    command = [
        sys.executable,
        "-S",
        "-c",
        "from svctoolkit.sdk.operate import main; main()",
        "queue",
        str(tmp_path),
        "ls",
    ]
    missing = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "has no queue" in missing.stderr, missing.stderr
    (metadata,) = site.glob("svctoolkit_client-*.dist-info/METADATA")
    assert "# svctoolkit-client" in metadata.read_text()
    assert (site / "svctoolkit" / "py.typed").is_file()
    assert (metadata.parent / "licenses" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()

    assert place.startswith(str(site))
    assert gateway.names == ["one"]
    size = sum(path.stat().st_size for path in [*site.rglob("*"), *(site / "platformdirs").rglob("*")])
    assert size < 10_000_000
    assert float(seconds) < 0.3 * slowness()  # CPU; 20 to 50 ms is usual
