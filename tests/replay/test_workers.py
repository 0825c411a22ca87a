"""Worker processes that die at a bad moment, cannot start, or do not end."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.replay import replay
from svctoolkit.replay.engine.processes import processes
from tests.replay.shops import ndjson, order, shop
from tests.sdk.gateway import until

pytestmark = pytest.mark.slow

LONG = "x" * 20_000
EVENTS = 4_000  # several chunks, each with a result of many megabytes, which is more than a pipe holds


def signalling(event: dict[str, Any]) -> dict[str, Any]:
    """Sends the signal named in the event, once, as soon as this process writes its result."""
    marker, number, process = event["properties"].pop("signal", ("", 0, 0))
    if marker and Path(marker).exists():
        Path(marker).unlink()
        writer = threading.main_thread().ident
        threading.Thread(target=_signal_when_it_writes, args=(writer, number, process), daemon=True).start()
    event["properties"]["long"] = LONG
    return event


def _signal_when_it_writes(writer: int, number: int, process: int) -> None:
    gc.disable()  # CPython 3.11 holds a lock in `_current_frames`, and garbage collected there may run other threads
    while sys._current_frames()[writer].f_code.co_name != "_send":
        pass
    os.kill(process or os.getpid(), number)


def run(folder: Path, number: int) -> None:
    """Replays events and prints the result, in a separate program because it might hang."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # even if a shell ignores it for its children
    mark = {"signal": [str(folder / "marker"), number, os.getpid() if number == signal.SIGINT else 0]}
    ndjson(folder / "events.ndjson", [order(n, **(mark if n == 9 else {})) for n in range(EVENTS)])
    result = replay(folder / "events.ndjson", shop(signalling), workers=2, progress=False)
    delivered = result.counts["hook"]["delivered"] if result.events else 0
    print(json.dumps({"complete": result.complete, "events": result.events, "delivered": delivered}))


def run_program(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A finished Python program that can import this package; `path` comes first in its search path."""
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, filter(None, (path, root))))},
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize(
    ("number", "complete"),
    [
        pytest.param(signal.SIGKILL, True, id="a worker is killed"),
        pytest.param(signal.SIGINT, False, id="Ctrl-C"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_replay_survives_workers_that_die_while_writing(tmp_path: Path, number: int, complete: bool) -> None:
    """A killed worker's chunk is done again; after Ctrl-C the result has what was finished."""
    marker = tmp_path / "marker"
    marker.touch()
    program = f"from tests.replay.test_workers import *; run(Path({str(tmp_path)!r}), {int(number)})"

    done = run_program("-c", program)

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert not marker.exists()
    assert result["complete"] == complete
    assert result["delivered"] == result["events"]
    assert (result["events"] == EVENTS) == complete


SCRIPT = """
import os, signal, sys, threading
from svctoolkit.replay import replay
from tests.replay.shops import orders, shop
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_no_starting_worker(tmp_path: Path) -> None:
    """It reaches every process of the terminal in any state; here it comes as early as Python runs any code."""
    (tmp_path / "sitecustomize.py").write_text("""
import os, signal, sys
if any("spawn_main" in argument or "forkserver" in argument for argument in sys.orig_argv):
    os.kill(os.getpid(), signal.SIGINT)
""")
    script = tmp_path / "script.py"
    script.write_text(f"""{SCRIPT}
if __name__ == "__mp_main__":  # a worker reads the script, too
    os.kill(os.getpid(), signal.SIGINT)
if __name__ == "__main__":
    result = replay(orders(10), shop(), workers=2, progress=False)
    print(result.complete, result.events)
""")

    done = run_program(str(script), path=tmp_path)

    assert (done.stdout, done.stderr, done.returncode) == ("True 10\n", "", 0)


def test_a_script_without_a_main_guard_gets_a_clear_error(tmp_path: Path) -> None:
    """It would start itself in each worker; this is not mistaken for killed workers."""
    script = tmp_path / "script.py"
    script.write_text(f"{SCRIPT}\nreplay(orders(10), shop(), workers=2, progress=False)\n")

    done = run_program(str(script))

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("svctoolkit.errors.ToolkitError: a worker process could not start")
    assert '`if __name__ == "__main__":`' in done.stderr.splitlines()[-1]


def lingering(event: dict[str, Any]) -> dict[str, Any]:
    """Leaves a thread behind that never ends, and so keeps its process alive."""
    if event["messageId"] == "m0":
        threading.Thread(target=threading.Event().wait).start()
    return event


def test_a_replay_ends_although_user_code_left_a_thread_running(tmp_path: Path) -> None:
    """The thread is not waited for."""
    program = (
        "from tests.replay.test_workers import *; from tests.replay.shops import *; "
        "print(replay(orders(10), shop(lingering), workers=2, progress=False).complete)"
    )

    done = run_program("-c", program)

    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


class Odd(Exception):
    """Can be pickled but not unpickled."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def fail(error: type[BaseException], *arguments: str) -> None:
    raise error(*arguments)


def test_a_worker_survives_any_exception() -> None:
    """The caller gets the exception or its text; the next call has its result."""
    with processes(1) as pool:
        odd = pool.submit(fail, Odd, "one", "two").exception()
        interrupt = pool.submit(fail, KeyboardInterrupt).exception()
        assert pool.submit(max, 1, 2).result() == 2

    assert (type(odd), str(odd)) == (RuntimeError, "Odd: one two")
    assert type(interrupt) is KeyboardInterrupt


def leave_thread() -> int:
    threading.Thread(target=threading.Event().wait).start()
    return os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_worker_ends_when_its_parent_is_killed() -> None:
    """Even if user code left a thread running."""
    program = (
        "from tests.replay.test_workers import *\n"
        "with processes(1) as pool:\n"
        "    print(pool.submit(leave_thread).result(), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )

    done = run_program("-c", program)

    command = Path(f"/proc/{int(done.stdout)}/cmdline")
    until(lambda: not command.exists() or not command.read_bytes(), 60)
