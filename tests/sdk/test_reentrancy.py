"""Calls are safe at any moment: in signal handlers, `__del__`, callbacks, and during another call."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.base.gate import Gate, Latch, Turnstile, Wakeup
from svctoolkit.sdk.base.transport import Request, Response

from .gateway import KEY, Gateway, until

ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="needs signals")
HANDLER = """
import faulthandler, os, signal, sys, threading, time
from svctoolkit.sdk import ServiceClient
faulthandler.dump_traceback_later(150, exit=True)
directory, url, delay, end = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
client = ServiceClient(data_directory=directory, data_plane_url=url, track_lifecycle_events=False,
                       db_threshold_count=1_000_000, flush_queue_size=100)
client.initialize("2RdemoWriteKey")
def handler(*_):
    client.track("in the handler")
    began = time.monotonic()
    client.shutdown(8)
    os.write(1, f"{time.monotonic() - began:.2f}\\n".encode())
    if end == "hard": os._exit(0)
    sys.exit(0)
signal.signal(signal.SIGTERM, handler)
threading.Timer(delay, os.kill, (os.getpid(), signal.SIGTERM)).start()
number = 0
while True:
    client.track("under load", {"number": number})
    os.write(2, b".")
    number += 1
    if number % 50 == 0: time.sleep(0.001)
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("end", ["soft", "hard"])
def test_shutdown_in_a_signal_handler_sends_everything(gateway: Gateway, tmp_path: Path, end: str):
    """On SIGTERM during many calls, the handler's `shutdown` returns in time, and nothing is lost."""
    for place in range(8):
        before = len(gateway.events)
        directory = tmp_path / str(place)
        result = subprocess.run(
            [sys.executable, "-c", HANDLER, str(directory), gateway.url, str(0.25 + place * 0.013), end],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            timeout=240,
        )
        assert result.returncode == 0, result.stderr[-2000:]
        assert float(result.stdout) < 8.5
        # The interrupted call's event, and the handler's own, may be sent at the next start.
        client = ServiceClient(data_directory=directory, data_plane_url=gateway.url, track_lifecycle_events=False)
        client.initialize(KEY)
        assert client.flush(60)
        client.shutdown()
        sent = gateway.events[before:]
        numbers = {event["properties"]["number"] for event in sent if event["event"] == "under load"}
        returned = result.stderr.count(b".")
        assert numbers >= set(range(returned))
        assert "in the handler" in {event["event"] for event in sent}


STORM = """
import faulthandler, os, signal, sys, threading, time
from svctoolkit.sdk import ServiceClient
faulthandler.dump_traceback_later(150, exit=True)
client = ServiceClient(data_directory=sys.argv[1], data_plane_url=sys.argv[2], track_lifecycle_events=False,
                       on_error=lambda error: client.track("told"), on_drop=lambda event, reason: client.stats())
client.initialize("2RdemoWriteKey")
def handler(*_):
    client.track("in the handler")
    client.shutdown(2)
    stats = client.stats()
    gone = stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
    os.write(1, f"{stats.recorded + stats.carried} {gone}".encode())
    os._exit(0)
signal.signal(signal.SIGTERM, handler)
class Dying:
    def __del__(self): client.track("from __del__")
def storm():
    while True: client.track("in a thread", user_id="u-1")
for _ in range(3): threading.Thread(target=storm, daemon=True).start()
threading.Timer(float(sys.argv[3]), os.kill, (os.getpid(), signal.SIGTERM)).start()
while True:
    client.identify("u-2")
    client.track("under load")
    Dying()
    client.reset()
"""


@pytest.mark.slow
@posix
@pytest.mark.parametrize("place", range(12))
def test_shutdown_in_a_signal_handler_ends_despite_busy_threads(gateway: Gateway, tmp_path: Path, place: int):
    """Threads that call without a pause do not delay the handler, and counters balance in it."""
    result = subprocess.run(
        [sys.executable, "-c", STORM, str(tmp_path), gateway.url, str(0.2 + place * 0.017)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=240,
    )

    assert result.returncode == 0, result.stderr[-4000:]
    recorded, gone = map(int, result.stdout.split())
    assert recorded == gone > 0


def test_a_requested_gate_admits_no_other_thread():
    """A caller with a timeout is refused after it; a caller without one enters afterwards."""
    gate, is_lent, is_taken, is_back, end = Gate(), Latch(), Latch(), Latch(), Latch()
    entered: list[bool] = []

    def lend() -> None:
        gate.enter()
        with gate.lent():
            is_lent.set()
            is_taken.wait(60)
        is_back.set()
        end.wait(60)
        gate.leave()

    def enter_some_time() -> None:
        entered.append(gate.enter())
        gate.leave()

    lender, patient = threading.Thread(target=lend), threading.Thread(target=enter_some_time)
    lender.start()
    assert is_lent.wait(60)
    assert gate.enter(0)
    is_taken.set()
    until(lambda: gate.is_wanted_back)
    began = time.monotonic()
    assert _result_in_a_thread(lambda: gate.enter(0.1)) is False
    assert 0.1 <= time.monotonic() - began < 60
    patient.start()
    gate.leave()
    assert is_back.wait(60)
    assert not entered
    end.set()
    patient.join(60)
    lender.join(60)

    assert entered == [True]
    assert not gate.is_wanted_back


def test_a_gate_is_free_after_use():
    """After `try_run`, and after catching up with postponed work, other threads get in at once."""
    turnstile, done = Turnstile(0.01), []
    turnstile.try_run(lambda: done.append(1))
    _result_in_a_thread(lambda: turnstile.run(lambda: done.append(2)))
    turnstile.run(lambda: turnstile.run(lambda: done.append(3)))
    _result_in_a_thread(lambda: turnstile.run(lambda: done.append(4)))

    assert (done, len(turnstile)) == ([1, 2, 3, 4], 0)


def _result_in_a_thread(call: Callable[[], object]) -> object:
    results: list[object] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join(60)
    return results[0]


def test_a_lent_turnstile_is_returned_to_its_owner():
    """Even if other threads have an endless amount of work."""
    turnstile, over, returned = Turnstile(0.01), threading.Event(), threading.Event()

    def interrupted() -> None:
        for _ in range(3):
            threading.Thread(target=storm, daemon=True).start()
        turnstile.catch_up_interrupting()
        returned.set()

    def storm() -> None:
        while not over.is_set():
            turnstile.run(lambda: time.sleep(0.03))

    threading.Thread(target=turnstile.run, args=(interrupted,), daemon=True).start()
    try:
        assert returned.wait(60)
    finally:
        over.set()


def test_an_interrupting_handler_does_not_work_for_others_forever():
    """Each piece of work creates another one: the handler still returns, and nothing is lost."""
    turnstile, over, returned, last = Turnstile(0.01), threading.Event(), threading.Event(), threading.Event()

    def again() -> None:
        turnstile.run(last.set if over.is_set() else again)

    def interrupted() -> None:
        again()
        turnstile.catch_up_interrupting()
        returned.set()

    threading.Thread(target=turnstile.run, args=(interrupted,), daemon=True).start()
    try:
        assert returned.wait(60)
    finally:
        over.set()
    assert last.wait(60)


@posix
def test_calls_in_a_signal_handler_are_kept(make, gateway: Gateway):
    """A timer interrupts a loop of calls and makes calls itself: every event is there once, and nothing hangs."""
    client = make(db_threshold_count=1_000_000)
    calls, waiting = [], []

    def handler(*_: object) -> None:
        calls.append(client.track("interrupting"))
        waiting.append(client.stats().waiting)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
    try:
        for number in range(2000):
            client.track(f"{number}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert client.flush(60)

    assert [name for name in gateway.names if name != "interrupting"] == [str(n) for n in range(2000)]
    assert gateway.names.count("interrupting") == len(calls) > 10
    stats = client.stats()
    assert stats.recorded == stats.delivered == 2000 + len(calls)
    assert min(waiting) >= 0


def test_a_finalizer_may_call_the_client(make, gateway: Gateway):
    """`__del__` runs wherever the garbage collector does, even in the middle of our own code."""
    client = make(db_threshold_count=1_000_000)
    made, gone = [0], [0]

    class Noisy:
        def __init__(self) -> None:
            self.me = self  # a cycle, which only the collector frees
            made[0] += 1

        def __del__(self) -> None:
            client.track("finalized")
            gone[0] += 1

    thresholds = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for number in range(500):
            Noisy()
            client.track(f"{number}", {"list": [{} for _ in range(20)]})
    finally:
        gc.set_threshold(*thresholds)
    # `collect` does nothing while another thread collects.
    until(lambda: gc.collect() >= 0 and gone == made)
    assert client.flush(60)

    assert gateway.names.count("finalized") == made[0]
    assert len(gateway.names) == 500 + made[0]


@posix
def test_a_finalizer_may_call_the_client_when_the_interpreter_ends(make, gateway: Gateway, tmp_path: Path):
    """Neither threads nor imports work then: the event is stored, and the process ends."""
    program = f"""
from svctoolkit.sdk import ServiceClient
class Last:
    def __init__(self): self.client = ServiceClient(data_directory={str(tmp_path / "data")!r},
        data_plane_url={gateway.url!r}, track_lifecycle_events=False)
    def __del__(self): assert self.client.track("last", {{"a": 1}})
last = Last()
last.client.initialize({KEY!r})
last.client.track("before")"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")

    assert make().flush()
    assert gateway.names == ["before", "last"]


def test_callbacks_may_call_and_wait(make, gateway: Gateway):
    """`on_error` and `on_drop` may track, flush and shut down; the effects come later, but not endlessly."""
    heard: list[str] = []

    def on_drop(event: dict, reason: str) -> None:
        heard.append(reason)
        client.track("about a drop", {"text": "x" * 40_000})  # too large: dropped as well
        client.flush(0.1)

    client = make(on_drop=on_drop, on_error=lambda error: client.flush(0.1))
    client.track("large", {"text": "x" * 40_000})
    client.track("small")

    assert client.flush()
    assert gateway.names == ["small"]
    assert 1 <= len(heard) < 20


def test_calls_during_initialize_are_kept(gateway: Gateway, tmp_path: Path):
    """Threads that call before and while `initialize` runs lose no event."""
    client = ServiceClient(data_directory=tmp_path, data_plane_url=gateway.url, track_lifecycle_events=False)
    started = threading.Event()

    def call(thread: int) -> None:
        for number in range(100):
            client.track(f"{thread} {number}")
            started.set()

    threads = [threading.Thread(target=call, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    started.wait(60)
    client.initialize(KEY)
    for thread in threads:
        thread.join()
    assert client.shutdown(60)

    assert sorted(gateway.names) == sorted(f"{thread} {number}" for thread in range(4) for number in range(100))


def test_a_gate_refuses_its_own_thread_and_waits_for_others():
    """`enter` is False in the thread that is inside, waits for another one, and `lent` admits others meanwhile."""
    gate, entered = Gate(), []
    assert gate.enter()
    assert not gate.enter(0)
    other = threading.Thread(target=lambda: entered.append(gate.enter(0.01)))
    other.start()
    other.join()
    with gate.lent():
        borrower = threading.Thread(target=lambda: (entered.append(gate.enter(1)), gate.leave()))
        borrower.start()
        borrower.join()
    with gate.exclusive(), gate.lent():
        late = threading.Thread(target=lambda: entered.append(gate.enter(0.01)))
        late.start()
        late.join()
    gate.leave()

    assert entered == [False, True, False]
    assert gate.enter(0)


def test_a_turnstile_runs_nested_work_afterwards():
    """Work that arrives while the same thread is working, or from another thread, is done after it."""
    turnstile, order = Turnstile(0.01), []

    def outer() -> None:
        turnstile.run(lambda: order.append("inner"))
        other = threading.Thread(target=lambda: turnstile.run(lambda: order.append("other")))
        other.start()
        other.join()
        order.append("outer")

    turnstile.run(outer)

    assert order == ["outer", "inner", "other"]
    assert len(turnstile) == 0


def test_a_wakeup_is_used_up_and_a_latch_stays():
    """A wakeup ends one `wait`, a latch all of them; setting either twice changes nothing."""
    wakeup, latch = Wakeup(), Latch()
    for flag in (wakeup, latch):
        assert not flag.wait(0)
        flag.set()
        flag.set()
        assert flag.wait(0)

    assert not wakeup.wait(0)
    assert latch.wait(0)


def test_events_tracked_in_a_drop_callback_arrive(make, gateway: Gateway):
    """A callback can report a drop as another event."""
    client = make(on_drop=lambda event, reason: client.track("dropped", {"reason": reason}))
    client.track("large", {"text": "x" * 40_000})
    until(lambda: client.stats().waiting == 1 or time.sleep(0))
    assert client.flush()

    assert gateway.names == ["dropped"]


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError("late"), pytest.fail.Exception("no")])
def test_an_exception_that_ends_threads_does_not_end_the_worker(
    make, error: BaseException, monkeypatch: pytest.MonkeyPatch
):
    """Raised by a transport and then by its callback: the events are sent at the next attempt."""
    ended: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    heard: list[str] = []

    class Fickle:
        attempts = 0

        def send(self, request: Request) -> Response:
            if not request.url.endswith("/v1/batch"):
                return Response(503)
            self.attempts += 1
            if self.attempts == 1:
                raise error
            return Response(200, {}, b"ok")

    def hear(failure: Exception) -> None:
        if threading.current_thread() is not threading.main_thread():
            heard.append(str(failure))
            raise error

    transport = Fickle()
    client = make(transport=transport, on_error=hear, flush_queue_size=1)
    client.track("Seen")

    until(lambda: heard and client.stats().delivered == 1)
    assert (transport.attempts, ended) == (2, [])
