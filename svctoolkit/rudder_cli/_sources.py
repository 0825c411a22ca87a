"""Rules of `kind: event-stream-source`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import CURRENT, SOURCE_TYPES, Release
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import BOOLEAN, TEXT, Checker, is_open, reference, reference_form

SYNTAX: Final = "event-stream/source/spec-syntax-valid"
SEMANTIC: Final = "event-stream/source/semantic-valid"
_REST: Final = {"propagate_violations": BOOLEAN, "drop_unplanned_properties": BOOLEAN, "drop_other_violations": BOOLEAN}
SHAPE: Final = {
    "id": TEXT,
    "name": TEXT,
    "type": TEXT,
    "enabled": BOOLEAN,
    "governance": {
        "validations": {
            "tracking_plan": TEXT,
            "config": {
                "track": {**_REST, "drop_unplanned_events": BOOLEAN},
                **dict.fromkeys(("identify", "group", "page", "screen"), _REST),
            },
        }
    },
}
TYPES: Final = [
    "java",
    "dotnet",
    "php",
    "flutter",
    "cordova",
    "rust",
    "react_native",
    "python",
    "ios",
    "android",
    "javascript",
    "go",
    "node",
    "ruby",
    "unity",
    "swift",
    "kotlin",
]
LATER_TYPES: Final = ("android_kotlin", "ios_swift")
_OWN: Final = ("android", "ios", "unity", "flutter", "cordova", "react_native", *LATER_TYPES)
_PLAN: Final = ("governance", "validations", "tracking_plan")


def check(file: SpecFile, release: Release) -> list[Finding]:
    """Return the findings of a source's file."""
    checker = Checker(file, SYNTAX)
    spec = file.spec
    if not checker.fits(SHAPE):
        return checker.findings
    checker.needs(spec, (), "id", "name", "type")
    checker.one_of(spec, (), "type", [*TYPES, *(LATER_TYPES if release == CURRENT else ())])
    governance = spec.get("governance")
    if isinstance(governance, dict):
        _governance(checker, governance)
    return checker.findings


def _governance(checker: Checker, governance: dict[str, Json]) -> None:
    validations = governance.get("validations")
    if not isinstance(validations, dict):
        return
    path = ("governance", "validations")
    checker.needs(validations, path, "tracking_plan")
    if validations.get("config") is None:
        checker.add((*path, "config"), "'config' is required: {} will do")
    written = validations.get("tracking_plan")
    old = checker.file.old
    if written and not is_open(written) and reference("tracking-plan", written, old=old) is None:
        form = reference_form("tracking-plan", old=old)
        checker.add(_PLAN, f"'tracking_plan' must be written {form}")


def plan_of(file: SpecFile) -> str | None:
    """Return the id of a source's tracking plan."""
    at: Json = file.spec
    for step in _PLAN:
        at = at.get(step) if isinstance(at, dict) else None
    return reference("tracking-plan", at, old=file.old)


def semantic(files: list[SpecFile], plans: set[str]) -> Iterator[Finding]:
    """Yield sources with a tracking plan that does not exist."""
    for file in files:
        plan = plan_of(file)
        if plan is not None and plan not in plans:
            yield file.finding(SEMANTIC, ("spec", *_PLAN), f"tracking plan {plan!r} not found in the project")


def source_type(type_: str) -> str:
    """Return the source type of a source, which settings and connections are keyed by."""
    if type_ == "javascript":
        return "web"
    return type_ if type_ in _OWN else "cloud"


def platform(type_: str) -> str:
    """Return the source type of a source as the service spells it: the key of settings by source type."""
    own = source_type(type_)
    return SOURCE_TYPES.get(own, own)
