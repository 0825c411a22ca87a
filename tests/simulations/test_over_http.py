"""A served data plane shows what simulated destinations hold, and has the vendors' own endpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace, runner
from svctoolkit.cli import main
from svctoolkit.server import Backoff, banner
from svctoolkit.workspace import Person

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

    assert held() == "br  BRAZE  simulated: profiles 1, events 0, purchases 0; 1 lost\n"
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
        shown = capsys.readouterr().out
        assert ("profiles, events, with `simulate: simulated`" in shown) is expected
        assert (" folded" in shown) is expected


def test_definitions_list_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """With effect, level, limit, source and date."""
    assert main(["definitions", "mp", "--rules"]) == 0
    shown = capsys.readouterr().out
    assert "mp.import.insert_id  refused, simulated, limit 36" in shown
    assert "checked 2026-" in shown
    assert main(["definitions", "WEBHOOK", "--rules"]) != 0
    assert "unknown simulated destination type" in capsys.readouterr().err
    assert main(["definitions", "--rules"]) != 0


@pytest.fixture
def service() -> Iterator[DataPlane]:
    shop = Workspace.loads(SERVED)
    with DataPlane(shop, simulate="simulated", backoff=Backoff(scale=0)) as plane:
        yield plane


SERVED = """
sources: {web: {destinations: [kl, mp]}}
destinations:
  kl: {type: KLAVIYO, config: {publicApiKey: p, privateApiKey: k}}
  mp: {type: MP, config: {token: t1, strictMode: true}}
"""
NOW = datetime.now(UTC).isoformat()
CART = [
    {"type": "track", "event": "Product Added", "userId": "ada", "context": {"traits": {"email": "ada@shop.example"}}}
    | {"properties": {"sku": sku}, "messageId": f"cart-{sku}", "timestamp": NOW}
    for sku in "ab"
]


def expect(plane: DataPlane, expected: Any, **more: Any) -> tuple[int, Any]:
    answer = httpx.post(f"{plane.url}/inspect/expect", json={"expect": expected, "timeout": 60, **more}, timeout=120)
    return answer.status_code, answer.json()


def send(plane: DataPlane, *events: Any, run: str = "") -> None:
    for event in events:
        plane.send(event, source="web", run=run)
    plane.drain()


def test_fates_have_losses_next_to_them(service: DataPlane) -> None:
    """The event that Klaviyo folded is delivered, and `lost` says what happened to it, in lists and in one event."""
    send(service, *CART)
    fates = get(service, "fates", destination="kl")["items"]

    assert [fate["status"] for fate in fates] == ["delivered", "delivered"]
    assert sorted(len(fate["lost"]) for fate in fates) == [0, 1]
    (loss,) = [loss for fate in fates for loss in fate["lost"]]
    assert (loss["what"], loss["rule"], loss["destination"]) == ("folded", "kl.fold.second", "kl")
    assert "Klaviyo OpenAPI" in loss["source"]
    assert loss["text"].startswith("folded: ")
    assert [fate["lost"] for fate in get(service, "fates", destination="mp")["items"]] == [[], []]
    seq = next(fate["number"] for fate in fates if fate["lost"])
    shown = {fate["destination"]: fate["lost"] for fate in get(service, f"arrivals/{seq}")["fates"]}
    assert shown == {"kl": [loss], "mp": []}


def test_a_test_in_any_language_can_expect_what_is_held(service: DataPlane) -> None:
    """`holds` and `lost` as in suites; the message has rule and source."""
    send(service, *CART, run="checkout")
    held = {"kl": {"counts": {"profiles": 1, "events": 1}}, "mp": {"events": [{"id": "cart-a"}, {"id": "cart-b"}]}}
    folded = {"kl": [{"what": "folded", "rule": "kl.fold.second"}], "mp": []}
    assert expect(service, {"holds": held, "lost": folded}, run="checkout", received=2)[0] == 200

    status, verdict = expect(service, {"holds": {"kl": {"counts": {"events": 2}}}}, run="checkout", timeout=0)
    assert (status, verdict["differences"][0]["path"]) == (409, ["holds", "kl", "counts", "events"])
    assert verdict["message"].startswith("kl: 1 event held, not 2; folded: ")
    assert "kl.fold.second; Klaviyo OpenAPI" in verdict["message"]
    assert expect(service, {"lost": []}, run="checkout", timeout=0)[1]["message"].startswith("lost: kl: folded")


def test_an_expectation_may_be_about_one_destination(service: DataPlane) -> None:
    """`destination` applies to `holds` and `lost` as well; without a run, `lost` is about all runs."""
    send(service, *CART, run="other")
    assert expect(service, {"lost": []}, destination="mp")[0] == 200
    assert (
        expect(service, {"lost": [{"what": "folded"}], "holds": {"counts": {"events": 0}}}, destination="kl")[0] == 200
    )


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ({"holds": {"kl": {"evnts": []}}}, "expect.holds.kl.evnts: KLAVIYO has no simulated table 'evnts'"),
        ({"holds": {"counts": {"events": 1}}}, "several destinations are simulated: write {kl: ...}"),
        ({"holds": {"kl": {"events": [{"name": {"$regexx": 1}}]}}}, "unknown matcher"),
        ({"hold": {}}, "Did you mean 'holds'"),
    ],
)
def test_an_expectation_that_can_never_be_met_is_refused(service: DataPlane, expected: Any, says: str) -> None:
    """400 with the place of the mistake."""
    status, answer = expect(service, expected, timeout=0)
    assert (status, says in answer["message"]) == (400, True), answer


SUITE = """
lost: forbid
scenarios:
  - name: both cart events are kept
    source: web
    given: {kl: {profiles: [{ids: {email: ada@shop.example}, attributes: {title: Dr}}]}}
    send: %s
    expect:
      holds:
        kl: {counts: {profiles: 1, events: 1}, profiles: [{attributes: {title: Dr}}]}
        mp: {counts: {events: 2}}
      lost: {kl: [{rule: kl.fold.second}], mp: []}
"""


def remote_run(url: str, token: str) -> Any:
    """Run the suite against a service; the suite is checked for a workspace whose destinations are simulated."""
    suite = runner.loads(SUITE % json.dumps(CART), Workspace.loads(SERVED).at_level("simulated"))
    with closing(runner.remote_planes(url, "ci@shop.example", token, limit=60)) as planes:
        return [runner.attempt(scenario, planes) for scenario in suite.scenarios for _ in range(2)]


def test_a_suite_runs_against_a_remote_plane() -> None:
    """`given`, `holds` and `lost` work at a served data plane, also the second time."""
    shop = Workspace.loads(SERVED)
    shop.users = [Person.with_token("ci@shop.example", "t0ken")]
    with DataPlane(shop, simulate="simulated") as plane:
        outcomes = remote_run(plane.url, "t0ken")

    assert [runner.explanation(outcome) for outcome in outcomes if not outcome.ok] == []


def test_a_remote_plane_without_simulation_is_a_clear_error() -> None:
    """The suite cannot be run there; the message says what to do."""
    shop = Workspace.loads(SERVED)
    shop.users = [Person.with_token("ci@shop.example", "t0ken")]
    with DataPlane(shop) as plane:
        outcomes = remote_run(plane.url, "t0ken")

    text = runner.explanation(outcomes[0])
    assert "destination 'kl' is not simulated" in text
    assert "start the service with `svctoolkit serve --simulate`" in text


def test_answers_have_what_vendors_libraries_read(service: DataPlane) -> None:
    """mixpanel 5.4 sends `verbose` in a form and reads an object; klaviyo-api 25 refuses resources without `links`."""
    url, auth = f"{service.url}/simulated", {"Authorization": "Klaviyo-API-Key k"}
    event = {"event": "Signed Up", "properties": {"distinct_id": "ada", "token": "t1", "time": 1795541377}}
    form = {"data": json.dumps(event), "verbose": 1, "ip": 0}
    tracked = httpx.post(f"{url}/mp/track", data=form, timeout=60)
    profile = {"data": {"type": "profile", "attributes": {"email": "bob@shop.example"}}}
    created = httpx.post(f"{url}/kl/api/profiles", json=profile, headers=auth, timeout=60)
    listed = httpx.get(f"{url}/kl/api/profiles", headers=auth, timeout=60).json()

    assert tracked.json() == {"status": 1, "error": None}
    assert created.json()["data"]["links"]["self"].endswith(f"/profiles/{created.json()['data']['id']}/")
    assert listed["links"]["self"]
    assert listed["data"][0]["links"]["self"]


def test_serve_says_where_to_see_what_is_held(service: DataPlane) -> None:
    """The first lines name the simulated destinations; without any there is no such line."""
    assert f"simulated      kl, mp; `svctoolkit held --url {service.url}`" in banner(service)
    with DataPlane(Workspace.loads(SERVED)) as plane:
        assert "simulated" not in banner(plane)
