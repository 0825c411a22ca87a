"""How many functions one event runs through from HTTP to the recorder, beside the pipeline alone.

`python -m tests.trace` lists them. The number does not depend on the machine; what other threads do at the same time
makes it vary by a few.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks._figures import Figure, Options
from tests.trace import trace, until_sent

#: where the pipeline begins, which notebooks and suites call without a data plane
PIPELINE = ("pipeline/run.py", "run_many")


def run(_options: Options) -> Iterator[Figure]:
    calls = until_sent(trace())
    begin = next(i for i, call in enumerate(calls) if call[:2] == PIPELINE)
    yield Figure("one event to the recorder", len(calls), "calls", "from the pipeline on", len(calls) - begin)
