"""`check` finds values that RudderStack's form would not accept, or that cannot work, at their places."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from svctoolkit import Pipeline, Workspace
from svctoolkit.cli import main
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.destinations.value_checks import value_problems
from svctoolkit.events import track
from tests.catalogue import examples

VALID = """\
workspace: shop
sources: {web: {type: Javascript, destinations: [d]}}
destinations:
  d:
    type: TYPE
    config: CONFIG
"""
BRAZE = "{restApiKey: k-4f9a1c77b2, dataCenter: %s}"
HOOK = "{webhookUrl: '%s', webhookMethod: POST}"
META = "{datasetId: '1', accessToken: EAAG-4f9a1c77, eventsToEvents: [%s]}"
SLACK = "{webhookUrl: 'https://hooks.slack.com/services/T/B/x', identifyTemplate: '%s'}"
KAFKA = "{topic: t, hostName: kafka.example, port: '%s'}"
HUBSPOT = "{authorizationType: newPrivateAppApi, accessToken: pat-4f9a1c77, apiVersion: newApi, hubID: '1', %s}"


def check(folder: Path, type_: str, config: str, *options: str) -> tuple[int, list[str]]:
    """Run `svctoolkit check`; return the exit code and the notes."""
    file = folder / "workspace.yaml"
    file.write_text(VALID.replace("TYPE", type_).replace("CONFIG", config))
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(StringIO()):
        code = main(["check", str(file), *options])
    _, _, notes = (
        out.getvalue()
        .replace(f"{file}", "workspace.yaml")
        .partition("notes:" if "notes:" in out.getvalue() else "note:")
    )
    return code, [line.strip() for line in notes.splitlines() if line.startswith("  ")]


@pytest.mark.parametrize(
    ("type_", "config", "says"),
    [
        ("BRAZE", BRAZE % "EU-99", "dataCenter: 'EU-99' is not one of its choices. Did you mean 'EU-0"),
        ("HTTP", "{apiUrl: 'https://x.example', auth: noAuht, method: POST}", "auth: "),
        ("FACEBOOK_CONVERSIONS", META % "{from: O, to: Purchasse}", "[0].to: 'Purchasse' is not a standard event. Did"),
        ("TIKTOK_ADS", "{pixelCode: p, accessToken: t-4f9a1c77, eventsToStandard: [{from: a, to: Kauf}]}",
         "'Kauf' is not a standard event"),
        ("SLACK", SLACK % "{{properties.total}", "the placeholder {{properties.total is not closed with }}"),
        ("DISCORD", "{webhookUrl: 'https://discord.com/api/webhooks/1/x', eventTemplateSettings: "
         "[{eventName: X, eventTemplate: 'a {{event'}]}", "[0].eventTemplate: the placeholder {{event is not closed"),
        ("WEBHOOK", HOOK % "htps://hook.example/in", "'htps' is not the scheme of a web address. Did you mean 'https'"),
        ("WEBHOOK", HOOK % "hook.example/in", "webhookUrl: not a URL: it does not begin with https:// or http://"),
        ("WEBHOOK", HOOK % "https:///in", "webhookUrl: not a valid URL: it has no host"),
        ("WEBHOOK", HOOK % "https://hook.example:99x/in", "webhookUrl: not a valid URL"),
        ("MOVABLE_INK", "{endpoint: 'ftps://x.example', accessKey: a, accessSecret: b}", "endpoint: "),
        ("KAFKA", KAFKA % "9092x", "port: '9092x' is not a port: a number from 1 to 65535"),
        ("POSTGRES", "{host: h, database: d, user: u, password: p, port: '70000'}", "port: '70000' is not a port"),
        ("HS", HUBSPOT % "lookupField: emial", "'emial' is not a property that contacts usually have. Did you"),
        ("HS", HUBSPOT % "hubspotEvents: [{rsEventName: Order, hubspotEventName: ''}]", "Name: is empty, although"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_work_is_a_note_at_its_place(tmp_path: Path, type_: str, config: str, says: str) -> None:
    _, notes = check(tmp_path, type_, config)

    assert [note for note in notes if note.startswith("workspace.yaml:6:") and says in note], notes


@pytest.mark.parametrize(
    ("type_", "config"),
    [
        ("BRAZE", BRAZE % "EU-02"),
        ("BRAZE", BRAZE % "env.BRAZE_CLUSTER"),
        ("BRAZE", BRAZE % "'{{ event.context.cluster || \"EU-01\" }}'"),
        ("WEBHOOK", HOOK % 'http://127.0.0.1:8080/in?x={{ event.properties.x || "1" }}'),
        ("WEBHOOK", HOOK % "$(env:HOOK_URL:-https://hook.example)"),
        ("KAFKA", KAFKA % "9092"),
        ("SLACK", SLACK % "{{{name}}} signed up: {{properties.plan}}"),
        ("FACEBOOK_CONVERSIONS", META % "{from: Order, to: Purchase}, {from: '', to: ''}"),
        ("HS", HUBSPOT % "lookupField: customer_number"),
    ],
)
def test_values_that_work_are_not_noted(tmp_path: Path, type_: str, config: str) -> None:
    assert check(tmp_path, type_, config) == (0, [])


def test_a_value_is_accepted_with_known(tmp_path: Path) -> None:
    """A vendor may have a data centre that the definitions lack."""
    file = tmp_path / "workspace.yaml"
    text = VALID.replace("TYPE", "BRAZE").replace("CONFIG", BRAZE % "EU-99")
    file.write_text(text + "known: [BRAZE.dataCenter]\n")

    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        assert main(["check", str(file), "--strict"]) == 0


def test_examples_of_all_types_have_valid_values() -> None:
    """Few notes on the settings of examples, which are written to work: else the checks would be noise."""
    noted = {
        (type_, problem.path)
        for type_ in CATALOGUE.names()
        for example in examples(type_)
        if example.error is None
        for problem in value_problems(type_, definitions.protect(type_, example.config))
    }

    assert len(noted) <= 6, noted


def test_keys_of_device_mode_are_known_and_say_so(tmp_path: Path) -> None:
    """Flat, as data planes get them, and with a value for each kind of source."""
    ga4 = "{apiSecret: s-4f9a1c77, typesOfClient: gtag, measurementId: G-1, debugView: true, newKey: {web: true}}"
    _, notes = check(tmp_path, "GA4", ga4)

    assert notes == ["destination 'd': debugView, newKey have no effect on events in cloud mode"]
    (unknown, _) = check(tmp_path, "GA4", ga4.replace("newKey: {web", "newKey: {wob"))[1]
    assert "GA4 has no configuration variable 'newKey'." in unknown


@pytest.mark.parametrize(
    ("type_", "config"),
    [
        ("SLACK", {"webhookUrl": "https://hooks.slack.com/services/T/B/x", "incomingWebhooksType": "env.CHOICE"}),
        ("WEBHOOK", {"webhookUrl": "https://hook.example", "webhookMethod": "env.METHOD"}),
    ],
)
def test_a_choice_may_be_an_environment_variable_of_the_service(type_: str, config: dict[str, str]) -> None:
    workspace = Workspace("w")
    workspace.destination("d", type_, config=config)
    (result,) = Pipeline(workspace).test_destination("d", track("Order", user_id="u1")).data

    assert result.payloads


def test_a_setting_without_an_entry_for_a_connected_source_is_a_note(tmp_path: Path) -> None:
    hook = "{webhookUrl: 'https://hook.example', consentManagement: {ios: [{provider: oneTrust, consents: []}]}}"
    _, notes = check(tmp_path, "WEBHOOK", hook)

    (note,) = notes
    assert "consentManagement: has no entry for 'web', the kind of the source 'web'; it has no effect there" in note
