"""What a history adds to a replay: CPU and memory, compared with the same replay without one.

Events of 2 KB with a JavaScript transformation, to a webhook and to GA4. `--events` sets the number of events.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import Spent, best
from tests.benchmarks.replay import written

CODE = "export function transformEvent(event) { event.context.clean = true; return event; }"


def run(options: Options) -> Iterator[Figure]:
    count = options.large
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = written(folder / "events.ndjson", count)
        alone, whole = _task(file, ""), _task(file, str(folder / "history.duckdb"))
        counting = float(whole.output)
        yield Figure("replay with a history, CPU", whole.cpu, "s", "without", alone.cpu)
        yield Figure("counting alone", counting, "s", "the replay", alone.cpu)
        yield Figure(f"largest process, {count:,} events", whole.peak, "MiB", "without", alone.peak)


def _task(file: Path, history: str) -> Spent:
    return best([sys.executable, "-m", "tests.benchmarks.history", str(file), history], 2)


def main(file: str, history: str) -> None:
    """The benchmark's own process."""
    from svctoolkit import Workspace
    from svctoolkit.replay import replay

    workspace = Workspace("shop")
    workspace.transformation("clean", language="javascript", code=CODE)
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("webhook", "WEBHOOK", config=hook, transformation="clean")
    google = {"apiSecret": "secret", "measurementId": "G-1", "typesOfClient": "gtag"}
    workspace.destination("ga4", "GA4", config=google, transformation="clean")
    result = replay(file, workspace, progress=False, rows=False, history=history or None)
    print(json.dumps(result.tally.seconds.get("history", 0.0)))


if __name__ == "__main__":
    main(*sys.argv[1:])
