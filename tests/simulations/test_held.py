"""Ways to ask what simulated destinations hold: Python objects, frames, displays and pytest helpers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.errors import UsageError
from svctoolkit.pytest_plugin import assert_held, assert_nothing_lost


@pytest.fixture
def plane() -> Iterator[DataPlane]:
    shop = Workspace("shop")
    shop.destination("kl", "KLAVIYO", config={"publicApiKey": "p", "privateApiKey": "s3cr3t-key"}, simulate="simulated")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    shop.source("web", destinations=["kl", "hook"])
    event = {"type": "track", "event": "Product Added", "userId": "ada", "timestamp": "2026-08-06T09:00:00Z"}
    person = {"context": {"traits": {"email": "ada@shop.example", "tier": "gold"}}}
    with DataPlane(shop, listen=False) as plane:
        plane.send(
            [{**event, **person, "messageId": f"m{n}", "properties": {"sku": "s3cr3t-key"}} for n in range(2)],
            source="web",
        )
        plane.drain()
        yield plane


def test_rows_are_objects(plane: DataPlane) -> None:
    """A profile is found by any of its ids; tables count by name."""
    held = plane.held("kl")

    assert held.profile("ada@shop.example").attributes["email"] == "ada@shop.example"
    assert held.profile("ada").ids["external_id"] == "ada"
    assert held.events.count() == len(held.events) == held.events.count("Added to Cart") == 1
    assert held.events.count("Other") == 0
    assert held.events[0].under["external_id"] == "ada"
    assert repr(held) == "<simulated Klaviyo: profiles 1, events 1; 1 lost>"
    with pytest.raises(UsageError, match="no profile has the id 'bob'"):
        held.profile("bob")
    with pytest.raises(AttributeError, match="no simulated table 'purchases'; it has profiles, events"):
        _ = held.purchases
    with pytest.raises(AttributeError, match="this row has no 'tier'"):
        _ = held.profile("ada").tier


def test_a_fate_stays_delivered_and_shows_its_loss(plane: DataPlane) -> None:
    """The service reports success; what it cannot know stands next to it."""
    fates = [fate for fate in plane.fates if fate.destination == "kl"]

    assert [fate.status for fate in fates] == ["delivered", "delivered"]
    assert [[loss.rule for loss in fate.lost] for fate in fates] == [[], ["kl.fold.second"]]
    assert [fate.lost for fate in plane.fates if fate.destination == "hook"] == [(), ()]


def test_frames_have_a_row_each_and_no_secrets(plane: DataPlane) -> None:
    """Profiles, events and losses are tables for pandas."""
    profiles, events, lost = plane.held("kl").frame(), plane.held("kl").events.frame(), plane.lost.frame()

    assert profiles["ids.external_id"].tolist() == ["ada"]
    assert events["name"].tolist() == ["Added to Cart"]
    assert "s3cr3t-key" not in events.to_csv() + profiles.to_csv() + lost.to_csv()
    assert lost[["destination", "what", "rule", "events"]].values.tolist() == [["kl", "folded", "kl.fold.second", "m1"]]
    assert lost["source"].str.contains("checked 2026").all()
    assert plane.held("kl").lost.frame().equals(lost)


def test_displays_have_no_secrets(plane: DataPlane) -> None:
    """A notebook shows tables; secrets are masked."""
    for shown in (plane.held("kl"), plane.held("kl").events, plane.lost, plane.of_run("other").lost):
        html = shown._repr_mimebundle_()["text/html"]
        assert "s3cr3t-key" not in html
    assert "kl.fold.second" in plane.lost._repr_mimebundle_()["text/html"]


def test_pytest_helpers(plane: DataPlane) -> None:
    """`assert_held` compares as a suite does; `assert_nothing_lost` names each loss."""
    assert_held(
        plane,
        "kl",
        {"profiles": [{"ids": {"external_id": "ada"}}], "counts": {"events": 1}, "nobody": [{"email": "b"}]},
    )
    with pytest.raises(AssertionError, match="nothing has arrived at kl"):
        assert_nothing_lost(plane, run="other")
    with pytest.raises(AssertionError, match=r"kl: 1 event held, not 2; folded: .*kl\.fold\.second"):
        assert_held(plane, "kl", {"counts": {"events": 2}})
    with pytest.raises(AssertionError, match=r"kl: m1: folded: .*kl\.fold\.second"):
        assert_nothing_lost(plane)
    with pytest.raises(UsageError, match="no simulated table 'event'"):
        assert_held(plane, "kl", {"event": []})
    with pytest.raises(UsageError, match="'hook' is not simulated"):
        assert_held(plane, "hook", {})
