"""Each group of events that do not arrive names the line of code or the setting responsible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from svctoolkit import Pipeline, Workspace
from svctoolkit.delivery import Recorder
from svctoolkit.destinations import CATALOGUE, DestinationType, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.mapping import Misfit
from svctoolkit.replay import Group, compare, replay
from svctoolkit.replay.results.members import members

CODE = """\
def transformEvent(event, metadata):
    if event["event"] == "Secret":
        return None
    event["properties"]["each"] = 1 / event["properties"]["total"]
    return event
"""
ANONYMOUS = {"accountId": "a", "passcode": "t0ken-s3cret", "trackAnonymous": False}
HOOK = {"webhookUrl": "https://hook.example/in"}


def shop(**clevertap: Any) -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("clean", code=CODE)
    workspace.destination("hook", "WEBHOOK", config=HOOK, transformation="clean")
    workspace.destination("twin", "WEBHOOK", config=HOOK, transformation="clean")
    workspace.destination("ct", "CLEVERTAP", config={**ANONYMOUS, **clevertap})
    workspace.destination("device", "WEBHOOK", config={**HOOK, "connectionMode": "device"})
    workspace.destination("off", "WEBHOOK", config=HOOK, enabled=False)
    return workspace


def event(number: int, name: str = "Paid", **more: Any) -> dict[str, Any]:
    return {"type": "track", "event": name, "anonymousId": "a", "properties": {"total": number % 3}, **more}


EVENTS = [event(n, "Secret" if n % 10 == 9 else "Paid") for n in range(60)]


def deciding(groups: Iterable[Group]) -> dict[tuple[str, str], str]:
    return {(group.destination, group.kind): group.decides for group in groups}


def test_groups_name_the_responsible_code_or_setting() -> None:
    """In frame, text and page: a failing line, code that drops, settings of mapping and of routing."""
    result = replay(EVENTS, shop())
    frame = result.groups.frame()

    assert deciding(result.groups) == {
        ("hook", "failed"): "clean.py:4:35",
        ("hook", "dropped"): "clean",
        ("twin", "failed"): "clean.py:4:35",
        ("twin", "dropped"): "clean",
        ("ct", "failed"): "trackAnonymous",
        ("device", "filtered"): "connectionMode",
        ("off", "filtered"): "enabled",
    }
    assert frame.decides.tolist() == [group.decides for group in result.groups]
    for text in (repr(result), result.to_html()):
        assert "in 60 events of 2 names (Paid 54, Secret 6); decided by setting trackAnonymous" in text
        assert "decided at clean.py:4:35" in text
        assert "decided by transformation clean" in text


def test_irrelevant_settings_are_not_named() -> None:
    """A setting that would change nothing is not named, and neither is one for events that disable a destination."""
    off = [event(1, integrations={"All": False}), event(1, "Paid", userId="u", properties=3)]
    result = replay(off, shop(), destinations=["ct"])

    assert {group.decides for group in result.groups} == {""}


FAULTS = """\
export function transformEvent(event) {
  event.properties.first = event.properties.products[0].price.toFixed(2);
  event.properties.second = event.properties.products[1].price.toFixed(2);
  return event;
}
"""


def test_two_faults_never_share_a_group() -> None:
    """Neither two messages at one place, nor one message at two places; each group lists its own events."""
    workspace = Workspace("shop")
    workspace.transformation("faults", code=FAULTS, language="javascript")
    workspace.destination("hook", "WEBHOOK", config=HOOK, transformation="faults")
    lists = {
        "no product": [],
        "no price": [{}],
        "text": [{"price": "1"}],
        "one": [{"price": 1}],
        "two": [{"price": 1}] * 2,
    }
    events = [event(n, name, properties={"products": lists[name]}) for n in range(4) for name in lists]
    result = replay(events, workspace)
    found = {
        (group.path, group.after): [member.event for member in members(result, group, 9)[0]] for group in result.groups
    }

    assert {group.count for group in result.groups} == {4}
    assert found == {
        ("faults.js:2:57", "TypeError: Cannot read properties of undefined (reading 'price')"): ["no product"] * 4,
        ("faults.js:2:63", "TypeError: Cannot read properties of undefined (reading 'toFixed')"): ["no price"] * 4,
        ("faults.js:2:63", "TypeError: event.properties.products[…].price.toFixed is not a function"): ["text"] * 4,
        ("faults.js:3:58", "TypeError: Cannot read properties of undefined (reading 'price')"): ["one"] * 4,
    }


def test_values_that_user_code_loses_are_groups() -> None:
    """The events are delivered, and the summary, the conditions and the group say that values are lost."""
    workspace = Workspace("shop")
    code = "export const transformEvent = (e) => ({ ...e, cents: [Math.round(e.properties.total * 100)] })"
    workspace.transformation("clean", code=code, language="javascript")
    workspace.destination("hook", "WEBHOOK", config=HOOK, transformation="clean")
    result = replay([event(n, properties={"total": "12 €" if n % 4 else 3}) for n in range(8)], workspace)
    (group,) = result.groups

    assert (group.kind, group.path, group.before, group.count) == ("lossy", "cents.*", "NaN", 6)
    assert repr(result).startswith("8 events, 1 destination: 8 delivered; 6 with lost values\n")
    assert [breach.text for breach in result.breaches("lossy>50%")] == ["75% lossy at hook (6 of 8)"]
    assert result.breaches("lossy>6") == []
    assert result.to_dict()["lossy"] == {"hook": 6}
    text = (
        "delivered, but 6 events of Paid lost cents.* (clean.js:1: NaN): the user code returns NaN, which becomes null"
    )
    assert text in repr(result)

    before = replace_code(workspace, "export const transformEvent = (e) => ({ ...e, cents: [1] })")
    compared = compare([event(n, properties={"total": "12 €" if n % 4 else 3}) for n in range(8)], before, workspace)
    assert ("lost.NaN at cents.*", 6) in [(group.path, group.count) for group in compared.groups]
    (failure,) = Pipeline(workspace).test_destination("hook", event(1, properties={"total": "12 €"})).failures()
    assert (failure.rule, failure.field, failure.value) == ("code.lost.NaN", "cents.0", "NaN")


def replace_code(workspace: Workspace, code: str) -> Workspace:
    item = replace(workspace.transformation("clean"), code=code)
    return replace(workspace, transformations={"clean": item})


def test_a_comparison_names_the_cause_on_the_later_side() -> None:
    """And the stage at which the event ends there; events that arrive again have no cause."""
    result = compare(EVENTS, shop(trackAnonymous=True), shop())
    back = compare(EVENTS, shop(), shop(trackAnonymous=True))

    assert [(g.kind, g.stage, g.decides) for g in result.groups] == [
        ("newly failing", "dest_transform", "trackAnonymous")
    ]
    assert [(g.kind, g.stage, g.decides) for g in back.groups] == [("no longer failing", "", "")]


@pytest.mark.slow
def test_several_processes_name_the_same_cause() -> None:
    """The first event of a group decides, in any process; in pickled rows, too."""
    many = [event(n) for n in range(5_000)]

    assert deciding(replay(many, shop(), workers=2).groups) == deciding(replay(many, shop()).groups)


def test_finding_the_cause_runs_no_code_and_no_look_up() -> None:
    """User code and look-ups run only for the events themselves, however many settings are tried."""
    calls: list[Any] = []
    recorder = Recorder()

    def count(event: dict[str, Any]) -> dict[str, Any]:
        calls.append(event)
        return event

    workspace = Workspace("shop")
    workspace.transformation("count", count)
    workspace.destination("ct", "CLEVERTAP", config=ANONYMOUS, transformation="count")
    result = replay(EVENTS, workspace, transport=recorder)

    assert result.groups[0].decides == "trackAnonymous"
    assert len(calls) == len(EVENTS)
    assert not list(recorder.requests)


def test_finding_causes_is_limited_to_fifty_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of mapping failure costs a run per setting: only the first fifty per chunk are analysed."""

    class Switch(Settings, frozen=True, kw_only=True):
        strict: bool = True

    monkeypatch.setattr(CATALOGUE, "_added", {})
    CATALOGUE.add("STRICT", strict := DestinationType("Strict", Switch, docs="https://strict.example"))

    @strict.on("track")
    def send(event: Event, settings: Switch) -> Payload:
        if settings.strict:
            raise Misfit("event", "another name", case=event.name)
        return Payload(endpoint="https://strict.example", json={})

    workspace = Workspace("shop")
    workspace.destination("strict", "STRICT", config={"strict": True})
    names = [f"Name{chr(65 + n // 26)}{chr(65 + n % 26)}" for n in range(120)]
    result = replay([event(1, name) for name in names], workspace)

    assert len(result.groups) == 120
    assert [group.decides for group in result.groups].count("strict") == 50
