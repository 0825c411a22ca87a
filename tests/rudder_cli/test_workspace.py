"""A folder of rudder-cli is a workspace."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from svctoolkit import replay
from svctoolkit.cli import main
from svctoolkit.errors import InvalidWorkspace, UnknownName, UnsetVariables, WorkspaceNotes
from svctoolkit.pipeline import Pipeline
from svctoolkit.secrets import Secret
from svctoolkit.workspace import Workspace
from tests.rudder_cli.bakery import BRAZE, HOOK, LINKS, PLAN, SHOP, resource, write

SOLD = {"type": "track", "event": "Loaf Sold", "userId": "u", "properties": {"price": 3, "currency": "eur"}}
ENVIRONMENT = {"RUDDER_OVEN_TOKEN": "hot-oven-token", "RUDDER_LETTERS_KEY": "letters-secret-key"}


def loaded(folder: Path, environ: dict[str, str] | None = None, **options: str) -> Workspace:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Workspace.load(folder, environ=ENVIRONMENT if environ is None else environ, **options)


def test_its_parts(tmp_path: Path) -> None:
    shop = loaded(write(tmp_path))

    assert (shop.sources["till"].type, shop.sources["till"].tracking_plan) == ("web", "bread")
    assert shop.sources["till"].plan_settings == {
        "track": {"propagate_violations": True, "drop_unplanned_events": True}
    }
    assert (shop.destinations["ovens"].name, shop.destinations["ovens"].transformation) == ("Ovens", "tidy")
    assert list(shop.transformations) == ["tidy"]
    assert list(shop.libraries) == ["textTools"]
    assert list(shop.tracking_plans) == ["bread"]


def test_events_run_through_it(tmp_path: Path) -> None:
    result = Pipeline(loaded(write(tmp_path))).test_destination("ovens", SOLD)

    assert "EUR" in str(result.to_dict())


def test_the_plan_is_applied(tmp_path: Path) -> None:
    shop = loaded(write(tmp_path))
    results = replay.replay([{**SOLD, "event": "Unplanned"}], shop, source="till")

    assert {group.stage for group in results.groups} == {"tracking_plan"}


def test_secrets_stay_references(tmp_path: Path) -> None:
    secret = loaded(write(tmp_path)).destinations["ovens"].config["bearerToken"]

    assert isinstance(secret, Secret)
    assert (secret.reveal(), secret.origin) == ("hot-oven-token", "$(env:RUDDER_OVEN_TOKEN)")


def test_a_public_setting_from_a_variable_is_not_masked(tmp_path: Path) -> None:
    hook = HOOK.replace("from: north", 'from: "{{ .SIDE }}"')
    shop = loaded(write(tmp_path, {"ovens.yaml": hook}), {**ENVIRONMENT, "RUDDER_SIDE": "south"})

    assert "south" in str(shop.destinations["ovens"].config)


def test_nothing_needs_a_value(tmp_path: Path) -> None:
    (write(tmp_path) / "dev.vars.yaml").write_text("OVEN_TOKEN: x\n")
    with pytest.warns(UnsetVariables, match=r"2 environment variables.*--var-file .*dev\.vars\.yaml"):
        shop = Workspace.load(tmp_path, environ={})

    assert shop.unset == ["RUDDER_LETTERS_KEY", "RUDDER_OVEN_TOKEN"]
    assert "EUR" in str(Pipeline(shop).test_destination("ovens", SOLD).to_dict())


def test_an_environment_is_a_file_of_variables(tmp_path: Path) -> None:
    folder = write(tmp_path / "rudder")
    (folder / "prod.vars.yaml").write_text("OVEN_TOKEN: prod-token\nLETTERS_KEY: prod-key\n")
    (tmp_path / "dev.vars.yml").write_text("OVEN_TOKEN: dev-token\nLETTERS_KEY: dev-key\n")

    def token(**options: str) -> str:
        return str(loaded(folder, {}, **options).destinations["ovens"].config["bearerToken"].reveal())

    assert (token(environment="prod"), token(environment="dev")) == ("prod-token", "dev-token")
    with pytest.raises(UnknownName, match=r"unknown environment 'test'.*test\.vars\.yaml"):
        token(environment="test")


def test_what_rudder_cli_rejects_is_a_note(tmp_path: Path) -> None:
    broken = {"links.yaml": LINKS.replace("source:till", "source:tills", 1)}
    with pytest.warns(WorkspaceNotes, match=r"links\.yaml:8:5: source 'tills' not found in the project \[event-stream"):
        shop = Workspace.load(write(tmp_path, broken), environ=ENVIRONMENT)

    assert [connection.destination for connection in shop.sources["till"].connections] == ["letters"]
    with pytest.raises(InvalidWorkspace, match="tills"):
        Workspace.load(tmp_path, environ=ENVIRONMENT, strict=True)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidWorkspace, match=r"till\.yaml:\d+:\d+: "):
        loaded(write(tmp_path, {"till.yaml": SHOP.replace("type: javascript", "type: [")}))


def test_newer_things_do_not_stop_the_rest(tmp_path: Path) -> None:
    table = resource("retl-source-table", "id: t")
    firebase = (
        BRAZE.replace("type: braze", "type: firebase")
        .replace("id: letters", "id: f")
        .replace("display_name: Letters", "display_name: Fire")
    )
    with pytest.warns(WorkspaceNotes, match="converted by rule and not checked"):
        shop = Workspace.load(write(tmp_path, {"t.yaml": table, "f.yaml": firebase}), environ=ENVIRONMENT)

    assert (shop.destinations["f"].type, shop.destinations["f"].config["dataCenter"]) == ("FIREBASE", "EU-01")


def test_a_folder_with_a_workspace_file_is_that_workspace(tmp_path: Path) -> None:
    write(tmp_path / "rudder")
    (tmp_path / "workspace.yaml").write_text("workspace: own\n")

    assert loaded(tmp_path).name == "own"
    assert loaded(tmp_path / "rudder").name == "rudder"


def test_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path))

    assert list(loaded(Path("workspace.yaml")).sources) == ["till"]


def test_a_plan_of_a_workspace_names_its_files_of_variables(tmp_path: Path) -> None:
    plan = PLAN.replace("display_name: Bread", "display_name: {{ .NAME }}")
    write(tmp_path / "rudder", {"catalog/plan.yaml": plan})
    (tmp_path / "dev.vars.yaml").write_text("NAME: Our Bread\n")
    text = "workspace: own\ntrackingPlans: {bread: {project: rudder, variables: [dev.vars.yaml]}}\n"
    (tmp_path / "workspace.yaml").write_text(text)

    own = loaded(tmp_path / "workspace.yaml", {})
    assert own.tracking_plans["bread"].chosen.name == "Our Bread"
    assert "variables:\n    - dev.vars.yaml" in own.dumps()
    (tmp_path / "workspace.yaml").write_text(text.replace(", variables: [dev.vars.yaml]", ""))
    with pytest.raises(InvalidWorkspace, match=r"undefined variable 'NAME'"):
        loaded(tmp_path / "workspace.yaml", {})


UNSET = """
id: {0}
display_name: Unset
type: {0}
enabled: true
definition_version: 1
config:
"""
CHOICES = {
    "braze": ("data_center", "rest_api_key", "support_dedup"),
    "http": ("api_url", "auth", "method", "format", "max_batch_size", "is_batching_enabled"),
    "intercom": ("api_key", "api_server", "api_version", "send_anonymous_id"),
    "ga4": ("api_secret", "client_type", "measurement_id", "debug_mode"),
    "posthog": ("api_key", "endpoint", "use_v2_group"),
}


@pytest.mark.parametrize("type_", CHOICES)
@pytest.mark.parametrize("token", ['"{{ .A_VALUE }}"', "{{ .A_VALUE }}"])
def test_no_setting_needs_a_value_to_run(
    type_: str, token: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of several texts, a number, or true or false: the default takes its place."""
    monkeypatch.delenv("RUDDER_A_VALUE", raising=False)
    keys = "".join(f"  {key}: {token}\n" for key in CHOICES[type_])
    link = f"connections:\n- id: c\n  source: '#event-stream-source:till'\n  destination: '#destination:{type_}'"
    files = {
        "till.yaml": resource("event-stream-source", "id: till\nname: Till\ntype: javascript"),
        "unset.yaml": resource("destination", UNSET.format(type_) + keys),
        "links.yaml": resource("event-stream-connections", link),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "events.ndjson").write_text(json.dumps({**SOLD, "messageId": "m", "anonymousId": "a"}))

    assert main(["check", str(tmp_path)]) == 0
    assert "invalid settings" not in capsys.readouterr().out
    assert main(["replay", str(tmp_path / "events.ndjson"), "--workspace", str(tmp_path)]) == 0
    assert "1 event, 1 destination: 1 delivered" in capsys.readouterr().out
