"""Replays of events that a data plane has stored."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.errors import ConfigError
from svctoolkit.replay import Replayed, compare, replay
from svctoolkit.sqlite import Connection
from tests.replay.shops import ndjson, order, orders


def shop(*, app: tuple[str, ...] = ("hook", "crm")) -> Workspace:
    """Two sources; the transformation sees their ids."""
    made = Workspace("shop")
    made.transformation(
        "clean", language="javascript", code="export const transformEvent = (e, m) => ({ ...e, via: m(e).sourceId })"
    )
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"}, transformation="clean")
    made.destination("crm", "WEBHOOK", config={"webhookUrl": "https://crm.example/in"})
    made.source("web", destinations=["hook"])
    made.source("app", destinations=list(app))
    return made


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[DataPlane]:
    """A data plane with a store."""
    with DataPlane(shop(), store=tmp_path / "events.db", listen=False) as made:
        yield made


def send(plane: DataPlane) -> None:
    """Send two events from one source, three from the other."""
    plane.send(orders(2), source="web")
    plane.send([order(n) for n in range(2, 5)], source="app", run="r1")
    plane.drain(60)


def payloads(result: Replayed) -> set[tuple[str, str, str]]:
    """The payloads of a replay: messageId, destination, payload."""
    frame = result.frame()
    sent = frame[(frame.stage == "dest_transform") & (frame.status == "ok")]
    return {(row.event_id, row.destination_id, row.output) for row in sent.itertuples()}


def delivered(plane: DataPlane) -> set[tuple[str, str, str]]:
    """The payloads that the data plane delivered, in the same form."""
    return {
        (d.message_id, d.destination, json.dumps(d.payload, separators=(",", ":"), ensure_ascii=False))
        for d in plane.delivered
    }


@pytest.mark.parametrize("workers", [1, 2])
def test_a_replayed_store_gives_the_delivered_payloads(plane: DataPlane, tmp_path: Path, workers: int) -> None:
    """Each event goes to the destinations of its source, with the source in the metadata, as the same payload."""
    send(plane)
    sent = delivered(plane)
    plane.stop()
    result = replay(tmp_path / "events.db", shop(), workers=workers)

    assert payloads(result) == sent
    assert {key: dict(counts) for key, counts in result.counts.items()} == {
        "hook": {"delivered": 5},
        "crm": {"delivered": 3},
    }
    assert result.frame().place[0] == f"{tmp_path / 'events.db'}:1"


def test_a_running_data_plane_is_an_input(plane: DataPlane) -> None:
    """The object, its `received`, and the events of one run can be read like its store."""
    send(plane)

    assert payloads(replay(plane, shop())) == payloads(replay(plane.received, shop())) == delivered(plane)
    assert replay(plane.of_run("r1"), shop()).events == 3


@pytest.mark.slow
def test_a_store_is_read_while_a_data_plane_writes_to_it(plane: DataPlane, tmp_path: Path) -> None:
    """Neither waits for the other: every replay has the events present at its start, and no event is refused."""
    send(plane)
    ended, answers = Event(), []

    def client() -> None:
        while not ended.is_set():
            answers.append(plane.send(orders(50), source="web").status)

    thread = Thread(target=client)
    thread.start()
    try:
        seen = [replay(tmp_path / "events.db", shop(), rows=False).events for _ in range(4)]
    finally:
        ended.set()
        thread.join()

    assert 5 <= seen[0] <= seen[1] <= seen[2] <= seen[3] <= len(plane.received)
    assert all((count - 5) % 50 == 0 for count in seen)
    assert set(answers) == {200}


def test_the_store_is_not_changed(plane: DataPlane, tmp_path: Path) -> None:
    """A replay only reads: the bytes of the file stay the same."""
    send(plane)
    plane.stop()
    before = (tmp_path / "events.db").read_bytes()
    replay(tmp_path / "events.db", shop())

    assert (tmp_path / "events.db").read_bytes() == before


def test_a_removed_connection_is_a_change(plane: DataPlane, tmp_path: Path) -> None:
    """Its events are newly dropped at that destination, and only those."""
    send(plane)
    result = compare(tmp_path / "events.db", shop(), shop(app=("hook",)))

    assert {key: dict(counts) for key, counts in result.counts.items()} == {
        "hook": {"same": 5},
        "crm": {"newly dropped": 3},
    }


def test_a_workspace_without_sources_takes_every_event(plane: DataPlane, tmp_path: Path) -> None:
    """To try a new destination, no source needs to be declared."""
    send(plane)
    alone = Workspace()
    alone.destination("new", "WEBHOOK", config={"webhookUrl": "https://new.example"})

    assert dict(replay(tmp_path / "events.db", alone).counts["new"]) == {"delivered": 5}


def test_a_replay_of_a_grown_store_cannot_be_resumed(plane: DataPlane, tmp_path: Path) -> None:
    """With new events the result would not be exact, so it is refused; an unchanged store can be resumed."""
    send(plane)
    replay(tmp_path / "events.db", shop(), out=tmp_path / "out")
    again = replay(tmp_path / "events.db", shop(), out=tmp_path / "out", resume=True)
    plane.send(orders(1), source="web")

    assert again.events == 5
    with pytest.raises(ConfigError, match="the input has changed"):
        replay(tmp_path / "events.db", shop(), out=tmp_path / "out", resume=True)


def broken(path: Path) -> None:
    """A database with one unreadable request between two readable ones."""
    with DataPlane(shop(), store=path, listen=False) as plane:
        for number in range(3):
            plane.send(order(number), source="web")
    with sqlite3.connect(path, factory=Connection) as connection:
        connection.execute("update blocks set body = x'7801ff' where first = 2")
    connection.close()


def test_damage_is_rejected_with_its_position(tmp_path: Path) -> None:
    """Invalid stores and unreadable records are on the reject list; everything else is run."""
    broken(tmp_path / "a.db")
    (tmp_path / "b.db").write_bytes(b"no database at all" * 100)
    sqlite3.connect(tmp_path / "c.sqlite").close()
    ndjson(tmp_path / "d.ndjson", [order(7)])
    result = replay(tmp_path, shop())

    ids: list[Any] = list(dict.fromkeys(result.frame().event_id))
    assert ids == ["m0", "m2", "m7"]
    assert [reject.place.rpartition("/")[2] for reject in result.rejects] == ["a.db:2", "b.db:1", "c.sqlite:1"]
    assert "not the store of a data plane" in result.rejects[1].reason
