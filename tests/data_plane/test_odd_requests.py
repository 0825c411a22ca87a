"""Odd requests to the data plane's own operations: each has an answer that is not a 500."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer

EVENT = {"type": "track", "event": "Seen", "userId": "u1", "messageId": "m1"}


@pytest.fixture(scope="module")
def plane() -> Iterator[DataPlane]:
    workspace = Workspace("shop")
    workspace.destination("lake", "POSTGRES", config={"namespace": "shop"})
    workspace.destination("mp", "MP", config={"token": "t", "dataResidency": "us"}, simulate="simulated")
    workspace.source("web", destinations=["lake"])
    with DataPlane(workspace, listen=False) as plane:
        plane.send(EVENT, source="web")
        plane.drain(60)
        yield plane


def test_a_vendors_endpoint_reads_json_of_any_depth(plane: DataPlane) -> None:
    """The answer was a 500."""
    answer = plane.ingest("POST", "/simulated/mp/engage", body=b"[" * 100_000)

    assert answer.status < 500


def test_a_vendors_endpoint_decompresses_a_limited_amount(plane: DataPlane) -> None:
    """A body of 250 KB took 256 MB of memory, or any more."""
    megabyte = gzip.compress(bytes(2**20))
    tracemalloc.start()
    try:
        answer = plane.ingest("POST", "/simulated/mp/engage", headers={"content-encoding": "gzip"}, body=megabyte * 256)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert answer.text == "0"  # how Mixpanel refuses
    assert peak < 200 * 2**20


@pytest.mark.parametrize("depth", [900, 100_000])
def test_an_answer_of_any_depth_settles_its_events(tmp_path: Path, depth: int) -> None:
    """Deeper than 200 levels, it is a text. The event failed because of a bug in svctoolkit."""
    workspace = Workspace("shop")
    workspace.destination("hook", "MP", config={"token": "t", "dataResidency": "us"})
    workspace.source("web", destinations=["hook"])
    with DataPlane(workspace, listen=False, store=tmp_path / "events.db") as plane:
        plane.script("hook", Answer(200, "[" * depth + "]" * depth))
        plane.send({"type": "identify", "userId": "u1", "traits": {"plan": "pro"}}, source="web")
        plane.drain(60)
        (fate,), (delivery,) = plane.fates, plane.delivered

    assert (fate.status, fate.reason) == ("delivered", "")
    assert delivery.response == "[" * depth + "]" * depth


@pytest.mark.parametrize("path", ["/inspect/deliveries", "/inspect/arrivals/1"])
def test_rows_of_a_warehouse_are_shown(plane: DataPlane, path: str) -> None:
    """Their answers have no headers, which the store leaves out; the answer was a 500."""
    answer = plane.ingest("GET", path)

    assert answer.status == 200
    assert '"headers":{}' in answer.text


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/inspect/expect", {"expect": {"delivered": []}}),
        ("/admin/held/mp", {"state": {}}),
        ("/admin/faults", {"destination": "mp", "profile": {"latency": 1}}),
        ("/v2/regulations", {"regulationType": "suppress_with_delete", "users": [{"userId": "u1"}]}),
    ],
)
def test_half_of_a_character_in_a_name_is_a_bad_request(plane: DataPlane, path: str, body: dict[str, object]) -> None:
    r"""JSON can contain `"\ud83d"`; the answer was a 500."""
    sent = json.dumps({**body, "\ud83d": 0}).encode()
    answer = plane.ingest("POST", path, headers={"Authorization": f"Bearer {plane.token}"}, body=sent)

    assert answer.status == 400
    assert answer.json["message"].endswith("a name contains half of a surrogate pair")
