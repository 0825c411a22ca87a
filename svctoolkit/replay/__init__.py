"""Replay many events through a pipeline, or compare two pipelines on the same events.

>>> from svctoolkit import Workspace, events
>>> def shop(price):
...     workspace = Workspace("shop")
...     clean = lambda event: {**event, "properties": {"revenue": price(event)}}
...     workspace.transformation("clean", clean)
...     hook = {"webhookUrl": "https://x.example"}
...     workspace.destination("hook", "WEBHOOK", config=hook, transformation="clean")
...     return workspace
>>> before, after = shop(lambda e: e["properties"]["revenue"]), shop(lambda e: str(e["properties"]["revenue"]))
>>> orders = [events.track("Order Completed", user_id="u1", properties={"revenue": n}) for n in range(3)]
>>> compare(orders, before, after)
3 events, 1 destination: 3 changed
types: because of transformation clean
  changed  hook: body.JSON.properties.revenue: number -> text in 3 events of Order Completed
    [0]  0 -> "0"
    [1]  1 -> "1"
    [2]  2 -> "2"
"""

from __future__ import annotations

from svctoolkit.replay.api import compare, replay
from svctoolkit.replay.chunks import ChunkRunner, chunk_runner
from svctoolkit.replay.cost import CostLine, Costs, cost
from svctoolkit.replay.engine.progress import Progress
from svctoolkit.replay.forecast import Forecast, forecast
from svctoolkit.replay.inputs import Events
from svctoolkit.replay.records.columns import Columns
from svctoolkit.replay.records.record import Reject
from svctoolkit.replay.reports import REPORTS
from svctoolkit.replay.requests import RequestCount, RequestCounts, count_requests
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.review.terms import Breach, Conditions
from svctoolkit.replay.tally.differences import KINDS
from svctoolkit.replay.tally.estimates import Estimate
from svctoolkit.replay.tally.tally import Example, Group

__all__ = [
    "KINDS",
    "REPORTS",
    "Breach",
    "ChunkRunner",
    "Columns",
    "Comparison",
    "Conditions",
    "CostLine",
    "Costs",
    "Estimate",
    "Events",
    "Example",
    "Forecast",
    "Group",
    "Progress",
    "Reject",
    "Replayed",
    "RequestCount",
    "RequestCounts",
    "chunk_runner",
    "compare",
    "cost",
    "count_requests",
    "forecast",
    "replay",
]
