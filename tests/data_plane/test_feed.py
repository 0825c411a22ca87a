"""Readers of the feed get every change once and in order, gaps are counted, and no waiting caller is left behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit.secrets import Masker
from svctoolkit.server.worker.feed import Feed, Reading
from svctoolkit.server.worker.notifier import Notifier
from tests.examples import up_to
from tests.sdk.gateway import until

_LONG = 3600.0  # longer than any correct wait; reaching it means a hang


def feed_of(chunks: list[tuple[str, int]], capacity: int) -> Feed:
    """A feed of chunks of changes `{"n": number, "run": run}`; the first is number 1."""
    feed, number = Feed(lambda: Masker(["s3cr3t"]), lambda: capacity), 0
    for run, size in chunks:
        feed.publish("fate", [{"n": number + n + 1, "run": run, "key": "s3cr3t"} for n in range(size)], dict)
        number += size
    return feed


def numbers(reading: Reading) -> list[int]:
    """The numbers of the changes that a reader gets. Each frame has its number and contains the masked change."""
    out = []
    for frame in reading.frames:
        head, kind, data, *end = frame.decode().split("\n")
        change = json.loads(data.removeprefix("data: "))
        assert (kind, end, head, change["key"]) == ("event: fate", ["", ""], f"id: {change['n']}", "••••")
        out.append(change["n"])
    return out


_CHUNKS = st.lists(st.tuples(st.sampled_from(["", "r"]), st.integers(1, 6)), max_size=12)


@settings(max_examples=up_to(60))
@given(_CHUNKS, st.integers(1, 30), st.data())
def test_a_reader_gets_the_changes_after_its_number(
    chunks: list[tuple[str, int]], capacity: int, data: st.DataObject
) -> None:
    """At least the newest `capacity` changes, in chunks of the requested size.

    Dropped changes before them are counted.
    """
    feed = feed_of(chunks, capacity)
    sizes, kept = [size for _, size in chunks], sum(size for _, size in chunks)
    total = kept
    while len(sizes) > 1 and kept - sizes[0] >= capacity:
        kept -= sizes.pop(0)
    runs = [run for run, size in chunks for _ in range(size)]
    after = data.draw(st.integers(0, total))
    whole = feed.read(after, None, 10_000)
    of_run = feed.read(after, "r", 10_000)

    assert feed.number == total
    assert whole.missed == of_run.missed == max(0, total - kept - after)
    assert numbers(whole) == list(range(after + whole.missed + 1, total + 1))
    assert numbers(of_run) == [n for n in numbers(whole) if runs[n - 1] == "r"]
    assert whole.number == of_run.number == total


@settings(max_examples=up_to(40))
@given(_CHUNKS, st.integers(1, 8))
def test_a_reader_in_small_steps_misses_nothing(chunks: list[tuple[str, int]], most: int) -> None:
    """It gets about as many per step as it asked for, each once."""
    feed, number, got = feed_of(chunks, 1000), 0, list[int]()
    while number < feed.number:
        reading = feed.read(number, None, most)
        assert 0 < len(reading.frames) < most + 6
        got += numbers(reading)
        number = reading.number

    assert got == list(range(1, feed.number + 1))
    assert feed.read(number, None) == Reading([], number, 0)


def test_a_listener_gets_changes_only_while_it_listens() -> None:
    """Changes are described only for listeners; at the end, each listener learns that no more will follow."""
    feed = feed_of([("", 2)], 10)
    heard: list[tuple[str, list[dict[str, Any]]]] = []
    described: list[Any] = []

    def describe(row: Any) -> dict[str, Any]:
        described.append(row)
        return {"n": row, "run": ""}

    def listener(kind: str, changes: list[dict[str, Any]]) -> None:
        heard.append((kind, changes))

    feed.publish("fate", [3], describe)
    assert (feed.watched, described) == (False, [])
    feed.listen(listener)
    assert feed.watched
    feed.publish("fate", [4, 5], describe)
    feed.publish("fate", [], describe)
    feed.close()
    feed.unlisten(listener)
    feed.publish("fate", [6], describe)

    assert heard == [("fate", [{"n": 4, "run": ""}, {"n": 5, "run": ""}]), ("end", [{}])]
    assert (feed.number, feed.watched) == (6, False)
    feed.readers = 1
    assert feed.watched


# --- waiting


def in_thread(call: Callable[[], Any]) -> Callable[[], Any]:
    """Start `call` in a thread; the returned function waits for its result."""
    results: list[Any] = []
    thread = Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()

    def result() -> Any:
        thread.join(60)
        assert not thread.is_alive(), "it still waits"
        return results[0]

    return result


def test_a_waiting_thread_checks_its_condition_at_every_notification() -> None:
    """It waits until the condition holds; notifications about something else do not end the wait."""
    notifier, looks, state = Notifier(), list[int](), [0]

    def holds() -> bool:
        looks.append(state[0])
        return state[0] >= 3

    assert not notifier.wait(holds, 0.0)
    waiting = in_thread(lambda: notifier.wait(holds, _LONG))
    for number in (1, 2, 3):
        state[0] = number
        notifier.notify()
        if number < 3:
            until(lambda number=number: number in looks, 60)  # type: ignore[misc]
    assert waiting() is True
    assert notifier.wait(holds, 0.0)
    assert not notifier.wait(lambda: False, 0.01)


@pytest.mark.parametrize("waiters", [1, 3])
def test_coroutines_wait_as_threads_do(waiters: int) -> None:
    """All coroutines of one loop wake up, and those of several loops."""
    notifier, state = Notifier(), [False]

    async def wait_all() -> list[bool]:
        async with asyncio.timeout(60):
            return list(await asyncio.gather(*(notifier.wait_async(lambda: state[0], _LONG) for _ in range(waiters))))

    threads = [in_thread(lambda: asyncio.run(wait_all())) for _ in range(2)]
    until(lambda: sum(len(events) for events in list(notifier._for_changes.values())) == 2 * waiters, 60)
    notifier.notify()
    state[0] = True
    notifier.notify()

    assert [thread() for thread in threads] == [[True] * waiters] * 2
    assert notifier._for_changes == {}
    assert asyncio.run(notifier.wait_async(lambda: False, 0.01)) is False
    assert asyncio.run(notifier.wait_async(lambda: True, 0.0)) is True


def test_every_waiting_caller_is_released_at_the_end() -> None:
    """Threads and coroutines that wait for a change or for the end return; so do callers that come later."""
    notifier = Notifier()

    async def wait() -> bool:
        async with asyncio.timeout(60):
            return await notifier.wait_async(lambda: False, _LONG)

    async def wait_for_end() -> str:
        async with asyncio.timeout(60):
            await notifier.wait_closed()
        return "over"

    calls = [
        lambda: notifier.wait(lambda: False, _LONG),
        lambda: asyncio.run(wait()),
        lambda: asyncio.run(wait_for_end()),
    ]
    results = [in_thread(call) for call in calls]
    until(lambda: notifier._for_changes and notifier._for_end, 60)
    notifier.notify()  # waits for a change, not for the end
    notifier.close()

    assert [result() for result in results] == [False, False, "over"]
    assert [in_thread(call)() for call in calls] == [False, False, "over"]
    assert notifier._for_end == {}
