"""Which member of a raw webhook each field of a payload comes from, and `svctoolkit test source --webhook`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from svctoolkit import Pipeline, Workspace
from svctoolkit.cli import main
from svctoolkit.cli._command import Exit
from svctoolkit.errors import InvalidWebhook, UsageError
from svctoolkit.sources import pack

OPENED = {
    "events": [
        {"id": "m1", "event_type": "A", "user": {"external_user_id": "u1", "email": "a@b.c"}, "properties": {"n": 1}},
        {"id": "m2", "event_type": "B", "user": {"external_user_id": "u2"}, "properties": {"n": 2}},
    ]
}
FILE = """
workspace: shop
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources:
  mail: {type: Braze, config: {customMapping: [{from: A, to: Opened}]}, destinations: [hook]}
  any: {type: webhook}
  web: {destinations: [hook]}
"""


@pytest.fixture
def pipeline() -> Pipeline:
    return Pipeline(Workspace.loads(FILE))


def test_fields_come_from_members_of_the_webhook(pipeline: Pipeline) -> None:
    """Names are those of the raw body; what the source makes up itself is named as the event's."""
    lineage = pipeline.webhook_lineage("hook", pack(OPENED), source="mail")

    assert lineage.sources("body.JSON.properties.n") == ("body.events.0.properties.n",)
    assert lineage.sources("body.JSON.userId") == ("body.events.0.user.external_user_id",)
    assert lineage.sources("body.JSON.event") == ("body.events.0.event_type",)
    assert lineage.sources("body.JSON.context.integration.name") == ("event.context.integration.name",)
    assert "body.JSON.messageId" in lineage.targets("body.events.0.id")
    lost = {destiny.path: destiny.lost_at for destiny in lineage.lost}
    assert lost["body.events.0.user.email"] == "source"
    assert "lost at source: body.events.0.user.email" in str(lineage)


def test_each_event_of_a_webhook_has_its_lineage(pipeline: Pipeline) -> None:
    """The second event depends on the second part of the body."""
    lineage = pipeline.webhook_lineage("hook", pack(OPENED), source="mail", event=1)

    assert lineage.sources("body.JSON.properties.n") == ("body.events.1.properties.n",)
    with pytest.raises(UsageError, match="event 2 does not exist: the webhook becomes 2 events"):
        pipeline.webhook_lineage("hook", pack(OPENED), source="mail", event=2)


def test_events_of_a_webhook_are_complete(pipeline: Pipeline) -> None:
    """They have what the gateway adds, so that every destination accepts them."""
    first, second = pipeline.webhook_events("mail", pack(OPENED))

    assert (first["event"], second["event"], first["messageId"]) == ("Opened", "B", "m1")
    assert first["receivedAt"]
    with pytest.raises(InvalidWebhook, match="Malformed JSON"):
        pipeline.webhook_events("any", pack("{"))
    with pytest.raises(UsageError, match="source 'web' does not accept webhooks"):
        pipeline.webhook_events("web", pack({}))


def run(*arguments: str) -> int:
    return main(["test", "source", *arguments, "--workspace", "workspace.yaml"])


def test_the_command_shows_events_and_payloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the lineage of each field on request; a refusal is exit code 1 and says that the webhook is lost."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace.yaml").write_text(FILE)
    (tmp_path / "opened.json").write_text(json.dumps(OPENED))
    (tmp_path / "broken.json").write_text("{")

    assert run("mail", "--webhook", "opened.json", "--lineage") == 0
    shown = capsys.readouterr().out
    assert "the webhook becomes 2 events" in shown
    assert "POST https://hook.example/in" in shown
    assert "body.JSON.userId <- body.events.1.user.external_user_id" in shown
    assert run("any", "--webhook", "opened.json", "--query", "a=1", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["event"]["properties"] == OPENED
    assert run("any", "--webhook", "broken.json") == 1
    assert "refused with 400: Malformed JSON in request body" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--topic", "x", "--sample", "track"], "--topic requires --webhook FILE"),
        (["--webhook", "a.json", "--sample", "track"], "--webhook cannot be combined with --sample"),
        (["--webhook", "none.json"], "cannot read none.json: No such file or directory"),
    ],
)
def test_a_wrong_use_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """In one line, with the exit code of wrong use."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace.yaml").write_text(FILE)

    assert run("any", *arguments) == Exit.USAGE
    assert said in capsys.readouterr().err


def test_the_explorer_shows_events_and_destinations() -> None:
    """Of a sample webhook, and of an edited body; a refusal is shown with its reason."""
    pytest.importorskip("ipywidgets")
    from svctoolkit.widgets import SourceExplorer

    explorer = SourceExplorer(Workspace.loads(FILE), "Braze")
    try:
        assert explorer.wait()
        assert "✓ hook (WEBHOOK)" in explorer.static()
        assert "body.events.0" in explorer.static()
        explorer.show("Segment")
        assert explorer.wait()
        assert repr(explorer).startswith("<SourceExplorer: Segment, ")
        explorer._body.value = "{"
        assert explorer.wait()
        assert "refused with 400: Malformed JSON" in explorer.static()
    finally:
        explorer.close()
