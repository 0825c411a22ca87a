"""`pipeline.deliveries`: the requests that events make, and why events are in separate ones."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.errors import Unsupported
from svctoolkit.pipeline import Pipeline

BRAZE = {"restApiKey": "k-secret-1", "dataCenter": "EU-01", "appKey": "a-1"}


def event(number: int, **members: Any) -> dict[str, Any]:
    return {"type": "track", "event": "Product Viewed", "userId": f"u{number}", **members}


@pytest.fixture
def pipeline() -> Pipeline:
    workspace = Workspace("shop")
    workspace.destination("braze", "BRAZE", config=BRAZE)
    workspace.destination("am", "AM", config={"apiKey": "k-1"})
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.destination("s3", "S3", config={"bucketName": "b"})
    return Pipeline(workspace)


def test_events_share_a_request(pipeline: Pipeline) -> None:
    """Twenty events are one request; later ones are another call, and say so."""
    deliveries = pipeline.deliveries("braze", [event(n) for n in range(25)])

    assert [d.events for d in deliveries] == [tuple(range(20)), tuple(range(20, 25))]
    assert [d.reason for d in deliveries] == ["", "another call: each has 20 jobs"]
    assert len(deliveries.payloads) == 2
    assert len(pipeline.recorder.requests) == 0


@pytest.mark.parametrize(("jobs", "requests"), [(1, 25), (10, 3), (100, 1)])
def test_the_batch_size_can_be_changed(pipeline: Pipeline, jobs: int, requests: int) -> None:
    """The number of requests with calls of another size."""
    assert len(pipeline.deliveries("braze", [event(n) for n in range(25)], jobs=jobs)) == requests


def test_separate_requests_have_a_reason(pipeline: Pipeline) -> None:
    """Amplitude takes a batch of one user; alias has another URL. Each says how it differs."""
    events = [event(0), event(1), event(0), event(0, type="alias", previousId="p")]
    deliveries = pipeline.deliveries("am", events)

    assert [d.events for d in deliveries] == [(0, 2), (1,), (3,)]
    assert deliveries[1].reason == "another address: https://api2.amplitude.com/2/httpapi"
    assert deliveries[2].reason.startswith("another address: https://api2.amplitude.com/usermap")


def test_refused_and_dropped_events_are_listed(pipeline: Pipeline) -> None:
    """The others stay together."""
    pipeline.workspace.transformation("clean", lambda event: None if event.get("event") == "Internal" else event)
    pipeline.workspace.destinations["braze"].transformation = "clean"
    deliveries = pipeline.deliveries("braze", [event(0), event(1, event="Internal"), event(2, type="alias"), event(3)])

    assert {d.status: d.events for d in deliveries} == {"dropped": (1,), "refused": (2,), "sent": (0, 3)}
    assert "previousId" in next(d.error for d in deliveries if d.status == "refused")


def test_processor_types_share_no_requests(pipeline: Pipeline) -> None:
    """A webhook gets one event at a time, and says why."""
    first, second = pipeline.deliveries("hook", [event(0), event(1)])

    assert (first.events, second.events, first.reason) == ((0,), (1,), "")
    assert second.reason == "RudderStack makes its payloads in the processor, one event at a time"


def test_types_without_requests_are_an_error(pipeline: Pipeline) -> None:
    """They have no deliveries."""
    with pytest.raises(Unsupported):
        pipeline.deliveries("s3", [event(0)])


def test_deliveries_convert_to_frame_and_text(pipeline: Pipeline) -> None:
    """A row for each event; no secret is shown."""
    deliveries = pipeline.deliveries("braze", [event(0), event(1), event(2, type="alias")])
    frame = deliveries.frame()

    assert frame["event"].tolist() == [0, 1, 2]
    assert frame["together"].tolist() == [2, 2, 1]
    assert frame["status"].tolist() == ["sent", "sent", "refused"]
    assert "events 0, 1: sent: POST https://rest.fra-01.braze.eu/users/track" in repr(deliveries)
    shown = f"{frame.to_csv()}{deliveries!r}{deliveries._repr_mimebundle_()}"
    assert "k-secret-1" not in shown


def test_a_single_event_gives_the_routers_request() -> None:
    """The Test API shows what the router sends for this event alone: a list of one."""
    workspace = Workspace("shop")
    together = {"isBatchingEnabled": True, "maxBatchSize": 10, "isDefaultMapping": True}
    workspace.destination("http", "HTTP", config={"apiUrl": "https://shop.example/in", **together})
    pipeline = Pipeline(workspace)
    (result,) = pipeline.test_destination("http", event(1)).data
    (alone,) = pipeline.deliveries("http", [event(1)])

    assert result.payloads == list(alone.payloads)
    assert '"userId":"u1"' in result.payloads[0]["body"]["JSON_ARRAY"]["batch"]


def test_a_refusal_of_the_router_is_that_of_the_mapping() -> None:
    """It is the stage's error, with the mapping's text."""
    workspace = Workspace("shop")
    workspace.destination("braze", "BRAZE", config=BRAZE)
    (result,) = Pipeline(workspace).test_destination("braze", event(1, type="alias")).data

    assert result.dest_transformed_payload == {"error": "needs a value at previousId"}
