"""A simulated destination answers wherever its server would: data planes, the Test API, look-ups, after restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Pipeline, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import ConfigError, InvalidMessageType, UsageError
from svctoolkit.pipeline import Stages
from svctoolkit.sqlite import Connection

CONFIGS: dict[str, dict[str, Any]] = {
    "MP": {"token": "t1", "strictMode": True, "identityMergeApi": "simplified"},
    "KLAVIYO": {"publicApiKey": "p", "privateApiKey": "k1"},
    "BRAZE": {"restApiKey": "k1", "dataCenter": "US-01"},
}
TRAITS = {"traits": {"email": "ada@shop.example", "tier": "gold"}}


def workspace(type: str, level: str | None = "simulated", **more: Any) -> Workspace:
    shop = Workspace("shop")
    shop.destination("d", type, config=CONFIGS[type], simulate=level, **more)  # type: ignore[arg-type]
    shop.source("web", destinations=["d"])
    return shop


def track(event: str, user: str = "ada", **members: Any) -> dict[str, Any]:
    return {"type": "track", "event": event, "userId": user, "context": TRAITS, **members}


def fates(plane: DataPlane) -> list[str]:
    return [fate.status for fate in plane.fates]


def lost(plane: DataPlane, run: str = "") -> list[tuple[str, str]]:
    return [(loss.what, loss.rule) for loss in plane.simulation("d", run=run).losses]


def test_what_mixpanel_refuses_fails_and_the_rest_is_delivered() -> None:
    """The judge reads the simulated answer: one record of a batch fails, with the vendor's reason."""
    with DataPlane(workspace("MP"), listen=False) as plane:
        plane.send([track("A", messageId="order:42"), track("A", messageId="good-1")], source="web")
        plane.drain()

        assert fates(plane) == ["failed", "delivered"]
        assert "must only contain alphanumeric" in plane.fates[0].reason
        loss = plane.simulation("d").losses[0]
        assert (loss.rule, loss.events, loss.value) == ("mp.import.insert_id", ("order:42",), "order:42")
        assert "Mixpanel docs" in loss.text


def test_without_simulation_everything_is_as_before() -> None:
    """The default level answers success, and holds nothing."""
    for level in (None, "answers"):
        with DataPlane(workspace("MP", level), listen=False) as plane:
            plane.send(track("A", messageId="order:42"), source="web")
            plane.drain()

            assert fates(plane) == ["delivered"]
            with pytest.raises(UsageError, match="set `simulate: simulated`"):
                plane.simulation("d")


def test_a_workspace_sets_the_level_of_all_destinations() -> None:
    """`delivery.simulate` is the default; types without a simulation keep their answers."""
    shop = workspace("MP", None)
    shop.delivery.simulate = "simulated"
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"})
    with DataPlane(shop, listen=False) as plane:
        plane.send(track("A", messageId="order:42"), source="web")
        plane.drain()

        assert fates(plane) == ["failed"]
        with pytest.raises(UsageError, match="WEBHOOK has no simulation"):
            plane.simulation("hook")
    with pytest.raises(ConfigError, match="Did you mean 'simulated'"):
        workspace("MP", "simulate")


def test_a_lost_answer_counts_an_order_twice_at_braze() -> None:
    """`close="after"`: the server takes the request, and the pipeline sends it again."""
    order = {"currency": "USD", "products": [{"product_id": "p", "price": 5, "quantity": 1}]}
    with DataPlane(workspace("BRAZE"), listen=False) as plane:
        plane.script("d", Answer(close="after"))
        plane.send(track("Order Completed", properties=order), source="web")
        plane.drain()

        assert fates(plane) == ["delivered"]
        assert len(plane.simulation("d").rows("purchases")) == 2


def test_a_retry_is_no_loss_where_the_vendor_folds_it() -> None:
    """Mixpanel keeps one event of a request that was sent twice, and nothing is reported."""
    with DataPlane(workspace("MP"), listen=False) as plane:
        plane.script("d", Answer(close="after"))
        plane.send(track("A", messageId="m-1"), source="web")
        plane.drain()

        assert len(plane.simulation("d").rows("events")) == 1
        assert lost(plane) == []


@pytest.mark.parametrize("answer", [Answer(503, times=1), Answer(close=True, times=1)])
def test_scripts_win_over_the_simulation(answer: Answer) -> None:
    """A scripted failure never reaches the server: the event is held once, after the retry."""
    with DataPlane(workspace("BRAZE"), listen=False) as plane:
        plane.script("d", answer)
        plane.send(track("A"), source="web")
        plane.drain()

        assert len(plane.simulation("d").rows("events")) == 1
        assert len(plane.deliveries) == 2


def test_lookups_are_answered_from_what_is_held() -> None:
    """Klaviyo's older API asks for the profile's ID: the second identify changes the same profile."""
    with DataPlane(workspace("KLAVIYO"), listen=False) as plane:
        for title in ("first", "second"):
            traits = {"email": "ada@shop.example", "title": title}
            plane.send({"type": "identify", "userId": "ada", "context": {"traits": traits}}, source="web")
            plane.drain()

        (profile,) = plane.simulation("d").held()["profiles"]
        assert profile["ids"]["external_id"] == "ada"
        assert profile["attributes"]["title"] == "second"


def test_a_second_device_is_not_joined_at_braze() -> None:
    """The look-up's loss belongs to the identify event that was being mapped."""
    with DataPlane(workspace("BRAZE"), listen=False) as plane:
        for device in ("phone", "laptop"):
            plane.send({"type": "track", "event": "A", "anonymousId": device}, source="web")
            plane.drain()
            identify = {
                "type": "identify",
                "userId": "ada",
                "anonymousId": device,
                "messageId": device,
                "context": TRAITS,
            }
            plane.send({**identify, "messageId": device}, source="web")
            plane.drain()

        assert len(plane.simulation("d").rows("profiles")) == 2
        assert lost(plane) == [("dropped", "bz.identify.same_label")]
        assert plane.simulation("d").losses[0].events == ("laptop",)


def test_the_test_api_delivers_to_the_simulation() -> None:
    """Stage `send_to_destination` shows the vendor's refusal, and what is accepted is held."""
    pipeline = Pipeline(workspace("MP"))
    stages = Stages(send_to_destination=True)
    at = {"timestamp": "2026-08-06T09:00:00Z"}
    bad = pipeline.test_destination("d", track("A", messageId="a:b", **at), stages=stages)
    good = pipeline.test_destination("d", track("A", messageId="a-b", **at), stages=stages)

    assert [entry.destination_response_status for entry in (*bad.data, *good.data)] == [[400], [200]]
    server = pipeline.simulated.server(pipeline.workspace.destination("d"))
    assert [row["id"] for row in server.held()["events"]] == ["a-b"]


def test_state_belongs_to_a_run_and_reset_empties_it() -> None:
    """Runs do not meet, a scenario's steps share a state, and `reset` drops one run or all."""
    with DataPlane(workspace("BRAZE"), listen=False) as plane:
        for run in ("", "r", "r/1", "r/2", "s"):
            plane.send(track("A"), source="web", run=run)
        plane.drain()
        counts = {run: len(plane.simulation("d", run=run).rows("events")) for run in ("", "r", "r/2", "s")}
        assert counts == {"": 1, "r": 3, "r/2": 3, "s": 1}

        plane.reset("r")
        assert [len(plane.simulation("d", run=run).rows("events")) for run in ("", "r", "s")] == [1, 0, 1]
        plane.reset()
        assert [len(plane.simulation("d", run=run).rows("events")) for run in ("", "r", "s")] == [0, 0, 0]


def test_state_survives_a_restart(tmp_path: Path) -> None:
    """A store has rows, ids, owners, folds and losses; the next data plane continues with them."""
    shop, file = workspace("KLAVIYO"), tmp_path / "plane.db"
    at = {"timestamp": "2026-08-06T09:00:00Z", "originalTimestamp": "2026-08-06T09:00:00Z"}
    with DataPlane(shop, listen=False, store=file) as plane:
        plane.send([track("A", **at), track("A", **at), track("B", **at)], source="web")
        plane.drain()
        before, losses = plane.simulation("d").held(), list(plane.simulation("d").losses)
    with DataPlane(shop, listen=False, store=file) as plane:
        assert plane.simulation("d").held() == before
        assert list(plane.simulation("d").losses) == losses
        assert [loss.rule for loss in losses] == ["kl.fold.second"]
        plane.send(
            [track("A", **at), track("C", "bob", context={"traits": {"email": "b@c.example"}}, **at)], source="web"
        )
        plane.drain()

        assert lost(plane) == [("folded", "kl.fold.second")] * 2
        assert len({profile["ids"]["id"] for profile in plane.simulation("d").held()["profiles"]}) == 2
        plane.reset()
        assert plane.simulation("d").held()["profiles"] == []
    with DataPlane(shop, listen=False, store=file) as plane:
        assert plane.simulation("d").held()["profiles"] == []


def test_a_delivery_and_what_it_changed_are_stored_together(tmp_path: Path) -> None:
    """At any time the store has as many held events as deliveries: one transaction has both."""
    import sqlite3

    shop, file = workspace("BRAZE"), tmp_path / "plane.db"
    with DataPlane(shop, listen=False, store=file) as plane, sqlite3.connect(file, factory=Connection) as reader:
        for number in range(200):
            plane.send(track("A", f"u{number}"), source="web")
            if number % 10:
                continue
            reader.execute("begin")
            (held,) = reader.execute("select count(*) from held where kind = 'events'").fetchone()
            (carried,) = reader.execute("select coalesce(sum(events), 0) from deliveries").fetchone()
            reader.execute("commit")
            assert held == carried
        plane.drain()
        assert len(plane.simulation("d").rows("events")) == 200


def test_an_existing_account_knows_people_that_nobody_here_has_seen() -> None:
    """Rules that need to know who is there stay silent."""
    anonymous = {"type": "track", "event": "A", "anonymousId": "phone"}
    user = {"attributes": [{"external_id": "u1", "_update_existing_only": True, "a": 1}]}
    for account, profiles in (("new", 0), ("existing", 1)):
        with DataPlane(workspace("BRAZE", account=account), listen=False) as plane:
            server = plane.simulation("d")
            assert server.answer("POST", "https://rest.iad-01.braze.com/users/track", None, user)[0] == 201
            assert len(server.rows("profiles")) == profiles
            assert len(server.losses) == 1 - profiles
            plane.send(anonymous, source="web")
            plane.drain()
            assert fates(plane) == ["delivered"]


def test_unknown_endpoints_succeed_and_are_counted() -> None:
    """What is not simulated never fails."""
    with DataPlane(workspace("KLAVIYO"), listen=False) as plane:
        server = plane.simulation("d")
        assert server.answer("POST", "https://a.klaviyo.com/api/coupons", None, {"data": {}})[0] == 200
        assert server.unknown == {"POST /api/coupons": 1}
        assert not server.losses


@pytest.mark.parametrize("type", CONFIGS)
@pytest.mark.parametrize(
    "body", [None, "text", 5, [], {}, [None, 5, "x", []], {"data": 5}, {"data": {"attributes": []}}]
)
def test_no_request_makes_a_simulation_fail(type: str, body: Any) -> None:
    """Any body gets an answer from every endpoint."""
    from svctoolkit import simulations

    server = simulations.open(type, CONFIGS[type])
    for endpoint in server.simulation.endpoints:
        method, path = endpoint.split(" ")
        status, _, _ = server.answer(method, f"https://x.example{path.replace('([^/]+)', 'x1')}", None, body)
        assert 200 <= status < 500
    assert server.faults == 0


def test_a_workspace_chooses_brazes_limit() -> None:
    """By default 20 orders of three products make one request, which present contracts refuse; `total` makes two."""
    products = [{"product_id": f"p{n}", "price": 5, "quantity": 1} for n in range(3)]
    orders = [
        track("Order Completed", f"u{n}", properties={"currency": "USD", "products": products}) for n in range(20)
    ]
    for limit, purchases, losses in (("each", 0, {"bz.limit.total"}), ("total", 60, set())):
        shop = Workspace.loads(f"delivery: {{brazeLimit: {limit}}}")
        assert Workspace.loads(shop.dumps()).delivery.braze_limit == limit
        shop.destination("d", "BRAZE", config=CONFIGS["BRAZE"], simulate="simulated")
        shop.source("web", destinations=["d"])
        with DataPlane(shop, listen=False) as plane:
            plane.send(orders, source="web")
            plane.drain()

            assert len(plane.simulation("d").rows("purchases")) == purchases
            assert {rule for _, rule in lost(plane)} == losses


def test_a_loss_in_a_shared_request_belongs_to_its_event() -> None:
    """Of 20 events in one request, only the one whose record is refused has the loss."""

    def order(number: int) -> dict[str, Any]:
        product = {"product_id": "p", "price": 5, "quantity": 101 if number == 7 else 1}
        properties = {"currency": "USD", "products": [product]}
        return track("Order Completed", f"u{number}", messageId=f"m{number}", properties=properties)

    with DataPlane(workspace("BRAZE"), listen=False) as plane:
        plane.send([order(number) for number in range(20)], source="web")
        plane.drain()

        assert len(plane.deliveries) == 1
        losing = {fate.message_id: [loss.rule for loss in fate.lost] for fate in plane.fates if fate.lost}
        assert losing == {"m7": ["bz.purchase.quantity"]}


def test_records_of_a_warehouse_change_the_membership_of_an_audience() -> None:
    """A data plane and a test map record events for the types that take them; for others they are unsupported."""
    shop = Workspace("shop")
    config = {"restApiKey": "k1", "dataCenter": "US-01"}
    audience = {**config, "connection": {"customAttributeName": "in_audience"}}
    shop.destination("members", "BRAZE_AUDIENCE", config=audience, simulate="simulated")
    shop.destination("br", "BRAZE", config=config, simulate="simulated")
    shop.source("warehouse", destinations=["members", "br"])
    records = [
        {"type": "record", "action": action, "messageId": f"m-{user}", "identifiers": {"external_id": user}}
        for action, user in (("insert", "ada"), ("delete", "bob"))
    ]
    with DataPlane(shop) as plane:
        post = httpx.post(
            f"{plane.url}/v1/batch", json={"batch": records}, auth=(plane.write_key("warehouse"), ""), timeout=60
        )
        assert post.status_code == 200
        plane.drain()
        held = plane.simulation("members").held()["profiles"]
        assert [(row["ids"]["external_id"], row["attributes"]) for row in held] == [
            ("ada", {"in_audience": True}),
            ("bob", {"in_audience": False}),
        ]
        others = {fate.reason for fate in plane.fates if fate.destination == "br"}
        assert others == {"message type is unsupported"}

    pipeline = Pipeline(shop)
    result = pipeline.test_destination("members", records[0], simulate="simulated")
    assert result.data[0].statuses == [201]
    with pytest.raises(InvalidMessageType):
        pipeline.test_destination("br", records[0])
