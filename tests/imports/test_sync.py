"""`svctoolkit sync`: what changed in a newer export is shown and applied, and edits of the project are kept."""

from __future__ import annotations

import json
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Workspace
from tests.imports import acme

pytestmark = [
    pytest.mark.filterwarnings("ignore::svctoolkit.errors.WorkspaceWarning"),
    pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables"),
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An imported project without suites, with a comment that a user wrote."""
    import_workspace(acme.write(tmp_path / "export"), tmp_path / "shop", environ={}, with_suites=False)
    file = tmp_path / "shop" / "workspace.yaml"
    file.write_text(file.read_text().replace("destinations:\n  ga4", "# reviewed in May\ndestinations:\n  ga4", 1))
    return tmp_path / "shop"


def newer(folder: Path, data: dict[str, Any] | None = None, code: Any = None) -> Path:
    """Write an export that changes a setting, takes a connection, removes a destination, and adds one."""
    if data is None:
        data = acme.export()
        web, _, backend = data["sources"]
        web["destinations"][0]["config"]["measurementId"] = "G-NEWER"
        web["destinations"] = [d for d in web["destinations"] if d["name"] not in ("Hotjar",)]
        slack = {"id": "2DestSlack", "name": "Slack alerts", "config": {"webhookUrl": "https://slack.example/T1"}}
        backend["destinations"].append({**slack, "destinationDefinition": {"name": "SLACK"}})
    file = acme.write(folder, data)
    if code is not None:
        (folder / "code.json").write_text(json.dumps(code))
    return file


def start(shop: Path, export: Path, *options: str) -> tuple[int, str]:
    out, errors = StringIO(), StringIO()
    with chdir(shop), redirect_stdout(out), redirect_stderr(errors):
        code = main(["sync", str(export), *options])
    return code, out.getvalue() + errors.getvalue()


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_changes_are_shown_and_nothing_is_written(shop: Path, tmp_path: Path) -> None:
    """One line per change; exit code 1 reports drift, and 0 that there is none."""
    before = snapshot(shop)
    code, out = start(shop, newer(tmp_path / "newer"))
    same, nothing = start(shop, tmp_path / "export" / "workspaceConfig.json")

    assert code == 1
    assert "~ destinations.ga4-web.config.measurementId: G-7K2ACME here, G-NEWER in the export" in out
    assert "- destinations.hotjar (HOTJAR, Hotjar)" in out
    assert "+ destinations.slack-alerts (SLACK, Slack alerts)" in out
    assert "--apply writes them" in out
    assert (same, nothing) == (0, "nothing changed in the export since the last import\n")
    assert snapshot(shop) == before


def test_applied_changes_make_the_workspace_that_of_the_export(shop: Path, tmp_path: Path) -> None:
    """The project is what an import would write now, but for comments; a second sync finds nothing."""
    export = newer(tmp_path / "newer")
    code, out = start(shop, export, "--apply")
    import_workspace(export, tmp_path / "fresh", environ={}, with_suites=False)

    assert code == 0, out
    synced, fresh = (Workspace.load(f / "workspace.yaml", environ={}) for f in (shop, tmp_path / "fresh"))
    assert synced.destinations.keys() == fresh.destinations.keys()
    assert {k: reveal(d.config) for k, d in synced.destinations.items()} == {
        k: reveal(d.config) for k, d in fresh.destinations.items()
    }
    assert synced.sources == fresh.sources
    assert "# reviewed in May\n" in (shop / "workspace.yaml").read_text()
    assert start(shop, export)[0] == 0


def test_edits_are_never_overwritten_silently(shop: Path, tmp_path: Path) -> None:
    """An edit that the export does not touch stays; where both changed it is a conflict, until it is decided."""
    file = shop / "workspace.yaml"
    text = file.read_text().replace("G-7K2ACME", "G-MINE  # ours").replace("dataResidency: eu", "dataResidency: in")
    file.write_text(text)
    pii = shop / "transformations" / "mask-pii.py"
    pii.write_text(pii.read_text() + "\n# edited\n")
    code = json.loads(json.dumps(acme.CODE))
    code["transformations"][2]["code"] += "\n# newer\n"
    code["transformations"][0]["code"] += "\n// newer\n"
    export = newer(tmp_path / "newer", code=code)

    reported, out = start(shop, export, "--apply")
    kept = file.read_text()
    again, _ = start(shop, export)
    mine, _ = start(shop, export, "--apply", "--conflicts", "mine")
    quiet, _ = start(shop, export)

    assert reported == 1
    assert "! destinations.ga4-web.config.measurementId: G-MINE here, G-NEWER in the export" in out
    assert "! transformations/mask-pii.py: changed in the export, and edited here" in out
    assert "~ transformations/enrich-orders.js: changed" in out
    assert "measurementId: G-MINE  # ours" in kept
    assert "dataResidency: in" in kept
    assert pii.read_text().endswith("# edited\n")
    assert (shop / "transformations" / "enrich-orders.js").read_text().endswith("// newer\n")
    assert (again, mine, quiet) == (1, 0, 0)


def test_theirs_takes_the_value_of_the_export(shop: Path, tmp_path: Path) -> None:
    """The comment behind the value stays."""
    file = shop / "workspace.yaml"
    file.write_text(file.read_text().replace("G-7K2ACME", "G-MINE  # ours"))

    code, out = start(shop, newer(tmp_path / "newer"), "--apply", "--conflicts", "theirs")

    assert code == 0, out
    assert "measurementId: G-NEWER  # ours" in file.read_text()


def test_values_of_secrets_are_never_shown_and_only_replaced_when_asked(shop: Path, tmp_path: Path) -> None:
    """Their names are listed; `--secrets` writes them to `.env`, still for its owner only."""
    data = acme.export()
    data["sources"][0]["destinations"][0]["config"]["apiSecret"] = "N3wGa4Secret77"
    export = newer(tmp_path / "newer", data)

    shown, out = start(shop, export, "--apply")
    before = (shop / ".env").read_text()
    replaced, _ = start(shop, export, "--apply", "--secrets")

    assert (shown, replaced) == (0, 0)
    assert "secrets that differ in .env: GA4_WEB_API_SECRET" in out
    assert "N3wGa4Secret77" not in out + before
    assert "N3wGa4Secret77" in (shop / ".env").read_text()
    assert (shop / ".env").stat().st_mode & 0o777 == 0o600


def test_a_result_that_would_be_invalid_is_not_written(shop: Path, tmp_path: Path) -> None:
    """A connection to a destination that the user renamed: an error with the place, and no file changes."""
    file = shop / "workspace.yaml"
    file.write_text(file.read_text().replace("meta-capi", "meta"))
    data = acme.export()
    data["sources"][1]["destinations"].append(data["sources"][2]["destinations"][2])  # ios -> Meta CAPI
    before = snapshot(shop)

    code, out = start(shop, newer(tmp_path / "newer", data), "--apply", "--conflicts", "theirs")

    assert code == 4
    assert "meta-capi" in out
    assert "Traceback" not in out
    assert snapshot(shop) == before


def test_without_a_lock_it_says_what_to_do(shop: Path, tmp_path: Path) -> None:
    """A project of an earlier version, or a damaged lock."""
    export = newer(tmp_path / "newer")
    (shop / "import.lock.json").write_text("{")
    damaged = start(shop, export)
    (shop / "import.lock.json").unlink()
    missing = start(shop, export)

    assert (damaged[0], "import.lock.json cannot be read" in damaged[1]) == (4, True)
    assert (missing[0], "import the export again" in missing[1]) == (4, True)
