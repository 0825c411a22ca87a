"""A URL that is a credential: what is public of it stays in workspace.yaml, so results are the same without `.env`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.errors import ToolkitError, UnsetVariables
from svctoolkit.secrets import NamedSecrets, Secret, reveal
from svctoolkit.url_secrets import url_secret_places, url_secrets
from svctoolkit.workspace import config_names
from tests.catalogue import examples

pytestmark = pytest.mark.filterwarnings("ignore::svctoolkit.errors.WorkspaceWarning")

URLS = {
    "slack": ("https://hooks.slack.com/services/T02AC/B0455/x9Kq2LmZpQr7St1Uv", "hooks.slack.com/services/"),
    "discord": ("https://discord.com/api/webhooks/112233/aBcD-eFgHiJkLmNoPq", "discord.com/api/webhooks/"),
    "zapier": ("https://hooks.zapier.com/hooks/catch/1234567/b9k2xq/", "hooks.zapier.com/hooks/catch/"),
    "webhook.site": ("https://webhook.site/6f1d0c55-98e2-4f0a-b1c7-0a1b2c3d4e5f", "webhook.site/"),
    "segment": ("https://fn.segmentapis.com/?b=c2VjcmV0LW9mLWEtZnVuY3Rpb24", "fn.segmentapis.com/?b="),
    "make": ("https://hook.eu1.make.com/q8w7e6r5t4y3u2i1o0p9asdf", "hook.eu1.make.com/"),
    "pipedream": ("https://eo8x2k9q7w1z4bd.m.pipedream.net", ".m.pipedream.net"),
    "pipedream with capitals": ("https://eo8X2k9Q7w1z4bd.m.pipedream.net/in", ".m.pipedream.net/in"),
    "ngrok": ("https://3f9a-203-0-113-7.ngrok-free.app/events", ".ngrok-free.app/events"),
    "ngrok with a region": ("https://9c2e41d07b.eu.ngrok.io:443/events", ".eu.ngrok.io:443/events"),
    "a function of AWS": (
        "https://x7kq2m5zv3w8r1t6y0p4.lambda-url.eu-central-1.on.aws/",
        ".lambda-url.eu-central-1.on.aws/",
    ),
    "a host of webhook.site": ("https://6f1d0c55-98e2-4f0a-b1c7-0a1b2c3d4e5f.webhook.site/in", ".webhook.site/in"),
    "password and token": (
        "https://svc:pw9xk2@erp.acme.example/in?token=ts-8811aa22bb&shop=7#access_token=zz81kaq0",
        "https://svc:",
    ),
}


@pytest.mark.parametrize("url", URLS)
def test_the_public_part_of_a_secret_url_stays_in_the_workspace_file(tmp_path: Path, url: str) -> None:
    text, public = URLS[url]
    workspace = Workspace("w")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": text})
    workspace.save(tmp_path / "workspace.yaml", env_file=True)
    written = (tmp_path / "workspace.yaml").read_text()

    loaded = Workspace.load(tmp_path / "workspace.yaml", environ={})
    assert public in written
    assert not [secret for secret in url_secrets(text) if secret in written]
    assert reveal(loaded.destination("hook").config["webhookUrl"]) == text
    (tmp_path / ".env").unlink()
    with pytest.warns(UnsetVariables):
        bare = Workspace.load(tmp_path / "workspace.yaml", environ={})
    unset = reveal(bare.destination("hook").config["webhookUrl"])
    assert public in unset
    assert not [secret for secret in url_secrets(text) if secret in unset]


def test_a_secret_setting_with_any_url_keeps_its_host(tmp_path: Path) -> None:
    """Of a URL in a setting that is secret by definition, everything after the host may be the credential."""
    workspace = Workspace("w")
    workspace.destination("zap", "ZAPIER", config={"zapUrl": "https://flows.acme.example/start/k81xw02lq"})
    workspace.save(tmp_path / "workspace.yaml", env_file=True)

    assert "zapUrl: https://flows.acme.example/$(env:ZAP_ZAP_URL)" in (tmp_path / "workspace.yaml").read_text()
    assert "ZAP_ZAP_URL=start/k81xw02lq" in (tmp_path / ".env").read_text()


def addresses(config: dict[str, Any]) -> Iterator[str]:
    """The settings of an example with a URL."""
    for name, value in config.items():
        text = value.reveal() if isinstance(value, Secret) else value
        if isinstance(text, str) and text.startswith(("http://", "https://")) and "{{" not in text:
            yield name


WITH_URL = {
    (type_, name): example
    for type_ in CATALOGUE.names()
    for example in examples(type_)
    if example.error is None and not example.lookups
    for name in addresses(example.config)
}


def test_many_types_have_a_setting_with_a_url() -> None:
    """So that the next test is about something: hooks, and servers of one's own."""
    types = {type_ for type_, _ in WITH_URL}

    assert {"WEBHOOK", "HTTP", "SLACK", "DISCORD", "ZAPIER", "PIPEDREAM"} <= types
    assert len(types) >= 20


@pytest.mark.parametrize(("type_", "setting"), WITH_URL, ids=lambda text: text)
def test_any_type_with_a_secret_url_gives_the_same_snapshot_without_its_value(
    tmp_path: Path, type_: str, setting: str
) -> None:
    """Written with the values, compared without them; also the other way round."""
    example = WITH_URL[type_, setting]
    for text, _ in URLS.values():
        workspace = Workspace("w")
        workspace.destination("d", type_, config={**strong(type_, example.config), setting: text})
        workspace.save(tmp_path / "workspace.yaml", env_file=True)
        sides = [outcome(tmp_path, type_, example)]
        (tmp_path / ".env").unlink()
        sides.append(outcome(tmp_path, type_, example))

        for secrets, output in sides:
            golden = secrets.mask(output)
            assert [each.align(golden, other) for each, other in sides] == [golden, golden], text
            assert not [secret for secret in url_secrets(text) if len(secret) > 3 and secret in str(golden)]


def strong(type_: str, config: dict[str, Any]) -> dict[str, Any]:
    """The settings with secrets that do not occur by chance; those of some examples are a single letter."""
    safe = definitions.protect(type_, config)
    return {name: f"kQ9{name}7vTx" if isinstance(value, Secret) else value for name, value in safe.items()}


def outcome(folder: Path, type_: str, example: Any) -> tuple[NamedSecrets, Any]:
    """What a destination of the workspace in a folder makes of an event: its payloads, or why it refuses it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config = Workspace.load(folder / "workspace.yaml", environ={}).destination("d").config
    secrets = NamedSecrets(config_names("d", type_, config))
    try:
        found = CATALOGUE[type_].payloads(example.event, reveal(config), example.now, metadata=example.metadata)
    except ToolkitError as error:
        found = str(error)
    return secrets, found


def test_every_place_of_a_secret_is_found_once() -> None:
    text = URLS["password and token"][0]

    assert [text[start:end] for start, end, _ in url_secret_places(text)] == ["pw9xk2", "ts-8811aa22bb", "zz81kaq0"]


@pytest.mark.parametrize("id", ["1/abc", "test", "hook/demo"])
def test_the_id_of_a_webhook_may_be_an_ordinary_word(id: str) -> None:
    """Snapshots have its name in addresses and paths, so they are the same where the variable is not set."""
    address = f"https://hooks.zapier.com/hooks/catch/{id}"
    request = {"endpoint": f"{address}/", "path": f"/hooks/catch/{id}", "body": {"note": f"a {id}", "form": id}}

    masked = NamedSecrets([("HOOK", id)]).mask(request)

    assert masked["endpoint"] == "https://hooks.zapier.com/hooks/catch/{{secret:HOOK}}/"
    assert masked["path"] == "/hooks/catch/{{secret:HOOK}}"
    assert masked["body"] == request["body"]
    assert NamedSecrets([("HOOK", id)]).mask({"path": f"/{id}x/in{id}"}) == {"path": f"/{id}x/in{id}"}
