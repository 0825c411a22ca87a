"""The documentation is true: its code runs, and everything that can be named is named."""

from __future__ import annotations

import doctest
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import svctoolkit
import svctoolkit.widgets

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
#: packages whose public modules are extensions that users name, and where those have a test of their own
EXTENSIONS = {
    "svctoolkit.cli": "svctoolkit {name}",
    "svctoolkit.runner.expect.matchers": "`${name}`",
    "svctoolkit.runner.report.reporters": "`{name}`",
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0][:40])
def test_the_readmes_python_runs(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each block runs by itself, in a folder that is not the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(svctoolkit.CATALOGUE, "_added", {})  # what a block registers ends with it

    exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "readme"})


@pytest.mark.parametrize("package", EXTENSIONS)
def test_every_extension_is_documented(package: str) -> None:
    """The README names every command, matcher and reporter."""
    modules = pkgutil.iter_modules(import_module(package).__path__)
    names = [m.name.rstrip("_").replace("_", "-") for m in modules if not m.name.startswith("_")]

    assert names
    assert [n for n in names if EXTENSIONS[package].format(name=n) not in README] == []


@pytest.mark.parametrize(
    ("package", "file", "mention"),
    [
        ("svctoolkit.runner.expect.matchers", "test_runner_matchers.py", r"[\"\s{]\${name}\b"),
        ("svctoolkit.runner.report.reporters", "test_runner_reports.py", r"[\"']{name}[\"']"),
    ],
)
def test_every_matcher_and_reporter_has_a_test_of_its_own(package: str, file: str, mention: str) -> None:
    """Whoever adds one says in the tests beside the others' what it does: by its name, not in a loop over all."""
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    names = [m.name.rstrip("_") for m in pkgutil.iter_modules(import_module(package).__path__) if m.name[0] != "_"]

    assert [n for n in names if not re.search(mention.replace("{name}", n), text)] == []


def test_every_explorer_is_documented() -> None:
    """The README names every widget."""
    names = dir(svctoolkit.widgets)

    assert "DestinationExplorer" in names
    assert [name for name in names if f"`{name}(" not in README] == []


def modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(svctoolkit.__path__, "svctoolkit."):
        if not module.name.endswith("__main__"):
            yield module.name


@pytest.mark.parametrize("name", ["svctoolkit", *modules()])
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    """Every `>>>` gives what is written below it."""
    failed, _ = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)

    assert failed == 0


@pytest.mark.parametrize("name", ["svctoolkit", *modules()])
def test_every_module_says_what_it_is(name: str) -> None:
    """A module without a docstring leaves its reader guessing."""
    assert (import_module(name).__doc__ or "").strip()
