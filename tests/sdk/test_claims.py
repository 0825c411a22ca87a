"""Claims: who may send which events, for how long, and what is deleted when they are done."""

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
    """Each is another user's."""
    connection.executemany(INSERT.format(table), [(source, b"%d" % n, f"u-{n}") for n in range(number)])


def _store_of(connection: sqlite3.Connection, *users: str) -> None:
    connection.executemany(INSERT.format("events"), [("s", b"{}", user) for user in users])


def _ids(connection: sqlite3.Connection, table: str = "events") -> list[int]:
    return [id for (id,) in connection.execute(f"SELECT id FROM {table} ORDER BY id")]


def _claim(connection: sqlite3.Connection, limit: int = 100, *, who: str = "", now: float = NOW, source: str = "s"):
    return claims.claim(connection, "cloud", source, who or claims.owner(), limit, now)


def _claimed(batch: Batch | None) -> list[int]:
    return [] if batch is None else [id for id, _ in batch.rows]


def test_two_claims_have_no_event_in_common(connection: sqlite3.Connection):
    """The second gets what lies behind the first, the third nothing; another source and device mode have their own."""
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
def test_nobody_overtakes_a_user(connection: sqlite3.Connection, claimed: list[str], behind: list[str], free: int):
    """Behind somebody else's claim are only events of other users free, up to the first that shares an ID with what is
    claimed; the user of this very machine, who has none, may be anybody. So it stays when the claim was given back
    while a younger one still runs. When nothing is claimed, everything is free."""
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


def test_who_sends_one_after_the_other_may_claim_ahead(connection: sqlite3.Connection):
    """One's own claims hold up nobody's events, as long as nothing was given back before them."""
    me = claims.owner()
    _store_of(connection, *"aaaaaa")

    batches = [_claim(connection, 2, who=me), _claim(connection, 2, who=me)]
    assert [_claimed(batch) for batch in batches] == [[1, 2], [3, 4]]
    claims.settle(connection, batches[0], [1])
    assert _claim(connection, who=me) is None


def test_a_claim_is_good_for_a_minute(connection: sqlite3.Connection):
    """A second before its end it holds, a second after it is over; one from a far future was made before a clock
    was set back, and counts for nothing."""
    _store(connection, 1)
    _claim(connection)

    assert _claim(connection, now=NOW + 60) is None
    assert _claimed(_claim(connection, now=NOW + 60.5)) == [1]
    connection.execute("UPDATE claims SET until=?", (NOW + 120,))
    assert _claim(connection) is None
    connection.execute("UPDATE claims SET until=?", (NOW + 120.5,))
    assert _claimed(_claim(connection)) == [1]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells in files how processes are")
def test_a_claim_ends_with_a_process_whose_parent_does_not_ask(connection: sqlite3.Connection):
    """A process that was killed keeps its number until its parent asks; in a container maybe for ever."""
    _store(connection, 1)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        who = f"{os.uname().nodename}|{process.pid}|x"
        assert _claimed(_claim(connection, who=who)) == [1]
        assert _claim(connection) is None
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not asked about

        assert _claimed(_claim(connection)) == [1]


def test_a_claim_ends_with_its_process(connection: sqlite3.Connection):
    """That of a process that is gone is over; that of one on another machine, or where machines have no names, not."""
    _store(connection, 1)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    host = os.uname().nodename

    for who, is_free in [
        (f"{host}|{gone.pid}|x", True),
        (f"elsewhere|{gone.pid}|x", False),
        (f"|{gone.pid}|x", False),
        (f"{host}|{os.getppid()}|x", False),
        (f"{host}|1|x", os.getpid() == 1),  # somebody else's process, or in a container our own from before
        (f"{host}|{os.getpid()}|x", True),  # our number, but none of us: a container's process before this one
        (claims.owner(), False),
    ]:
        connection.execute("DELETE FROM claims")
        assert _claimed(_claim(connection, who=who)) == [1]
        assert (_claim(connection) is not None) == is_free, who


def test_owners_differ():
    """Two clients of one process have two names, which tell machine and process."""
    one, two = claims.owner(), claims.owner()

    assert one != two
    assert one.split("|")[:2] == [os.uname().nodename, str(os.getpid())]


@pytest.mark.parametrize(
    ("done", "remaining"),
    [([1, 2, 3], [4, 5]), ([1, 3], [2, 4, 5]), ([3, 1], [2, 4, 5]), ([2], [1, 3, 4, 5]), ([], [1, 2, 3, 4, 5])],
)
def test_what_is_done_is_deleted_and_nothing_else(
    connection: sqlite3.Connection, done: list[int], remaining: list[int]
):
    """Also with gaps and in any order; the claim ends, so that the rest can be claimed again."""
    _store(connection, 5)
    batch = _claim(connection, 3)

    assert claims.settle(connection, batch, done) == len(done)
    assert _ids(connection) == remaining
    assert _claimed(_claim(connection)) == remaining


def test_a_claim_that_is_over_deletes_nothing(connection: sqlite3.Connection):
    """Its numbers may be younger events' by now."""
    _store(connection, 2)
    batch = _claim(connection)
    assert claims.settle(connection, batch, [1, 2]) == 2
    _store(connection, 2)

    assert claims.settle(connection, batch, [1, 2]) == 0
    assert _ids(connection) == [1, 2]


def test_device_events_are_deleted_from_their_own_table(connection: sqlite3.Connection):
    """The data plane's copy stays."""
    _store(connection, 2)
    _store(connection, 2, table="device_events")
    batch = claims.claim(connection, "device", "s", claims.owner(), 100, NOW)
    assert batch is not None

    assert claims.settle(connection, batch, [1]) == 1
    assert (_ids(connection), _ids(connection, "device_events")) == ([1, 2], [2])


def _rows(*sizes: int) -> list[tuple[int, bytes]]:
    return [(number, b"x" * size) for number, size in enumerate(sizes)]


def test_a_batch_is_at_most_500_kb():
    """As many of the first rows as fit, with 40 bytes that each gets on its way and the envelope's 64; one at least."""
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
