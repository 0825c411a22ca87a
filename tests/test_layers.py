"""Imports point in one direction only. The table below is the architecture."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "svctoolkit"
FOR_ALL = ("json_types", "displayed", "durations", "inputs", "json_codec", "lexical", "patterns", "readings")
#: package or module -> what it may import in addition to itself and the common modules
MAY_IMPORT = {
    "json_types": "",
    "json_codec": "",
    "causes": "",
    "errors": "causes",
    "conditions": "errors",
    "secrets": "errors",
    "url_secrets": "secrets",
    "encoded_emails": "",
    "readings": "",
    "number_forms": "",
    "personal": "encoded_emails number_forms secrets",
    "retries": "",
    "durations": "",
    "interrupts": "",
    "lexical": "",
    "patterns": "",
    "sqlite": "",
    "prometheus": "",
    "git": "errors",
    "edits": "",
    "display": "",
    "displayed": "display",
    "pictures": "errors display",
    "releases": "errors",
    "registry": "errors",
    "events": "errors display",
    "sdk": "errors retries sqlite prometheus display events",
    "yamlfile": "errors",
    "accepted": "errors yamlfile",
    "rudder_cli": "errors yamlfile",
    "plans": "errors personal pictures display registry events yamlfile rudder_cli",
    "expect": "causes errors secrets registry yamlfile plans",
    "simulations": "errors secrets sqlite display registry yamlfile",
    "mapping": "causes errors events",
    "warehouse": "causes errors display events mapping",
    "destinations": "causes errors simulations secrets url_secrets display registry events yamlfile mapping",
    "sources": "errors display registry events yamlfile mapping",
    "transformations": "causes errors interrupts display events",
    "delivery": "causes errors secrets url_secrets display registry events expect",
    "workspace": (
        "releases simulations errors secrets url_secrets display events yamlfile rudder_cli plans destinations sources "
        "transformations delivery"
    ),
    "results": (
        "pictures simulations causes errors secrets url_secrets display events transformations delivery warehouse"
    ),
    "pipeline": (
        "simulations "
        "causes errors secrets url_secrets display events plans destinations sources transformations delivery "
        "workspace results warehouse"
    ),
    "history": "conditions errors personal display events warehouse results",
    "policies": (
        "errors personal secrets url_secrets sqlite registry events yamlfile simulations destinations workspace "
        "results pipeline"
    ),
    "client": "causes errors secrets url_secrets retries display events destinations results pipeline",
    "server": (
        "pictures simulations prometheus expect "
        "causes errors secrets url_secrets retries interrupts sqlite display events plans destinations sources "
        "transformations delivery workspace results warehouse pipeline policies history"
    ),
    "runner": (
        "git pictures simulations policies expect "
        "causes errors secrets url_secrets personal interrupts display registry events sdk yamlfile plans destinations "
        "delivery workspace results warehouse pipeline client server"
    ),
    "replay": (
        "conditions accepted simulations policies history pictures releases "
        "causes errors secrets url_secrets personal interrupts display registry events yamlfile plans destinations "
        "sources transformations delivery workspace results warehouse pipeline server"
    ),
    "profile": "conditions errors personal pictures history display events destinations pipeline workspace replay "
    "results",
    "lost": (
        "conditions simulations errors display registry events plans destinations delivery pipeline workspace "
        "replay results"
    ),
    "project": (
        "edits expect policies errors secrets simulations events yamlfile rudder_cli plans destinations "
        "transformations warehouse workspace pipeline runner"
    ),
    "apply": "errors events secrets rudder_cli plans destinations warehouse pipeline workspace",
    "mutation": (
        "edits expect accepted git "
        "errors secrets display events yamlfile plans destinations transformations workspace pipeline runner project"
    ),
    "agents": ("simulations errors destinations pipeline workspace results server policies runner replay yamlfile"),
    "accessor": "errors warehouse pipeline replay results workspace profile",
    "widgets": (
        "pictures simulations "
        "causes errors secrets url_secrets display registry events sdk yamlfile plans destinations sources "
        "transformations delivery workspace results warehouse pipeline server runner replay"
    ),
    "testcontainers": "errors",
    "magics": (
        "simulations "
        "errors secrets url_secrets display registry events yamlfile plans destinations transformations delivery "
        "workspace results pipeline runner mutation replay accessor widgets"
    ),
    "pytest_plugin": (
        "expect simulations errors sdk plans destinations transformations delivery workspace warehouse server runner "
        "mutation policies"
    ),
    "cli": (
        "conditions interrupts releases expect simulations apply rudder_cli "
        "errors secrets url_secrets registry events yamlfile plans warehouse destinations sources transformations "
        "delivery workspace results pipeline client server runner project mutation history replay profile lost "
        "pytest_plugin policies agents"
    ),
    "__main__": "cli",
}


#: package -> its subpackages, bottom up: each may import those before it (an entry may be one module). `*` has all
#: others: adding a file needs no change here
ROOMS = {
    "warehouse": "providers rows loading warehouse comparison _display dbt",
    "widgets": ("_base destination_explorer transformation_editor live_events sdk_playground suite_explorer *"),
    "rudder_cli": (
        "_findings _variables _files _shapes _definitions _convert _settings _destinations _sources _connections "
        "_transformations _others _metadata _variants _catalog _plans _read"
    ),
    "plans": (
        "violation schema settings rule fields frames model project text coverage pictures covering _display "
        "formats survey limits compare infer generate strategies marked_json"
    ),
    "replay": (
        "records formats inputs tally review engine requests cost webhooks results edits reports options api chunks "
        "forecast"
    ),
    "pipeline": (
        "progress warehouses route judging simulated outside runtime stages run alone rules fates texts together "
        "leaves steady "
        "reruns held_lineage lineage webhooks writers decisions api _display"
    ),
    "server": (
        "demo_workspace web test_api store batches tracing worker ingest inspect regulations console admin health "
        "faults scripts simulated forwarding application serving base_plane plane _display announcement collector "
        "foreground"
    ),
    "server.worker": (
        "notifier backoff timers threads lost_values relayed task rows watchdog knobs checks feed journal waiting "
        "pending calls pump lanes routing router deliveries engine"
    ),
    "transformations": (
        "_contract _display callables _types _trust _channel _frames _integers _layers _memory _requests _launch "
        "_template _process _probe _worker _forking standard _program _pool _load writes worker"
    ),
    "sources": "_request _memory _webhook _values _dates _times _define _message _gateway _examples *",
    "runner": "steps suite coverage planes attempts report record _display run over_http",
    "apply": "change resources plans settings remarks compare own",
    "cli": (
        "_command _terminal _progress _parser _completion _extras _main _inputs _exports _revision _log "
        "_reports _result _run_record _violations _watching _site _rules _webhooks _source_types _verification "
        "commands _verified"
    ),
}

#: The one exception from "there is no cycle". Users look for `load`, `save`, `check`, `trust` and `transformation` on
#: the class `Workspace`; the modules that do the work read and create workspaces, so they import the class.
FRONT_DOOR = {
    "workspace._model": {
        "workspace._load",
        "workspace._save",
        "workspace._checks",
        "workspace._code",
        "workspace._trust",
    },
}

FILES = [f for f in sorted(PACKAGE.rglob("*.py")) if f != PACKAGE / "__init__.py"]  # the front door may name anything


def name_of(file: Path) -> str:
    """`server.web.json`; a package has the name of its folder."""
    return ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(file): file for file in FILES}


def module_of(name: str) -> str:
    """The module that contains `name`: an imported name may be a module, or a name in one."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def parse(file: Path) -> ast.Module:
    """The syntax tree. All of them are two million objects, too many for the garbage collector if they were kept."""
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def arrows(file: Path) -> set[str]:
    """The modules of this project that a module imports, in functions and for type checkers, too."""
    names = set[str]()
    nodes: list[ast.AST] = [parse(file)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        # Expressions contain no imports, and most of a file is expressions.
        nodes += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
    return {module_of(n.removeprefix("svctoolkit.")) for n in names if n.startswith("svctoolkit.")} - {""}


def test_the_top_level_has_five_folders() -> None:
    """Nothing that a test or an example wrote is left beside them."""
    found = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))}

    assert {name for name in found if not name.endswith(".egg-info")} == {
        "findings",
        "notebooks",
        "suites",
        "svctoolkit",
        "tests",
    }


def test_imports_point_down() -> None:
    """A module imports its own package and those listed for it, nothing else."""
    wrong = [
        f"{name} -> {other}"
        for name, file in MODULES.items()
        for me in [name.split(".")[0]]
        for other in arrows(file)
        if other.split(".")[0] not in {me, *FOR_ALL, *MAY_IMPORT[me].split()}
    ]
    assert wrong == []


def test_the_table_has_no_cycle() -> None:
    """Each entry is above everything that it may import."""
    order = list(MAY_IMPORT)

    assert [me for me in order for other in MAY_IMPORT[me].split() if order.index(other) >= order.index(me)] == []


@pytest.mark.parametrize("package", ROOMS)
def test_imports_point_down_inside_a_package(package: str) -> None:
    """A subpackage imports itself and those below it. Each has its place in the table."""
    floors = ROOMS[package].split()
    inside = {name: file for name, file in MODULES.items() if name.startswith(f"{package}.")}

    def floor(name: str) -> int:
        room = name.removeprefix(f"{package}.").split(".")[0]
        return floors.index(room if room in floors or "*" not in floors else "*")

    assert {floors[floor(name)] for name in inside} | {"*"} == {*floors, "*"}
    wrong = [
        f"{name} -> {other}"
        for name, file in inside.items()
        for other in arrows(file)
        if other in inside and floor(other) > floor(name)
    ]
    assert wrong == []


def circle(graph: dict[str, set[str]]) -> list[str]:
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def test_modules_have_no_import_cycle() -> None:
    """Neither direct nor indirect; imports in functions and for type checkers count."""
    graph = {name: arrows(file) - {name} - FRONT_DOOR.get(name, set()) for name, file in MODULES.items()}

    assert circle(graph) == []


def test_every_exception_is_in_use() -> None:
    assert {name: others - arrows(MODULES[name]) for name, others in FRONT_DOOR.items()} == {
        name: set() for name in FRONT_DOOR
    }


def test_no_destination_imports_another() -> None:
    """Code shared by destinations is in `mapping` or in `destinations._families`."""
    types = {file.parent.name for file in (PACKAGE / "destinations").glob("[!_]*/__init__.py")}
    own = {name: name.split(".")[1] for name in MODULES if name.startswith("destinations.")}
    wrong = [
        f"{name} -> {other}"
        for name, type_ in own.items()
        if type_ in types
        for other in arrows(MODULES[name])
        if own.get(other, type_) in types - {type_}
    ]
    assert wrong == []
    assert len(types) > 100


def test_any_in_a_public_signature_has_a_reason() -> None:
    """JSON is `Json`; other uses of `Any` are explained in a comment `# Any: ...` above."""
    unexplained = [
        f"{name}:{function.lineno} {function.name}"
        for name, file in MODULES.items()
        if not name.startswith("transformations.worker")  # runs without the package
        if "Any" in file.read_text(encoding="utf-8")
        for function in public_functions(parse(file))
        if says_any(function) and "# Any: " not in "".join(file.read_text("utf-8").splitlines()[: function.lineno][-4:])
    ]
    assert unexplained == []


def public_functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions and methods without a leading underscore, in classes without one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_functions(child)
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and (
            not child.name.startswith("_") or child.name in ("__init__", "__call__")
        ):
            yield child


def says_any(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether its signature contains `Any`."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    arguments += [argument for argument in (function.args.vararg, function.args.kwarg) if argument]
    hints = [argument.annotation for argument in arguments if argument.annotation]
    hints += [function.returns] if function.returns else []
    return any(isinstance(part, ast.Name) and part.id == "Any" for hint in hints for part in ast.walk(hint))
