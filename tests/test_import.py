"""`svctoolkit import` turns an exported workspace into a project that runs."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.cli import main
from svctoolkit.errors import ConfigError, InvalidWorkspace, ToolkitError, WorkspaceWarning
from svctoolkit.plans import Settings
from svctoolkit.project import import_workspace
from svctoolkit.workspace import Workspace
from tests.examples import some_by_default

SECRETS = ("ga-s3cret", "am-s3cret", "hook-s3cret", "crm-s3cret")
CODE = 'import {low} from "text";\nexport function transformEvent(e, metadata) { e.event = low(e.event); return e; }\n'
LIBRARY = "export function low(t) { return t ? t.toLowerCase() : t; }\n"


def destination(id: str, name: str, type: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "config": config, "destinationDefinition": {"name": type}, **more}


def configuration(**transformation: str) -> dict[str, Any]:
    """An export with everything that a real workspace has: unknown fields, types and variables."""
    hook = {"webhookUrl": "https://hook.example/in", "headers": [{"from": "X-Key", "to": SECRETS[2]}]}
    code = {"id": "tf1", "versionId": "tfv1", "config": {}} | transformation
    return {
        "workspaceId": "ws1",
        "enableMetrics": False,
        "sources": [
            {
                "id": "s1",
                "name": "Web",
                "writeKey": "wk1",
                "sourceDefinition": {"type": "web"},
                "destinations": [
                    destination("d1", "Orders hook", "WEBHOOK", hook, transformations=[code]),
                    destination("d2", "GA4", "GA4", {"apiSecret": SECRETS[0], "measurementId": "G-1", "oldKey": 1}),
                    destination("d3", "Amplitude", "AM", {"apiKey": SECRETS[1]}),
                    destination("d4", "Tags", "GTM", {"containerID": "GTM-1"}),
                    destination("d5", "New", "NEWTHING", {"a": 1}),
                    destination("d6", "Paused", "WEBHOOK", {"webhookUrl": "https://b.example"}, enabled=False),
                ],
            }
        ],
        "libraries": [{"versionId": "libv1"}],
        "credentials": {"c1": {"key": "crm", "value": SECRETS[3], "isSecret": True}},
    }


def export(folder: Path, data: Any, *, with_code: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workspaceConfig.json").write_text(json.dumps(data, indent=1))
    if with_code:
        known = {"versionId": "tfv1", "id": "tf1", "name": "Lower names", "language": "javascript", "code": CODE}
        library = {"versionId": "libv1", "name": "Text", "importName": "text", "code": LIBRARY}
        (folder / "code.json").write_text(json.dumps({"transformations": [known], "libraries": [library]}))
    return folder / "workspaceConfig.json"


def svctoolkit(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command in this process: starting an interpreter takes longer than most commands."""
    out, errors = StringIO(), StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(errors):
        code = main(arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), errors.getvalue())


def test_an_imported_project_passes_and_detects_changes(tmp_path: Path) -> None:
    """`svctoolkit run` passes after one command, also without `.env`; a change of code or of a setting fails it."""
    export(tmp_path, configuration())

    imported = svctoolkit("import", "workspaceConfig.json", "-o", "shop", cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr
    shop = tmp_path / "shop"
    first = svctoolkit("run", cwd=shop)
    clone = shutil.copytree(shop, tmp_path / "clone", ignore=shutil.ignore_patterns(".env"))
    code = shop / "transformations" / "lower-names.js"
    code.write_text(code.read_text().replace("low(e.event)", "e.event"))
    second = svctoolkit("run", cwd=shop)

    assert "orders-hook  WEBHOOK               runs" in imported.stdout
    assert "tags         GTM                   Google Tag Manager has device mode only" in imported.stdout
    assert "new          NEWTHING              unknown destination type" in imported.stdout
    assert "paused       WEBHOOK               disabled" in imported.stdout
    assert "GA4 has no configuration variable 'oldKey'" in imported.stdout
    assert imported.stdout.rstrip().endswith("next: cd shop && svctoolkit run")
    assert first.returncode == 0, first.stdout
    assert "suites/orders-hook.suite.yaml: 6 passed" in first.stdout
    assert svctoolkit("run", cwd=clone).returncode == 0
    assert (second.returncode, "track-to-orders-hook" in second.stdout) == (1, True), second.stdout
    assert "Google Tag Manager" in (shop / "IMPORT.md").read_text()


def test_an_import_ignores_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SVC_ENV is about another workspace; an export has no environments, ."""
    export(tmp_path, configuration())
    monkeypatch.setenv("SVC_ENV", "production")

    imported = svctoolkit("import", "workspaceConfig.json", "-o", "shop", cwd=tmp_path)
    refused = svctoolkit("import", "workspaceConfig.json", "-o", "shop2", "--env", "x", cwd=tmp_path)

    assert (imported.returncode, imported.stderr) == (0, "")
    assert "--env x: expected NAME=FILE" in refused.stderr


def test_secrets_of_an_export_are_in_one_private_file(tmp_path: Path) -> None:
    """workspace.yaml and suites have references, `.env` the values, `.env.example` the names."""
    report = import_workspace(export(tmp_path, configuration()), tmp_path / "shop", environ={})

    files = [path for path in (tmp_path / "shop").rglob("*") if path.is_file()]
    holding = {path.name for path in files for secret in SECRETS if secret in path.read_text()}
    assert holding == {".env"}
    assert stat.S_IMODE((tmp_path / "shop" / ".env").stat().st_mode) == 0o600
    names = (tmp_path / "shop" / ".env.example").read_text().split()
    assert names == ["ORDERS_HOOK_HEADERS_X_KEY=", "GA4_API_SECRET=", "AMPLITUDE_API_KEY=", "CREDENTIALS_CRM="]
    assert ".env" in (tmp_path / "shop" / ".gitignore").read_text().split()
    assert not any(secret in report.text() for secret in SECRETS)


@pytest.mark.parametrize(
    ("version", "code", "says"),
    [
        ("0", "function transform(events) { return events; }", ""),
        ("0", "export function transformEvent(event) { return event; }", "Unexpected token 'export'"),
        ("1", "function transform(events) { return events; }", "Expected one of transformEvent,transformBatch. Found"),
        ("1", "export function transformEvent(event) { return event; }", ""),
    ],
)
def test_the_code_version_is_kept(tmp_path: Path, version: str, code: str, says: str) -> None:
    """`codeVersion` is imported, kept and written back: a script stays a script, a module stays a module."""
    file = export(tmp_path, configuration(codeVersion=version, code=code), with_code=False)
    import_workspace(file, tmp_path / "shop", environ={}, with_suites=False)

    with pytest.warns(WorkspaceWarning):
        workspace = Workspace.load(tmp_path / "shop" / "workspace.yaml", environ={})
    error = workspace.transformation("tf1").run({"type": "track"}).error
    assert workspace.transformation("tf1").code_version == version
    assert (says in str(error)) if says else error is None


def test_the_project_equals_the_export(tmp_path: Path) -> None:
    """Including unknown types and variables, with code in place of versions."""
    file = export(tmp_path, configuration())
    import_workspace(file, tmp_path / "shop", environ={}, with_suites=False)

    with pytest.warns(WorkspaceWarning):
        exported = Workspace.load(file, environ={})
    with pytest.warns(WorkspaceWarning):
        project = Workspace.load(tmp_path / "shop" / "workspace.yaml", environ={})
    assert project.destinations["orders-hook"].transformation == "lower-names"
    project.destinations["orders-hook"].transformation = exported.destinations["orders-hook"].transformation
    assert project.destinations == exported.destinations
    assert project.sources == exported.sources
    assert project.credentials == exported.credentials
    assert set(project.credentials) == {"crm"}
    assert project.transformation("tf1").code == CODE
    assert project.transformation("tf1").version_id == "tfv1"
    assert project.libraries["text"].version_id == "libv1"


def test_missing_code_is_requested_by_name(tmp_path: Path) -> None:
    """The destination waits for it; files named by version or id, and rudder/v1 files, provide it."""
    file = export(tmp_path, configuration(), with_code=False)
    without = import_workspace(file, tmp_path / "without", environ={})
    elsewhere = tmp_path / "code"
    elsewhere.mkdir()
    (elsewhere / "tfv1.js").write_text(CODE)
    (elsewhere / "library.yaml").write_text(
        "version: rudder/v1\nkind: transformation-library\nmetadata: {name: text}\n"
        f"spec: {{id: libv1, name: Text, language: javascript, code: {json.dumps(LIBRARY)}}}\n"
    )
    given = import_workspace(file, tmp_path / "given", code_paths=[elsewhere], environ={})

    assert list(without.missing) == ["transformation 'tf1' (version 'tfv1')", "library 'libv1'"]
    assert without.states["orders-hook"].text == "waits for the code of transformation 'tf1'"
    assert "add it with --code FILE_OR_FOLDER" in without.text()
    assert not (tmp_path / "without" / "suites" / "orders-hook.suite.yaml").exists()
    assert list(given.missing) == []
    assert given.states["orders-hook"].kind == "runs"
    assert (tmp_path / "given" / "transformations" / "libraries" / "text.js").read_text() == LIBRARY


@pytest.mark.parametrize("there", ["workspace.yaml", "IMPORT.md", "suites/orders-hook.suite.yaml", ".env"])
def test_existing_files_are_kept(tmp_path: Path, there: str) -> None:
    """If a file of the project exists, nothing is written."""
    file = export(tmp_path / "export", configuration())
    mine = tmp_path / "shop" / there
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    with pytest.raises(ConfigError, match="already exists"):  # to try the suites takes a second
        import_workspace(file, tmp_path / "shop", environ={}, with_suites=there.startswith("suites/"))
    files = [path for path in (tmp_path / "shop").rglob("*") if path.is_file()]
    assert (files, mine.read_text()) == ([mine], "mine")


def test_names_in_an_export_cannot_leave_the_project(tmp_path: Path) -> None:
    """Ids and names with paths become names of files in the project."""
    shape = configuration(id="../../evil", name="../../evil", code=CODE, language="javascript")
    shape["sources"][0]["destinations"][0] |= {"name": "../../../up", "id": "/etc/x"}
    shape["sources"][0]["destinations"][2] |= {"name": "!!!", "id": "../../id"}
    file = export(tmp_path / "a" / "b", shape)
    import_workspace(file, tmp_path / "a" / "b" / "shop", environ={})

    outside = [p for p in tmp_path.rglob("*") if p.is_file() and "shop" not in p.relative_to(tmp_path).parts]
    assert sorted(path.name for path in outside) == ["code.json", "workspaceConfig.json"]


def test_one_of_several_workspaces_can_be_chosen(tmp_path: Path) -> None:
    """By id in `{workspaceId: configuration}`; a wrong one gets a suggestion."""
    file = export(tmp_path, {"ws1": configuration(), "ws2": {**configuration(), "workspaceId": "ws2"}})
    report = import_workspace(file, tmp_path / "shop", workspace_id="ws2", with_suites=False, environ={})

    assert report.workspace.name == "ws2"
    assert not (tmp_path / "shop" / "suites").exists()
    with pytest.raises(InvalidWorkspace, match=r"no workspace has the id 'ws3'\. Did you mean 'ws"):
        import_workspace(file, tmp_path / "other", workspace_id="ws3", environ={})
    with pytest.raises(InvalidWorkspace, match="--workspace-id ID"):
        import_workspace(file, tmp_path / "other", environ={})
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("link", "says"), [({"sourceId": "s1", "deleted": False}, 1), ({"deleted": True}, 0), (None, 0)]
)
def test_a_plan_missing_from_the_export_is_reported(tmp_path: Path, link: Any, says: int) -> None:
    """RudderStack exports only that a source has a plan."""
    data = configuration()
    data["sources"][0]["dgSourceTrackingPlanConfig"] = link
    report = import_workspace(export(tmp_path, data), tmp_path / "shop", with_suites=False)

    assert report.text().count("the events of source 'Web' are checked against a tracking plan") == says


def test_strict_rejects_unknown_parts(tmp_path: Path) -> None:
    """`--strict` writes nothing and prints the same, with exit code 4."""
    export(tmp_path, configuration())

    refused = svctoolkit("import", "workspaceConfig.json", "-o", "shop", "--strict", cwd=tmp_path)

    assert refused.returncode == 4
    assert "GA4 has no configuration variable 'oldKey'" in refused.stderr
    assert not (tmp_path / "shop").exists()


def test_a_rudder_cli_project_provides_sources_and_transformations(tmp_path: Path) -> None:
    """Event-stream sources and code are imported; the team adds destinations."""
    project = tmp_path / "cli"
    project.mkdir()
    (project / "web.yaml").write_text(
        "version: rudder/v1\nkind: event-stream-source\nmetadata: {name: web}\n"
        "spec: {id: web, name: Web, type: javascript, enabled: true}\n"
    )
    (project / "clean.yaml").write_text(
        "version: rudder/v1\nkind: transformation\nmetadata: {name: clean}\n"
        "spec: {id: clean, name: Clean, language: python, code: 'def transformEvent(e, m): return e'}\n"
    )
    report = import_workspace(project, tmp_path / "shop", environ={})

    workspace = Workspace.load(tmp_path / "shop" / "workspace.yaml", environ={})
    assert workspace.source("web").type == "web"
    assert workspace.transformation("clean").run({"type": "track"}).error is None
    assert report.missing == []


PLAN = {
    "events.yaml": "kind: events\nspec: {events: [{id: order, name: Order Completed, event_type: track}]}\n",
    "properties.yaml": "kind: properties\nspec: {properties: [{id: total, name: total, type: number}]}\n",
    "plan.yaml": "# agreed in May\nkind: tracking-plan\nspec:\n  id: shop\n  display_name: Shop\n  rules:\n"
    "  - {type: event_rule, id: r1, event: '#event:order', "
    "properties: [{property: '#property:total', required: true}]}\n",
    "web.yaml": "kind: event-stream-source\nspec: {id: web, name: Web, type: javascript, governance: {validations: "
    "{tracking_plan: '#tracking-plan:shop', config: {track: {drop_other_violations: true}}}}}\n",
    "low.yaml": "kind: transformation-library\nspec: {id: low, name: Low, language: javascript, "
    "code: 'export const low = (t) => t.toLowerCase();'}\n",
    "clean.yaml": "kind: transformation\nspec: {id: clean, name: Clean, language: javascript, code: "
    "\"import {low} from 'low'; export function transformEvent(e) { return {...e, userId: low(e.userId || '')} }\"}\n",
}


def test_a_rudder_cli_project_provides_tracking_plans_and_suites(tmp_path: Path) -> None:
    """Plans, their settings at a source and their comments; `svctoolkit run` passes, and a changed plan fails it."""
    (tmp_path / "cli").mkdir()
    for name, text in PLAN.items():
        head = f"version: rudder/v1\nmetadata: {{name: {name[:-5]}}}\n"
        (tmp_path / "cli" / name).write_text(head + text)

    imported = svctoolkit("import", "cli", "-o", "shop", cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr
    shop = tmp_path / "shop"
    first = svctoolkit("run", cwd=shop)
    workspace = Workspace.load(shop / "workspace.yaml", environ={})
    link = workspace.plan_link(workspace.source("web"))
    properties = shop / "tracking" / "properties.yaml"
    properties.write_text(properties.read_text().replace("type: number", "type: boolean"))
    second = svctoolkit("run", cwd=shop)

    assert "tracking plan shop: 1 event; checks web" in imported.stdout
    assert (first.returncode, "web-as-planned.suite.yaml: 1 passed" in first.stdout) == (0, True), first.stdout
    assert "clean.suite.yaml: 6 passed" in first.stdout
    assert link is not None
    assert link.settings.of("track") == Settings.of_words({"track": {"drop_other_violations": True}}).of("track")
    assert "# agreed in May" in (shop / "tracking" / "plan.yaml").read_text()
    assert Workspace.loads(workspace.dumps(), folder=shop, environ={}).dumps() == workspace.dumps()
    assert (second.returncode, "Datatype-Mismatch" in second.stdout) == (1, True), second.stdout


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"sources": 3}', '{"a": {"sources": 1}}', "\x00", '{"sources": [{}]}']
)
def test_an_invalid_workspace_is_reported_with_its_position(tmp_path: Path, text: str) -> None:
    """Exit code 4 and one line, no traceback and no folder."""
    (tmp_path / "w.json").write_text(text)

    refused = svctoolkit("import", "w.json", "-o", "shop", cwd=tmp_path)

    assert refused.returncode == 4
    assert refused.stderr.startswith("svctoolkit: w.json")
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "shop").exists()


def test_an_unwritable_folder_is_one_clear_error(tmp_path: Path) -> None:
    """If a file is in the way of the folder, nothing is left behind."""
    file = export(tmp_path / "export", configuration())
    (tmp_path / "shop").write_text("a file")

    with pytest.raises(ToolkitError, match=r"cannot write a project to .*shop"):
        import_workspace(file, tmp_path / "shop", environ={}, with_suites=False)
    assert (tmp_path / "shop").read_text() == "a file"


#: Runs the program, and sends it a signal while it copies the third file of a project.
STOPPED = """
import os, signal, sys
from svctoolkit.cli import main

copied = []

def stop(event, args):
    if event == "shutil.copyfile" and len(copied) < 3:
        copied.append(args)
        if len(copied) == 3:
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(stop)
sys.exit(main(["import", "w.json", "-o", "shop", "--no-suites"]))
"""


@pytest.mark.parametrize(
    ("name", "code", "there"),
    some_by_default([("SIGINT", 2, True), ("SIGKILL", -9, False), ("SIGINT", 2, False)], 1),
)
def test_an_import_that_is_stopped_leaves_no_half_of_a_project(
    tmp_path: Path, name: str, code: int, there: bool
) -> None:
    """The folder appears with all its files; if it exists, Ctrl-C removes what was written."""
    export(tmp_path, configuration()).rename(tmp_path / "w.json")
    if there:
        (tmp_path / "shop").mkdir()

    stopped = subprocess.run(
        [sys.executable, "-c", STOPPED, name], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert stopped.returncode == code, stopped.stderr
    assert [path for path in (tmp_path / "shop").rglob("*") if path.is_file()] == []
    assert (tmp_path / "shop").exists() == there


#: Runs the program, and sends it Ctrl-C when a scenario opens a snapshot.
STOPPED_IN_A_SCENARIO = """
import os, signal, sys
from svctoolkit.cli import main

sent = []

def stop(event, args):
    if event == "open" and "__snapshots__" in str(args[0]) and not sent:
        sent.append(event)
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(stop)
code = main(sys.argv[1:])
assert sent
sys.exit(code)
"""


@pytest.mark.parametrize(
    "command", some_by_default([["import", "w.json", "-o", "other"], ["run", "shop", "--watch"]], 1)
)
def test_ctrl_c_in_a_scenario_ends_the_command(tmp_path: Path, command: list[str]) -> None:
    """An import ended with an internal error, and `--watch` went on to wait for changes."""
    export(tmp_path, configuration()).rename(tmp_path / "w.json")
    import_workspace(tmp_path / "w.json", tmp_path / "shop", environ={})

    stopped = subprocess.run(
        [sys.executable, "-c", STOPPED_IN_A_SCENARIO, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert stopped.returncode == 2, stopped.stderr
    assert "internal error" not in stopped.stderr
    assert "interrupted" in stopped.stdout + stopped.stderr
    assert not (tmp_path / "other").exists()
