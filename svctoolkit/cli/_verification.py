"""Whether a project works in CI: in a copy of what Git would track, without the environment of this shell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svctoolkit.cli import _terminal
from svctoolkit.project.tracked import copy_tracked

_SECONDS = 600
_MOST = 8  # causes that are printed one by one
#: Fourteen hours ahead of UTC, so that results that depend on the zone differ.
_ZONE = "<+14>-14"
_NOTE = re.compile(r"svctoolkit: (\d+ notes?|note):")
_HOUSEKEEPING = ("PYTHONPATH", "SYSTEMROOT")  # without them Python may not start, or not find this package


@dataclass(frozen=True, slots=True)
class Verification:
    """`lines` say what works or what does not, with the reason."""

    works: bool
    lines: tuple[str, ...]


def verify(project: Path) -> Verification:
    """Copy what Git would track of a project to a temporary folder, and run its suites, samples and policies there.

    The process that runs them has no variables of this shell, and another time zone. Code of the project runs.
    """
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        copy = Path(temporary, "clone")
        copy.mkdir()
        copy_tracked(project, copy)
        environ = {"TZ": _ZONE, **{name: os.environ[name] for name in _HOUSEKEEPING if name in os.environ}}
        command = [sys.executable, "-P", "-m", "svctoolkit.cli._verified", str(copy)]
        try:
            done = subprocess.run(
                command, env=environ, cwd=temporary, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            return Verification(False, (f"not verified: the suites took more than {_SECONDS // 60} minutes",))
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Verification(False, (f"not verified: {last}",))
    return _judged(answer)


def print_verification(project: Path) -> bool:
    """Verify a project, print the result, and return whether it works."""
    result = verify(project)
    for line in result.lines:
        _terminal.out(_terminal.plain(line))
    return result.works


def _judged(answer: Mapping[str, Any]) -> Verification:
    problems = [*_run_problems(answer), *_replay_problems(answer)]
    if problems:
        return Verification(False, ("does not work in CI, in a copy without .env:", *problems))
    counts = _counts(answer)
    passed = f"{counts.get('passed', 0)} passed" if "run" in answer else "the workspace loads; there are no suites"
    skipped = f", {counts['skipped']} skipped" if "skipped" in counts else ""
    return Verification(True, (f"works in CI: {passed}{skipped}",))


def _counts(answer: Mapping[str, Any]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for scenario in answer.get("scenarios", ()):
        counts[scenario["status"]] += 1
    return dict(counts)


def _run_problems(answer: Mapping[str, Any]) -> Iterator[str]:
    ran = answer.get("run") or answer["check"]
    if ran["code"] == 0:
        return
    failed = [scenario for scenario in answer.get("scenarios", ()) if scenario["status"] in ("failed", "error")]
    if not failed:
        yield from (f"  {line}" for line in ran["errors"].strip().splitlines())
        return
    by_cause: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for scenario in failed:
        by_cause[_cause(scenario)].append(scenario)
    yield f"  {len(failed)} of {len(answer['scenarios'])} scenarios fail"
    for cause, scenarios in [*by_cause.items()][:_MOST]:
        more = f" (and {len(scenarios) - 1} more)" if len(scenarios) > 1 else ""
        yield f"  {scenarios[0]['name']}{more}: {cause}"
    if len(by_cause) > _MOST:
        yield f"  and {len(by_cause) - _MOST} other reasons"


def _cause(scenario: Mapping[str, Any]) -> str:
    differences = scenario["differences"]
    if not differences:
        return str(scenario["reason"] or scenario["explanation"]).partition("\n")[0]
    first = differences[0]
    return f"{first['path']}: expected {first['expected']}, got {first['got']}"


def _replay_problems(answer: Mapping[str, Any]) -> Iterator[str]:
    replayed = answer.get("replay")
    if replayed is not None and replayed["code"] != 0:
        yield "  replay of suites/events:"
        lines = [line for line in replayed["errors"].strip().splitlines() if not _NOTE.match(line)]
        yield from (f"    {line}" for line in lines)
