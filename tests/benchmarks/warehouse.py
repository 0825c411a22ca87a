"""Warehouses: rows of a track with 40 columns, and 100,000 events loaded into DuckDB.

The rows are compared with the floor, reading the same event from JSON; the load with DuckDB reading the rows as NDJSON.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import duckdb

from svctoolkit.warehouse import Warehouse, rows
from tests.benchmarks._figures import Figure, Options

_TIME = "2026-02-03T04:05:06.789Z"


def track(number: int, properties: int) -> dict[str, Any]:
    """An order with this number of properties."""
    own = {f"property{n}Name": f"value {n}" if n % 3 else n * 1.5 for n in range(properties - 3)}
    times = dict.fromkeys(("originalTimestamp", "sentAt", "timestamp", "receivedAt"), _TIME)
    return {
        "type": "track",
        "messageId": f"m-{number}",
        "userId": f"u-{number % 5000}",
        "anonymousId": "a-1",
        "channel": "web",
        "event": ("Order Completed", "Product Viewed")[number % 2],
        "context": {"library": {"name": "js", "version": "3.1"}, "app": {"name": "shop"}, "ip": "192.0.2.7"},
        "properties": {"orderId": f"A-{number}", "total": number / 7 + 0.01, "isGift": True, **own},
        **times,
    }


def run(options: Options) -> Iterator[Figure]:
    event, calls = track(1, 24), max(200, options.large // 20)
    text = json.dumps(event)
    columns = len(rows(event, "POSTGRES")[-1]["columns"])
    started = process_time()
    for _ in range(calls):
        rows(event, "POSTGRES")
    ours, started = (process_time() - started) / calls, process_time()
    for _ in range(calls):
        json.loads(text)
    floor = (process_time() - started) / calls
    yield Figure(f"rows of a track, {columns} columns", ours * 1e6, "us", "json.loads", floor * 1e6)

    events = [track(number, 6) for number in range(options.large)]
    warehouse = Warehouse("POSTGRES", name="shop")
    started = process_time()
    warehouse.load(events)
    yield Figure(f"{len(events):,} events in tables", process_time() - started, "s CPU", "read_json", _floor(events))


def _floor(events: list[dict[str, Any]]) -> float:
    """Seconds that DuckDB takes for the finished rows of the events, two of each, as NDJSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.ndjson"
        lines = (json.dumps(row["data"]) for event in events for row in rows(event, "POSTGRES"))
        file.write_text("\n".join(lines), encoding="utf-8")
        with duckdb.connect() as database:
            started = process_time()
            database.execute("create table t as select * from read_json(?)", [str(file)])
            return process_time() - started
