"""Counts the functions that one event runs through from HTTP to the recorder, compared with the pipeline alone.

`python -m tests.trace` lists them. The number does not depend on the machine; other threads change it by a few.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks._figures import Figure, Options
from tests.trace import trace, until_sent

#: the start of the pipeline, which notebooks and suites call without a data plane
PIPELINE = ("pipeline/run.py", "run_many")


def run(_options: Options) -> Iterator[Figure]:
    yield Figure("one event to a recorder", len(until_sent(trace())), "calls")
    calls = until_sent(trace("scripted"))
    begin = next(i for i, call in enumerate(calls) if call[:2] == PIPELINE)
    yield Figure(
        "one event to a lane and its recorder", len(calls), "calls", "from the pipeline on", len(calls) - begin
    )
