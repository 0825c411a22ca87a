"""Claims: which client may send which events, for how long, and which events are deleted afterwards."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.queue import claims
from svctoolkit.sdk.queue.claims import BATCH_BYTES, Batch
from svctoolkit.sdk.queue.database import Database

NOW = 1_800_000_000.0
INSERT = "INSERT INTO {}(source, origin, at, body, user) VALUES(?, 'client', 0, ?, ?)"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    database = Database(str(tmp_path / "queue.db"), Reporter())
    yield database.connection()
    database.close()


def _store(connection: sqlite3.Connection, number: int, *, source: str = "s", table: str = "events") -> None:
    """A store whose events all belong to different users."""
    connection.executemany(INSERT.format(table), [(source, b"%d" % n, f"u-{n}") for n in range(number)])


def _store_of(connection: sqlite3.Connection, *users: str) -> None:
    connection.executemany(INSERT.format("events"), [("s", b"{}", user) for user in users])


def _ids(connection: sqlite3.Connection, table: str = "events") -> list[int]:
    return [id for (id,) in connection.execute(f"SELECT id FROM {table} ORDER BY id")]


def _claim(connection: sqlite3.Connection, limit: int = 100, *, who: str = "", now: float = NOW, source: str = "s"):
    return claims.claim(connection, "cloud", source, who or claims.owner(), limit, now)


def _claimed(batch: Batch | None) -> list[int]:
    return [] if batch is None else [id for id, _ in batch.rows]


def test_two_claims_are_disjoint(connection: sqlite3.Connection):
    """The second gets the events after the first, the third none.

    Another source and device mode have separate claims.
    """
    _store(connection, 5)
    _store(connection, 2, source="other")
    _store(connection, 1, table="device_events")

    assert _claimed(_claim(connection, 3)) == [1, 2, 3]
    assert _claimed(_claim(connection, 3)) == [4, 5]
    assert _claim(connection) is None
    assert _claimed(_claim(connection, source="other")) == [6, 7]
    assert _claimed(claims.claim(connection, "device", "s", claims.owner(), 100, NOW)) == [1]


@pytest.mark.parametrize(
    ("claimed", "behind", "free"),
    [
        (["a"], ["b", "c"], 2),
        (["a"], ["b", "a", "c"], 1),
        (["a", "b"], ["b"], 0),
        (["anonymous\na"], ["b", "anonymous", "c"], 1),
        (["a"], ["b", "anonymous\na"], 1),
        (["anonymous\na"], ["other\nb", "other\na"], 1),
        (["a"], ["b", "", "c"], 1),
        (["a", ""], ["b"], 0),
    ],
)
def test_no_claim_overtakes_a_user(connection: sqlite3.Connection, claimed: list[str], behind: list[str], free: int):
    """While another client has a claim, only events of other users are free.

    The free events end at the first one that shares an ID with a claimed event. An event without IDs belongs to this
    machine's user, who may be any of them. This still holds when an older claim was released while a younger one is
    active. Without any claim, all events are free.
    """
    _store_of(connection, *claimed, *behind)
    first = _claim(connection, len(claimed), who="elsewhere|1|x")
    assert first is not None

    second = _claim(connection)
    assert len(_claimed(second)) == free
    if second is not None:
        claims.settle(connection, first, [])
        assert _claim(connection) is None
        claims.settle(connection, second, [])
    else:
        claims.settle(connection, first, [])
    assert len(_claimed(_claim(connection))) == len(claimed + behind)


def test_a_sequential_sender_may_claim_ahead(connection: sqlite3.Connection):
    """A client's own claims block none of its events unless events before them were released."""
    me = claims.owner()
    _store_of(connection, *"aaaaaa")

    batches = [_claim(connection, 2, who=me), _claim(connection, 2, who=me)]
    assert [_claimed(batch) for batch in batches] == [[1, 2], [3, 4]]
    claims.settle(connection, batches[0], [1])
    assert _claim(connection, who=me) is None


def test_a_claim_is_good_for_a_minute(connection: sqlite3.Connection):
    """It holds a second before its end, but not a second after.

    A claim from the far future was made before the clock was set back and is ignored.
    """
    _store(connection, 1)
    _claim(connection)

    assert _claim(connection, now=NOW + 60) is None
    assert _claimed(_claim(connection, now=NOW + 60.5)) == [1]
    connection.execute("UPDATE claims SET until=?", (NOW + 120,))
    assert _claim(connection) is None
    connection.execute("UPDATE claims SET until=?", (NOW + 120.5,))
    assert _claimed(_claim(connection)) == [1]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux shows the state of processes in files")
def test_a_claim_ends_with_a_zombie_process(connection: sqlite3.Connection):
    """A killed process keeps its number until its parent waits for it; in a container, perhaps forever."""
    _store(connection, 1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        who = f"{os.uname().nodename}|{process.pid}|x"
        assert _claimed(_claim(connection, who=who)) == [1]
        assert _claim(connection) is None
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has exited, but its parent has not waited for it

        assert _claimed(_claim(connection)) == [1]


def test_a_claim_ends_with_its_process(connection: sqlite3.Connection):
    """The claim of a dead process ends; one of another machine, or of a machine without a name, does not."""
    _store(connection, 1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = os.uname().nodename

    for who, is_free in [
        (f"{host}|{gone.pid}|x", True),
        (f"elsewhere|{gone.pid}|x", False),
        (f"|{gone.pid}|x", False),
        (f"{host}|{os.getppid()}|x", False),
        (f"{host}|1|x", os.getpid() == 1),  # a foreign process, or in a container our own from an earlier start
        (f"{host}|{os.getpid()}|x", True),  # our number, but another process: a container's process before this one
        (claims.owner(), False),
    ]:
        connection.execute("DELETE FROM claims")
        assert _claimed(_claim(connection, who=who)) == [1]
        assert (_claim(connection) is not None) == is_free, who


def test_owners_are_unique():
    """Two clients in one process have different names, which identify machine and process."""
    one, two = claims.owner(), claims.owner()

    assert one != two
    assert one.split("|")[:2] == [os.uname().nodename, str(os.getpid())]


@pytest.mark.parametrize(
    ("done", "remaining"),
    [([1, 2, 3], [4, 5]), ([1, 3], [2, 4, 5]), ([3, 1], [2, 4, 5]), ([2], [1, 3, 4, 5]), ([], [1, 2, 3, 4, 5])],
)
def test_only_finished_events_are_deleted(connection: sqlite3.Connection, done: list[int], remaining: list[int]):
    """In any order and with gaps; the claim ends, so that the others can be claimed again."""
    _store(connection, 5)
    batch = _claim(connection, 3)

    assert claims.settle(connection, batch, done) == len(done)
    assert _ids(connection) == remaining
    assert _claimed(_claim(connection)) == remaining


def test_an_expired_claim_deletes_nothing(connection: sqlite3.Connection):
    """Its numbers may belong to newer events by now."""
    _store(connection, 2)
    batch = _claim(connection)
    assert claims.settle(connection, batch, [1, 2]) == 2
    _store(connection, 2)

    assert claims.settle(connection, batch, [1, 2]) == 0
    assert _ids(connection) == [1, 2]


def test_device_events_are_deleted_from_their_own_table(connection: sqlite3.Connection):
    """The copy for the data plane stays."""
    _store(connection, 2)
    _store(connection, 2, table="device_events")
    batch = claims.claim(connection, "device", "s", claims.owner(), 100, NOW)
    assert batch is not None

    assert claims.settle(connection, batch, [1]) == 1
    assert (_ids(connection), _ids(connection, "device_events")) == ([1, 2], [2])


def _rows(*sizes: int) -> list[tuple[int, bytes]]:
    return [(number, b"x" * size) for number, size in enumerate(sizes)]


def test_a_batch_is_at_most_500_kb():
    """The largest number of first rows that fits, with 40 extra bytes per row and 64 for the envelope; at least one."""
    room = 512_000 - 64
    fit = room - 2 * 40

    assert BATCH_BYTES == 512_000
    assert claims.within_size([]) == []
    assert len(claims.within_size(_rows(fit - 1, 0))) == 2
    assert len(claims.within_size(_rows(fit, 0))) == 2
    assert len(claims.within_size(_rows(fit + 1, 0))) == 1
    assert len(claims.within_size(_rows(fit + 1, 0, 0))) == 1
    assert len(claims.within_size(_rows(room * 2, 1))) == 1
    assert len(claims.within_size(_rows(room // 2 - 40, room // 2 - 40, 1))) == 2
