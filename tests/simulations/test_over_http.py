"""A served data plane shows what simulated destinations hold, and has the vendors' own endpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main

KEY = "s3cr3t-braze-key"


@pytest.fixture(params=["memory", "file"])
def plane(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DataPlane]:
    shop = Workspace("shop")
    shop.destination("br", "BRAZE", config={"restApiKey": KEY, "dataCenter": "US-01"}, simulate="simulated")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    shop.source("web", destinations=["br", "hook"])
    with DataPlane(shop, store=tmp_path / "plane.db" if request.param == "file" else None) as plane:
        plane.send(
            {"type": "identify", "userId": "ada", "context": {"traits": {"tier": "gold", "note": KEY}}}, source="web"
        )
        plane.drain()
        yield plane


def get(plane: DataPlane, path: str, **query: str) -> Any:
    answer = httpx.get(f"{plane.url}/inspect/{path}", params=query, timeout=60)
    return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["message"])


def test_held_rows_over_http(plane: DataPlane) -> None:
    """An overview, the state of a destination, the rows of a table, and those with an id; secrets are masked."""
    assert get(plane, "held") == {
        "br": {"type": "BRAZE", "level": "simulated", "rows": {"profiles": 1, "events": 0, "purchases": 0}, "lost": 0}
    }
    assert get(plane, "held/br")["tables"]["profiles"][0]["attributes"]["tier"] == "gold"
    assert KEY not in str(get(plane, "held/br"))
    assert len(get(plane, "held/br/profiles", id="ada")["items"]) == 1
    assert get(plane, "held/br/profiles", id="bob")["items"] == []
    assert get(plane, "held/br/profiles", run="other")["items"] == []
    assert get(plane, "lost") == {"items": []}
    assert get(plane, "held/br/people") == (404, "no table is called 'people'; it has profiles, events, purchases")
    assert get(plane, "held/hook")[0] == 404
    assert get(plane, "held/nowhere")[0] == 404
    assert get(plane, "lost", runs="x")[0] == 400


def test_a_vendors_sdk_works_against_the_plane(plane: DataPlane) -> None:
    """The vendor's key, bodies, answers and read-back; what is posted there is held, too."""
    url, headers = f"{plane.url}/simulated/br", {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=url, headers=headers, timeout=60) as braze:
        body = {"attributes": [{"external_id": "bob", "tier": "silver"}], "events": [{"name": "A"}]}
        answer = braze.post("/users/track", json=body)
        exported = braze.post("/users/export/ids", json={"external_ids": ["ada", "bob"]})
        refused = httpx.post(f"{url}/users/track", json={}, headers={"Authorization": "Bearer other"}, timeout=60)

        assert (answer.status_code, answer.json()["attributes_processed"]) == (201, 1)
        assert answer.json()["errors"][0]["input_array"] == "events"
        assert [user["custom_attributes"]["tier"] for user in exported.json()["users"]] == ["gold", "silver"]
        assert (refused.status_code, refused.json()) == (401, {"message": "Invalid API Key"})
        assert braze.get("/campaigns/list").status_code == 404
    assert [loss["rule"] for loss in get(plane, "lost", destination="br")["items"]] == ["bz.id.required", "bz.auth"]
    assert len(get(plane, "held/br/profiles")["items"]) == 2


def test_vendor_endpoints_are_for_programs_on_this_machine(plane: DataPlane) -> None:
    """A web page cannot use them."""
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        answer = httpx.post(f"{plane.url}/simulated/br/users/track", json={}, headers=headers, timeout=60)
        assert answer.status_code == 401


def test_a_state_can_be_given_over_http(plane: DataPlane) -> None:
    """With the plane's token; rows of the wrong form are refused."""

    def give(state: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {plane.token}"}
        return httpx.post(f"{plane.url}/admin/held/br", json={"state": state, "run": "r"}, headers=headers, timeout=60)

    assert give({"profiles": [{"ids": {"external_id": "eve"}}]}).status_code == 200
    assert get(plane, "held/br/profiles", run="r", id="eve")["items"][0]["attributes"] == {}
    assert give({"profiles": {}}).status_code == 400
    assert give({"events": [{"name": "A", "under": {"external_id": "nobody"}}]}).status_code == 400
    assert httpx.post(f"{plane.url}/admin/held/br", json={"state": {}}, timeout=60).status_code == 401


def test_reset_over_http_empties_the_state(plane: DataPlane) -> None:
    """Of one run, or of all."""
    headers = {"Authorization": f"Bearer {plane.token}"}
    httpx.post(f"{plane.url}/admin/reset", json={"run": "other"}, headers=headers, timeout=60)
    assert len(get(plane, "held/br/profiles")["items"]) == 1
    httpx.post(f"{plane.url}/admin/reset", json={}, headers=headers, timeout=60)
    assert get(plane, "held/br/profiles")["items"] == []


def test_the_command_shows_rows_and_losses(plane: DataPlane, capsys: pytest.CaptureFixture[str]) -> None:
    """An overview, a destination, rows with an id, JSON, and clear errors."""
    plane.simulation("br").answer(
        "POST", "https://rest.iad-01.braze.com/users/track", None, {"events": [{"name": "A"}]}
    )

    def held(*arguments: str) -> str:
        assert main(["held", "--url", plane.url, *arguments]) == 0
        return capsys.readouterr().out

    assert held() == "br  BRAZE  simulated: 1 profiles, 0 events, 0 purchases, 1 lost\n"
    assert "refused: events 0: an object needs external_id" in held("br")
    assert '"external_id": "ada"' in held("br", "profiles", "--id", "ada")
    assert held("br", "events") == "no rows\n"
    assert held("br", "--json").startswith("{")
    assert main(["held", "--url", plane.url, "hook"]) != 0
    assert "WEBHOOK has no simulation" in capsys.readouterr().err
    assert main(["held", "--url", "http://127.0.0.1:9"]) != 0
    assert "svctoolkit serve --simulate" in capsys.readouterr().err
    assert main(["held", "--id", "x"]) != 0


def test_definitions_say_what_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    """The tables and the number of rules; nothing for other types."""
    for type, expected in (("KLAVIYO", True), ("WEBHOOK", False)):
        assert main(["definitions", type]) == 0
        assert ("profiles, events; " in capsys.readouterr().out) is expected
