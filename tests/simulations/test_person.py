"""One person at every simulated destination: data, frames, displays, the explorer and the page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.widgets import HeldExplorer

SECRET = "s3cr3t-key-of-braze"


def until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition; fail after a long time."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def shop() -> Workspace:
    made = Workspace("shop")
    made.destination("br", "BRAZE", config={"restApiKey": SECRET, "dataCenter": "US-01"}, simulate="simulated")
    made.destination("mp", "MP", config={"token": "t"}, simulate="simulated")
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    made.source("web", destinations=["br", "mp", "hook"])
    return made


def visit(plane: DataPlane, device: str, **traits: str) -> None:
    """Ada views a page on a device, then signs in."""
    for event in (
        {"type": "track", "event": "Viewed", "messageId": f"{device}-1"},
        {"type": "identify", "userId": "ada", "messageId": f"{device}-2", "traits": traits},
    ):
        plane.send({**event, "anonymousId": device}, source="web")
        plane.drain()


@pytest.fixture
def plane() -> Iterator[DataPlane]:
    with DataPlane(shop(), listen=False) as plane:
        visit(plane, "phone", email="ada@shop.example", tier=SECRET)
        visit(plane, "laptop", email="ada@shop.example", tier="gold")
        yield plane


@pytest.mark.parametrize("id", ["ada", "ADA@shop.example ", "phone"])
def test_a_person_is_found_by_any_id(plane: DataPlane, id: str) -> None:
    """Also by an e-mail address, and by the id of a device that was merged."""
    person = plane.person(id)

    assert {key: len(profiles) for key, profiles in person.items()} == {"br": 1, "mp": 1}
    assert person["br"][0].ids["external_id"] == "ada"
    assert person["br"][0].members["attributes"] == {"email": "ada@shop.example", "tier": "gold"}
    assert person["mp"][0].counts == {"events": 2}
    assert [loss.rule for loss in person.lost] == ["bz.identify.same_label"]


def test_profiles_that_a_vendor_did_not_merge_are_separate(plane: DataPlane) -> None:
    """Mixpanel merges the laptop into Ada; Braze keeps a second profile."""
    person = plane.person("laptop")

    assert [profile.ids.get("external_id") for profile in person["br"]] == [None]
    assert [profile.ids["distinct_id"] for profile in person["mp"]] == ["ada"]
    merged = person["mp"][0].merged
    assert [one.ids["distinct_id"] for one in merged] == ["phone", "laptop"]
    assert [one.version.endpoint for one in merged if one.version] == ["POST /import"] * 2
    assert {finding.rule for one in merged if one.version for finding in one.version.findings} == {
        "mp.id.original_merge"
    }


def test_the_time_line_has_each_request_with_before_and_after(plane: DataPlane) -> None:
    """A change has its request, the message ids of its events, the vendor's rules, and the profile on both sides."""
    created, joined, named, renamed = plane.person("ada")["br"][0].versions

    assert (created.before, created.endpoint, created.events) == (None, "POST /users/track", ("phone-1",))
    assert (joined.endpoint, [finding.rule for finding in joined.findings]) == (
        "POST /users/identify",
        ["bz.identify.new"],
    )
    assert named.before is not None
    assert named.after is not None
    assert (named.before["attributes"], named.after["attributes"]["email"]) == ({}, "ada@shop.example")
    assert renamed.before == named.after
    assert renamed.after is not None
    assert renamed.after["attributes"]["tier"] == "gold"
    assert [version.request for version in (created, joined, named)] == [1, 2, 3]


def test_a_frame_compares_destinations(plane: DataPlane) -> None:
    """Each member of a profile is a row, without secrets."""
    frame = plane.person("ada").frame()
    wide = frame.pivot(index="member", columns="destination", values="value")

    assert wide.loc["attributes.tier"].tolist() == ["gold", "gold"]
    assert wide.loc["rows.events"].tolist() == ["1", "2"] or wide.loc["rows.events"].tolist() == [1, 2]
    assert SECRET not in frame.to_csv()


def test_the_display_has_a_picture_of_merges_and_no_secret(plane: DataPlane) -> None:
    """The picture has a text alternative that says who was merged, and why."""
    person = plane.person("ada")
    html = person._repr_mimebundle_()["text/html"]

    assert 'aria-label="Merged into distinct_id ada: distinct_id phone (request 3: mp.id.original_merge);' in html
    assert "bz.identify.same_label" in html
    assert SECRET not in html + repr(person)
    assert repr(person) == "<ada: br 1, mp 1; 1 lost>"
    assert "no destination holds a profile with" in plane.person("bob")._repr_mimebundle_()["text/html"]


def test_the_explorer_follows_the_data_plane(plane: DataPlane) -> None:
    """Without a person it shows all tables; a search, and events that arrive, change what is shown."""
    explorer = HeldExplorer(plane)
    try:
        assert explorer.wait()
        assert "br: profiles 2, events 2; 1 lost" in explorer.static()
        explorer.show("bob@shop.example")
        assert explorer.wait()
        assert explorer.found is not None
        assert not any(explorer.found.values())
        plane.send({"type": "identify", "userId": "bob", "traits": {"email": "bob@shop.example"}}, source="web")
        plane.drain()
        until(lambda: repr(explorer) == "<HeldExplorer: <bob@shop.example: br 1, mp 1; 0 lost>>")
    finally:
        explorer.close()


def test_the_page_shows_a_person_at_one_destination_or_all(tmp_path: Path) -> None:
    """The fragments of the page have the same parts, for a run."""
    with DataPlane(shop()) as plane:
        plane.send({"type": "identify", "userId": "ada", "traits": {"tier": SECRET}}, source="web", run="r")
        plane.drain()

        def page(**query: str) -> str:
            asked = httpx.get(
                f"{plane.url}/console/held",
                params=query,
                headers={"Authorization": f"Bearer {plane.token}"},
                timeout=60,
            )
            return f"{asked.status_code} {asked.text}"

        assert "br (Braze)" in page(id="ada", run="r")
        assert "mp (Mixpanel)" in page(id="ada", run="r")
        assert "br (Braze)" not in page(id="ada", run="r", destination="mp")
        assert "no destination holds a profile" in page(id="ada")
        assert "mp: profiles 1; 0 lost" in page(run="r", destination="mp")
        assert "is simulated" in page(destination="hook")
        assert page(ids="ada").startswith("400 ")
        assert SECRET not in page(run="r") + page(id="ada", run="r")


def test_a_time_line_continues_after_a_restart(tmp_path: Path) -> None:
    """Profiles and merges that were stored are known; their earlier changes are not."""
    store = tmp_path / "plane.db"
    with DataPlane(shop(), listen=False, store=store) as plane:
        visit(plane, "phone", email="ada@shop.example")
    with DataPlane(shop(), listen=False, store=store) as plane:
        visit(plane, "laptop", email="ada@shop.example", tier="gold")
        person = plane.person("ada")["mp"][0]

        assert person.versions[0].endpoint == "restored"
        assert [one.ids for one in person.merged] == [{}, {"distinct_id": "laptop"}]


def test_objects_of_the_account_and_given_rows_survive_a_restart(tmp_path: Path) -> None:
    """They are stored with the first request, and not added again."""
    account: dict[str, Any] = {"objects": [{"type": "contacts", "id": "101", "properties": {"email": "a@b.example"}}]}
    made = Workspace("shop")
    made.destination("hs", "HS", config={"accessToken": "t"}, simulate="simulated", account=account)
    store = tmp_path / "plane.db"
    ids = []
    for sent in ("GET", "GET", "GET"):
        with DataPlane(made, store=store) as plane:
            if not ids:
                plane.simulation("hs").give({"profiles": [{"ids": {"email": "given@b.example"}}]})
            url, key = f"{plane.url}/simulated/hs/crm/v3/objects/contacts/101", {"Authorization": "Bearer t"}
            httpx.request(sent, url, headers=key, timeout=60)
            ids.append(sorted(str(row["ids"].get("email")) for row in plane.held("hs").profiles))

    assert ids == [["a@b.example", "given@b.example"]] * 3
