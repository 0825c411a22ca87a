"""Policies in a replay: the CPU time with all kinds of policies, compared with the same replay without any.

Events of 2 KB go through one JavaScript transformation to three destinations. Two in a hundred have an e-mail address
where none should be. `--events` sets the number.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from svctoolkit.json_types import Json
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks.replay import Task, task, written

POLICIES: list[Mapping[str, Json]] = [
    {"name": "privacy", "no_personal": {"destinations": ["webhook", "mp"], "except": ["traits.email"]}},
    {"agree": {"on": "order_id", "values": ["mp.total", "webhook.properties.total"], "tolerance": "1%"}},
    {"required": {"event": "Order Completed", "at": {"mp": ["total", "currency"]}}},
    {"hosts": ["hook.example", "api.mixpanel.com", "api.segment.io"]},
]


def run(options: Options) -> Iterator[Figure]:
    count = options.large
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name) / "events.ndjson", count, _break)
        alone, whole = task(file, destinations=3), task(file, destinations=3, policies=POLICIES)
        yield _figure("4 policies, 3 destinations", whole, alone, count)
        for policy in POLICIES:
            kind = next(name for name in policy if name != "name")
            yield _figure(f"{kind} alone", task(file, destinations=3, policies=[policy]), alone, count)
        yield Figure(f"largest process, {count:,} events", whole[0].peak, "MiB", "no policies", alone[0].peak)


def _figure(name: str, of: Task, alone: Task, count: int) -> Figure:
    spent, floor = (one[0].cpu / count * 1e6 for one in (of, alone))
    return Figure(f"{name}: CPU per event", spent, "us", "no policies", floor)


def _break(number: int, line: str) -> str:
    """Two of a hundred events have an e-mail address as the number of the order."""
    return line.replace('"o-77"', '"jo@mail.example"', 1) if number % 50 == 1 else line
