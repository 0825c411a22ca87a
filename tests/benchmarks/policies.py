"""Policies in a replay: the CPU time with all kinds of policies, compared with the same replay without any.

Events of 2 KB go through one JavaScript transformation to three destinations. Two in a hundred have an e-mail address
where none should be. The steps are those of the first run, in wall time. `--events` sets the number, which is 20,000
at most: they are replayed 18 times.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from svctoolkit.json_types import Json
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks.replay import steps, task, written

POLICIES: list[Mapping[str, Json]] = [
    {"name": "privacy", "no_personal": {"destinations": ["webhook", "mp"], "except": ["traits.email"]}},
    {"agree": {"on": "order_id", "values": ["mp.total", "webhook.properties.total"], "tolerance": "1%"}},
    {"required": {"event": "Order Completed", "at": {"mp": ["total", "currency"]}}},
    {"hosts": ["hook.example", "api.mixpanel.com", "api.segment.io"]},
]

_MOST = 20_000


def run(options: Options) -> Iterator[Figure]:
    count = min(options.large, _MOST)
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name) / "events.ndjson", count, _break)
        runs: dict[str, list[Mapping[str, Json]]] = {"": [], "4 policies, 3 destinations": POLICIES}
        runs |= {f"{next(name for name in policy if name != 'name')} alone": [policy] for policy in POLICIES}
        # In turns, because the speed of a machine that does something else changes.
        turns = [
            {name: task(file, destinations=3, policies=of) for name, of in runs.items()}
            for _ in range(options.many(3, 1))
        ]
        spent = {name: min(turn[name][0].cpu for turn in turns) / count * 1e6 for name in runs}
        for name in [*runs][1:]:
            yield Figure(f"{name}: CPU per event", spent[name], "us", "no policies", spent[""])
        (whole, told), (alone, told_alone) = turns[0]["4 policies, 3 destinations"], turns[0][""]
        yield from steps("4 policies", told, count, "user_transform", "dest_transform", "policies")
        yield from steps("no policies", told_alone, count, "user_transform", "dest_transform")
        yield Figure(f"largest process, {count:,} events", whole.peak, "MiB", "no policies", alone.peak)


def _break(number: int, line: str) -> str:
    """Two of a hundred events have an e-mail address as the number of the order."""
    return line.replace('"o-77"', '"jo@mail.example"', 1) if number % 50 == 1 else line
