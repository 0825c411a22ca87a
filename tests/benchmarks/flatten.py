"""Flattens 100,000 events (46 MB of JSON) into a frame; CPU time compared with pandas' own `json_normalize`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from time import process_time
from typing import Any

import pandas as pd

from svctoolkit.results import flatten
from tests.benchmarks._figures import Figure, Options


def event(number: int) -> dict[str, Any]:
    """An event of 460 bytes, of one of two shapes."""
    made: dict[str, Any] = {
        "type": "track",
        "event": "Order Completed" if number % 2 else "Product Viewed",
        "messageId": f"m-{number:08d}",
        "userId": f"u-{number % 5000}",
        "timestamp": "2026-01-15T10:04:30.120Z",
        "context": {
            "app": {"name": "shop", "version": "3.4.1"},
            "device": {"type": "ios", "model": "iPhone15,2"},
            "ip": "203.0.113.7",
            "traits": {"email": f"user{number}@example.com", "plan": "pro", "vip": number % 7 == 0},
        },
        "properties": {"order_id": f"A-{number}", "total": number / 7, "currency": "EUR", "quantity": number % 9},
    }
    if number % 2:
        made["properties"]["products"] = [{"sku": "S-1", "price": 9.95}]
    return made


def run(options: Options) -> Iterator[Figure]:
    events = [event(number) for number in range(options.large)]
    size = sum(len(json.dumps(one)) for one in events)
    flatten(events[:1000])
    started = process_time()
    flatten(events)
    ours, started = process_time() - started, process_time()
    pd.json_normalize(events)
    yield Figure(
        f"{len(events):,} events, {size / 1e6:.0f} MB", ours, "s CPU", "json_normalize", process_time() - started
    )
