"""Maps the sample webhooks of each source type; CPU time compared with reading and writing the body as JSON.

The figure is the median of the types' ratios; each type has the median of its samples with a body of 200 bytes or more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from statistics import median

from svctoolkit.sources import CATALOGUE, Example, examples
from tests.benchmarks._figures import Figure, Options, per_second

_LEAST = 200
_BRIEF = Options(quick=True)


def _best(call: Callable[[], object], options: Options) -> float:
    """Calls per second: the best of some brief rounds, as there are many samples."""
    return max(per_second(call, _BRIEF) for _ in range(options.many(5, 1)))


def _ratio(name: str, example: Example, options: Options) -> float:
    kind, request = CATALOGUE[name], example.request()
    ours = _best(lambda: kind.events(request, example.config, example.now, memory={}), options)
    return _best(lambda: json.dumps(json.loads(request["body"])), options) / ours


def run(options: Options) -> Iterator[Figure]:
    types: dict[str, float] = {}
    for name in CATALOGUE.names()[: options.many(100, 4)]:
        samples = [e for e in examples(name) if e.events and len(e.request()["body"]) >= _LEAST]
        if samples:
            types[name] = median(_ratio(name, example, options) for example in samples[: options.many(3, 1)])
    yield Figure(f"median of {len(types)} types", median(types.values()), "x", "JSON round trip of the body", 1.0)
