"""What is built on a project without changing it: suites, `init`, `import`, `run`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from svctoolkit.cli import main
from svctoolkit.workspace import Workspace
from tests.rudder_cli.bakery import LINKS, TIDY, write

SUITE = """
suite: Bakery
workspace: ../rudder
scenarios:
- name: the currency is in capitals
  destination: ovens
  event: {type: track, event: Loaf Sold, userId: u, properties: {price: 3, currency: eur}}
  expect: {dest_transform: {body: {JSON: {properties: {currency: EUR}}}}}
"""
pytestmark = pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables")


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a project in `rudder/`."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "rudder")
    return tmp_path


def test_a_suite_names_the_folder(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "suites").mkdir()
    (top / "suites" / "bakery.suite.yaml").write_text(SUITE)

    assert main(["run"]) == 0
    assert "1 passed" in capsys.readouterr().out


def test_tests_of_transformations_run(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write(
        top / "rudder", {"tidy.yaml": TIDY + "  tests:\n  - name: capitals\n    input: ./in\n    output: ./out\n"}
    )
    for name, currency in (("in", "eur"), ("out", "EUR")):
        (folder / name).mkdir()
        text = f'{{"type": "track", "event": "Loaf Sold", "properties": {{"currency": "{currency}"}}}}'
        (folder / name / "sale.json").write_text(text)

    assert main(["run", "rudder", "--report", "junit=junit.xml"]) == 0
    assert "1 passed" in capsys.readouterr().out
    assert 'tests="1"' in (top / "junit.xml").read_text()


def test_init_writes_next_to_the_project(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in (top / "rudder").rglob("*") if path.is_file()}

    assert main(["init", "--from", "rudder-cli", "--ci", "github"]) == 0
    assert {path: path.read_bytes() for path in (top / "rudder").rglob("*.y*ml")} == before
    workflow = yaml.safe_load((top / ".github/workflows/svctoolkit.yml").read_text())
    steps = [step.get("name") for step in workflow["jobs"]["project"]["steps"]]
    assert [name for name in steps if name] == ["validate", "run", "replay", "comment"]
    assert "svctoolkit check rudder" in (top / ".github/workflows/svctoolkit.yml").read_text()
    assert "workspace: ../rudder" in (top / "suites/ovens.suite.yaml").read_text()
    capsys.readouterr()
    assert main(["run"]) == 0
    assert main(["check", "rudder"]) == 0


def test_init_does_not_write_into_a_project(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "rudder/tests", "--from", "rudder-cli", "--project", "rudder"]) == 4
    assert "rudder-cli would stop at YAML files in rudder: give a folder next to it" in capsys.readouterr().err


def test_init_finds_the_project(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(top / "second")

    assert main(["init", "--from", "rudder-cli"]) == 4
    assert "found rudder, second. Give --project DIR" in capsys.readouterr().err


def test_an_import_is_a_copy_that_works_alone(
    top: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUDDER_OVEN_TOKEN", "hot-oven-token")

    assert main(["import", "rudder", "-o", "copy", "--no-suites"]) == 0
    monkeypatch.delenv("RUDDER_OVEN_TOKEN")
    text = (top / "copy/workspace.yaml").read_text()
    assert "$(env:RUDDER_OVEN_TOKEN)" in text
    assert "hot-oven-token" not in text
    copy = Workspace.load(top / "copy/workspace.yaml")
    assert list(copy.destinations) == ["letters", "ovens"]
    assert copy.sources["till"].tracking_plan == "bread"


def test_variables_of_the_catalog_are_replaced_in_the_copy(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = (top / "rudder/catalog/plan.yaml").read_text().replace("display_name: Bread", "display_name: {{ .NAME }}")
    (top / "rudder/catalog/plan.yaml").write_text(plan)
    (top / "names.vars.yaml").write_text("NAME: Our Bread\n")

    assert main(["import", "rudder", "-o", "copy", "--no-suites", "--var-file", "names.vars.yaml"]) == 0
    assert "display_name: Our Bread" in (top / "copy/tracking/catalog/plan.yaml").read_text()


def test_a_project_without_connections(top: Path) -> None:
    write(top / "rudder", {"links.yaml": LINKS.split("- id")[0].replace("connections:", "connections: []")})

    assert list(Workspace.load(top / "rudder", environ={}).destinations) == ["letters", "ovens"]


def test_environments_are_compared(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (top / "rudder/dev.vars.yaml").write_text("OVEN_TOKEN: dev-oven-token\n")
    (top / "prod.vars.yaml").write_text("OVEN_TOKEN: prod-oven-token\n")

    assert main(["environments", "--workspace", "rudder"]) == 0
    assert capsys.readouterr().out.split() == ["dev", "prod"]
    assert main(["environments", "dev", "prod", "--workspace", "rudder"]) == 0
    assert capsys.readouterr().out == "destinations.ovens.config.bearerToken: a secret in dev, a secret in prod\n"


def test_its_code_can_be_trusted(
    top: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVCTOOLKIT_TRUST_STORE", str(top / "trust"))

    assert main(["trust", "rudder"]) == 0
    assert capsys.readouterr().out.count("trusted: ") == 2


def test_its_secrets_are_found(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUDDER_OVEN_TOKEN", "hot-oven-token-1234")
    (top / "log.txt").write_text("sent with hot-oven-token-1234\n")

    assert main(["secrets", "scan", "log.txt", "--workspace", "rudder"]) == 1


def test_variables_without_quotes_are_imported(top: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also in files that mention a transformation."""
    text = (top / "rudder/ovens.yaml").read_text()
    (top / "rudder/ovens.yaml").write_text(
        text.replace("is_default_mapping: true", "is_default_mapping: {{ .ON | true }}")
    )
    code = (top / "rudder/tidy.yaml").read_text()
    (top / "rudder/tidy.yaml").write_text(code.replace("name: Tidy", "name: {{ .NAME | Tidy }}"))

    assert main(["import", "rudder", "-o", "copy", "--no-suites"]) == 0
    assert main(["run", "rudder"]) in (0, 5)  # there are no tests
