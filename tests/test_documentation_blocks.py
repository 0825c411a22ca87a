"""Every code block of the documentation runs or is checked; those that cannot say why, in the line that opens them.

Python without a marker runs in `test_docs.py` and in the tests of the pages in `ELSEWHERE`.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Parser

from svctoolkit import DataPlane, Workspace, runner, workspace
from svctoolkit.cli import COMMANDS, main
from svctoolkit.cli._parser import of as parser_of
from svctoolkit.errors import UnsetVariables
from svctoolkit.yamlfile import load
from tests.examples import some_by_default
from tests.imports import acme

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "svctoolkit" / "docs"
_BLOCK = re.compile(r"^( *)```(\w+)?([^\n]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
#: pages whose commands run in their own order, with their own files
ELSEWHERE = {
    "recipes.md": "test_recipes.py",
    "tracking-plans.md": "plans/test_page.py",
    "deletion.md": "deletions/test_suites.py",
    "rudder-cli.md": "rudder_cli/test_page.py",
}
#: how many blocks cannot run, by reason
UNTESTED = {
    "installs packages": 4,
    "needs Docker": 4,
    "needs a running server": 2,
    "needs dbt": 1,
    "needs a server in the network": 1,
}
#: how many YAML blocks are loaded, and how
LOADED = {"run": 12, "checked": 5, "completed": 12, "keys": 6, "elsewhere": 27}
_SERVING = ("serve", "mcp")  # commands that run until they are stopped: only their options are checked
_BRANCH = "HEAD"  # in a default run there is no git, so a folder has the name of the revision


class Block(NamedTuple):
    """One block of code: its page, the line where it begins, its language, the rest of that line, and its code."""

    page: str
    line: int
    language: str
    info: str
    code: str

    @property
    def id(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    for file in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        text = file.read_text("utf-8")
        for found in _BLOCK.finditer(text):
            line = text[: found.start()].count("\n") + 1
            code = re.sub(rf"^{found[1]}", "", found[4], flags=re.MULTILINE)
            yield Block(file.name, line, found[2] or "", found[3].strip(), code)


BLOCKS = list(blocks())
RUN = [block for block in BLOCKS if not block.info.startswith("notest")]


def those(*languages: str, info: str | None = None) -> Any:
    """The blocks in these languages, as parameters of a test."""
    chosen = [b for b in RUN if b.language in languages and (info is None or b.info == info)]
    imports = [b for b in chosen if b.page == "import.md"]  # each takes two seconds, so only the first runs by default
    blocks = [b for b in chosen if b not in imports]
    return pytest.mark.parametrize(
        "block", some_by_default([*blocks, *imports], len(blocks) + 1), ids=lambda block: block.id
    )


def test_blocks_that_cannot_run_have_a_reason() -> None:
    """Their number is fixed: a new one is a decision."""
    reasons = [re.fullmatch(r"notest: (.+)", b.info) for b in BLOCKS if b.info.startswith("notest")]

    assert Counter(reason[1] if reason else "" for reason in reasons) == UNTESTED


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    """`text` is output, as is a block without a language; `data_plane/test_shards.py` reads the one for nginx."""
    known = {"python", "yaml", "sh", "bash", "console", "json", "js", "toml", "text", "", "nginx"}

    assert [block.id for block in RUN if block.language not in known] == []
    assert [name for name, test in ELSEWHERE.items() if name not in (ROOT / "tests" / test).read_text("utf-8")] == []


def small_export() -> Path:
    """An export with one of the sources of `acme`, in the current folder: suites of fewer destinations are written."""
    data = acme.export()
    data["sources"] = data["sources"][-1:]
    return acme.write(Path(), data)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands of the documentation read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SVCTOOLKIT_TRUST_STORE", str(tmp_path / "trust"))
    assert main(["init", "."]) == 0
    lines = (ROOT / "notebooks" / "shop" / "events.ndjson").read_text("utf-8").splitlines(keepends=True)[:60]
    Path("events.ndjson").write_text("".join(lines))
    Path("events").mkdir()
    for number in (1, 2):
        Path(f"events/2026-02-0{number}.ndjson.gz").write_bytes(gzip.compress("".join(lines).encode()))
    Path(_BRANCH).mkdir()
    for name in ("workspace.yaml", "clean.py"):
        Path(_BRANCH, name).write_text(Path(name).read_text())
    Path("prices.yaml").write_text("currency: EUR\ndestinations:\n  mixpanel: {users: 0.02}\n")
    Path("policies.yaml").write_text("policies:\n- hosts: [hook.example, api.mixpanel.com]\n")
    Path("columns.csv").write_text("table_name,column_name,data_type\ntracks,id,text\n")
    export = small_export().read_text()
    for name in ("dev.json", "prod.json"):
        Path(name).write_text(export)
    Path("rudder-project").mkdir()
    Path("rudder-project/web.yaml").write_text(_PROJECT)
    return tmp_path


#: webhooks of a source called shop
_SHOPIFY = """\
workspace: shop
sources: {shop: {type: webhook, destinations: [hook]}}
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
"""
_WAREHOUSE = """\
workspace: shop
sources: {web: {destinations: [wh]}}
destinations: {wh: {type: POSTGRES, config: {}}}
"""
_PROJECT = """\
version: rudder/v1
kind: event-stream-source
metadata: {name: web}
spec: {id: web, name: Web, type: javascript, enabled: true}
"""


@those("sh", "bash", "console")
def test_commands_of_a_page_work(
    block: Block, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They find their options and files. The exit code is 0, or what a comment states: `# exit code 1: ...`."""
    if block.page in ELSEWHERE:
        return
    if block.page == "sources.md":
        (project / "workspace.yaml").write_text(_SHOPIFY)
        (project / "order.json").write_text('{"id": 1}')
        (project / "webhooks.ndjson").write_text('{"id": 1}\n')
    if block.page == "warehouse.md":
        (project / "workspace.yaml").write_text(_WAREHOUSE)
    if block.page == "simulations.md":
        assert main(["plan", "infer", "events.ndjson", "-o", "shop.plan.yaml", "--name", "Shop"]) == 0
    if block.page == "data-plane.md":
        made = workspace.Workspace.load("workspace.yaml")
        with DataPlane(made, listen=False, store="events.db") as plane:
            plane.send({"type": "track", "event": "Seen", "userId": "u1"}, source=next(iter(made.sources)))
    if block.page == "history.md":
        assert main(["replay", "events/2026-02-01.ndjson.gz", "--history", "history.duckdb"]) == 0
    for line in block.code.replace("\\\n", " ").splitlines():
        stated = re.search(r"# exit code (\d)", line)
        expected = int(stated[1]) if stated else 0
        for command in line.removeprefix("$ ").split(" && "):
            program, *arguments = shlex.split(command, comments=True) or [""]
            if program == "cd":
                monkeypatch.chdir(arguments[0])
            elif program and arguments[0] in _SERVING:
                parser_of(arguments[0], COMMANDS[arguments[0]]).parse_args(arguments[1:])
            elif program:
                assert (program, main(arguments)) == ("svctoolkit", expected), (command, capsys.readouterr())
    capsys.readouterr()


#: files of other tools, and lists that tests of their pages read
_OTHER_FILES = {"on", "jobs", "repos", "version", "currency", "name", "accepted"}
_OF_SUITES = {"scenarios", "suite", "steps", "never"}
#: what blocks of a page refer to
_AROUND = """\
sources: {web: {destinations: [hook, crm, ga4, mixpanel, facebook, wh]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  crm: {type: WEBHOOK, config: {webhookUrl: https://crm.example/in}}
  ga4: {type: GA4, config: {apiSecret: example, measurementId: G-1, typesOfClient: gtag}}
  mixpanel: {type: MP, config: {token: example}}
  facebook: {type: FACEBOOK_PIXEL, config: {pixelId: "1", accessToken: example}}
  wh: {type: POSTGRES, config: {}}
"""
_SCENARIO = (
    "scenarios: [{name: x, destination: hook, event: {type: track, event: A, userId: u}, expect: {status: 200}}]\n"
)


def kind_of(block: Block) -> str:
    """How a YAML block is checked, a key of `LOADED`."""
    keys = keys_of(block)
    if block.page in ELSEWHERE or keys & _OTHER_FILES:
        return "elsewhere"
    if block.info == "fragment":
        return "keys"
    if not keys & {"sources", "destinations"} or block.info == "workspace":
        return "completed"
    return "run" if "scenarios" in keys else "checked"


def keys_of(block: Block) -> set[str]:
    data = load(block.code).data
    return set(data if isinstance(data, dict) else data[0])


@those("yaml")
def test_yaml_is_loaded(block: Block, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A whole suite is run, a whole workspace is checked, a part of one is loaded with what it refers to.

    A fragment cannot be loaded, for example because it is part of a scenario; its keys are known.
    """
    kind, keys = kind_of(block), keys_of(block)
    file = Path("page.suite.yaml" if keys & _OF_SUITES else "page.workspace.yaml")
    file.write_text(complete(block.code, keys) if kind == "completed" else block.code)
    Path("text.py").write_text("")
    if kind == "run":
        assert main(["run", str(file)]) == 0, capsys.readouterr()
    elif kind in ("checked", "completed"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UnsetVariables)
            if keys & _OF_SUITES:
                assert runner.load(file).scenarios
            else:
                Workspace.load(file)
    elif kind == "keys":
        shapes = (runner.schema() if keys & _OF_SUITES else workspace.schema())["$defs"]
        places = [shapes[name] for name in ("Suite", "Scenario", "WorkspaceShape") if name in shapes]
        assert [key for key in keys if not any(key in place["properties"] for place in places)] == []


def complete(code: str, keys: set[str]) -> str:
    """A part of a workspace or of a suite, with the sources, destinations and scenarios that it needs."""
    around = load(_AROUND).data
    missing = "".join(f"{name}: {json.dumps(around[name])}\n" for name in around if name not in keys)
    return code + missing + (_SCENARIO if keys & _OF_SUITES and "scenarios" not in keys else "")


def test_most_yaml_is_loaded() -> None:
    """The numbers are fixed: a block that is not loaded is a decision."""
    assert Counter(kind_of(block) for block in RUN if block.language == "yaml") == LOADED


@those("json", "js", "toml")
def test_other_languages_are_valid(block: Block) -> None:
    """JSON (or one object per line), TOML, and JavaScript without a syntax error."""
    if block.language == "toml":
        assert tomllib.loads(block.code)
    elif block.language == "js":
        tree = Parser(Language(tree_sitter_javascript.language())).parse(block.code.encode())
        assert not tree.root_node.has_error
    else:
        lines = block.code.splitlines() if "ndjson" in block.info else [block.code]
        assert all(json.loads(line) for line in lines)


@those("python", info="test")
def test_a_test_module_of_a_page_passes(block: Block, tmp_path: Path) -> None:
    """With the plugin, in a process of its own."""
    (tmp_path / "test_page.py").write_text(block.code)
    (tmp_path / "workspace.yaml").write_text(
        "workspace: shop\nsources: {web: {destinations: [hook]}}\n"
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nsuite_workspace = workspace.yaml\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:nbval",
        "-p",
        "no:schemathesis",
        "-p",
        "no:cacheprovider",
    ]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout


@those("python", info="needs=workspaceConfig.json")
def test_python_that_reads_an_export_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with one."""
    monkeypatch.chdir(tmp_path)
    small_export()

    exec(compile(block.code, block.id, "exec", dont_inherit=True), {"__name__": "page"})


def test_python_of_every_page_is_run() -> None:
    """Blocks without a marker run elsewhere; no other marker exists."""
    markers = {block.info for block in RUN if block.language == "python"}

    assert markers == {"", "test", "needs=workspaceConfig.json", "file=clean.py"}
