"""Worker processes that end while they write their result, which is longer than a pipe holds."""

from __future__ import annotations

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
from tests.replay.shops import ndjson, order, shop

pytestmark = pytest.mark.slow

LONG = "x" * 20_000
EVENTS = 4_000  # several chunks, each with a result of many megabytes


def signalling(event: dict[str, Any]) -> dict[str, Any]:
    """Sends the signal that the event names, once, as soon as this process writes its result."""
    marker, number, process = event["properties"].pop("signal", ("", 0, 0))
    if marker and Path(marker).exists():
        Path(marker).unlink()
        writer = threading.main_thread().ident
        threading.Thread(target=_signal_when_it_writes, args=(writer, number, process), daemon=True).start()
    event["properties"]["long"] = LONG
    return event


def _signal_when_it_writes(writer: int, number: int, process: int) -> None:
    while sys._current_frames()[writer].f_code.co_name != "_send":
        pass
    os.kill(process or os.getpid(), number)


def run(folder: Path, number: int) -> None:
    """Replays events, and says what came of them; a program of its own, as it might not end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell ignores it for its children
    mark = {"signal": [str(folder / "marker"), number, os.getpid() if number == signal.SIGINT else 0]}
    ndjson(folder / "events.ndjson", [order(n, **(mark if n == 9 else {})) for n in range(EVENTS)])
    result = replay(folder / "events.ndjson", shop(signalling), workers=2, progress=False)
    delivered = result.counts["hook"]["delivered"] if result.events else 0
    print(json.dumps({"complete": result.complete, "events": result.events, "delivered": delivered}))


@pytest.mark.parametrize(
    ("number", "complete"),
    [
        pytest.param(signal.SIGKILL, True, id="a worker is killed"),
        pytest.param(signal.SIGINT, False, id="Ctrl-C"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_replay_ends_although_a_worker_ended_in_the_middle_of_its_result(
    tmp_path: Path, number: int, complete: bool
) -> None:
    """One that is killed costs its chunk, which is done again; with Ctrl-C the rest is what was done until then."""
    marker = tmp_path / "marker"
    marker.touch()
    program = f"from tests.replay.test_workers import *; run(Path({str(tmp_path)!r}), {int(number)})"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=90
    )

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert not marker.exists()
    assert result["complete"] == complete
    assert result["delivered"] == result["events"]
    assert (result["events"] == EVENTS) == complete
