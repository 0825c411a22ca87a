"""Layers of the client: which package may import which. The table runs from the data plane up to the call."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SDK = Path(__file__).parents[2] / "svctoolkit" / "sdk"
#: package or module -> what else of the client it may import
MAY_IMPORT = {
    "hatch_build": "",
    "base": "",
    "queue": "base",
    "events": "base queue",
    "sending": "base queue",
    "device": "base queue sending",
    "_frame": "base",
    "engine": "base queue events sending device",
    "runtime": "base queue events engine",
    "diagnosis": "base runtime",
    "metrics": "base",
    "explanation": "sending",
    "screen_view": "",
    "calls": "base events runtime",
    "client": "base events engine calls screen_view diagnosis metrics explanation _frame",
    "factories": "",
    "_display": "base client",
    "web": "base events client",
    "middleware": "web",
    "frameworks": "events client web",
    "compat": "base events client",
    "operate": "base queue sending",
}
MODULES = [file for file in sorted(SDK.rglob("*.py")) if file != SDK / "__init__.py"]


def _module(file: Path) -> str:
    return ".".join(file.relative_to(SDK).with_suffix("").parts).removesuffix(".__init__")


def _imports(file: Path) -> set[str]:
    """Modules of the client that the file imports, including imports in functions; not the object's own display."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("svctoolkit.sdk"):
            inside = str(node.module).removeprefix("svctoolkit.sdk").lstrip(".")
            names |= {f"{inside}.{alias.name}".lstrip(".") for alias in node.names}
    modules = {_module(other) for other in MODULES}
    return {name if name in modules else name.rpartition(".")[0] for name in names} - {"", "_display"}


@pytest.mark.parametrize("file", MODULES, ids=_module)
def test_imports_point_down(file: Path) -> None:
    """A module imports its own package and those listed for it, nothing else of the client."""
    room = _module(file).partition(".")[0]

    assert {name.partition(".")[0] for name in _imports(file)} <= {room, *MAY_IMPORT[room].split()}


def test_the_table_has_no_cycle() -> None:
    """Each entry is above everything that it may import."""
    order = list(MAY_IMPORT)

    assert [me for me in order for other in MAY_IMPORT[me].split() if order.index(other) >= order.index(me)] == []


def test_modules_have_no_import_cycle() -> None:
    """Inside a package, too: the modules can be read in order, each after those that it uses."""
    waiting = {_module(file): _imports(file) - {_module(file)} for file in MODULES}
    while leaves := [name for name, imports in waiting.items() if not imports & waiting.keys()]:
        for name in leaves:
            del waiting[name]

    assert waiting == {}
