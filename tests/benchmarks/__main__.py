"""Runs the benchmarks that are named, or all of them, and prints one table.

Every figure has a ratio to a floor or a peer that is measured in the same run, so tables of different machines can be
compared. Ratios that are more than 20% off those that were committed last are marked. The figures go to
`results.json`, or to the file that `--json` names; those of a `--quick` run only there.

Peers are not needed: what is not installed is said in the table.

    pip install 'svctoolkit[bench]'                       # SDKs, Tavern: here, or
    pip install --target peers tavern 'pytest<9' segment-analytics-python rudder-sdk-python
    npm install --prefix vm isolated-vm                   # runs JavaScript in node, as the hosted service does
    SVCTOOLKIT_PEERS=peers SVCTOOLKIT_ISOLATED_VM=vm python -m tests.benchmarks

`--against REV` compares this tree, as it is, with a revision that is checked out in a temporary work tree: both take
turns, and each figure gets one ratio, this tree's to the revision's, with the least and the greatest of the rounds.
Ratios can be trusted on a busy machine, too, unless the figure is wall time. Nothing is written.

    python -m tests.benchmarks starts pipeline --against HEAD~20
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from tests.benchmarks import _report
from tests.benchmarks._against import Failed, ratios
from tests.benchmarks._builds import ROOT, Build, checked_out
from tests.benchmarks._figures import Figure, Options

HERE = Path(__file__).parent
NAMES = [m.name for m in pkgutil.iter_modules([str(HERE)]) if not m.name.startswith("_")]


def main(arguments: list[str]) -> int:
    args = _parsed(arguments)
    options = Options(args.quick, args.events)
    names = args.names or NAMES
    if args.against:
        return _against(names, args.against, options, args.rounds)
    before = _report.read(args.compare) if args.compare else {} if args.quick else _report.committed()
    made = _run(names, options, before, only_moved=args.moved)
    file = args.json or (None if args.quick or args.moved else _report.RESULTS)
    if file is not None:
        _report.write(file, made)
    return 0


def _run(names: list[str], options: Options, before: _report.Results, *, only_moved: bool) -> dict[str, list[Figure]]:
    """Run benchmarks and print their figures, or only those whose ratio has moved."""
    made: dict[str, list[Figure]] = {}
    shifted = 0
    for name in names:
        if not only_moved:
            print(name, flush=True)
        made[name] = []
        for figure in import_module(f"{__package__}.{name}").run(options):
            made[name].append(figure)
            was = _report.ratio_in(before, name, figure)
            has_moved = was is not None and figure.ratio is not None and _report.moved(figure.ratio, was)
            shifted += has_moved
            if has_moved or not only_moved:
                print(f"  {f'{name}: ' * only_moved}{_report.line(figure, was)}", flush=True)
    if before:
        print(f"{shifted} ratios have moved by more than 20%")
    return made


def _against(names: list[str], revision: str, options: Options, rounds: int) -> int:
    """Compare this tree with a revision. Return 1 if that is not possible."""
    mine = Build(ROOT)
    try:
        with checked_out(revision) as other:
            mine.compile()
            for name in names:
                print(f"{name}, against {revision}", flush=True)
                for line in ratios(name, mine, other, options, rounds):
                    print(f"  {line}", flush=True)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1
    except Failed as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="small sizes: only to see that everything works")
    parser.add_argument("--events", type=int, default=Options().events, help="size of large inputs (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="compare with this, not with what was committed")
    parser.add_argument("--moved", action="store_true", help="print only ratios that have moved, and write nothing")
    parser.add_argument("--against", metavar="REV", help="print the ratio of each figure to that of a revision")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each build with --against (%(default)s)")
    args = parser.parse_args(arguments)
    if args.against and (args.moved or args.json or args.compare):
        parser.error("--against prints ratios of two builds; it cannot be combined with --moved, --json or --compare")
    unknown = sorted(set(args.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    return args


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
