"""The documentation page about custom destinations works as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from svctoolkit import CATALOGUE
from svctoolkit.cli import main
from svctoolkit.destinations import DestinationType, Rows, Settings, Tags, definitions
from svctoolkit.destinations._own import definition
from svctoolkit.errors import MappingError
from svctoolkit.widgets import DestinationExplorer

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "svctoolkit" / "docs" / "own-destinations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILES = {block.splitlines()[0].removeprefix("# "): block for block in BLOCKS if block.startswith("# ")}
NOTEBOOK, CONFIGURATION = [block for block in BLOCKS if not block.startswith("# ")]


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names defined by the notebook's cell."""
    monkeypatch.setattr(CATALOGUE, "_added", {})
    names: dict[str, Any] = {"__name__": "notebook"}
    exec(compile(NOTEBOOK, "own-destinations.md", "exec", dont_inherit=True), names)
    return names


def test_a_type_in_a_notebook_is_an_ordinary_type(notebook: dict[str, Any]) -> None:
    """After `CATALOGUE.add` it is listed, it runs in a pipeline, and its secret is always masked."""
    assert "HARBOR" in CATALOGUE.names()
    assert CATALOGUE["HARBOR"] is notebook["harbor"]
    assert "s3cr3t" not in f"{notebook['result']!r} {notebook['result']} {notebook['workspace'].destinations}"


def test_a_handler_in_a_notebook_maps_and_rejects(notebook: dict[str, Any]) -> None:
    """Its second handler works as documented: a visit with its time, and a refusal that names the field."""
    track = notebook["events"].track("Room Booked", user_id="u1", timestamp=datetime(2026, 1, 15, 10, tzinfo=UTC))

    (payload,) = notebook["harbor"].payloads(track, {"apiKey": "s3cr3t"})

    assert payload["endpoint"] == "https://us.harbor.example/visits"
    assert payload["body"]["JSON"] == {"what": "Room Booked", "person": "u1", "at": 1768471200}
    with pytest.raises(MappingError, match=r"properties\.internal") as refused:
        notebook["harbor"].payloads({**track, "properties": {"internal": True}}, {"apiKey": "s3cr3t"})
    assert refused.value.field == "properties.internal"


def test_its_quirks_are_shown(notebook: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Deviations of RudderStack from the destination's documentation are in the command, display and explorer."""
    settings, quirk = notebook["HarborSettings"], "Visits without an end last <forever>."
    CATALOGUE.add("QUAY", DestinationType("Quay", settings, quirks=[quirk]))
    CATALOGUE["QUAY"].on("page")(notebook["send_visit"])

    assert main(["definitions", "QUAY"]) == 0
    explorer = DestinationExplorer(destination="QUAY")

    assert f"quirk    {quirk}" in capsys.readouterr().out
    for view in (CATALOGUE["QUAY"]._repr_mimebundle_()["text/html"], explorer._about.value):
        assert "Visits without an end last &lt;forever&gt;." in view


def test_its_definition_is_derived_from_its_settings(
    notebook: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """It has a form like any other type: kinds, options, defaults, required and secret fields."""
    found = definitions.get("HARBOR")

    assert [(name, v.kind, v.required, v.secret) for name, v in found.variables.items()] == [
        ("apiKey", "text", True, True),
        ("region", "choice", False, False),
    ]
    assert (found.variables["region"].options, found.variables["region"].default) == (["eu", "us"], "us")
    assert found.supported_message_types == {"cloud": ["identify", "track"]}
    assert found in definitions.all()
    assert main(["definitions", "harbor"]) == 0
    assert "apiKey    text, secret  yes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (bool, "boolean"),
        (int, "text"),
        (str | None, "text"),
        (Literal["a", "b"], "choice"),
        (list[Literal["a", "b"]], "choices"),
        (list[Rows], "pairs"),
        (tuple[Rows, ...], "pairs"),
        (Tags, "tags"),
        (dict[str, str], "any"),
    ],
)
def test_each_type_of_setting_has_its_form_field(kind: Any, expected: str) -> None:
    """The Python type of a setting decides."""
    settings = msgspec.defstruct("Made", [("member", kind)], bases=(Settings,), frozen=True, kw_only=True)
    made = definition("MADE", DestinationType("Made", settings))

    assert made.variables["member"].kind == expected


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package of the page, installed: an installer writes the entry points into a `.dist-info` folder."""
    for name, content in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, encoding="utf-8")
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    installed = tmp_path / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n", encoding="utf-8")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in found.items()) for group, found in groups]
    (installed / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    return tmp_path


def python(package: Path, *args: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(package), str(ROOT)])
    command = [sys.executable, *args]
    alone = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins only take time to load
    return subprocess.run(command, cwd=package, env={**os.environ, **alone}, capture_output=True, text=True)


def test_a_type_in_a_package_is_found_by_its_entry_point(package: Path) -> None:
    """With the package installed, a new process has the type, its answers and its examples."""
    program = (
        "from svctoolkit.destinations import CATALOGUE, examples\n"
        "print('HARBOR' in CATALOGUE.names(), CATALOGUE['HARBOR'].answer('success').status, len(examples('HARBOR')))"
    )

    done = python(package, "-c", program)

    assert done.stdout == "True 201 2\n", done.stderr


def test_the_examples_of_a_package_are_its_tests(package: Path) -> None:
    """The test on the page passes, and fails if an example is wrong."""
    passed = python(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_harbor.py")
    examples = package / "harbor_destination" / "examples.yaml"
    examples.write_text(examples.read_text(encoding="utf-8").replace("id: u1,", "id: u2,"), encoding="utf-8")
    failed = python(package, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_harbor.py")

    assert (passed.returncode, failed.returncode) == (0, 1), passed.stdout


def test_a_request_can_be_defined_without_python() -> None:
    """The HTTP type follows its rows; the assertions of the code block hold."""
    names: dict[str, Any] = {}

    exec(compile(CONFIGURATION, "own-destinations.md", "exec", dont_inherit=True), names)

    assert names["payload"]["headers"]["Authorization"].startswith("Bearer")


@pytest.mark.slow
def test_the_built_package_has_its_examples(tmp_path: Path) -> None:
    """The build on the page makes a wheel with code and evidence."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    (wheel,) = (tmp_path / "dist").glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        assert {"harbor_destination/__init__.py", "harbor_destination/examples.yaml"} <= set(archive.namelist())
