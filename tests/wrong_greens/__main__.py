"""python -m tests.wrong_greens [--seed N] [--count N]: the share of mistakes with an effect that every check misses.

With `--green N`: how often the unchanged projects fail.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from tests.wrong_greens import corpus, projects
from tests.wrong_greens.checking import Example, Verdict
from tests.wrong_greens.green import runs
from tests.wrong_greens.mistakes import Mistake, mistakes

#: Another sample of the same traffic: what a team has recorded, and replays.
RECORDED_SEED, RECORDED = 7, 400


def examples(folder: Path, names: Sequence[str] = projects.NAMES, count: int = corpus.COUNT) -> list[Example]:
    """Write and load the example projects, with `count` events of the corpus."""
    recorded, events = corpus.events(RECORDED_SEED, RECORDED), corpus.events(count=count)
    return [Example.load(name, projects.make(name, folder / name), recorded, events) for name in names]


def why_missed(mistake: Mistake) -> str:
    """Return why no check can notice a mistake of a known kind, or that it is not explained."""
    if mistake.kind == "conditions":
        return "explained: a valid condition; how much may change is what the team decides in it"
    return "not explained"


def judge_all(made: Iterator[Mistake], *, show: bool = False) -> Iterator[tuple[Mistake, Verdict]]:
    """Yield each mistake with its verdict."""
    for mistake in made:
        verdict = mistake.judge()
        if show and verdict.effect and not verdict.noticed_by:
            print(f"missed: {mistake}\n    although it changes {verdict.effect}\n    {why_missed(mistake)}", flush=True)
        yield mistake, verdict


def print_green(count: int, seed: int) -> int:
    """Run the unchanged projects, print each run that fails, and return the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        failed = [run for run in runs(Path(folder), count, seed) if run.failures]
    for run in failed:
        print(f"failed: {run.conditions}", *run.failures, sep="\n")
    print(f"{count} runs of {len(projects.NAMES)} projects, {len(failed)} failed ({sum(os.times()[:4]):.0f} s of CPU)")
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--cpu", type=float, default=float("inf"), help="stop after this many seconds of CPU")
    parser.add_argument("--project", action="append", choices=projects.NAMES)
    parser.add_argument("--green", type=int, metavar="N", help="instead, run the unchanged projects N times")
    options = parser.parse_args()
    if options.green:
        return print_green(options.green, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        loaded = examples(Path(folder), options.project or projects.NAMES)
        judged = judge_all(mistakes(loaded, options.count, options.seed), show=True)
        found = list(takewhile(lambda _: sum(os.times()[:4]) < options.cpu, judged))
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
