"""Explorers of replays and comparisons: groups, their events, the stages of each, and links to other explorers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from svctoolkit import Secret, Workspace
from svctoolkit.errors import ConfigError
from svctoolkit.plans import of_service
from svctoolkit.replay import replay
from svctoolkit.widgets import CompareExplorer, ReplayExplorer
from tests.notebooks.controls import click, control, fill, lines, pick, saved, search, shown, words
from tests.notebooks.lit import lit

KEY = "s3cr3t-t0ken"
CENTS = """\
def transformEvent(event, metadata):
    event["properties"]["cents"] = event["properties"]["total"] * 100 / 1
    event.pop("context", None)
    return None if event["properties"].get("test") else event
"""
PAID = {"name": "Paid", "eventType": "track", "rules": {"type": "object"}}
CODE = "def transformEvent(event, metadata):\n    event['properties']['total'] = {total}\n    return event\n"


@pytest.fixture
def shop(tmp_path: Path) -> Callable[[str], Workspace]:
    def build(total: str) -> Workspace:
        workspace = Workspace("shop", folder=tmp_path)
        workspace.transformation("clean", code=CODE.format(total=total))
        braze = {"restApiKey": Secret(KEY, origin="$(env:BRAZE_KEY)"), "dataCenter": "US-01"}
        workspace.destination("braze", "BRAZE", config=braze)
        hook = {"webhookUrl": "https://hook.example/in"}
        workspace.destination("hook", "WEBHOOK", id="hook-id", config=hook, transformation="clean")
        workspace.source("web", destinations=["braze", "hook"])
        workspace.save(tmp_path / "workspace.yaml", env_file=True)
        return workspace

    return build


def order(number: int) -> dict[str, Any]:
    product = {"product_id": "p", "price": 1, "quantity": 1} | ({"currency": "EUR"} if number % 4 else {})
    properties = {"order_id": f"o-{number}", "total": number, "products": [product]}
    event = {"type": "track", "event": "Order Completed", "userId": f"u{number}", "messageId": f"m-{number}"}
    return {**event, "timestamp": "2026-01-01T00:00:00Z", "properties": properties}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "month.ndjson"
    path.write_text("no event\n" + "".join(json.dumps(order(n)) + "\n" for n in range(40)), encoding="utf-8")
    return path


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    explorers: list[Any] = []
    yield explorers
    for explorer in explorers:
        explorer.close()


def test_a_group_leads_to_its_events_and_their_stages(
    shop: Callable[[str], Workspace], file: Path, opened: list[Any]
) -> None:
    """The largest group comes first; choosing an event runs it, and related fields are highlighted."""
    explorer = ReplayExplorer(file, shop("1"))
    opened.append(explorer)

    group = lines(explorer, "Groups")[0]
    assert group.startswith("10  ")
    assert "braze" in group
    members = lines(explorer, "Events of the group")
    assert [line.split()[0] for line in members] == [f"{file}:{2 + 4 * n}" for n in range(10)]
    assert "needs a value at properties.currency" in words(shown(explorer))
    pick(explorer, "Events of the group", 3)
    assert explorer.wait(60)
    assert explorer.state.event()["messageId"] == "m-12"
    assert '"u12"' in words(shown(explorer))
    for view in (saved(explorer), explorer._repr_mimebundle_()["text/html"]):
        assert KEY not in view
    page = words(explorer._repr_mimebundle_()["text/html"])
    assert "Groups: 3 rows" in page
    assert "m-12" in page


def test_a_comparison_shows_both_sides_and_the_difference(shop: Callable[[str], Workspace], opened: list[Any]) -> None:
    """On each side, the fields of the payload highlight their sources on that side only."""
    events = [order(n) for n in range(1, 60)]
    explorer = CompareExplorer(events, shop("1"), shop("'1' if event['userId'] < 'u3' else 1"))
    opened.append(explorer)

    group = lines(explorer, "Groups")[0]
    assert "body.JSON.properties.total" in group
    assert explorer.state.group is not None
    expected = [n for n in range(1, 60) if f"u{n}" < "u3"]
    assert [member.event_id for member in explorer.state.members] == [f"m-{n}" for n in expected]
    assert explorer.state.members[0].text == '1 → "1"'
    page = shown(explorer)
    assert "before → after" in words(page)
    partners = lit(explorer._details.value)
    order_id = "body.JSON.properties.order_id"
    assert {f"before {order_id}", f"after {order_id}"} <= partners["event properties.order_id"]
    assert partners[f"after {order_id}"] == {"event properties.order_id"}
    assert not partners["after body.JSON.properties.total"]  # user code creates it, so no event field is highlighted
    assert [trial.title for trial in explorer.trials] == ["before", "after"]
    assert all(trial.lineage is not None and trial.lineage.fields for trial in explorer.trials)


def test_an_event_that_stops_shows_how_far_it_came(tmp_path: Path, opened: list[Any]) -> None:
    """Refused by the mapping, failed or dropped in user code, filtered by a setting or by its source's plan.

    The explorer shows its timeline, the cause, and how far its fields went, at the event's own time and for its own
    source, as in the replay.
    """
    workspace = Workspace("shop")
    workspace.transformation("cents", code=CENTS)
    clevertap = {"accountId": "a", "passcode": KEY, "trackAnonymous": False}
    workspace.destination("ct", "CLEVERTAP", config=clevertap, transformation="cents")
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("device", "WEBHOOK", config={**hook, "connectionMode": {"web": "device"}})
    source = workspace.source("web", destinations=["ct", "device"], type="web")
    workspace.tracking_plan("plan", of_service({"id": "tp", "events": [PAID]}))
    source.tracking_plan, source.plan_settings = "plan", {"track": {"allowUnplannedEvents": False}}
    event = {"type": "track", "event": "Paid", "anonymousId": f"a {KEY}", "context": {"ip": "203.0.113.4"}}
    properties = [{"total": 2}, {"total": 2}, {"total": "2 EUR"}, {"total": 7, "test": True}, {"total": 3}]
    events = [{**event, "messageId": f"m-{n}", "properties": own} for n, own in enumerate(properties)]
    explorer = ReplayExplorer([*events[:4], {**events[4], "event": "Unplanned"}], workspace, source="web")
    opened.append(explorer)

    told = {}
    for number, group in enumerate(explorer.state.groups):
        pick(explorer, "Groups", number)
        assert explorer.wait(60)
        told[group.destination, group.kind, group.stage] = (words(explorer._details.value), explorer.trials[0])
        assert KEY not in explorer._details.value + saved(explorer) + explorer._repr_mimebundle_()["text/html"]
    refused, trial = told["ct", "failed", "dest_transform"]
    assert "decided by setting trackAnonymous" in refused
    assert "cents : 200" in refused
    assert trial.lineage is not None
    assert {d.path: d.lost_at for d in trial.lineage.lost}["context.ip"] == "user_transform"
    pick(explorer, "Groups", [(g.destination, g.stage) for g in explorer.state.groups].index(("ct", "dest_transform")))
    assert explorer.wait(60)
    assert lit(explorer._details.value)["user_transform properties.cents"] == {"event properties.total"}
    dropped, failed = told["ct", "dropped", "user_transform"][0], told["ct", "failed", "user_transform"][0]
    assert "it would continue with a different value of properties.test, or without it" in dropped
    assert "decided at cents.py:2:" in failed
    filtered, trial = told["device", "filtered", "routing"]
    assert (trial.result, trial.lineage) == (None, None)
    assert "decided by setting connectionMode" in filtered
    assert "not reached" in filtered
    assert "203.0.113.4" in filtered
    assert "tracking_plan ⊘ dropped" in told["ct", "dropped", "tracking_plan"][0]


def test_an_explorer_says_what_events_have_in_common(tmp_path: Path, opened: list[Any]) -> None:
    """Those of the group, or those that a search finds; the saved page has it, too."""
    workspace = Workspace("shop")
    workspace.transformation(
        "clean", code="def transformEvent(event, metadata):\n    return event['total'] and event\n"
    )
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("hook", "WEBHOOK", config=hook, transformation="clean")
    events = [order(n) | ({} if n % 5 == 1 else {"total": 1}) | {"channel": "ab"[n < 6]} for n in range(20)]
    explorer = ReplayExplorer(events, workspace)
    opened.append(explorer)

    assert explorer.wait(60)
    assert [trait.path for trait in explorer.common] == ["total"]
    page = words(explorer._repr_mimebundle_()["text/html"])
    assert "total is missing 4 of 4 0 of 16" in words(shown(explorer))
    assert "total is missing 4 of 4 0 of 16" in page
    search(explorer, "Events of the group", "event id: m-1")
    assert [event["messageId"] for event in explorer.events] == ["m-1", "m-11", "m-16"]
    assert explorer.frame()["event_id"].tolist() == ["m-1", "m-11", "m-16"]
    click(explorer, "What do the found events have in common?")
    assert explorer.wait(60)
    assert "total is missing 3 of 3 1 of 17" in words(shown(explorer))


def test_a_fault_is_fixed_and_proven_in_the_explorer(tmp_path: Path, opened: list[Any]) -> None:
    """The editor has the events of the group. A change runs on them, then on all events: what else changes is named.

    A scenario has the smallest event that shows the fault, and what the code in the editor makes of it.
    """
    code = "def transformEvent(event, metadata):\n    event['cents'] = event['properties']['price']\n    return event\n"
    (tmp_path / "clean.py").write_text(code)
    (tmp_path / "workspace.yaml").write_text(
        "transformations: {clean: {file: clean.py}}\n"
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}, transformation: clean}}\n"
    )
    workspace = Workspace.load(tmp_path / "workspace.yaml")
    events = [order(n) for n in range(40)]
    for event in events[::2]:
        event["properties"]["price"] = 1
    explorer = ReplayExplorer(events, workspace)
    opened.append(explorer)
    click(explorer, "Open in editor")
    assert explorer.wait(60)
    assert explorer.proof is None
    assert len(control(explorer, "Event").options) == 21  # the group, and all of its events

    def change(by: str) -> str:
        fill(explorer, "Code", code.replace("['price']", by))
        click(explorer, "Run")
        assert explorer._editing is not None
        assert explorer._editing.wait(60)
        assert explorer.wait(60)
        assert explorer.proof is not None
        assert explorer.proof.text in words(shown(explorer))
        return explorer.proof.text

    assert change(".get('price', 2)") == "20 -> 0; nothing else changed; 20 no longer failing of 40 events"
    assert change(".get('prices', 0)") == "20 -> 0; 20 changed; 20 no longer failing of 40 events"
    assert "body.JSON.cents" in words(shown(explorer))
    fill(explorer, "Suite file", str(tmp_path / "orders.suite.yaml"))
    click(explorer, "Save as scenario")
    assert "write the code to its file first" in words(shown(explorer))
    (tmp_path / "clean.py").write_text(explorer._editing.state.code)
    click(explorer, "Save as scenario")
    suite = yaml.safe_load((tmp_path / "orders.suite.yaml").read_text())
    smallest = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {}}
    assert suite["scenarios"][0]["event"] == smallest


def test_mask_personal_hides_personal_data(opened: list[Any]) -> None:
    """In no stage, message or saved state; without the option everything is there."""
    person = {"ann@example.com", "Annabel", "10.9.8.7", "user-77"}
    traits = {"email": "ann@example.com", "firstName": "Annabel"}
    event = {"type": "track", "event": "Paid", "userId": "user-77", "context": {"ip": "10.9.8.7", "traits": traits}}

    def fail(event: dict[str, Any]) -> dict[str, Any]:
        raise ValueError(f"no idea who {event['context']['traits']['email']} is")

    workspace = Workspace("shop")
    workspace.transformation("fail", fail)
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("failing", "WEBHOOK", config=hook, transformation="fail")
    workspace.destination("refusing", "GA4", config={"apiSecret": KEY, "measurementId": "G-1", "typesOfClient": "gtag"})
    for hidden in (False, True):
        explorer = ReplayExplorer([event, {**event, "messageId": "m2"}], workspace, mask_personal=hidden)
        opened.append(explorer)
        for place in range(len(explorer.state.groups)):
            explorer._choose(place)
            assert explorer.wait()
            sight = f"{explorer._details.value} {explorer.static()} {explorer!r}"
            assert {word for word in person if word in sight} == (set() if hidden else person)
        assert len(explorer.state.groups) == 2


def test_an_event_can_be_opened_in_editors_and_suites(
    shop: Callable[[str], Workspace], tmp_path: Path, opened: list[Any]
) -> None:
    """A destination without a transformation has nothing to edit; the scenario expects the event's outcome."""
    explorer = CompareExplorer([order(n) for n in range(1, 6)], shop("1"), shop("2"))
    opened.append(explorer)
    click(explorer, "Open in editor")
    assert "o-1" in saved(explorer)
    assert "transformEvent" in control(explorer, "Code").value
    click(explorer, "Open in destination explorer")
    assert json.loads(control(explorer, "Event (JSON)").value) == order(1)

    suite = tmp_path / "orders.suite.yaml"
    control(explorer, "Suite file").value = str(suite)
    click(explorer, "Save as scenario")
    assert "added to" in words(shown(explorer))
    (scenario,) = yaml.safe_load(suite.read_text(encoding="utf-8"))["scenarios"]
    assert scenario["destination"] == "hook"

    without = ReplayExplorer([{**order(4), "timestamp": None}], shop("1"), destinations=["braze"])
    opened.append(without)
    assert control(without, "Open in editor").disabled


def test_a_refused_event_links_to_its_setting(opened: list[Any]) -> None:
    """The button opens the destination explorer with the setting's field and the reason below it."""
    workspace = Workspace("shop")
    config = {"accountId": "a", "passcode": "p", "trackAnonymous": False}
    workspace.destination("ct", "CLEVERTAP", config=config)
    workspace.source("web", destinations=["ct"])
    explorer = ReplayExplorer([{"type": "track", "event": "E", "anonymousId": "a1", "messageId": "m"}], workspace)
    opened.append(explorer)
    assert explorer.wait(60)
    click(explorer, "Go to setting trackAnonymous")

    (below,) = explorer._opened
    assert "trackAnonymous" in below._form.fields["trackAnonymous"]._note.value


def test_without_a_responsible_setting_the_button_is_disabled(
    shop: Callable[[str], Workspace], opened: list[Any]
) -> None:
    """A value that the event lacks has no setting."""
    explorer = ReplayExplorer([order(4)], shop("1"), destinations=["braze"])
    opened.append(explorer)
    assert explorer.wait(60)

    assert control(explorer, "Go to the setting").disabled


@pytest.mark.parametrize("hidden", [False, True])
def test_mask_personal_passes_made_up_values_on(hidden: bool, tmp_path: Path, opened: list[Any]) -> None:
    """Editors and suites get made-up values instead of personal ones, and say so.

    Without the option the event is unchanged.
    """
    person = {"ann@example.com", "Annabel", "10.9.8.7", "user-77"}
    traits = {"email": "ann@example.com", "firstName": "Annabel"}
    event = {"type": "track", "event": "Paid", "userId": "user-77", "context": {"ip": "10.9.8.7", "traits": traits}}
    code = "def transformEvent(event, metadata):\n    return None if '@' in str(event['context']) else event\n"
    workspace = Workspace("shop")
    workspace.transformation("leave", code=code)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/"}, transformation="leave")
    explorer = ReplayExplorer([event], workspace, mask_personal=hidden)
    opened.append(explorer)
    suite = tmp_path / "paid.suite.yaml"
    control(explorer, "Suite file").value = str(suite)

    for button in ("Open in editor", "Open in destination explorer", "Save as scenario"):
        click(explorer, button)
        sight = f"{saved(explorer)} {shown(explorer)} {suite.read_text('utf-8') if suite.exists() else ''}"
        assert {word for word in person if word in sight} == (set() if hidden else person)
        assert ("fake values" in sight) is hidden
    (scenario,) = yaml.safe_load(suite.read_text(encoding="utf-8"))["scenarios"]
    assert scenario["event"]["event"] == "Paid"
    assert "dropped" in str(scenario)


def test_a_replay_without_rows_shows_its_examples(shop: Callable[[str], Workspace], opened: list[Any]) -> None:
    """If rows were not kept, the group's examples are its events, and delivered events cannot be listed."""
    events, workspace = [order(4 * n) for n in range(9)], shop("1")
    explorer = ReplayExplorer(events, workspace, result=replay(events, workspace, rows=False))
    fine = ReplayExplorer([order(1)], workspace, result=replay([order(1)], workspace, rows=False))
    opened += [explorer, fine]

    assert len(explorer.state.members) == 3
    assert "the first 3 are listed below" in words(shown(explorer))
    assert "no event selected" in words(shown(fine))
    with pytest.raises(ConfigError, match="only once"):
        ReplayExplorer(iter(events), workspace)


def test_delivered_events_can_be_browsed_and_opened(shop: Callable[[str], Workspace], opened: list[Any]) -> None:
    """They are a group of each destination: searched, shown with their stages, opened in an editor."""
    explorer = ReplayExplorer([order(n) for n in range(1, 30)], shop("1"), destinations=["braze", "hook"])
    opened.append(explorer)
    kinds = [(group.destination, group.kind, group.count) for group in explorer.state.groups]
    assert kinds == [("braze", "failed", 7), ("braze", "delivered", 22), ("hook", "delivered", 29)]

    pick(explorer, "Groups", 2)
    search(explorer, "Events of the group", "event id: m-2")
    assert explorer.wait(60)
    assert len(explorer.events) == 11
    pick(explorer, "Events of the group", 27)
    assert explorer.wait(60)
    assert explorer.selected == {
        "destination": "hook",
        "what": "delivered",
        "text": "",
        "place": "[27]",
        "event_id": "m-28",
    }
    page = words(shown(explorer))
    assert "hook: 29 events delivered" in page
    assert '"m-28"' in page
    click(explorer, "Open in editor")
    assert "transformEvent" in control(explorer, "Code").value
    same = CompareExplorer([order(1), order(2)], shop("1"), shop("1"), destinations=["hook"])
    opened.append(same)
    assert [(group.kind, group.count) for group in same.state.groups] == [("same", 2)]
    assert [event["messageId"] for event in same.events] == ["m-1", "m-2"]


def test_highlights_of_two_sides_are_separate(shop: Callable[[str], Workspace], opened: list[Any]) -> None:
    """A leaf highlights leaves of its own side only; the difference has a separate group."""
    explorer = CompareExplorer([order(1)], shop("event['properties']['order_id']"), shop("2"))
    opened.append(explorer)

    page = explorer._details.value
    assert page.count('class="lights') == 3
    names = {text.split('"')[0] for text in page.split('class="lights ')[1:]}
    assert len(names) == 3
    partners = lit(page)
    assert "before body.JSON.properties.total" in partners["event properties.order_id"]
    assert "after body.JSON.properties.total" not in partners["event properties.order_id"]
