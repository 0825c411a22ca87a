"""Score the plans against the service's recorded answers: `python -m tests.plans.score CASES.json [--show N]`.

A case has a plan in the service's JSON, settings, an event and what the service said. Violations are compared as a
multiset by type, property and place in the event; differing messages and schema paths are counted, too.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from svctoolkit.plans import Settings, Violation, formats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--show", type=int, default=10)
    arguments = parser.parse_args()
    cases = json.loads(arguments.cases.read_text(encoding="utf-8"))
    wrong = {case["id"]: list(differences(case)) for case in cases}
    failures = {name: texts for name, texts in wrong.items() if any(not text.startswith("~") for text in texts)}
    print(f"{len(cases) - len(failures)} of {len(cases)} cases agree")
    print(
        f"{sum(any(t.startswith('~') for t in texts) for texts in wrong.values())} differ in a message or schema path"
    )
    for name, texts in [(n, t) for n, t in wrong.items() if t][: arguments.show]:
        print(name, *texts, sep="\n    ")
    return 1 if failures else 0


def differences(case: Mapping[str, Any]) -> Iterator[str]:
    """The differences for a case; those that begin with `~` do not count."""
    plan = formats.of_service(case["plan"], name=case["id"], strict=False)
    settings = Settings({"global": case["merged"]} if "merged" in case else case["settings"])
    verdict = plan.check(case["event"], settings)
    expected = case["expect"]
    if verdict.dropped != expected["dropped"]:
        yield f"dropped: {verdict.dropped}, not {expected['dropped']}"
    if (verdict.mark is not None) != expected["marked"]:
        yield f"marked: {verdict.mark is not None}, not {expected['marked']}"
    if bool(verdict.unchecked) != ("unchecked" in expected):
        yield f"unchecked: {verdict.unchecked!r}, not {expected.get('unchecked')!r}"
    keys = [("type", "property", "instancePath"), ("type", "message", "property", "instancePath", "schemaPath")]
    for weight, names in zip(("", "~ "), keys, strict=True):
        ours = Counter(tuple(members(v).get(name, "") for name in names) for v in verdict.violations)
        theirs = Counter(tuple(v.get(name, "") for name in names) for v in expected["violations"])
        for sign, rows in (("+", ours - theirs), ("-", theirs - ours)):
            yield from (f"{weight}{sign} {row}" for row in rows)
    if "event" in expected:
        event = {key: value for key, value in verdict.event.items() if key != "context"}
        if event != expected["event"]:
            yield f"event: {event}, not {expected['event']}"


def members(violation: Violation) -> dict[str, str]:
    return violation._asdict() | {"instancePath": violation.path, "schemaPath": violation.schema_path}


if __name__ == "__main__":
    raise SystemExit(main())
