"""Stage rules of the Test API specification that need a user transformation or a failing destination.

The others are in `suites/`. All requests use the HTTP route.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from svctoolkit import Pipeline, Workspace
from svctoolkit.delivery import Answer, Recorder
from svctoolkit.server import app
from svctoolkit.workspace import Person

EVENT = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {"revenue": 10}}
ALL = {"user_transform": True, "dest_transform": True, "send_to_destination": True}
USER_ABORT = "error encountered in user_transformation stage. Aborting."
DEST_ABORT = "error encountered in dest_transformation stage. Aborting."


class Shop:
    """One WEBHOOK destination with `transform`, served, with a recorder as its only network."""

    def __init__(self, transform: Callable[..., Any], *, config: dict[str, Any] | None = None) -> None:
        workspace = Workspace("shop", users=[Person.with_token("dev@example.com", "token")])
        workspace.transformation("clean", transform)
        settings = {"webhookUrl": "https://hook.example/in", **(config or {})}
        workspace.destination("hook", "WEBHOOK", config=settings, transformation="clean")
        workspace.destination("plain", "WEBHOOK", config=settings)
        workspace.source("web", destinations=["hook", "plain"])
        self.recorder = Recorder()
        self._app = app(workspace, pipeline=Pipeline(workspace, transport=self.recorder))

    def test(self, path: str = "testDestination/hook", stage: dict[str, bool] = ALL) -> Any:
        answer = asyncio.run(self._post(f"http://plane/v0/{path}", {"message": EVENT, "stage": stage}))
        assert answer.status_code == 200
        return answer.json()

    async def _post(self, url: str, body: dict[str, Any]) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app), timeout=60) as client:
            return await client.post(url, json=body, auth=("dev@example.com", "token"))

    def data(self, stage: dict[str, bool] = ALL) -> list[dict[str, Any]]:
        return list(self.test(stage=stage)["data"])


def renamed(event: dict[str, Any]) -> dict[str, Any]:
    event["event"] = "order_completed"
    return event


def broken(event: dict[str, Any]) -> None:
    raise ValueError("no such currency")


def test_rule_1_the_transformed_event() -> None:
    """The stage returns the transformation's event, and the next stages continue with it."""
    shop = Shop(renamed)
    (entry,) = shop.data()

    assert entry["user_transformed_payload"] == {**EVENT, "event": "order_completed"}
    assert entry["dest_transformed_payload"][0]["body"]["JSON"]["event"] == "order_completed"
    assert shop.recorder.requests[0].json["event"] == "order_completed"


def test_rule_3_without_the_stage_the_transformation_does_not_run() -> None:
    """With `user_transform` off, the mapping gets the original event."""
    (entry,) = Shop(broken).data({"user_transform": False, "dest_transform": True, "send_to_destination": False})

    assert list(entry) == ["dest_transformed_payload"]
    assert entry["dest_transformed_payload"][0]["body"]["JSON"] == EVENT


def test_rule_4_an_error_aborts_the_later_stages() -> None:
    """Each later stage has the specified text and no status, and nothing is sent."""
    shop = Shop(broken)
    (entry,) = shop.data()

    assert "no such currency" in entry.pop("user_transformed_payload")["error"]
    assert entry == {"dest_transformed_payload": {"error": USER_ABORT}, "destination_response": {"error": DEST_ABORT}}
    assert len(shop.recorder.requests) == 0


@pytest.mark.parametrize(
    ("stage", "members"),
    [
        ({"dest_transform": False, "send_to_destination": False}, []),
        ({"dest_transform": True, "send_to_destination": False}, ["dest_transformed_payload"]),
        ({"dest_transform": False, "send_to_destination": True}, ["destination_response"]),
    ],
)
def test_rule_4_a_disabled_stage_stays_absent(stage: dict[str, bool], members: list[str]) -> None:
    """After an error, too, a stage has fields only if it is on."""
    (entry,) = Shop(broken).data({"user_transform": True, **stage})

    assert list(entry) == ["user_transformed_payload", *members]


def test_a_dropped_event_is_one_entry() -> None:
    """The entry says that it was dropped; the later stages are aborted as after an error."""
    shop = Shop(lambda event: None)

    assert shop.data() == [
        {
            "user_transformed_payload": {"error": "event dropped by user_transformation"},
            "dest_transformed_payload": {"error": USER_ABORT},
            "destination_response": {"error": DEST_ABORT},
        }
    ]
    assert len(shop.recorder.requests) == 0


def test_each_of_several_events_has_an_entry() -> None:
    """A transformation that returns three events for one gives three entries, in order, and three requests."""
    names = ["A", "B", "C"]
    shop = Shop(lambda event: [{**event, "event": name} for name in names])
    data = shop.data()

    assert [entry["user_transformed_payload"]["event"] for entry in data] == names
    assert [entry["dest_transformed_payload"][0]["body"]["JSON"]["event"] for entry in data] == names
    assert [entry["destination_response_status"] for entry in data] == [[200]] * 3
    assert [recorded.json["event"] for recorded in shop.recorder.requests] == names


def test_one_of_several_events_may_fail() -> None:
    """A mapping error affects the entry of its event only."""
    first, second = Shop(lambda event: [{**event, "appendPath": {"a": 1}}, event]).data()

    assert "appendPath" in first["dest_transformed_payload"]["error"]
    assert first["destination_response"] == {"error": DEST_ABORT}
    assert second["destination_response_status"] == [200]


@pytest.mark.parametrize("returned", [5, "event", [5], [[]], True])
def test_a_result_that_is_not_an_event_is_an_error(returned: Any) -> None:
    """The text says what a transformation must return."""
    (entry,) = Shop(lambda event: returned).data()

    assert "an event" in entry["user_transformed_payload"]["error"]
    assert entry["dest_transformed_payload"] == {"error": USER_ABORT}


def test_each_destination_has_its_own_transformation() -> None:
    """`testSource` runs each destination's transformation on the original event."""
    hook, plain = Shop(renamed).test("testSource/web")

    assert hook["data"][0]["user_transformed_payload"]["event"] == "order_completed"
    assert plain["data"][0]["user_transformed_payload"] == {"error": "Transformation VersionID not found"}
    assert plain["data"][0]["dest_transformed_payload"][0]["body"]["JSON"] == EVENT


def test_a_failure_of_the_destination_is_not_an_api_error() -> None:
    """A 404 of the destination is in the response and its status; the Test API itself answers 200."""
    refusal = {"success": False, "error": {"message": "no such list", "id": None}}
    shop = Shop(renamed)
    shop.recorder.answer("hook.example", Answer(status=404, body=refusal))
    (entry,) = shop.data()

    assert entry["destination_response"] == [refusal]
    assert entry["destination_response_status"] == [404]


def test_an_answer_that_is_not_json_is_returned_as_text() -> None:
    """In any form."""
    shop = Shop(renamed)
    shop.recorder.answer("hook.example", Answer(status=200, body="thanks"))
    (entry,) = shop.data()

    assert entry["destination_response"] == ["thanks"]


def test_a_closed_connection_is_a_failure() -> None:
    """With the documented message and a 5xx status."""
    shop = Shop(renamed)
    shop.recorder.answer("hook.example", Answer(close=True))
    (entry,) = shop.data()

    (response,) = entry["destination_response"]
    assert response["success"] is False
    assert "hook.example" in response["error"]["message"]
    assert response["error"]["id"] is None
    assert entry["destination_response_status"][0] >= 500
