"""A repeated `messageId` is found among any number of events, and after a restart."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Retention
from svctoolkit.server.store.database import Store, insert
from svctoolkit.server.store.digests import Digests
from svctoolkit.server.store.record import encode
from svctoolkit.server.store.retention import Pruner
from svctoolkit.server.store.schema import Received
from tests.data_plane.conftest import basic

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def post(plane: DataPlane, numbers: Iterable[int]) -> None:
    batch = [{"type": "track", "event": "E", "userId": "u", "messageId": f"m{number}"} for number in numbers]
    body = json.dumps({"batch": batch}).encode()
    assert plane.ingest("POST", "/v1/batch", headers=basic("quiet-key"), body=body).status == 200
    plane.drain()


def rows(file: Path, query: str) -> list[tuple[int, ...]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def test_repeats_are_found_among_many_events_and_after_restarts(workspace: Workspace, tmp_path: Path) -> None:
    """Among those that are only in memory, those that are in the table, and those that a process had in memory."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        post(plane, range(9_990))
        post(plane, [5, 9_989])
        saved = [rows(file, "select count(*) from digests")]
        post(plane, range(9_990, 10_020))
        post(plane, [5, 10_000, 10_020])
        saved.append(rows(file, "select count(*) from digests"))
    for start in (10_021, 10_031):
        with DataPlane(workspace, listen=False, store=file) as plane:
            post(plane, [*range(start, start + 10), 7, 10_020, start])

    assert saved == [[(0,)], [(10_020,)]]
    repeats = rows(file, "select seq, id, repeats from events where repeats is not null")
    first = dict(rows(file, "select id, seq from events where repeats is null"))
    assert len(first) == 10_041
    assert [id for _, id, _ in repeats] == [
        "m5", "m9989", "m5", "m10000", "m7", "m10020", "m10021", "m7", "m10020", "m10031"
    ]  # fmt: skip
    assert all(first[id] == earlier for _, id, earlier in repeats)


def test_a_deleted_event_is_not_repeated(workspace: Workspace, tmp_path: Path) -> None:
    """Neither before nor after a restart, which may use its number again."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        post(plane, range(10_001))
        assert plane.reset() == 10_001
        post(plane, [3])
        assert [event.repeats for event in plane.received] == [None]
        plane.reset()
    with DataPlane(workspace, listen=False, store=file) as plane:
        post(plane, [4, 4])
        assert [event.repeats for event in plane.received] == [None, plane.received[0].seq]


def test_a_store_of_the_version_with_an_index_is_migrated(workspace: Workspace, tmp_path: Path) -> None:
    """Its events, however many, are known."""
    file = tmp_path / "plane.db"
    with DataPlane(workspace, listen=False, store=file) as plane:
        post(plane, range(20_002))
    with closing(sqlite3.connect(file)) as connection:
        script = (
            "alter table deliveries drop column accepted; drop table digests; "
            "create index digests on events(digest); pragma user_version=9"
        )
        connection.executescript(script)
    with DataPlane(workspace, listen=False, store=file) as plane:
        post(plane, [1, 20_001, 20_002])

    assert rows(file, "select id, repeats from events where repeats is not null") == [("m1", 2), ("m20001", 20_002)]


def test_the_table_has_few_outdated_entries(tmp_path: Path) -> None:
    """Those of deleted events are removed now and then, a part of the table at a time."""
    store = Store(tmp_path / "plane.db")
    digests = Digests(store)
    pruner = Pruner(store, lambda: NOW, lambda: Retention(events=1_000))
    for first in range(1, 120_001, 500):
        events = [_received(seq) for seq in range(first, first + 500)]

        def save(to: sqlite3.Connection, events: list[Received] = events) -> None:
            insert(to, Received, encode(events))
            digests.save(to, events)

        store.write(save).result()
        digests.saved(events)
        pruner.after(events[-1].seq)
    store.flush()
    ((kept,),) = store.read("select count(*) from events")
    ((outdated,),) = store.read("select count(*) from digests where seq not in (select seq from events)")
    newest = digests.earlier([_digest(120_000), _digest(119_800), _digest(110_000)])
    store.close()

    assert kept < 2_000
    assert outdated < 80_000
    assert {duplicate.seq for duplicate in newest.values()} == {120_000, 119_800}


def _digest(seq: int) -> int:
    return seq * 0x5DEECE66D1234567 % (1 << 63)


def _received(seq: int) -> Received:
    return Received(
        seq=seq, message_id=f"m{seq}", type="track", name="E", source="web", run="", received_at=NOW, repeats=None,
        digest=_digest(seq), user="u", anonymous="",
    )  # fmt: skip
