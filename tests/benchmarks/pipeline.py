"""Events through `dest_transform` for WEBHOOK, in process."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from svctoolkit import Pipeline, Workspace, events
from svctoolkit.pipeline import Stages

SECONDS = 2.0


def run() -> Iterator[str]:
    workspace = Workspace()
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    pipeline, event, stages = Pipeline(workspace), events.sample("track"), Stages.of("dest_transform")
    pipeline.test_destination("hook", event, stages=stages)
    count, started = 0, perf_counter()
    while perf_counter() - started < SECONDS:
        for _ in range(100):
            pipeline.test_destination("hook", event, stages=stages)
        count += 100
    rate = count / (perf_counter() - started)
    yield f"{rate:10,.0f} events/s  ({1e6 / rate:.0f} us an event, route and result included)"
