"""The command `python -m tests.benchmarks` works; with small sizes its numbers mean nothing."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.__main__ import NAMES, main

pytestmark = pytest.mark.slow


def figures(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The figures that a run has written."""
    found: dict[str, list[dict[str, Any]]] = json.loads(file.read_text())["figures"]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_gives_figures(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each prints a table and writes every figure with its ratio; a missing peer is noted and is not a failure."""
    assert main([name, "--quick", "--json", str(tmp_path / "results.json")]) == 0

    made = figures(tmp_path / "results.json")[name]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == name
    assert [line.split()[0] for line in lines[1:]] == [figure["name"].split()[0] for figure in made]
    assert all(figure["value"] > 0 for figure in made)
    assert any(figure["ratio"] for figure in made) or "(not installed: " in lines[1]


def test_a_changed_ratio_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each ratio is shown with its previous value; a change of more than a fifth is marked."""
    file, other = tmp_path / "results.json", tmp_path / "other.json"
    main(["pipeline", "--quick", "--json", str(other)])
    told = json.loads(other.read_text())
    told["figures"]["pipeline"][0]["ratio"] *= 1000
    told["figures"]["elsewhere"] = []
    other.write_text(json.dumps(told))
    capsys.readouterr()
    main(["pipeline", "--quick", "--compare", str(other), "--json", str(file)])

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith("<-- moved")
    assert "; was " in lines[2]
    assert lines[-1].endswith("moved by more than 20%")


def test_a_run_keeps_the_figures_of_other_benchmarks(tmp_path: Path) -> None:
    """Benchmarks can be run one by one, and the file has all of them."""
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"figures": {"other": []}}))
    main(["pipeline", "--quick", "--json", str(file)])

    assert sorted(figures(file)) == ["other", "pipeline"]


def test_an_unknown_benchmark_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """The error lists the existing names."""
    with pytest.raises(SystemExit):
        main(["replays"])

    assert "unknown benchmark 'replays'; there are calls, contrasts, destinations" in capsys.readouterr().err


def test_only_moved_ratios(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--moved` prints one line for each ratio that has moved, then their number; it writes nothing."""
    file = tmp_path / "results.json"
    main(["pipeline", "--quick", "--json", str(file)])
    told = json.loads(file.read_text())
    told["figures"]["pipeline"][0]["ratio"] *= 1000
    told["figures"]["pipeline"][1:] = []
    file.write_text(json.dumps(told))
    capsys.readouterr()
    main(["pipeline", "--quick", "--moved", "--compare", str(file)])

    moved, count = capsys.readouterr().out.splitlines()
    assert moved.startswith("  pipeline: dest_transform (WEBHOOK) ")
    assert moved.endswith("<-- moved")
    assert count == "1 ratios have moved by more than 20%"


class Repository:
    """A repository with the benchmarks' machinery, one benchmark of its own and a small package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        machinery = Path(__file__).with_name("benchmarks")
        for file in [machinery / "__init__.py", *machinery.glob("__main__.py"), *machinery.glob("_[!_]*.py")]:
            (folder / "tests" / "benchmarks").mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder / "tests" / "benchmarks")
        self.write("tests/benchmarks/results.json", '{"figures": {}}')
        self.write("pyproject.toml", '[project]\nname = "svctoolkit"\nversion = "1"\n')
        self.git("init", "--quiet")

    def write(self, file: str, text: str) -> None:
        path = self.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def package(self, module: str, size: float) -> None:
        """Give the package a size, in one of its modules, and a benchmark of it, which asks in a process, too."""
        self.write("svctoolkit/__init__.py", "")
        self.write(f"svctoolkit/{module}.py", f"SIZE = {size}\n")
        self.write(
            "tests/benchmarks/small.py",
            f"""\
            import os, subprocess, sys
            from svctoolkit import {module}
            from tests.benchmarks._figures import Figure

            def run(options):
                print("not a figure")
                yield Figure("size of {module}", {module}.SIZE, "m")
                command = [sys.executable, "-c", "from svctoolkit import {module}; print({module}.SIZE)"]
                asked = subprocess.run(command, cwd="/", capture_output=True, check=True).stdout
                yield Figure("size elsewhere", float(asked), "m", "metre", 1.0)
            """,
        )

    def commit(self) -> None:
        self.git("add", ".")
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "One")

    def git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def compare(self, revision: str, code: int = 0) -> list[str]:
        """The output of a comparison, which leaves nothing behind."""
        temporary = self.folder.with_name("temporary")
        temporary.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "tests.benchmarks", "small", "--against", revision, "--rounds", "2"]
        environment = {**os.environ, "TMPDIR": str(temporary)}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert not list(temporary.iterdir())
        assert len(self.git("worktree", "list").splitlines()) == 1
        return (done.stderr if code else done.stdout).splitlines()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def test_two_builds_are_compared(repository: Repository) -> None:
    """Each figure is this tree's, uncommitted changes included, with its ratio to the revision's."""
    repository.package("tube", 8)
    repository.commit()
    repository.package("tube", 2)

    head, *figures = repository.compare("HEAD")
    assert head == "small, against HEAD"
    assert [" ".join(line.split()) for line in figures] == [
        "size of tube 2.00 m 0.25 of 8.00 (0.25 to 0.25)",
        "size elsewhere 2.00 m 0.25 of 8.00 (0.25 to 0.25)",
    ]


def test_a_build_with_another_layout_is_measured_by_its_own_benchmark(repository: Repository) -> None:
    """A figure that its benchmark does not have is printed without a ratio."""
    repository.package("tube", 8)
    repository.commit()
    repository.git("rm", "-r", "--quiet", "svctoolkit")
    repository.package("pipe", 2)

    _, reason, *figures = repository.compare("HEAD")
    assert "this tree's benchmark does not work there: ImportError: cannot import name 'pipe'" in reason
    assert [" ".join(line.split()) for line in figures] == [
        "size of pipe 2.00 m not measured there",
        "size elsewhere 2.00 m 0.25 of 8.00 (0.25 to 0.25)",
    ]


def test_a_build_without_the_benchmark_gives_no_ratios(repository: Repository) -> None:
    """The other figures are printed all the same."""
    repository.package("tube", 8)
    repository.git("add", "svctoolkit", "pyproject.toml")
    repository.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "One")
    repository.git("rm", "-r", "--quiet", "--force", "svctoolkit")
    repository.package("pipe", 2)

    _, first, second, *figures = repository.compare("HEAD")
    assert "cannot import name 'pipe'" in first
    assert "neither does its own: ModuleNotFoundError" in second
    assert [" ".join(line.split()[-3:]) for line in figures] == ["not measured there"] * 2


def test_what_cannot_be_compared_is_an_error(repository: Repository) -> None:
    """An unknown revision and a benchmark that fails here end with a message, not with a traceback."""
    repository.package("tube", 8)
    repository.commit()
    assert repository.compare("absent", code=1) == ["there is no revision 'absent'"]

    repository.write("tests/benchmarks/small.py", "def run(options):\n    raise KeyError('here')\n    yield\n")
    assert repository.compare("HEAD", code=1) == ["small: KeyError: 'here'"]


#: builds wheels without anything from the network
BACKEND = """\
from zipfile import ZipFile

def wheel(folder, name, requires, files):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1", *(f"Requires-Dist: {one}" for one in requires)]
    files = {
        **files,
        f"{name}-1.dist-info/METADATA": "\\n".join([*lines, ""]),
        f"{name}-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{name}-1.dist-info/RECORD": "",
    }
    with ZipFile(f"{folder}/{name}-1-py3-none-any.whl", "w") as zip:
        for path, text in files.items():
            zip.writestr(path, text)
    return f"{name}-1-py3-none-any.whl"

def build_editable(folder, config_settings=None, metadata_directory=None):
    return wheel(folder, "svctoolkit", ["colour"], {})
"""


def test_other_requirements_get_their_own_environment(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build whose requirements this environment does not meet runs in another one, which has them."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    build = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    project = '[project]\nname = "svctoolkit"\nversion = "1"\n'
    repository.write("backend.py", BACKEND)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    runpy.run_path(str(repository.folder / "backend.py"))["wheel"](wheels, "colour", [], {"colour.py": "SIZE = 8"})
    repository.package("tube", 0)
    repository.write("svctoolkit/tube.py", "from colour import SIZE\n")
    repository.write("pyproject.toml", f'{build}{project}dependencies = ["colour"]\n')
    repository.commit()
    repository.package("tube", 2)
    repository.write("pyproject.toml", build + project)

    first, _, *figures = repository.compare("HEAD")
    assert first == "an environment of its own, for colour"
    assert [" ".join(line.split()[-6:]) for line in figures] == ["0.25 of 8.00 (0.25 to 0.25)"] * 2
