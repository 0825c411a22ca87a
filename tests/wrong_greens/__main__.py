"""python -m tests.wrong_greens [--seed N] [--count N]: the share of mistakes with an effect that every check misses."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.wrong_greens import corpus, projects
from tests.wrong_greens.checking import Example, Verdict
from tests.wrong_greens.mistakes import Mistake, mistakes

#: Another sample of the same traffic: what a team has recorded, and replays.
RECORDED_SEED, RECORDED = 7, 400


def examples(folder: Path, names: Sequence[str] = projects.NAMES, count: int = corpus.COUNT) -> list[Example]:
    """Write and load the example projects, with `count` events of the corpus."""
    recorded, events = corpus.events(RECORDED_SEED, RECORDED), corpus.events(count=count)
    return [Example.load(name, projects.make(name, folder / name), recorded, events) for name in names]


def judge_all(made: Iterator[Mistake], *, show: bool = False) -> Iterator[tuple[Mistake, Verdict]]:
    """Yield each mistake with its verdict."""
    for mistake in made:
        verdict = mistake.judge()
        if show and verdict.effect and not verdict.noticed_by:
            print(f"missed: {mistake}\n    although it changes {verdict.effect}", flush=True)
        yield mistake, verdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--project", action="append", choices=projects.NAMES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        loaded = examples(Path(folder), options.project or projects.NAMES)
        found = list(judge_all(mistakes(loaded, options.count, options.seed), show=True))
    effective = [verdict for _, verdict in found if verdict.effect]
    missed = [verdict for verdict in effective if not verdict.noticed_by]
    by = Counter(verdict.noticed_by.split(":")[0] or "nothing" for verdict in effective)
    print(f"{len(found)} mistakes, {len(effective)} with an effect; noticed by", dict(by.most_common()))
    share = len(missed) / (len(effective) or 1)
    cpu = sum(os.times()[:4])
    print(f"missed by every check: {len(missed)} of {len(effective)}, {share:.1%} ({cpu:.0f} s of CPU, {time.ctime()})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
