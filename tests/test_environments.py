"""Environments use the same workspace and suites with other settings, credentials and delivery."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.errors import InvalidWorkspace, UnknownName, UnsetVariables
from svctoolkit.pipeline import Pipeline
from svctoolkit.workspace import Workspace, environments

EVENT = {"type": "track", "event": "Order Completed", "userId": "u1"}
WORKSPACE = """\
workspace: shop
sources: {web: {destinations: [hook]}}
destinations:
  hook:
    type: WEBHOOK
    config: {webhookUrl: https://base.example, webhookMethod: POST, headers: [{from: X-Key, to: $(env:KEY)}]}
credentials: {crm: $(env:KEY)}
environments:
  dev:
    destinations: {hook: {config: {webhookUrl: https://dev.example}}}
  production:
    destinations: {hook: {config: {webhookUrl: https://prod.example, headers: [{from: X-Key, to: $(env:PROD_KEY)}]}}}
    credentials: {crm: $(env:PROD_KEY)}
    delivery: {timeout: 5}
    sources: {web: {writeKey: production-key}}
"""
ENVIRON = {"KEY": "base-s3cret", "PROD_KEY": "prod-s3cret"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    return tmp_path / "workspace.yaml"


def endpoint(workspace: Workspace) -> str:
    return Pipeline(workspace).test_destination("hook", EVENT).data[0].payloads[0]["endpoint"]


def test_an_environment_changes_only_what_it_names(file: Path) -> None:
    """Variables, credentials, delivery and write keys change by key; the rest is the workspace's."""
    base = Workspace.load(file, environ=ENVIRON)
    production = Workspace.load(file, environ=ENVIRON, environment="production")

    assert (endpoint(base), endpoint(production)) == ("https://base.example", "https://prod.example")
    assert production.destination("hook").config["webhookMethod"] == "POST"
    assert production.destination("hook").config["headers"][0]["to"].reveal() == "prod-s3cret"
    assert (base.delivery.timeout, production.delivery.timeout) == (60.0, 5.0)
    assert (base.source("web").write_key, production.source("web").write_key) == ("web", "production-key")
    assert "prod-s3cret" in set(production.secrets())


def test_an_argument_overrides_svc_env(file: Path) -> None:
    """`SVC_ENV` is the default; an empty argument means the workspace itself."""
    environ = {**ENVIRON, "SVC_ENV": "dev"}

    assert endpoint(Workspace.load(file, environ=environ)) == "https://dev.example"
    assert endpoint(Workspace.load(file, environ=environ, environment="production")) == "https://prod.example"
    assert endpoint(Workspace.load(file, environ=environ, environment="")) == "https://base.example"


def test_only_variables_of_the_chosen_environment_are_needed(file: Path) -> None:
    """Testing `dev` requires no secrets of production."""
    assert endpoint(Workspace.load(file, environ={"KEY": "k"}, environment="dev")) == "https://dev.example"
    with pytest.warns(UnsetVariables, match=r"workspace\.yaml: 1 environment variable is not set.*: PROD_KEY"):
        Workspace.load(file, environ={"KEY": "k"}, environment="production")


def test_a_separate_file_can_be_an_environment(file: Path) -> None:
    """`workspace.staging.yaml` has the differences; mistakes have their position in it."""
    beside = file.with_name("workspace.staging.yaml")
    beside.write_text("destinations: {hook: {config: {webhookUrl: https://staging.example}}}\n")

    assert environments.names(file) == ["dev", "production", "staging"]
    assert endpoint(Workspace.load(file, environ=ENVIRON, environment="staging")) == "https://staging.example"

    beside.write_text("destinations:\n  hok: {config: {webhookUrl: x}}\n")
    with pytest.raises(InvalidWorkspace, match=r"staging\.yaml:2:3: unknown destination 'hok'\. Did you mean 'hook'"):
        Workspace.load(file, environ=ENVIRON, environment="staging")
    beside.write_text("delivery:\n  timeout: -5\n")
    with pytest.raises(InvalidWorkspace, match=r"staging\.yaml:2:12: 'timeout' must be more than 0"):
        Workspace.load(file, environ=ENVIRON, environment="staging")
    beside.write_text("destinatons: {}\n")
    with pytest.raises(InvalidWorkspace, match=r"staging\.yaml:1:1: unknown key 'destinatons'"):
        Workspace.load(file, environ=ENVIRON, environment="staging")


def test_an_unknown_environment_gets_a_suggestion(file: Path) -> None:
    """A misspelt environment is never ignored."""
    with pytest.raises(UnknownName, match=r"unknown environment 'prodution'\. Did you mean 'production'"):
        Workspace.load(file, environ={**ENVIRON, "SVC_ENV": "prodution"})


def test_differences_of_environments_hide_secrets(file: Path) -> None:
    """Two environments are compared, secrets included, and only the differences are shown."""
    changes = environments.differences(file, "base", "production", environ=ENVIRON)

    assert changes == [
        ("sources.web.writeKey", "'web'", "'production-key'"),
        ("destinations.hook.config.webhookUrl", "'https://base.example'", "'https://prod.example'"),
        ("destinations.hook.config.headers.0.to", "a secret", "a secret"),
        ("credentials.crm", "a secret", "a secret"),
        ("delivery.timeout", "60.0", "5.0"),
    ]
    same = {**ENVIRON, "PROD_KEY": "base-s3cret"}
    assert "credentials.crm" not in [
        path for path, _, _ in environments.differences(file, "base", "production", environ=same)
    ]
    assert environments.differences(file, "dev", "dev", environ=ENVIRON) == []


def test_environments_are_saved(file: Path, tmp_path: Path) -> None:
    """References are written as they were; a secret in clear text becomes a reference."""
    workspace = Workspace.load(file, environ=ENVIRON)
    assert Workspace.loads(workspace.dumps(), environ=ENVIRON, folder=tmp_path) == workspace

    clear = WORKSPACE.replace("to: $(env:PROD_KEY)", "to: cl3ar-secret")
    text = Workspace.loads(clear, environ=ENVIRON).dumps()
    assert "cl3ar-secret" not in text
    assert "$(env:PRODUCTION_HOOK_HEADERS_0_TO)" in text


def test_an_environment_option_applies_to_one_command(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--env` applies to the command's code and its processes, and is reset even if the command fails."""
    monkeypatch.chdir(tmp_path)
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SVC_ENV", raising=False)
    arguments = ["test", "destination", "hook", "--sample", "track", "--json"]

    assert main([*arguments, "--env", "production"]) == 0
    assert "https://prod.example" in capsys.readouterr().out
    assert "SVC_ENV" not in os.environ
    monkeypatch.setenv("SVC_ENV", "dev")
    assert main([*arguments, "--env", "prodution"]) == 4
    assert os.environ["SVC_ENV"] == "dev"
    assert main(arguments) == 0
    assert "https://dev.example" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["warehouse", "show", "--events", "e.ndjson", "--trust-code"], 4),  # no warehouse: reported later
        (["plan", "check", "e.ndjson", "--source", "web"], 4),  # and no plan
    ],
)
def test_every_command_with_a_workspace_accepts_an_environment(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
    code: int,
) -> None:
    """Including those of warehouses and plans: a misspelt environment gets a suggestion."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.ndjson").write_text("{}\n")
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)

    assert main([*command, "--env", "prodution", "--strict"]) == code
    assert "unknown environment 'prodution'. Did you mean 'production'" in capsys.readouterr().err
    assert main([*command, "--env", "production", "--strict"]) == code
    assert "environment" not in capsys.readouterr().err


@pytest.mark.slow
def test_suites_can_run_against_each_environment(file: Path, tmp_path: Path) -> None:
    """`svctoolkit run --env NAME` and SVC_ENV, on the command line and under pytest."""
    (tmp_path / "hook.suite.yaml").write_text(
        "version: 1\nworkspace: workspace.yaml\nscenarios:\n"
        "- name: an order goes to production\n  destination: hook\n"
        "  event: {type: track, event: Order Completed, userId: u1}\n"
        "  expect: {dest_transform: {endpoint: https://prod.example}}\n"
    )

    def code(*command: str, **variables: str) -> int:
        environ = {**os.environ, **ENVIRON, **variables}
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, env=environ, capture_output=True, timeout=120, check=False
        )
        return done.returncode

    assert code("svctoolkit", "run", "--env", "production") == 0
    assert code("svctoolkit", "run", "--env", "dev") == 1
    assert code("svctoolkit", "run", SVC_ENV="production") == 0
    assert code("pytest", "-q", "-p", "no:cacheprovider", SVC_ENV="production") == 0
    assert code("pytest", "-q", "-p", "no:cacheprovider", SVC_ENV="dev") == 1
    assert code("svctoolkit", "run", "--env", "nowhere") == 4
    assert code("svctoolkit", "environments", "dev", "production") == 0
    assert code("svctoolkit", "environments", "dev") == 4
