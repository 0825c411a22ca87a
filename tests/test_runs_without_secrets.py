"""A project runs on every machine: with the secrets, with other ones, and without any."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from svctoolkit import DataPlane, Pipeline, Workspace, record
from svctoolkit.cli import main
from svctoolkit.delivery import Recorder
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.destinations._examples import Example, load_examples
from svctoolkit.errors import InvalidWorkspace, UnsetVariables
from svctoolkit.events import track
from svctoolkit.json_types import Json
from svctoolkit.secrets import NamedSecrets, Secret, placeholder, reveal
from svctoolkit.workspace import config_names
from tests.examples import some_by_default

EXPORT = {
    "sources": [
        {
            "id": "s1", "name": "Web", "writeKey": "wk1", "enabled": True, "sourceDefinition": {"name": "Javascript"},
            "destinations": [
                {
                    "id": f"d{number}", "name": name, "enabled": True, "destinationDefinition": {"name": type_},
                    "config": config, "transformations": [],
                }
                for number, (name, type_, config) in enumerate([
                    ("Team hook", "WEBHOOK", {
                        "webhookUrl": "https://events.shop.example/in", "webhookMethod": "POST",
                        "headers": [
                            {"from": "X-Team", "to": "data"}, {"from": "Content-Type", "to": "application/json"},
                            {"from": "X-Event-Kind", "to": "track"},
                            {"from": "Authorization", "to": "Bearer ey9kQ2vT7xLm4PzR8sWn3"},
                        ],
                    }),
                    ("Meta", "FACEBOOK_CONVERSIONS", {
                        "datasetId": "1234567890123", "accessToken": "EAAGm0PX4ZCpsBAKt91", "actionSource": "website",
                    }),
                    ("Braze", "BRAZE", {
                        "restApiKey": "b7c2e5aa-91f4-4be2-8c1d-2f3a44c0d9e8", "dataCenter": "EU-01",
                        "appKey": "1f0c9a7e-33d1-4c55-9a0b-7a10f6d2e001",
                    }),
                    ("Google", "GA4", {
                        "apiSecret": "hWf3kQ9ZR2uT1mXcV7bN0A", "measurementId": "G-ABCDE12345", "typesOfClient": "gtag",
                    }),
                    ("Google again", "GA4_V2", {
                        "rudderAccountId": "a1",
                        "configData": '{"PROPERTY": "properties/1", "DATA_STREAM": {"type": "gtag", "value": "G-S1"}, '
                        '"MEASUREMENT_PROTOCOL_SECRET": {"value": "xq81Lm4PzR8sWn3"}}',
                    }),
                    ("Amplitude", "AM", {"apiKey": "7d1a9c4e2b8f6035a1c7e9d2b4f80631", "residencyServer": "EU"}),
                ])
            ],
        }
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An imported project, with its secrets in `.env`."""
    folder = tmp_path_factory.mktemp("export")
    (folder / "export.json").write_text(json.dumps(EXPORT), encoding="utf-8")
    assert main(["import", str(folder / "export.json"), "-o", str(folder / "shop")]) == 0
    return folder / "shop"


@pytest.fixture
def clone(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is in git of the project, on another machine."""
    shutil.copytree(project, tmp_path / "clone", ignore=shutil.ignore_patterns(".env"))
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


def test_only_credentials_go_to_the_env_file(project: Path) -> None:
    """Headers of a team and media types stay readable in the workspace, and in every snapshot."""
    workspace, env = ((project / name).read_text("utf-8") for name in ("workspace.yaml", ".env"))
    snapshots = "".join(path.read_text("utf-8") for path in (project / "suites").rglob("*.json"))

    assert "to: data" in workspace
    assert "to: application/json" in workspace
    assert "TEAM_HOOK_HEADERS_AUTHORIZATION='Bearer ey9kQ2vT7xLm4PzR8sWn3'" in env
    assert '"MEASUREMENT_PROTOCOL_SECRET": {"value": "$(env:' in " ".join(workspace.split()).replace('""', '"')
    assert "user_data" in snapshots
    assert "{{secret:META_ACCESS_TOKEN}}" in snapshots
    assert "•" not in snapshots


@pytest.mark.parametrize(
    "value", some_by_default([None, "track", "a/b+c=%'<>é", "", "dummy", "data", "zQ81xkW0pTTm4nvB"], 3)
)
def test_the_suites_of_an_import_pass_with_any_secrets(
    clone: Path, value: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without `.env`, with an empty example of it, and with the same word for each: one note says what is missing."""
    if value is not None:
        names = (clone / ".env.example").read_text("utf-8").split()
        quoted = value.replace("\\", "\\\\").replace('"', '\\"')
        (clone / ".env").write_text("".join(f'{name}"{quoted}"\n' for name in names), encoding="utf-8")
    code = main(["run"])
    shown = capfd.readouterr()

    assert (code, shown.out[-2000:] if code else "") == (0, "")
    assert shown.err.count("not set") == (0 if value else 1)
    with pytest.MonkeyPatch.context() as env:
        env.delenv("CI", raising=False)  # in CI, --update is disabled
        assert main(["run", "--update"]) == 0
    assert "snapshot" not in capfd.readouterr().err  # none was written


@pytest.mark.slow
def test_a_replay_against_a_revision_needs_no_secrets(clone: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The other side has the secrets of the working folder, and its problems have the user's own paths."""
    git = ["git", "-c", "user.email=a@x.example", "-c", "user.name=a"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "import"]):
        subprocess.run([*git, *arguments], check=True)
    (clone / "events.ndjson").write_text(
        json.dumps({**track("Order", user_id="u1"), "messageId": "m1"}) + "\n", "utf-8"
    )

    assert main(["replay", "events.ndjson", "--before", "HEAD"]) == 0
    shown = capfd.readouterr()
    assert "6 destinations: 6 same" in shown.out
    assert shown.err.count("not set") == 1

    text = (clone / "workspace.yaml").read_text("utf-8")
    (clone / "workspace.yaml").write_text(text.replace("type: AM", "typ: AM"), "utf-8")
    subprocess.run([*git, "commit", "-qam", "a mistake"], check=True)
    (clone / "workspace.yaml").write_text(text, "utf-8")
    (clone / ".env").write_text("META_ACCESS_TOKEN=s3cr3t-t0ken-1\n", "utf-8")
    assert main(["replay", "events.ndjson", "--before", "HEAD"]) == 4
    error = capfd.readouterr().err
    assert "workspace.yaml:" in error
    assert "unknown key 'typ'" in error
    assert "(in revision HEAD)" in error
    assert "svctoolkit-" not in error


WORKSPACE = """
delivery: {mode: record}
users: [{email: a@x.example, token: "$(env:USER_TOKEN)"}]
sources: {web: {destinations: [hook], forward: {url: "https://real.example", writeKey: "$(env:REAL_KEY)"}}}
destinations:
  hook:
    type: WEBHOOK
    config:
      webhookUrl: $(env:HOOK_URL)
      webhookMethod: POST
      headers: [{from: Authorization, to: "Bearer $(env:HOOK_TOKEN)"}]
credentials: {crm: "$(env:CRM_KEY)"}
"""


@pytest.fixture
def bare() -> Workspace:
    with pytest.warns(UnsetVariables, match="5 environment variables are not set") as caught:
        workspace = Workspace.loads(WORKSPACE, name="shop.yaml", environ={})
    assert len(caught) == 1
    return workspace


def test_a_variable_without_a_value_is_a_placeholder(bare: Workspace) -> None:
    """It is shown as it is, because it is not secret, and a request can be made with it."""
    pipeline = Pipeline(bare)
    result = pipeline.test_destination("hook", track("Order", user_id="u1"))
    payload = result.to_masked_dict()["data"][0]["dest_transformed_payload"][0]

    assert payload["endpoint"] == "https://unset.example/HOOK_URL"
    assert "<HOOK_TOKEN>" in str(result.to_dict())
    assert not [text for text in bare.secrets() if "<" in text]
    assert "$(env:HOOK_TOKEN)" in bare.dumps()
    with DataPlane(bare) as plane:
        plane.send(track("Order", user_id="u1"), source="web")
        plane.drain()
        assert [request.request.url for request in plane.recorder.requests] == ["https://unset.example/HOOK_URL"]


def test_nobody_logs_in_with_a_placeholder(bare: Workspace) -> None:
    """Nor with an empty token; and nothing is forwarded to a real data plane."""
    assert [bare.person("a@x.example", token) for token in ("<USER_TOKEN>", "", "0" * 64)] == [None, None, None]
    assert bare.source("web").forward is None


def test_live_insists_on_the_values(bare: Workspace) -> None:
    """When the file says live, when the mode is changed later, and for a misspelt mode; with every place."""
    live = WORKSPACE.replace("mode: record", "mode: live")
    with pytest.raises(InvalidWorkspace, match="the environment variable HOOK_TOKEN is not set") as caught:
        Workspace.loads(live, environ={"HOOK_URL": ""})
    assert len(caught.value.problems) == 5

    with pytest.raises(InvalidWorkspace, match=r"shop.yaml:9:19: the environment variable HOOK_URL is not set"):
        bare.in_mode("live").transport(Recorder())
    bare.destination("hook").config.update(webhookUrl="https://hook.example", headers=[])
    bare.credentials.clear()
    bare.in_mode("live").transport(Recorder())


def test_a_recorded_suite_has_no_placeholder(bare: Workspace) -> None:
    """What depends on a secret is only expected to exist, whether or not the secret is set."""
    suites = []
    for environ in (
        {},
        {"HOOK_URL": "https://h.example/in/k81xw02lq", "HOOK_TOKEN": "t0ken-81xw02lq", "CRM_KEY": "data"},
    ):
        workspace = bare
        if environ:
            workspace = Workspace.loads(WORKSPACE, environ={**environ, "USER_TOKEN": "u", "REAL_KEY": "k"})
        suites.append(record([{**track("Order", user_id="u1"), "messageId": "m1"}], workspace, source="web").suite)

    assert suites[0] == suites[1]
    assert "HOOK_TOKEN>" not in str(suites)


def variables(value: Json, set_to: str | None, path: tuple[str, ...] = ()) -> Json:
    """The configuration with each secret from an environment variable: with this value, or without one."""
    if isinstance(value, Secret):
        name = "_".join(path).upper()
        if set_to is None:
            written = placeholder(name, "url" if path[-1].lower().endswith(("url", "endpoint")) else "text")
            return Secret(written, origin=f"$(env:{name})", unset={name: written})
        text = set_to.format(name) or value.reveal()
        return Secret(text, origin=f"$(env:{name})", pieces={name: text})
    if isinstance(value, dict):
        return {key: variables(member, set_to, (*path, key)) for key, member in value.items()}
    if isinstance(value, list):
        return [variables(item, set_to, (*path, str(number))) for number, item in enumerate(value)]
    return value


def payloads(example: Example, type_: str, config: Json) -> tuple[NamedSecrets, Json]:
    """The payloads of an example with these settings; its look-ups are answered whatever the secrets in their URLs."""
    original = NamedSecrets(config_names("d", type_, variables(definitions.protect(type_, example.config), "")))
    secrets = NamedSecrets(config_names("d", type_, config))

    def lookup(request: dict[str, Json]) -> tuple[int, Json]:
        same_method = [asked for asked in example.lookups if asked.method == request.get("method", "GET")]
        for asked in same_method:
            url = original.mask({"url": asked.url})
            if secrets.align(url, {"url": request["url"]}) == url:
                return asked.status, asked.body
        path = urlsplit(str(request["url"])).path  # the secrets of some examples are a single letter
        (asked,) = (asked for asked in same_method if urlsplit(asked.url).path == path)
        return asked.status, asked.body

    return secrets, CATALOGUE[type_].payloads(example.event, reveal(config), example.now, lookup, example.metadata)


@pytest.mark.parametrize("type_", [name for name in CATALOGUE.names() if CATALOGUE[name].handlers])
def test_a_snapshot_of_any_type_does_not_depend_on_secrets(type_: str) -> None:
    """Written with one value, compared with another one, with an ordinary word, and with none; also the other way."""
    if type_ == "GA4_V2":
        return  # only a part of the JSON text is secret in a workspace file: see the import above
    for example in load_examples(CATALOGUE[type_].settings):
        if example.error is not None:
            continue
        config = definitions.protect(type_, example.config)
        values = ("kQ9{}7vTx", "pW2{}0zLm", "dummy", None)
        sides = [payloads(example, type_, variables(config, value)) for value in values]
        (first, output), *_, (none, without) = sides
        for golden in (first.mask(output), none.mask(without)):
            assert [secrets.align(golden, other) for secrets, other in sides] == [golden] * len(sides), example.name
