"""A replay with `--simulate`: its CPU time compared with one whose requests all succeed, and its memory.

Each type gets the same events in turns, of users that have two events each; the least time of the rounds counts. The
file with a JavaScript transformation is that of the benchmark `replay`, compared with a replay without `--simulate`,
as a user would run it. The memory is that of a process which replays a generated stream of many users.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

from svctoolkit import Workspace
from svctoolkit.events import sample
from svctoolkit.pipeline import Stages
from svctoolkit.replay import replay
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import spent
from tests.benchmarks.replay import written
from tests.benchmarks.simulations import CONFIGS, workspace_of
from tests.benchmarks.transformations import JAVASCRIPT

_SEND = Stages(send_to_destination=True)


def run(options: Options) -> Iterator[Figure]:
    for type in CONFIGS:
        yield _rates(type, options)
    yield _file(options)
    count = options.large
    whole, half = (spent([sys.executable, "-m", __name__, str(number)]) for number in (count, count // 2))
    yield Figure(f"memory, {count:,} events", _peak(whole.output), "MiB", f"{count // 2:,} events", _peak(half.output))


def _peak(output: str) -> float:
    return float(json.loads(output)["peak"])


def _rates(type: str, options: Options) -> Figure:
    count = options.many(2000, 50)
    events, least = list(_stream(count, type)), dict[Any, float]()
    for _ in range(options.many(5, 1)):
        for level in ("simulated", None):
            shop, started = workspace_of(type, level), process_time()
            replay(events, shop, stages=_SEND, rows=False, progress=False)
            time = (process_time() - started) * 1e6 / count
            least[level] = min(time, least.get(level, time))
    return Figure(f"{type}: CPU per event", least["simulated"], "us", "all requests succeed", least[None])


def _stream(count: int, type: str = "MP") -> Iterator[dict[str, Any]]:
    """Yield events of many users, two of each."""
    event = {**sample("track"), **({"event": "Order Completed"} if type == "SNAPCHAT_CONVERSION" else {})}
    for number in range(count):
        user = number // 2
        yield {**event, "messageId": f"9a51-{number:012d}", "userId": f"u{user}", "anonymousId": f"d{user}"}


def _file(options: Options) -> Figure:
    count, least = options.many(5000, 50), dict[Any, float]()
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name) / "events.ndjson", count)
        for _ in range(options.many(3, 1)):
            for level in ("simulated", None):
                shop, started = Workspace("shop"), process_time()
                shop.transformation("order", language="javascript", code=JAVASCRIPT)
                shop.destination("d", "MP", config=CONFIGS["MP"], transformation="order", simulate=level)
                replay(file, shop, stages=_SEND if level else None, rows=False, progress=False)
                time = (process_time() - started) * 1e6 / count
                least[level] = min(time, least.get(level, time))
    return Figure("MP: a file through JavaScript", least["simulated"], "us", "without --simulate", least[None])


def main(count: int) -> None:
    """The process whose memory is measured."""
    shop = workspace_of("MP", "simulated")
    done = replay(_stream(count), shop, stages=_SEND, rows=False, progress=False)
    if done.counts != {"d": {"delivered": count}}:
        raise RuntimeError(f"not all events are delivered: {done.counts}")
    print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
