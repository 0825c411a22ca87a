"""What failing events have in common: the time and memory of a replay's contrasts, compared with the replay itself.

Three in a hundred events of 2 KB fail, for three reasons. Rows are kept, and beyond the first 50,000 they are on disk.
`--events` sets the number of events.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import Spent, spent
from tests.benchmarks.replay import written

CODE = """\
export function transformEvent(event) {
  const { name, price } = event.properties.products[0];
  event.properties.first = name.trim() + price.toFixed(2);
  return event;
}
"""


def run(options: Options) -> Iterator[Figure]:
    count = options.large
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name) / "events.ndjson", count, _break)
        alone, _ = _task(file, explains=False)
        whole, report = _task(file, explains=True)
        yield Figure("all contrasts, CPU", report["cpu"], "s", "the replay", report["replay"])
        yield Figure("one group, CPU", report["one"], "s", "the replay", report["replay"])
        yield Figure(f"largest process, {count:,} events", whole.peak, "MiB", "the replay", alone.peak)


def _break(number: int, line: str) -> str:
    """Three of a hundred products have no price, no name or a price as text."""
    broken = {
        1: ('"price": ', '"cost": '),
        2: ('"name": "A thing', '"title": "A thing'),
        3: ('"price": ', '"price": "EUR", "cost": '),
    }
    return line.replace(*broken[number % 100], 1) if number % 100 in broken else line


def _task(file: Path, *, explains: bool) -> tuple[Spent, dict[str, float]]:
    done = spent([sys.executable, "-m", "tests.benchmarks.contrasts", str(file), str(int(explains))])
    return done, json.loads(done.output)


def main(file: str, explains: bool) -> None:
    """The benchmark's own process."""
    from svctoolkit import Workspace
    from svctoolkit.replay import replay

    workspace = Workspace("shop")
    workspace.transformation("order", language="javascript", code=CODE)
    hook = {"webhookUrl": "https://hook.example/in"}
    workspace.destination("webhook", "WEBHOOK", config=hook, transformation="order")
    moments = [time.process_time()]
    result = replay(file, workspace, progress=False)
    moments.append(time.process_time())
    if explains:
        found = result.contrasts()
        moments.append(time.process_time())
        result.contrast(result.groups[0])
        moments.append(time.process_time())
        if [len(one.traits) > 0 for one in found] != [True] * 3:
            raise RuntimeError(f"expected three groups with a cause: {found}")
    names = ("replay", "cpu", "one")
    print(json.dumps({name: after - before for name, before, after in zip(names, moments, moments[1:], strict=False)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "1")
