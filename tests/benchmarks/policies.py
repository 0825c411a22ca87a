"""Policies in a replay: the CPU time with all kinds of policies, compared with the same replay without any.

A replay that only counts builds no payloads, which policies need: `payloads only` is the cost of a policy that searches
nothing in them. A comparison of two workspaces builds them anyway.

Events of 2 KB go through one JavaScript transformation to three destinations. Two in a hundred have an e-mail address
where none should be. The steps are those of the first run, in wall time. `--events` sets the number, which is 20,000
at most: they are replayed 27 times.
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
_ALL = "4 policies, 3 destinations"
_FLOOR: dict[str, list[Mapping[str, Json]]] = {"payloads only, nothing searched": [{"nothing_lost": {}}]}
_COMPARISONS: dict[str, list[Mapping[str, Json]]] = {"compared, 4 policies": POLICIES, "compared": []}


def run(options: Options) -> Iterator[Figure]:
    count = min(options.large, _MOST)
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name) / "events.ndjson", count, _break)
        kinds = [next(name for name in policy if name != "name") for policy in POLICIES]
        runs = {_ALL: POLICIES} | {f"{kind} alone": [policy] for kind, policy in zip(kinds, POLICIES, strict=True)}
        runs |= _FLOOR
        # In turns, because the speed of a machine that does something else changes.
        turns = [
            {name: task(file, destinations=3, policies=of) for name, of in {"": [], **runs}.items()}
            | {name: task(file, destinations=3, policies=of, compares=True) for name, of in _COMPARISONS.items()}
            for _ in range(options.many(3, 1))
        ]
        spent = {name: min(turn[name][0].cpu for turn in turns) / count * 1e6 for name in turns[0]}
        for name in runs:
            yield Figure(f"{name}: CPU per event", spent[name], "us", "no policies", spent[""])
        with_policies, without = [spent[name] for name in _COMPARISONS]
        yield Figure("4 policies in a comparison: CPU per event", with_policies, "us", "no policies", without)
        (whole, told), (alone, told_alone) = turns[0][_ALL], turns[0][""]
        yield from steps("4 policies", told, count, "user_transform", "dest_transform", "policies")
        yield from steps("no policies", told_alone, count, "user_transform", "dest_transform")
        yield Figure(f"largest process, {count:,} events", whole.peak, "MiB", "no policies", alone.peak)


def _break(number: int, line: str) -> str:
    """Two of a hundred events have an e-mail address as the number of the order."""
    return line.replace('"o-77"', '"jo@mail.example"', 1) if number % 50 == 1 else line
