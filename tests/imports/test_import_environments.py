"""Exports of two workspaces, dev and prod, become one workspace with two environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from svctoolkit.project.imports import read_all
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Workspace, environments
from tests.imports import acme

pytestmark = pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables")


def production() -> dict[str, Any]:
    """The same workspace as `acme`, as production has it: other ids, settings, connections and code."""
    text = json.dumps(acme.export())
    ids = {"2Dest": "9Dest", "2Src": "9Src", "2Wk": "9Wk", "G-7K2ACME": "G-PRODUCT", "orders.acme": "live.acme"}
    secrets = {"Vq3mZk81ga4Sx": "Pr0dGa4Secret9", "crm-9Zk1acme": "crm-Pr0d77x"}
    for old, new in (ids | secrets).items():
        text = text.replace(old, new)
    data: dict[str, Any] = json.loads(text)
    web, ios, backend = data["sources"]
    web["destinations"] = [d for d in web["destinations"] if d["name"] != "Hotjar"]
    slack = {"id": "9DestSlack", "name": "Slack alerts", "config": {"webhookUrl": "https://hooks.slack.example/T1"}}
    backend["destinations"].append({**slack, "destinationDefinition": {"name": "SLACK"}})
    ios["destinations"][-1] |= {"isConnectionEnabled": True, "isProcessorEnabled": True}
    kiosk = {"id": "9SrcKiosk", "name": "Kiosk", "writeKey": "9WkKiosk", "sourceDefinition": {"type": "http"}}
    data["sources"].append({**kiosk, "destinations": []})
    data["settings"]["eventBlocking"]["events"] = {"track": ["Heartbeat"]}
    for destination in [d for source in data["sources"] for d in source["destinations"]]:
        for code in destination.get("transformations", []):
            if code["id"] == "2TfPii3":
                code["versionId"] = "2TfPiiV3"
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both exports, with the older code that production still runs."""
    folder = tmp_path_factory.mktemp("both")
    acme.write(folder / "dev")
    acme.write(folder / "prod", production())
    older = json.loads(json.dumps(acme.CODE))
    older["transformations"][2] |= {"versionId": "2TfPiiV3", "code": acme.MASK_PII.replace('"phone", ', "")}
    (folder / "prod" / "code.json").write_text(json.dumps(older))
    return folder


@pytest.mark.filterwarnings("ignore::svctoolkit.errors.WorkspaceWarning")
def test_each_environment_is_its_export(folder: Path, tmp_path: Path) -> None:
    """Settings, write keys, secrets, connections, code and blocked events; what one does not have is disabled there."""
    dev, prod = folder / "dev" / "workspaceConfig.json", folder / "prod" / "workspaceConfig.json"
    import_workspace(dev, tmp_path / "shop", others={"prod": prod}, environ={}, with_suites=False)

    file = tmp_path / "shop" / "workspace.yaml"
    for name, export in (("", dev), ("prod", prod)):
        written = Workspace.load(file, environ={}, environment=name)
        exported, _, _ = read_all(export, "", [], {}, strict=False, environ={})
        running = {key: d for key, d in written.destinations.items() if d.enabled}
        expected = {key: d for key, d in exported.destinations.items() if d.enabled}
        assert running.keys() == expected.keys()
        assert {k: reveal(d.config) for k, d in running.items()} == {k: reveal(d.config) for k, d in expected.items()}
        for key, source in exported.sources.items():
            assert written.sources[key].connections == source.connections
            assert written.sources[key].write_key == source.write_key
        code = {key: written.transformations[d.transformation].code for key, d in running.items() if d.transformation}
        assert code == {
            k: exported.transformations[d.transformation].code for k, d in expected.items() if d.transformation
        }
        blocked = {kind: names for kind, names in written.data_plane.event_blocking.items() if names}
        assert blocked == exported.data_plane.event_blocking
        assert reveal(written.credentials) == reveal(exported.credentials)
    assert environments.names(file) == ["prod"]
    assert (tmp_path / "shop" / "transformations" / "mask-pii-prod.py").is_file()
    assert "Pr0dGa4Secret9" not in file.read_text()


@pytest.mark.filterwarnings("ignore::svctoolkit.errors.WorkspaceWarning")
def test_the_command_line_takes_named_exports(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`--env prod=prod.json`; a missing file and a bad name are errors, and nothing is written."""
    dev, prod = folder / "dev" / "workspaceConfig.json", folder / "prod" / "workspaceConfig.json"
    shop = str(tmp_path / "shop")

    refused = [
        main(["import", str(dev), "-o", shop, "--env", text]) for text in ("prod", f"a/b={prod}", "prod=nowhere.json")
    ]
    errors = capsys.readouterr().err
    code = main(["import", str(dev), "-o", shop, "--no-suites", "--env", f"prod={prod}"])

    assert refused == [4, 4, 4]
    assert "expected NAME=FILE" in errors
    assert "the name of an environment has letters" in errors
    assert "no such file: nowhere.json" in errors
    assert code == 0
