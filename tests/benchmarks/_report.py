"""Prints figures as a table and as JSON, and marks changes since another run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks._figures import Figure

RESULTS = Path(__file__).with_name("results.json")
_MOVED = 0.2
Results = Mapping[str, Sequence[Mapping[str, Any]]]


def line(figure: Figure, before: float | None) -> str:
    """`dest_transform   41,234 events/s   0.62 of 66,500 (a JSON round trip)   was 0.80  <-- moved`."""
    value = "-" if figure.value is None else number(figure.value)
    text = f"{figure.name:<52} {value:>10} {figure.unit:<9}"
    if figure.ratio is not None and figure.other is not None:
        text += f" {figure.ratio:7.2f} of {number(figure.other)}, {figure.beside}"
        if before is not None:
            text += f"; was {before:.2f}" + ("  <-- moved" if moved(figure.ratio, before) else "")
    elif figure.beside:
        text += f" {'':>7}    {figure.beside}"
    return (f"{text} ({figure.note})" if figure.note else text).rstrip()


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def moved(ratio: float, before: float) -> bool:
    return abs(ratio / before - 1) > _MOVED if before else False


def ratio_in(results: Results, benchmark: str, figure: Figure) -> float | None:
    """The ratio of the same figure in other results."""
    for known in results.get(benchmark, ()):
        if (known["name"], known["beside"]) == (figure.name, figure.beside):
            found: float | None = known["ratio"]
            return found
    return None


def committed() -> Results:
    """The last committed results, or the file itself if there is no repository."""
    command = ["git", "show", f"HEAD:./{RESULTS.name}"]
    done = subprocess.run(command, cwd=RESULTS.parent, capture_output=True, text=True, check=False)
    return read(RESULTS) if done.returncode else _figures(done.stdout)


def read(file: Path) -> Results:
    return _figures(file.read_text(encoding="utf-8")) if file.exists() else {}


def _figures(text: str) -> Results:
    found: Results = json.loads(text)["figures"]
    return found


def write(file: Path, made: Mapping[str, Sequence[Figure]]) -> None:
    """Write figures; keep those of benchmarks that were not run."""
    figures = {**read(file), **{name: [_plain(figure) for figure in of] for name, of in made.items()}}
    told = {"python": platform.python_version(), "machine": _machine(), "figures": dict(sorted(figures.items()))}
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _plain(figure: Figure) -> dict[str, Any]:
    rounded = {
        name: None if value is None else float(f"{value:.4g}")
        for name, value in (("value", figure.value), ("other", figure.other), ("ratio", figure.ratio))
    }
    return {"name": figure.name, "unit": figure.unit, "beside": figure.beside, **rounded}


def _machine() -> str:
    model = ""
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        lines = cpus.read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return ", ".join(filter(None, (platform.system(), platform.machine(), f"{os.cpu_count()} CPUs", model)))
