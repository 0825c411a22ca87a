"""Destination types in files next to a workspace: `destinations.py` or `destinations/`, without packaging."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit import CATALOGUE
from svctoolkit.errors import InvalidWorkspace, WorkspaceWarning
from svctoolkit.pipeline import Pipeline
from svctoolkit.workspace import Workspace

EVENT = {"type": "track", "event": "Room Booked", "userId": "u1"}
WORKSPACE = """\
workspace: hotel
sources: {web: {destinations: [harbor]}}
destinations: {harbor: {type: HARBOR, config: {apiKey: k-1}}}
"""
CODE = """\
from svctoolkit.destinations import DestinationType, Payload, Settings
from svctoolkit.mapping import Table, required
from svctoolkit.secrets import Secret


class HarborSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret


harbor = destination = DestinationType("Harbor", HarborSettings, docs="https://harbor.example/docs")
VISIT = Table({"what": required("event"), "person": required("userId")})


@harbor.on("track")
def send_visit(event, settings):
    headers = {"Authorization": f"Bearer {settings.api_key.reveal()}"}
    return Payload(endpoint="https://harbor.example/visits", headers=headers, json=VISIT(event))
"""
EXAMPLES = """\
- name: a visit
  config: {apiKey: k-1}
  event: {type: track, event: Room Booked, userId: u1}
  payloads:
    - endpoint: https://harbor.example/visits
      headers: {Authorization: Bearer k-1}
      body: {JSON: {what: Room Booked, person: u1}}
- name: nobody is refused
  config: {apiKey: k-1}
  event: {type: track, event: Room Booked}
  error: {class: MappingError, says: userId}
"""
SUITE = """\
version: 1
workspace: ../workspace.yaml
scenarios:
- name: a visit
  source: web
  send: {type: track, event: Room Booked, userId: u1}
  expect: {delivered: {harbor: [{url: https://harbor.example/visits, body: {what: Room Booked}}]}}
"""


_PLACES = [
    "destinations.py",
    "destinations/harbor/__init__.py",
    pytest.param("destinations/harbor.py", marks=pytest.mark.slow),
]


@pytest.fixture(params=_PLACES)
def project(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with a custom type in each supported place."""
    monkeypatch.setattr(CATALOGUE, "_added", {})
    monkeypatch.setenv("SVCTOOLKIT_TRUST_CODE", "1")
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    file = tmp_path / request.param
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CODE)
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "visits.suite.yaml").write_text(SUITE)
    return file


def root(file: Path) -> Path:
    return next(folder for folder in file.parents if (folder / "workspace.yaml").exists())


def svctoolkit(folder: Path, *arguments: str, trust: bool) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "SVCTOOLKIT_TRUST_CODE": "1" if trust else "0"}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_type_next_to_the_workspace_is_an_ordinary_type(project: Path) -> None:
    """Its settings are checked, its secrets hidden, its events mapped; a changed file takes effect at the next load."""
    workspace = Workspace.load(project_file := root(project) / "workspace.yaml")
    result = Pipeline(workspace).test_destination("harbor", EVENT)

    assert result.data[0].payloads[0]["body"]["JSON"] == {"what": "Room Booked", "person": "u1"}
    assert "k-1" not in f"{workspace!r}{result!r}"
    project.write_text(CODE.replace("harbor.example/visits", "harbor.example/v2/visits"))
    again = Pipeline(Workspace.load(project_file)).test_destination("harbor", EVENT)
    assert again.data[0].payloads[0]["endpoint"] == "https://harbor.example/v2/visits"


@pytest.mark.slow
def test_every_entry_point_finds_trusted_types(project: Path) -> None:
    """`svctoolkit test`, `run` and pytest, but only where code is trusted."""
    folder = root(project)

    tested = svctoolkit(folder, "svctoolkit", "test", "destination", "harbor", "--sample", "track", trust=True)
    ran = svctoolkit(folder, "svctoolkit", "run", "--trust-code", trust=False)
    collected = svctoolkit(folder, "pytest", "-q", "-p", "no:cacheprovider", trust=True)
    refused = svctoolkit(folder, "svctoolkit", "run", trust=False)

    assert (tested.returncode, "POST https://harbor.example/visits" in tested.stdout) == (0, True), tested.stderr
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert collected.returncode == 0, collected.stdout
    assert refused.returncode != 0
    assert "custom destination types are not loaded" in refused.stderr
    assert "--trust-code" in refused.stderr


def test_untrusted_types_do_not_run(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An untrusted file is not even imported, even if the workspace itself says that it is trusted."""
    ran = tmp_path / "ran"
    project.write_text(f"open({str(ran)!r}, 'w').close()\n{CODE}")
    file = root(project) / "workspace.yaml"
    file.write_text(WORKSPACE + "limits: {trust: true}\n")
    monkeypatch.delenv("SVCTOOLKIT_TRUST_CODE")

    with pytest.warns(WorkspaceWarning) as warned:
        Workspace.load(file)

    texts = [str(warning.message) for warning in warned]
    assert any(f"{project}: custom destination types are not loaded" in text for text in texts)
    assert any("unknown destination type 'HARBOR'" in text for text in texts)
    assert not ran.exists()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x = 1\n", r"no destination type found: expected"),
        ("import nothing_like_this\n", r":1:1: ModuleNotFoundError: No module named 'nothing_like_this'"),
        ("\n\nraise ValueError('broken here')\n", r":3:1: ValueError: broken here"),
        ("def (:\n", r":1:5: SyntaxError"),
    ],
)
def test_a_faulty_file_is_reported_with_its_line(project: Path, code: str, says: str) -> None:
    """File, line and the expected value, without a traceback."""
    project.write_text(code)

    with pytest.raises(InvalidWorkspace, match=says) as caught:
        Workspace.load(root(project) / "workspace.yaml")
    assert str(project) in str(caught.value)


@pytest.mark.slow
def test_its_examples_are_tests(tmp_path: Path) -> None:
    """`destinations/harbor/examples.yaml` is collected by pytest; a wrong example fails."""
    folder = tmp_path / "destinations" / "harbor"
    folder.mkdir(parents=True)
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    (folder / "__init__.py").write_text(CODE)
    (folder / "examples.yaml").write_text(EXAMPLES)
    right = svctoolkit(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", trust=True)
    (folder / "examples.yaml").write_text(
        EXAMPLES.replace("person: u1", "person: u2").replace("says: userId", "says: x")
    )
    wrong = svctoolkit(tmp_path, "pytest", "-q", "-p", "no:cacheprovider", trust=True)

    assert (right.returncode, "2 passed" in right.stdout) == (0, True), right.stdout
    assert (wrong.returncode, "2 failed" in wrong.stdout) == (1, True), wrong.stdout
    assert '"person":"u1"' in wrong.stdout
