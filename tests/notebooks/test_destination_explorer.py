"""The destination explorer: choose a type, configure, run, inspect, copy."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from svctoolkit import DestinationResult, Secret, Workspace, events
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.pipeline import Stages
from svctoolkit.runner import Outcome, collect, open_planes, run
from svctoolkit.widgets import DestinationExplorer
from svctoolkit.widgets.destination_explorer.form import Form
from svctoolkit.widgets.destination_explorer.state import DestinationState
from tests.notebooks.lit import lit
from tests.notebooks.scripts import without_tools
from tests.pace import within

TOKEN = "s3cr3t-t0ken"
CODE = "def transformEvent(event, metadata):\n    del event['context']\n    return event\n"


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    workspace = Workspace("shop", folder=tmp_path)
    workspace.transformation("clean", code=CODE)
    headers = [{"from": "x-key", "to": Secret(TOKEN, origin="$(env:HOOK_KEY)")}]
    config = {"webhookUrl": "https://hook.example/in", "headers": headers}
    workspace.destination("hook", "WEBHOOK", name="Orders hook", config=config, transformation="clean")
    workspace.destination("paused", "WEBHOOK", enabled=False, config={"webhookUrl": "https://paused.example/in"})
    return workspace


@pytest.fixture
def explorer(shop: Workspace) -> Iterator[DestinationExplorer]:
    made = DestinationExplorer(shop)
    yield made
    made.close()


def controls(explorer: DestinationExplorer) -> dict[str, Any]:
    """Every visible control, by its label."""
    found: dict[str, Any] = {}

    def walk(widget: Any) -> None:
        if getattr(widget, "description", ""):
            found[widget.description] = widget
        for child in getattr(widget, "children", ()):
            walk(child)

    walk(explorer.root)
    return found


def matching(explorer: DestinationExplorer) -> str:
    """All visible HTML."""
    return "".join(w.value for w in _all(explorer.root) if isinstance(w, ipywidgets.HTML))


def _all(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from _all(child)


def code_in(explorer: DestinationExplorer, language: str) -> str:
    """The text that a click on the code block selects."""
    found = re.search(rf'aria-label="{language} code[^>]*><code>(.*?)</code>', matching(explorer), re.DOTALL)
    assert found, language
    return html.unescape(found[1])


def ran(explorer: DestinationExplorer) -> DestinationResult:
    controls(explorer)["Run"].click()
    assert explorer.wait()
    assert explorer.result is not None
    return explorer.result


def test_all_types_are_listed_with_the_usable_ones_first() -> None:
    """The workspace's own, then types with a mapping, then the others, which are marked."""
    workspace = Workspace("shop")
    workspace.destination("zz", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    names = [name for _, name in DestinationState(workspace).choices()]

    assert names[0] == "zz"
    assert set(names[1 : 1 + len(CATALOGUE)]) == set(CATALOGUE)
    assert len(names) == 1 + len(definitions.names())
    assert all("no mapping" in title for title, name in DestinationState().choices() if name not in CATALOGUE)


def test_typing_filters_the_list(explorer: DestinationExplorer) -> None:
    """The chosen type stays chosen until another one is."""
    controls(explorer)["Search destinations"].value = "mixp"
    assert [name for _, name in controls(explorer)["Destination"].options] == ["MP"]
    assert explorer.state.name == "hook"

    controls(explorer)["Destination"].value = "MP"
    assert explorer.state.name == "MP"
    assert "Project Token (required)" in controls(explorer)


def test_a_new_type_can_be_configured_and_run(explorer: DestinationExplorer) -> None:
    """Fill in the required fields and run: payloads, request, answer."""
    controls(explorer)["Destination"].value = "AM"
    controls(explorer)["API Key (required)"].value = "amplitude-key"
    result = ran(explorer)

    assert result.ok
    assert result.data[0].dest_transformed_payload[0]["endpoint"].startswith("https://api2.amplitude.com")
    assert "https://api2.amplitude.com" in matching(explorer)


def test_related_fields_are_highlighted(shop: Workspace) -> None:
    """In payloads and diff: a field's sources, and where an event field went; lost fields say so."""
    event = {"type": "track", "event": "Paid", "userId": "u1", "properties": {"total": 2}, "context": {"ip": "1.1.1.1"}}
    explorer = DestinationExplorer(shop, "hook", event=event)
    ran(explorer)
    controls(explorer)["To"].value = "dest_transform"

    saved = explorer._repr_mimebundle_()["text/html"]
    for page in (explorer._payloads.value, explorer._diff.value, saved):
        partners = lit(page)
        assert partners["event properties.total"] == {"payload body.JSON.properties.total"}
        assert partners["payload body.JSON.properties.total"] == {"event properties.total"}
        assert partners["event context.ip"] == set()
        assert page.count(">lost<") == 1
    assert TOKEN not in matching(explorer) + saved
    assert "send_to_destination" in saved
    assert "<script" not in without_tools(saved)
    explorer.close()


def test_a_batch_sent_as_text_is_highlighted_too(explorer: DestinationExplorer) -> None:
    """It is a list in the payload's tree; a disabled stage highlights nothing."""
    controls(explorer)["Destination"].value = "MP"
    controls(explorer)["Project Token (required)"].value = "mixpanel-token"
    ran(explorer)
    named = [name for name, partners in lit(explorer._payloads.value).items() if ".batch.0." in name and partners]
    assert named

    controls(explorer)["user_transform"].value = False
    ran(explorer)
    assert lit(explorer._payloads.value) == {}


def test_mistakes_are_shown_at_their_field(explorer: DestinationExplorer) -> None:
    """A missing required setting says so when the run is refused; the message disappears with the mistake."""
    controls(explorer)["Destination"].value = "WEBHOOK"
    controls(explorer)["Run"].click()
    assert explorer.wait()
    field = explorer._form.fields["webhookUrl"]

    assert "is required" in field.box.children[1].value
    assert "webhookUrl: is required" in matching(explorer)
    assert explorer.result is None
    field.control.value = "https://hook.example/in"
    assert "is required" not in field.box.children[1].value


def test_a_hidden_field_with_a_mistake_becomes_visible(explorer: DestinationExplorer) -> None:
    """On a run, the field is shown with its message."""
    controls(explorer)["Destination"].value = "GA4"
    controls(explorer)["API Secret (required)"].value = TOKEN
    assert "Measurement Id" not in controls(explorer)

    controls(explorer)["Run"].click()
    assert explorer.wait()
    assert "Measurement Id" in controls(explorer)
    assert "is required" in explorer._form.fields["measurementId"].box.children[1].value


def test_destinations_of_the_workspace_are_not_changed(explorer: DestinationExplorer, shop: Workspace) -> None:
    """Their configuration is the start; edits are sent as destinationConfig."""
    controls(explorer)["Webhook URL (required)"].value = "https://other.example/in"
    result = ran(explorer)

    assert result.data[0].dest_transformed_payload[0]["endpoint"] == "https://other.example/in"
    assert shop.destination("hook").config["webhookUrl"] == "https://hook.example/in"
    assert explorer.state.request().config == {"webhookUrl": "https://other.example/in"}


def test_a_secret_never_reaches_the_browser(explorer: DestinationExplorer) -> None:
    """Neither stored nor typed secrets are in widget state, HTML, code or suite."""
    controls(explorer)["to 1"].value = "an0ther-s3cret"
    result = ran(explorer)

    sent = result.data[0].requests[0].headers
    assert sent["x-key"] == "an0ther-s3cret"
    states = json.dumps([widget.get_state() for widget in _all(explorer.root)], default=str)
    bundle = json.dumps(explorer._repr_mimebundle_(), default=str)
    for secret in (TOKEN, "an0ther-s3cret"):
        assert secret not in states + bundle + repr(explorer)
    assert "•••• is set" in controls(explorer)["to 1"].placeholder


def test_an_unchanged_secret_is_sent(explorer: DestinationExplorer) -> None:
    """A field that was not edited keeps its secret, even if the row next to it changes."""
    controls(explorer)["from 1"].value = "x-renamed"

    assert ran(explorer).data[0].requests[0].headers["x-renamed"] == TOKEN


def test_stages_force_and_override_are_in_the_request(explorer: DestinationExplorer) -> None:
    """As switched and written in the explorer."""
    controls(explorer)["Destination"].value = "paused"
    controls(explorer)["send_to_destination"].value = False
    controls(explorer)["Override (destinationConfig, JSON)"].value = '{"webhookMethod": "PUT"}'
    assert "is disabled" in str(ran(explorer).error)

    controls(explorer)["force (run even if disabled)"].value = True
    result = ran(explorer)
    assert result.data[0].dest_transformed_payload[0]["method"] == "PUT"
    assert not result.data[0].destination_response
    assert "this stage is off" in matching(explorer)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"type": "track",\n "event" "E"}', "line 2, column 10"),
        ("[]", "must be a JSON object"),
        ("", "line 1, column 1"),
        ('{"type": "trak"}', "message type is unsupported"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_mistake_in_the_event_is_shown_with_its_line(explorer: DestinationExplorer, text: str, said: str) -> None:
    """At the editor, instead of the code, and on a run; never as an exception."""
    controls(explorer)["Event (JSON)"].value = text
    assert said in explorer._event_field.box.children[1].value

    controls(explorer)["Run"].click()
    assert said in explorer._strips.value
    assert explorer.result is None


def test_an_example_includes_its_configuration(explorer: DestinationExplorer) -> None:
    """Worked examples of the type run unchanged."""
    controls(explorer)["Destination"].value = "WEBHOOK"
    sample = next(s for title, s in explorer._sample.options if title.startswith("Example: "))
    explorer._sample.value = sample

    assert explorer.state.event == sample.event
    assert ran(explorer).ok


def test_types_that_cannot_run_say_why(explorer: DestinationExplorer) -> None:
    """Before the run and after it."""
    controls(explorer)["Destination"].value = "REDIS"
    assert "Redis is a key-value store destination" in matching(explorer)

    controls(explorer)["Run"].click()
    assert explorer.wait()
    assert "Redis is a key-value store destination" in explorer._strips.value


@pytest.mark.parametrize(
    "types",
    [pytest.param(definitions.names()[i::8], marks=[pytest.mark.slow] * (i > 0), id=str(i)) for i in range(8)],
)
def test_every_type_has_a_form(types: list[str]) -> None:
    """All fields of all 239 types can be created; text typed into a field is in the configuration."""
    state = DestinationState()
    for type in types:
        state.choose(type)
        form = Form(state, lambda _: None)
        for widget in form.box.children[1:2]:
            widget.value = True

        assert form.wait()
        assert set(form.fields) == set(definitions.variables(type))
        texts = {name: f.control for name, f in form.fields.items() if f.control.__class__ is ipywidgets.Text}
        for control in texts.values():
            control.value = "7"
        assert {state.config[name] for name in texts} <= {"7"}, type


@pytest.mark.parametrize(
    ("type", "label", "value", "config"),
    [
        ("AM", "Traits to append", "one\n\n two ", {"traitsToAppend": [{"traits": "one"}, {"traits": "two"}]}),
        ("AM", "Residency server (required)", "EU", {"residencyServer": "EU"}),
        ("AM", "Map device brand", True, {"mapDeviceBrand": True}),
        ("AM", "Secret key", TOKEN, {"apiSecret": Secret(TOKEN)}),
        ("SLACK", "Deny List Of Events", '[{"eventName": "E"}]', {"denyListOfEvents": [{"eventName": "E"}]}),
    ],
)  # fmt: skip
def test_each_kind_of_field_has_its_values(type: str, label: str, value: Any, config: dict[str, Any]) -> None:
    """Tags are lines, choices and checkboxes have their values, rows are JSON, secrets are Secret."""
    explorer = DestinationExplorer(None, type)
    found = controls(explorer)
    next(w for name, w in found.items() if name.startswith("Show ")).value = True
    assert explorer.wait()
    found = {name.lower(): widget for name, widget in controls(explorer).items()}
    found[label.lower()].value = value

    assert config.items() <= explorer.state.config.items()
    explorer.close()


def test_rows_can_be_added_and_removed(explorer: DestinationExplorer) -> None:
    """Headers, row by row; empty rows are ignored."""
    controls(explorer)["Add row"].click()
    controls(explorer)["from 2"].value = "x-second"
    controls(explorer)["to 2"].value = "two-secret"
    assert [row["from"] for row in explorer.state.config["headers"]] == ["x-key", "x-second"]

    controls(explorer)["Remove row 1"].click()
    assert explorer.state.config["headers"] == [{"from": "x-second", "to": Secret("two-secret")}]
    controls(explorer)["Remove row 1"].click()
    assert "headers" not in explorer.state.config


def test_any_two_stages_can_be_compared(explorer: DestinationExplorer) -> None:
    """The event with the result of the transformation, then with the payload."""
    ran(explorer)
    assert "differences of event and user_transform" in explorer._diff.value
    assert "<del>" in explorer._diff.value

    controls(explorer)["To"].value = "dest_transform"
    assert "differences of event and dest_transform" in explorer._diff.value


def test_the_request_is_a_curl_command_and_the_result_a_frame(explorer: DestinationExplorer) -> None:
    """curl with the secret masked; the same rows as `result.frame()`."""
    result = ran(explorer)

    assert code_in(explorer, "curl").startswith("curl -X POST")
    assert "x-key: ••••" in code_in(explorer, "curl")
    assert f"{len(result.frame())} rows" in explorer._frame.value


def test_the_copied_code_runs(explorer: DestinationExplorer, shop: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the same result, with secrets from the environment, for the workspace's destinations, too."""
    monkeypatch.setenv("WEBHOOK_HEADERS_1_TO", "an0ther-s3cret")
    monkeypatch.setenv("AM_API_KEY", "amplitude-key 'quoted' \n ünïcode")
    controls(explorer)["to 1"].value = "an0ther-s3cret"
    for name in ("hook", "AM"):
        controls(explorer)["Destination"].value = name
        if name == "AM":
            controls(explorer)["API Key (required)"].value = "amplitude-key 'quoted' \n ünïcode"
            controls(explorer)["force (run even if disabled)"].value = True
        before = json.dumps(ran(explorer).to_dict())
        variables: dict[str, Any] = {"workspace": shop}
        exec(code_in(explorer, "Python"), variables)

        assert json.dumps(variables["result"].to_dict()) == before


@pytest.mark.parametrize("name", ["hook", "paused", "AM", "WEBHOOK", "REDIS"])
def test_the_copied_suite_passes(name: str, shop: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It expects the result of each stage, or the refusal."""
    monkeypatch.setenv("HOOK_KEY", TOKEN)
    monkeypatch.setenv("WEBHOOK_HEADERS_1_TO", "an0ther-s3cret")
    monkeypatch.setenv("AM_API_KEY", "k")
    shop.save(tmp_path / "workspace.yaml")
    explorer = DestinationExplorer(shop, name, event={"type": "track", "event": "$(E) done", "userId": "u1"})
    for label, value in {"API Key (required)": "k", "Webhook URL (required)": "https://hook.example/$(x)"}.items():
        if label in controls(explorer):
            controls(explorer)[label].value = value
    if name == "WEBHOOK":
        next(w for n, w in controls(explorer).items() if n.startswith("Show ")).value = True
        assert explorer.wait()
        controls(explorer)["Add row"].click()
        controls(explorer)["from 1"].value = "x-key"
        controls(explorer)["to 1"].value = "an0ther-s3cret"
    controls(explorer)["Run"].click()
    assert explorer.wait()
    text = code_in(explorer, "YAML")
    (tmp_path / "explorer.suite.yaml").write_text(text)

    _, scenarios = collect([str(tmp_path / "explorer.suite.yaml")])
    with open_planes(limit=60) as planes:
        outcomes = [notice for notice in run(scenarios, planes) if type(notice).__name__ == "Outcome"]
    assert [outcome.status for outcome in outcomes] == ["passed"]
    assert TOKEN not in text
    assert "an0ther-s3cret" not in text
    explorer.close()


def test_every_change_is_in_the_code_at_once(explorer: DestinationExplorer) -> None:
    """Without a run; the suite then expects that no stage refuses the event."""
    controls(explorer)["dest_transform"].value = False
    controls(explorer)["Webhook URL (required)"].value = "https://other.example/in"

    assert 'Stages.of("user_transform", "send_to_destination")' in code_in(explorer, "Python")
    assert "https://other.example/in" in code_in(explorer, "Python")
    assert "dest_transform: false" in code_in(explorer, "YAML")


def test_a_destination_and_an_event_can_be_passed(shop: Workspace) -> None:
    """For notebooks with a particular example; an unknown name is an error with a suggestion."""
    explorer = DestinationExplorer(shop, "paused", event=events.sample("identify"))

    assert (explorer.state.name, explorer.state.event["type"]) == ("paused", "identify")
    with pytest.raises(UnknownName, match="Did you mean 'hook'"):
        DestinationExplorer(shop, "hok")
    explorer.close()


def test_scenarios_can_be_added_to_a_suite(
    explorer: DestinationExplorer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new file, then a second scenario, each once; typed secrets become references; unsuitable files are errors."""
    monkeypatch.chdir(tmp_path)
    controls(explorer)["Destination"].value = "AM"
    controls(explorer)["API Key (required)"].value = TOKEN
    seen = controls(explorer)
    seen["Suite file"].value = "am.suite.yaml"
    for name in ("identify", "identify", "page"):
        sample = next(
            value for title, value in seen["Start from a sample event or an example"].options if title == name
        )
        seen["Start from a sample event or an example"].value = sample
        seen["Add to suite"].click()
    text = Path("am.suite.yaml").read_text(encoding="utf-8")
    assert "added to am.suite.yaml" in matching(explorer)
    assert TOKEN not in text
    (name,) = re.findall(r"\$\(env:(\w+)\)", text)
    monkeypatch.setenv(name, TOKEN)
    _, scenarios = collect(["am.suite.yaml"])
    with open_planes(limit=60) as planes:
        outcomes = [notice for notice in run(scenarios, planes) if isinstance(notice, Outcome)]
    assert len(scenarios) == 2
    assert all(outcome.ok for outcome in outcomes)

    controls(explorer)["Destination"].value = "hook"
    for file, says in (
        ("am.suite.yaml", "hook"),
        ("am.txt", "must end with .suite.yaml"),
        (" ", "a file name is required"),
    ):
        seen["Suite file"].value = file
        seen["Add to suite"].click()
        assert says in html.unescape(explorer._added.value)
    assert Path("am.suite.yaml").read_text(encoding="utf-8") == text


def test_an_explorer_with_an_event_has_run_the_first_two_stages(shop: Workspace) -> None:
    """So that its first view, which a notebook saves, has a result; nothing was sent."""
    explorer = DestinationExplorer(shop, "hook", event=events.sample("track"))

    assert explorer.result is not None
    assert explorer.result.data[0].payloads
    assert not explorer.result.data[0].requests
    assert "not run yet" not in explorer._repr_mimebundle_()["text/html"]
    # Its box is checked, so the stage is not off: it runs with the button.
    assert controls(explorer)["send_to_destination"].value
    assert "this stage is off" not in explorer._strips.value
    assert "click Run" in explorer._strips.value
    assert "Run to send it" in explorer._http.value

    ran(explorer)
    assert "click Run" not in explorer._strips.value
    controls(explorer)["send_to_destination"].value = False
    ran(explorer)
    assert "this stage is off" in explorer._strips.value
    explorer.close()


def test_the_static_view_has_the_last_result(explorer: DestinationExplorer) -> None:
    """Where widgets do not run, the results are still there."""
    assert "not run yet" in explorer._repr_mimebundle_()["text/html"]
    ran(explorer)

    bundle = explorer._repr_mimebundle_()
    assert "send_to_destination" in bundle["text/html"]
    assert bundle["text/plain"].startswith("Orders hook (WEBHOOK)")


def test_an_unknown_type_in_the_workspace_is_reported() -> None:
    """A newer workspace may have one; the explorer says so instead of failing."""
    workspace = Workspace("new")
    workspace.destination("odd", "NOT_KNOWN_YET", config={"a": 1})
    explorer = DestinationExplorer(workspace)

    assert "unknown destination type" in matching(explorer)
    explorer.close()


def test_an_invalid_override_is_rejected() -> None:
    """The override is a JSON object."""
    state = DestinationState()
    state.override_text = "[1]"

    with pytest.raises(ConfigError, match="the override must be a JSON object"):
        state.request()
    assert state.stages == Stages(send_to_destination=True)


def test_choosing_a_type_is_fast(explorer: DestinationExplorer) -> None:
    """The largest form of a type with a mapping: under 50 ms of CPU, twice that under load."""
    box = controls(explorer)["Destination"]
    box.value = "MP"
    box.value = "hook"
    with within(0.1):
        box.value = "MP"


def test_a_refusal_links_to_its_setting(shop: Workspace) -> None:
    """A button shows the setting's field, even a hidden one, with the reason below."""
    config = {"accountId": "a", "passcode": "p", "trackAnonymous": False}
    shop.destination("ct", "CLEVERTAP", config=config)
    explorer = DestinationExplorer(shop, "ct", event={"type": "track", "event": "E", "anonymousId": "a1"})
    try:
        explorer.run()
        assert explorer.wait()
        jump = controls(explorer)["Go to setting trackAnonymous"]
        jump.click()
        assert explorer.wait()

        field = explorer._form.fields["trackAnonymous"]
        assert "trackAnonymous" in field._note.value
        assert field.box in [*explorer._form._first.children, *explorer._form._rest.children]
    finally:
        explorer.close()


def test_losses_of_the_event_are_shown_while_it_is_edited() -> None:
    """Each edit shows what the simulated vendor would lose, with the rule; the workspace's own servers stay empty."""
    shop = Workspace("shop")
    shop.destination("mp", "MP", config={"token": "t", "strictMode": True}, simulate="simulated")
    event = {**events.sample("track"), "userId": "ada"}
    explorer = DestinationExplorer(shop, "mp", event=event)
    editor = controls(explorer)["Event (JSON)"]

    assert explorer.wait()
    assert "Mixpanel would keep all of this event." in matching(explorer)
    editor.value = json.dumps({**event, "userId": "anonymous"})
    assert explorer.wait()
    assert "mp.import.distinct_id" in matching(explorer)
    assert "Mixpanel docs" in matching(explorer)
    editor.value = "{"
    assert explorer.wait()
    assert "mp.import.distinct_id" not in matching(explorer)
    editor.value = json.dumps(event)
    assert explorer.state.request().pipeline.simulation("mp").requests == 0
    explorer.close()
