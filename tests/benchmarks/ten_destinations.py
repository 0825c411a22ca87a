"""One JavaScript transformation shared by ten destinations, compared with the same transformation and a webhook alone.

Events of 2 KB, and every event is delivered at each destination: the benchmark fails otherwise. Each run is a new
process, and `CPU per event` includes its start. What nine more destinations cost is compared with a script for node
that reads the same file, runs the same code and makes the webhook's payloads, so figures of different machines can be
compared. `--events` sets the number.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import spent
from tests.benchmarks.replay import DESTINATIONS, NODE, STEPS, steps, task, written

_TEN = len(DESTINATIONS)


def run(options: Options) -> Iterator[Figure]:
    count = options.large
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name) / "events.ndjson", count, _identify)
        # In turns, because the speed of a machine that does something else changes.
        turns = [(task(file), task(file, destinations=_TEN)) for _ in range(options.many(3, 1))]
        one, ten = (min(of, key=lambda turn: turn[0].cpu) for of in zip(*turns, strict=True))
        for whole, destinations in ((one, 1), (ten, _TEN)):
            expected = {type.lower(): {"delivered": count} for type, _ in DESTINATIONS[:destinations]}
            if whole[1]["counts"] != expected:
                raise RuntimeError(f"not every event is delivered at each destination: {whole[1]['counts']}")
        webhook, all_of_them = (whole[0].cpu / count * 1e6 for whole in (one, ten))
        node = spent(["node", "-e", NODE, str(file)]).cpu / count * 1e6 if shutil.which("node") else None
        yield Figure("10 destinations: CPU per event", all_of_them, "us", "a webhook alone", webhook)
        note = "" if node else "node is not installed"
        yield Figure("9 more destinations", all_of_them - webhook, "us", "a script for node", node, note)
        yield from steps("10 destinations", ten[1], count, *STEPS)
        yield Figure(f"largest process, {count:,} events", ten[0].peak, "MiB", "a webhook alone", one[0].peak)


def _identify(_number: int, line: str) -> str:
    """GA4 requires a client's ID, HubSpot a contact."""
    return line.replace('"plan": "gold"', '"plan": "gold", "utk": "c-1"', 1).replace(
        '"userId"', '"anonymousId": "a-1", "userId"', 1
    )
