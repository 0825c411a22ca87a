"""Gates: conditions that are never green by the luck of a sample, an old total or a missing source."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Pipeline, Workspace, yamlfile
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.events import track
from svctoolkit.replay import Comparison, compare, replay
from svctoolkit.results.changes import Change
from tests.replay.shops import ndjson, order, orders, shop


def views(share: float, count: int = 1000) -> list[dict[str, Any]]:
    """Return events of which this share is views; many others have their own shape, which samples keep."""
    events = []
    for number in range(count):
        name = "Product Viewed" if number % 100 < 100 * share else "Order Completed"
        properties = {"total": number, **({f"p{number}": 1} if number % 5 == 0 and name == "Order Completed" else {})}
        events.append({**track(name, user_id=f"u{number}", properties=properties), "messageId": f"m{number}"})
    return events


def keep(event: dict[str, Any]) -> dict[str, Any]:
    return event


def lose_views(event: dict[str, Any]) -> dict[str, Any] | None:
    return None if event["event"] == "Product Viewed" else event


def sampled(share: float, sample: float) -> Comparison:
    return compare(views(share), shop(keep), shop(lose_views), sample=sample)


@pytest.mark.parametrize("sample", [0.1, 0.2, 0.4])
def test_a_condition_on_a_sample_is_about_all_events(sample: float) -> None:
    """The sample has fewer views than the events, because it keeps every rare shape."""
    result = sampled(0.4, sample)
    raw = result.kinds["newly dropped"] / result.events

    (breach,) = result.breaches("lost>22%")

    assert raw < 0.4
    assert breach.needs == 0  # certain
    assert breach.text.startswith("about ")
    assert result.breaches("lost>75%") == []


def test_a_condition_that_a_sample_does_not_decide_is_a_breach() -> None:
    (breach,) = sampled(0.4, 0.05).breaches("lost>39%")

    assert breach.needs > 0.05
    assert breach.text.startswith("not sure: about ")
    assert "needs" in breach.text.rsplit(";", 1)[1]


def test_only_all_events_show_that_nothing_is_lost() -> None:
    assert [breach.needs for breach in sampled(0.0, 0.1).breaches("lost>0")] == [1.0]
    assert [breach.needs for breach in sampled(0.4, 0.1).breaches("lost>0")] == [0.0]  # some were seen
    assert sampled(0.0, 1.0).breaches("lost>0") == []


def test_the_command_takes_larger_samples_until_its_conditions_are_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ndjson(Path("events.ndjson"), views(0.4))
    hook = 'destinations: {hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/%s"}}}\n'
    for name, address in (("before.yaml", "in"), ("after.yaml", "v2")):
        Path(name).write_text("workspace: shop\n" + hook % address)
    arguments = ["replay", "events.ndjson", "--before", "before.yaml", "--after", "after.yaml", "--sample", "0.02"]

    assert main([*arguments, "--fail-on", "changed<93%"]) == 0

    said = capsys.readouterr()
    assert "a sample of 0.02 does not decide changed<93%; next: " in said.err
    assert "hook: estimated for all events: 1,000 ±" in said.out


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("changed>100%", "'changed>100%' never holds: a share is at most 100%"),
        ("any>0 or lost >= 101 %", "'lost >= 101 %' never holds"),
        ("any>0 or accepted>5", "'accepted' needs accepted differences (--accept FILE)"),
        ("", "--fail-on: no condition. Write one, such as 'lost>0', or leave out the option"),
        (" ", "--fail-on: no condition"),
    ],
)
def test_a_condition_that_never_holds_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], condition: str, said: str
) -> None:
    """Such as that of a variable that is not set: the check would pass whatever happens."""
    assert main([*planned(tmp_path), "--fail-on", condition]) == 4
    assert said in capsys.readouterr().err


SIMULATED = "{token: t, strictMode: true, identityMergeApi: simplified}"


@pytest.mark.parametrize(
    ("simulate", "arguments", "code", "said"),
    [
        (", simulate: simulated", ["lost>0 or refused>0"], 1, "2 refused"),
        (", simulate: simulated", ["lost>0", "--simulate=answers"], 4, "'lost' needs a simulated destination"),
        (", simulate: simulated", ["failed>0"], 1, "2 failed"),
        (", simulate: simulated", ["refused>0", "--stage", "send_to_destination=off"], 4, "'refused' needs a"),
        ("", ["lost>0"], 4, "'lost' needs a simulated destination, and this run has none"),
        ("", ["failed>0 and folded"], 4, "'folded' needs a simulated destination"),
        ("", ["dropped>0"], 0, ""),  # also a fate
        ("", ["lost>0", "--simulate"], 1, "2 lost"),
        ("", ["failed<0"], 4, "'failed<0' never holds: a number of events is never negative"),
    ],
)
def test_a_workspace_that_simulates_is_replayed_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], simulate: str, arguments: list[str], code: int, said: str
) -> None:
    """Without an option; and conditions about losses are refused where no loss is known."""
    (tmp_path / "workspace.yaml").write_text(
        f"destinations: {{mp: {{type: MP, config: {SIMULATED}{simulate}}}}}\nsources: {{web: {{destinations: [mp]}}}}\n"
    )
    at = "2026-08-06T09:00:00Z"
    events = [
        {"type": "track", "event": "A", "userId": user, "messageId": f"m{n}", "timestamp": at, "originalTimestamp": at}
        for n, user in enumerate(("undefined", "u1", "undefined"))
    ]
    (tmp_path / "e.ndjson").write_text("\n".join(map(json.dumps, events)))
    chosen = ["--workspace", str(tmp_path / "workspace.yaml"), "--fail-on", *arguments]

    assert main(["replay", str(tmp_path / "e.ndjson"), *chosen]) == code
    assert said in capsys.readouterr().err


PLANNED = """
workspace: shop
sources:
  web: {{destinations: [hook], trackingPlan: {{plan: orders, settings: {{global: {{{drops}}}}}}}}}{more}
destinations: {{hook: {{type: WEBHOOK, config: {{webhookUrl: "https://hook.example/in"}}}}}}
trackingPlans: {{orders: {{file: plan.json}}}}
"""


PLAN = {"id": "tp", "events": [{"name": "Order Completed", "eventType": "track", "rules": {"type": "object"}}]}


def planned(folder: Path, *, more: str = "") -> list[str]:
    """Write two workspaces; only the second drops events that are not in the tracking plan. Return the arguments."""
    for name, drops in (("before.yaml", ""), ("after.yaml", "drop_unplanned_events: true")):
        (folder / "plan.json").write_text(json.dumps(PLAN))
        (folder / name).write_text(PLANNED.format(drops=drops, more=more))
    (folder / "days").mkdir()
    events = ndjson(folder / "events.ndjson", views(0.4, 100))
    return ["replay", str(events), "--before", str(folder / "before.yaml"), "--after", str(folder / "after.yaml")]


def test_the_only_source_is_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*planned(tmp_path), "--fail-on", "any"]) == 1

    assert "40 newly dropped" in capsys.readouterr().out


def test_events_without_a_source_do_not_pass_if_a_tracking_plan_depends_on_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = planned(tmp_path, more="\n  app: {destinations: [hook]}")

    assert main([*arguments, "--fail-on", "any"]) == 1
    said = capsys.readouterr()
    assert "source: 100 events have no source: tracking plans and states of web were not applied" in said.err
    assert main([*arguments, "--source", "app", "--fail-on", "any"]) == 0
    assert main([*arguments, "--source", "web", "--fail-on", "any"]) == 1
    assert main(arguments) == 0
    assert "100 events have no source" in capsys.readouterr().out


def test_a_truncated_archive_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a month of events is not a month: the rest of the file may be the half that breaks."""
    arguments = planned(tmp_path)
    whole = gzip.compress((tmp_path / "events.ndjson").read_bytes() * 40, 1)
    (tmp_path / "cut.ndjson.gz").write_bytes(whole[: len(whole) // 2])
    arguments[1] = str(tmp_path / "cut.ndjson.gz")

    assert main(arguments) == 4
    assert "the file is damaged from here on" in capsys.readouterr().err
    assert main([*arguments, "--fail-on", "newly_failing>0"]) == 1
    assert "input: " in capsys.readouterr().err


def test_conditions_of_a_resumed_run_are_about_new_events(tmp_path: Path) -> None:
    """A day on which everything is dropped fails, even after a long history, and until it passes."""
    planned(tmp_path)
    days, out, workspace = (str(tmp_path / name) for name in ("days", "out", "after.yaml"))
    ndjson(tmp_path / "days" / "1.ndjson", views(0.01))
    arguments = ["replay", days, "--workspace", workspace, "--out", out]

    assert main([*arguments, "--fail-on", "dropped>2%"]) == 0
    ndjson(tmp_path / "days" / "2.ndjson", views(1.0, 10))
    again = [*arguments, "--resume"]
    assert main([*again, "--fail-on", "dropped>2%"]) == 1
    assert main([*again, "--fail-on", "dropped>2%"]) == 1  # not green because it ran before
    assert main([*again, "--fail-on-total", "dropped>2%"]) == 0
    assert main([*again, "--fail-on", "dropped>0"]) == 0  # nothing is new
    assert main([*again, "--fail-on-total", "dropped>0"]) == 1


def facebook(code: Callable[[dict[str, Any]], Any]) -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("clean", code)
    config = {"pixelId": "123", "accessToken": "EAAtoken"}
    workspace.destination("facebook", "FACEBOOK_PIXEL", config=config, transformation="clean")
    return workspace


def noted(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "properties": {**event["properties"], "note": "x", "ssn": "078-05-1120"}}


def test_changes_inside_json_text_have_their_own_paths_and_can_be_ignored() -> None:
    """Facebook gets a form whose fields are JSON: a group of all changes in it would hide the one that matters."""
    sides = views(0.0, 20), facebook(keep), facebook(noted)

    result = compare(*sides)
    ignored = compare(*sides, ignore=["body.FORM.data.*.custom_data.note"])

    paths = {"body.FORM.data.*.custom_data.note", "body.FORM.data.*.custom_data.ssn"}
    assert {group.path for group in result.groups} == paths
    assert {group.path for group in ignored.groups} == {"body.FORM.data.*.custom_data.ssn"}


def test_fields_of_facebooks_form_have_a_lineage() -> None:
    workspace = facebook(keep)
    lineage = Pipeline(workspace).lineage("facebook", views(0.0, 1)[0])

    origins = {origin.field: origin.events for origin in lineage.fields}
    assert origins["body.FORM.data.0.custom_data.total"] == ("properties.total",)


def test_two_long_texts_are_shown_where_they_differ() -> None:
    change = Change("note", f"{'a' * 500}one{'b' * 500}", f"{'a' * 500}two{'b' * 500}")

    before, after = change.sides()
    assert "one" in before
    assert "two" in after


def rounding(by: int, url: str = "https://hook.example/v2") -> Workspace:
    def code(event: dict[str, Any]) -> dict[str, Any]:
        total = event["properties"]["total"]
        return {**event, "properties": {"total": round(total) if by == 0 else by, "label": f"{total} EUR"}}

    return shop(code, url=url)


def paid(start: float = 0.5, count: int = 200) -> list[dict[str, Any]]:
    return [
        {**track("Paid", user_id="u", properties={"total": start + n * 1.1, "label": "-"}), "messageId": f"m{n}"}
        for n in range(count)
    ]


def test_an_accepted_difference_does_not_take_another_value(tmp_path: Path) -> None:
    """An accepted move of an endpoint, rounding and label, then harmful values of the same types."""
    file = tmp_path / "accepted.yaml"
    assert compare(paid(), shop(keep), rounding(0)).write_accepted(file, reason="ok") == 3

    def left(after: Workspace, events: list[dict[str, Any]]) -> set[str]:
        result = compare(events, shop(keep), after, accept=file)
        return {group.path for group in result.groups if group.kind != "accepted"}

    assert left(rounding(0), paid(900.25)) == set()  # other events, the same change
    assert left(rounding(0, "https://evil.example/x"), paid()) == {"endpoint"}
    assert left(rounding(-1_000_000_000), paid()) == {"body.JSON.properties.total"}
    entries = yamlfile.load(file).data["accepted"]
    assert {entry["path"]: entry.get("values") for entry in entries}["endpoint"] == ["https://hook.example/v2"]
    assert r"\ EUR" in {entry["path"]: entry.get("pattern") for entry in entries}["body.JSON.properties.label"]


@pytest.mark.parametrize(
    "new",
    [
        lambda n: n,  # more of them than are listed
        lambda n: f"{n % 30}{'x' * 2000}",
        lambda n: {"deep": {str(n % 30): "x" * 2000}},
        lambda n: f"{n}{'x' * 2000}" if n < 0 else None,
    ],
)
def test_a_list_of_accepted_differences_can_always_be_read(tmp_path: Path, new: Callable[[int], Any]) -> None:
    """Also with many new numbers, long texts or large objects; and it does not accept other ones."""
    file = tmp_path / "accepted.yaml"

    def with_value(of: Callable[[int], Any]) -> Workspace:
        return shop(lambda event: {**event, "properties": {"new": of(int(event["messageId"][1:]) % 60)}})

    before = shop(lambda event: {**event, "properties": {}})
    compare(paid(), before, with_value(new)).write_accepted(file, reason="ok")

    assert compare(paid(), before, with_value(new), accept=file).breaches("any") == []
    assert compare(paid(), before, with_value(lambda _n: "evil"), accept=file).breaches("any") != []


def test_an_accepted_drop_has_a_stage_and_a_share(tmp_path: Path) -> None:
    """Ten percent of the events were accepted as dropped; now it is half of them, and then another stage drops them."""
    planned(tmp_path)
    before, after = (Workspace.load(tmp_path / name) for name in ("before.yaml", "after.yaml"))
    file = tmp_path / "accepted.yaml"
    compare(views(0.1, 100), before, after).write_accepted(file, reason="not planned")

    def texts(share: float, changed: Workspace) -> list[str]:
        return [breach.text for breach in compare(views(share, 100), before, changed, accept=file).breaches("any")]

    assert texts(0.1, after) == texts(0.15, after) == []
    assert texts(0.5, after) == [
        "hook newly dropped delivered -> dropped in tracking_plan: accepted for 10% of the events, now 50%"
    ]
    by_code = Workspace.load(tmp_path / "before.yaml")
    by_code.transformation("clean", lose_views)
    by_code.destinations["hook"] = replace(by_code.destinations["hook"], transformation="clean")
    assert texts(0.1, by_code) == ["10 different"]


def test_an_entry_that_accepts_any_value_must_say_so(tmp_path: Path) -> None:
    text = "accepted: [{destination: hook, kind: changed, path: endpoint, before: text, after: text, %s reason: x, "
    file = tmp_path / "accepted.yaml"
    file.write_text(text % "" + "expires: '2999-01-01'}]")
    with pytest.raises(ConfigError, match="accepts any new value"):
        compare(paid(), shop(keep), rounding(0), accept=file)

    file.write_text(text % "values: any," + "expires: '2999-01-01'}]")
    result = compare(paid(), shop(keep), rounding(0, "https://evil.example/x"), accept=file)
    assert "endpoint" in {group.path for group in result.groups if group.kind == "accepted"}


def test_a_failing_event_that_is_dropped_now_is_not_good_news() -> None:
    def fail(event: dict[str, Any]) -> None:
        raise ValueError

    result = compare(views(0.0, 5), shop(fail), shop(lambda _event: None))

    assert (result.kinds["changed"], result.kinds["no longer failing"]) == (5, 0)


def test_a_policy_that_holds_for_a_sample_is_not_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command runs all events, as for `lost>0`; without conditions or --policies, a sample stays one."""
    events = [
        {"type": "track", "event": "Search", "userId": "u", "messageId": f"m{n}", "properties": {"query": "shoes"}}
        for n in range(2_000)
    ]
    events[1_900]["properties"] = {"query": "ada@mail.example"}
    (tmp_path / "e.ndjson").write_text("\n".join(map(json.dumps, events)))
    hook = "{type: WEBHOOK, config: {webhookUrl: 'https://hook.example/in'}}"
    policies = "policies: [{no_personal: {kinds: [email]}}]\n"
    (tmp_path / "w.yaml").write_text(f"workspace: shop\ndestinations: {{hook: {hook}}}\n{policies}")
    (tmp_path / "p.yaml").write_text(policies)
    command = ["replay", str(tmp_path / "e.ndjson"), "--workspace", str(tmp_path / "w.yaml"), "--sample", "0.01"]

    assert main([*command, "--fail-on", "failed>50%"]) == 1
    said = capsys.readouterr().err
    assert "a sample of 0.01 does not decide no_personal; next: 1" in said
    assert "no_personal: 1 event at hook" in said
    assert main([*command, "--policies", str(tmp_path / "p.yaml")]) == 1
    capsys.readouterr()
    assert main(command) == 0
    assert "a sample: " in capsys.readouterr().out
    result = replay(events, Workspace.load(tmp_path / "w.yaml"), sample=0.01)
    (breach,) = result.breaches("failed>50%")
    assert (breach.condition, breach.needs) == ("no_personal", 1.0)
    assert "not sure: no breach in " in breach.text


def test_accepted_texts_and_numbers_are_those_of_all_events(tmp_path: Path) -> None:
    """A list that was just written accepts the run that wrote it: a pattern is about all values, not the first ones."""
    labels = [f"n-{number:04}" for number in range(60)] + ["n-7", "n-12345678", "n-12.5"]
    events = [order(number, label=label) for number, label in enumerate(labels)]
    file = tmp_path / "accepted.yaml"

    compare(events, shop(keep), shop(relabelled)).write_accepted(file, reason="reviewed")
    accepted = compare(events, shop(keep), shop(relabelled), accept=file)
    other = compare([order(1, label="m-0001")], shop(keep), shop(relabelled), accept=file)

    assert (accepted.different, accepted.kinds["accepted"]) == (0, len(events))
    assert other.different == 1
    (entry,) = yamlfile.load(file).data["accepted"]
    assert entry["pattern"] == r"label\ n\-[\d\.]{1,8}\ EUR"


def relabelled(event: dict[str, Any]) -> dict[str, Any]:
    event["properties"]["label"] = f"label {event['properties']['label']} EUR"
    return event


def test_a_check_of_few_of_many_records_fails(tmp_path: Path) -> None:
    """Most of the file is not events: that the rest is as before says nothing."""
    file = ndjson(tmp_path / "events.ndjson", orders(2))
    file.write_text(file.read_text() + "no event\n" * 3)
    result = compare(file, shop(keep), shop(keep))

    text = "3 of 5 records are not events. To check only the others, add a condition: rejected>99%"
    assert [tuple(breach)[:2] for breach in result.breaches("any")] == [("input", text)]
    assert result.breaches("any or rejected>99%") == []
