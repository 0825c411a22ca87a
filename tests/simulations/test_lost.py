"""What vendors would lose of events is known before anything is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace, find_losses, plans, search_losses
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError, UnknownName, UsageError
from svctoolkit.lost import type_named

AT = {"anonymousId": "d1", "timestamp": "2026-05-04T09:00:00.000Z", "context": {"traits": {"email": "a@shop.example"}}}
EVENTS: list[dict[str, Any]] = [
    {"type": "track", "event": "Viewed", "userId": "ada", "messageId": "m-1", **AT},
    {"type": "track", "event": "Viewed", "userId": "ada", "messageId": "m-2", **AT},
    {"type": "track", "event": "Ordered", "userId": "ada", "messageId": "order:42:completed", **AT},
    {"type": "track", "event": "x" * 41, "userId": "anonymous", "messageId": "m-3", **AT},
]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the events, and a plan of which an event has a name that Google Analytics drops."""
    monkeypatch.chdir(tmp_path)
    Path("events.ndjson").write_text("".join(f"{json.dumps(event)}\n" for event in EVENTS))
    Path("plan/track").mkdir(parents=True)
    schema = {"type": "object", "properties": {"properties": {"type": "object"}}}
    for name in ("Viewed", "A name that has more than forty characters"):
        Path(f"plan/track/{name}.json").write_text(json.dumps(schema))
    return tmp_path


def test_losses_of_several_vendors_with_rules_and_what_helps() -> None:
    """Each vendor loses other events: by its own rules, with share, example, its place in the event, and a fix."""
    losses = find_losses(EVENTS, ["mixpanel", "ga4", "klaviyo"])

    found = {(rule.destination, rule.what, rule.rule): rule for rule in losses}
    assert {key: rule.events for key, rule in found.items()} == {
        ("mixpanel", "refused", "mp.import.insert_id"): 1,
        ("mixpanel", "refused", "mp.import.distinct_id"): 1,
        ("ga4", "dropped", "ga4.name.length"): 1,
        ("klaviyo", "folded", "kl.fold.second"): 1,
    }
    bad_id = found["mixpanel", "refused", "mp.import.insert_id"]
    assert (bad_id.path, bad_id.value, bad_id.share) == ("messageId", "order:42:completed", 0.25)
    assert found["klaviyo", "folded", "kl.fold.second"].fix == "setting apiVersion: v2"
    assert [(each.destination, each.sent, each.lost) for each in losses.received] == [
        ("mixpanel", 4, 2), ("ga4", 4, 1), ("klaviyo", 4, 1)
    ]  # fmt: skip
    assert losses.frame()["rule"].nunique() == 4
    assert [breach.condition for breach in losses.breaches("lost>25%, folded>1")] == ["lost>25%"]


def test_a_workspace_brings_its_settings_and_code() -> None:
    """With the fixes applied nothing is lost; the file to change is named before."""
    shop = Workspace("shop")
    shop.transformation("clean", lambda event: {**event, "messageId": event["messageId"].replace(":", "-")})
    shop.transformation("same", lambda event: event)
    config = {"token": "t", "strictMode": True}
    shop.destination("mp", "MP", config=config, transformation="clean")
    shop.destination("other", "MP", config=config, transformation="same")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})

    losses = find_losses(EVENTS[:3], workspace=shop)

    assert [(rule.destination, rule.fix) for rule in losses] == [
        ("other", "same: messageIds of letters, digits and hyphens")
    ]
    with pytest.raises(UnknownName):
        find_losses(EVENTS, "mpp", shop)
    with pytest.raises(ConfigError, match=r"hook.*WEBHOOK has no rules"):
        find_losses(EVENTS, "hook", shop)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("mixpanel", "MP"),
        ("MP", "MP"),
        ("Google Analytics 4", "GA4"),
        ("customer.io", "CUSTOMERIO"),
        ("tiktok", "TIKTOK_ADS"),
    ],
)
def test_types_have_the_names_that_people_write(text: str, type: str) -> None:
    """Type, display name and product name, in any case."""
    assert type_named(text) == type


def test_names_of_several_types_are_errors() -> None:
    """The message lists them."""
    with pytest.raises(UsageError, match="FACEBOOK_CONVERSIONS or FACEBOOK_PIXEL"):
        type_named("meta")


def test_a_plan_allows_events_that_a_vendor_loses(shop: Path) -> None:
    """The smallest event for each rule, checked against the plan; rules without one are listed with the tries."""
    plan = plans.load(shop / "plan").plan()
    searched = search_losses(plan, "ga4", tries=40)

    smallest = {rule.rule: rule.events for rule in searched.found}
    assert smallest["ga4.name.length"] == [
        {"type": "track", "event": "A name that has more than forty characters", "anonymousId": "device-1"}
    ]
    assert all(plan.check(event).violations == [] for events in smallest.values() for event in events)
    assert "ga4.secret" in {rule.rule for rule in searched.missed}
    assert "none found in 40 tries: ga4.secret" in repr(searched)
    assert list(searched.frame()["found"]).count(True) == len(searched.found)


def test_the_command(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON, Markdown, HTML, conditions, and a plan; wrong use is an error with exit code 4."""
    command = ["lost", "events.ndjson", "--to", "mixpanel,ga4"]
    assert main([*command, "--fail-on", "refused>1", "--html", "lost.html", "--markdown", "lost.md"]) == 1
    out, err = capsys.readouterr()
    assert "mixpanel  50.0% of 4 events lost" in out
    assert "1 messageId 'order:42:completed': $insert_id has at most 36 bytes" in out
    assert "refused>1: 2 refused" in err
    assert "ga4.name.length" in Path("lost.html").read_text()
    assert "| refused | 1 | 25.0% |" in Path("lost.md").read_text()
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["destinations"][1]["lost"] == 1
    assert main(["lost", "--plan", "plan", "--to", "ga4", "--tries", "20", "--fail-on", "found>0"]) == 1
    assert main(["lost", "--plan", "plan", "--to", "ga4", "--tries", "20", "--fail-on", "found>1000"]) == 0
    assert main(["lost", "--plan", "plan", "--to", "ga4", "--fail-on", "fuond"]) == 4
    assert main(["lost", "--plan", "plan", "--to", "ga4", "--tries", "20", "--fail-on", "found"]) == 1
    assert "ga4.name.length" in capsys.readouterr().out
    for wrong in (["lost"], ["lost", "events.ndjson"], [*command, "--fail-on", "folds>1"], [*command, "--to", "nix"]):
        assert main(wrong) == 4
    assert main([*command, "--simulate=answers"]) == 4
