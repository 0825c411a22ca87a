"""Runs the benchmarks that are named, or all of them, and prints one table.

Every figure has a ratio to a floor or a peer that is measured in the same run, so tables of different machines can be
compared. Ratios that are more than 20% off those that were committed last are marked. The figures go to
`results.json`, or to the file that `--json` names; those of a `--quick` run only there.

Peers are not needed: what is not installed is said in the table.

    pip install 'svctoolkit[bench]'                       # SDKs, Tavern: here, or
    pip install --target peers tavern 'pytest<9' segment-analytics-python rudder-sdk-python
    npm install --prefix vm isolated-vm                   # runs JavaScript in node, as the hosted service does
    SVCTOOLKIT_PEERS=peers SVCTOOLKIT_ISOLATED_VM=vm python -m tests.benchmarks
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from tests.benchmarks import _report
from tests.benchmarks._figures import Figure, Options

HERE = Path(__file__).parent
NAMES = [m.name for m in pkgutil.iter_modules([str(HERE)]) if not m.name.startswith("_")]


def main(arguments: list[str]) -> int:
    args = _parsed(arguments)
    options = Options(args.quick, args.events)
    before = _report.read(args.compare) if args.compare else {} if args.quick else _report.committed()
    made: dict[str, list[Figure]] = {}
    shifted = 0
    for name in args.names or NAMES:
        print(name, flush=True)
        made[name] = []
        for figure in import_module(f"{__package__}.{name}").run(options):
            made[name].append(figure)
            was = _report.ratio_in(before, name, figure)
            shifted += was is not None and figure.ratio is not None and _report.moved(figure.ratio, was)
            print(f"  {_report.line(figure, was)}", flush=True)
    if before:
        print(f"{shifted} ratios have moved by more than 20%")
    file = args.json or (None if args.quick else _report.RESULTS)
    if file is not None:
        _report.write(file, made)
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
    args = parser.parse_args(arguments)
    unknown = sorted(set(args.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    return args


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
