"""Runs the benchmarks that are named, or all of them."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
NAMES = [m.name for m in pkgutil.iter_modules([str(HERE)]) if not m.name.startswith("_")]


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        print(f"no benchmark is called {unknown[0]!r}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 4
    for name in names or NAMES:
        print(name, flush=True)
        for line in import_module(f"{__package__}.{name}").run():
            print(f"  {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
