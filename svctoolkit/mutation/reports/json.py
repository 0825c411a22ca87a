"""`json`: the counts, and a record for each change."""

from __future__ import annotations

import json
from collections.abc import Callable

from svctoolkit.json_types import Json
from svctoolkit.mutation.result import Result
from svctoolkit.mutation.verdict import Verdict


def text(result: Result, mask: Callable[[str], str]) -> str:
    """Return one JSON document."""
    counts: dict[str, Json] = {
        "changes": len(result.noticed) + len(result.unnoticed),
        "noticed": len(result.noticed),
        "unnoticed": len(result.unnoticed),
        "ineffective": len(result.ineffective),
        "accepted": len(result.accepted),
        "names_place": len(result.named),
        "percent": round(result.percent, 2),
        "seconds": round(result.seconds, 3),
        "interrupted": result.interrupted,
    }
    lines: dict[str, Json] = {name: [*found] for name, found in result.code_lines().items()}
    verdicts: list[Json] = [record(verdict, mask) for verdict in result.ordered]
    return json.dumps({**counts, "lines": lines, "verdicts": verdicts}, indent=2, ensure_ascii=False) + "\n"


def record(verdict: Verdict, mask: Callable[[str], str]) -> dict[str, Json]:
    """Return a verdict as plain values, without secrets."""
    change = verdict.change
    return {
        "id": mask(change.id),
        "file": change.file,
        "line": change.line,
        "kind": change.kind,
        "change": mask(change.text),
        "status": verdict.status,
        "scenario": verdict.scenario,
        "names_place": verdict.names_place,
        "lines": [mask(line) for line in verdict.lines],
        "reason": mask(verdict.reason),
    }
