"""Events through the stages, one by one and in process, compared with a JSON round trip of the event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from svctoolkit import Pipeline, Workspace, events
from svctoolkit.pipeline import Stages
from tests.benchmarks._figures import Figure, Options, per_second

STAGES = {
    "dest_transform (WEBHOOK)": Stages.of("dest_transform"),
    "user_transform (Python function), dest_transform": Stages(),
    "all three stages, to the recorder": Stages(send_to_destination=True),
}


def run(options: Options) -> Iterator[Figure]:
    workspace = Workspace()
    workspace.transformation("keep", _keep)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"}, transformation="keep")
    pipeline, event = Pipeline(workspace), events.sample("track")
    floor = per_second(lambda: json.loads(json.dumps(event)), options)
    for name, stages in STAGES.items():
        rate = per_second(lambda stages=stages: pipeline.test_destination("hook", event, stages=stages), options)
        yield Figure(name, rate, "events/s", "a JSON round trip of the event", floor)


def _keep(event: dict[str, Any]) -> dict[str, Any]:
    return event
