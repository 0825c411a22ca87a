"""Imports point one way only. The table below is the architecture."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "svctoolkit"
#: package or module -> what it may import beside itself
MAY_IMPORT = {
    "errors": "",
    "secrets": "",
    "display": "",
    "registry": "errors",
    "events": "errors display",
    "sdk": "errors display events",
    "yamlfile": "errors",
    "mapping": "errors events",
    "destinations": "errors secrets display registry events yamlfile mapping",
    "transformations": "errors display events",
    "delivery": "errors secrets display",
    "workspace": "errors secrets display events yamlfile destinations transformations delivery",
    "results": "errors secrets display events",
    "pipeline": "errors secrets display events destinations transformations delivery workspace results",
    "client": "errors secrets display events destinations results pipeline",
    "server": "errors secrets display events destinations transformations delivery workspace results pipeline",
    "runner": (
        "errors secrets display registry events sdk yamlfile destinations delivery workspace results pipeline server"
    ),
    "replay": (
        "errors secrets display registry events yamlfile destinations transformations delivery workspace results "
        "pipeline server"
    ),
    "accessor": "pipeline replay results workspace",
    "widgets": (
        "errors secrets display registry events sdk yamlfile destinations transformations delivery workspace results "
        "pipeline server runner replay"
    ),
    "magics": (
        "errors secrets display registry events yamlfile destinations transformations delivery workspace results "
        "pipeline runner accessor widgets"
    ),
    "cli": (
        "errors secrets registry events yamlfile destinations transformations delivery workspace results pipeline "
        "client server runner replay"
    ),
    "pytest_plugin": "errors sdk delivery workspace server runner",
    "__main__": "cli",
}


def imports(file: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            from_root = node.module == "svctoolkit"
            names |= {f"svctoolkit.{a.name}" if from_root else str(node.module) for a in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name for a in node.names}
    return {n.split(".")[1] for n in names if n.startswith("svctoolkit.")}


FILES = [f for f in sorted(PACKAGE.rglob("*.py")) if f != PACKAGE / "__init__.py"]  # the front door may name anything


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(PACKAGE)))
def test_imports_point_down(file: Path) -> None:
    """A module imports its own package and those listed for it, nothing else."""
    me = file.relative_to(PACKAGE).parts[0].removesuffix(".py")

    assert imports(file) - {"__version__"} <= {me, *MAY_IMPORT[me].split()}


def test_the_table_has_no_cycle() -> None:
    """Whoever is listed stands above everything that it may import."""
    order = list(MAY_IMPORT)

    assert [me for me in order for other in MAY_IMPORT[me].split() if order.index(other) >= order.index(me)] == []


@pytest.mark.parametrize("file", sorted((PACKAGE / "destinations").glob("*/__init__.py")), ids=lambda f: f.parent.name)
def test_no_destination_imports_another(file: Path) -> None:
    """What several destinations share lives in `mapping`, not in one of them."""
    others = {f.parent.name for f in (PACKAGE / "destinations").glob("*/__init__.py")} - {file.parent.name}
    nodes = [n for n in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(n, ast.ImportFrom)]
    named = {f"{n.module}.{a.name}" for n in nodes for a in n.names} | {str(n.module) for n in nodes}

    assert {f"svctoolkit.destinations.{other}" for other in others} & named == set()
