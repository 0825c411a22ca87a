"""Rules of `kind: destination`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import Definition, Release, find, known_types
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._settings import faults
from svctoolkit.rudder_cli._shapes import BOOLEAN, NUMBER, OBJECT, TEXT, Checker, is_open, reference

SYNTAX: Final = "destination/spec-syntax-valid"
SHAPE: Final = {
    "id": TEXT,
    "display_name": TEXT,
    "type": TEXT,
    "definition_version": NUMBER,
    "enabled": BOOLEAN,
    "transformation": TEXT,
    "config": OBJECT,
}
_NAME: Final = r"^[\w .-]{2,100}$"


def check(file: SpecFile, release: Release) -> list[Finding]:
    """Return the findings of a destination's file."""
    checker = Checker(file, SYNTAX)
    spec = file.spec
    for key in spec:
        if key not in SHAPE:
            checker.add((key,), f"unknown key {key!r} of a destination")
    if not checker.fits(SHAPE):
        return checker.findings
    checker.needs(spec, (), "id", "display_name", "type")
    if spec.get("definition_version") in (None, 0):
        checker.add(("definition_version",), "'definition_version' is required: write 1")
    rule = "it must have 2 to 100 characters: letters, digits, spaces, or any of _ . -"
    checker.text(spec, (), "display_name", pattern=_NAME, rule=rule)
    written = spec.get("transformation")
    if written and not is_open(written) and reference("transformation", written) is None:
        checker.add(("transformation",), "'transformation' must be written #transformation:<id>")
    definition = definition_of(spec, release)
    if definition is None:
        _unknown_type(checker, spec.get("type"), release)
    else:
        _version(checker, spec)
        for path, message in faults(spec.get("config") or {}, definition):
            checker.add(("config", *path), message)
    return checker.findings


def definition_of(spec: dict[str, Json], release: Release) -> Definition | None:
    """Return the definition of a destination's type."""
    type_ = spec.get("type")
    return find(type_, release) if isinstance(type_, str) else None


def _version(checker: Checker, spec: dict[str, Json]) -> None:
    version = spec.get("definition_version")
    if isinstance(version, (int, float)) and version and int(version) != 1:
        checker.add(("definition_version",), f"version {version} does not exist: write 1")


def _unknown_type(checker: Checker, type_: Json, release: Release) -> None:
    if not type_ or is_open(type_) or is_unchecked_type(type_):
        return
    names = known_types(release)
    lower = type_.lower()
    hint = f" Did you mean {lower!r}?" if lower in names else f" Known types: {', '.join(names)}."
    checker.add(("type",), f"unknown destination type {type_!r}.{hint}")


def is_unchecked_type(type_: str) -> bool:
    """Whether a later release has the type, without a definition here: its settings are kept, and not checked."""
    return type_ in _UNCHECKED


#: Types that releases from 0.25 on have, by their name in YAML -> the name of the service.
_UNCHECKED: Final = {
    "adobe_analytics": "ADOBE_ANALYTICS",
    "bingads_offline_conversions": "BINGADS_OFFLINE_CONVERSIONS",
    "firebase": "FIREBASE",
    "ga": "GA",
    "google_adwords_offline_conversions": "GOOGLE_ADWORDS_OFFLINE_CONVERSIONS",
    "gtm": "GTM",
    "linkedin_ads": "LINKEDIN_ADS",
    "linkedin_insight_tag": "LINKEDIN_INSIGHT_TAG",
    "qualtrics": "QUALTRICS",
    "sentry": "SENTRY",
    "snowpipe_streaming": "SNOWPIPE_STREAMING",
    "vwo": "VWO",
}


def service_type(type_: str) -> str:
    """Return the service's name of a type without a definition."""
    return _UNCHECKED.get(type_, type_.upper())


def semantic(files: list[SpecFile], transformations: set[str]) -> Iterator[Finding]:
    """Yield destinations with a transformation that does not exist."""
    for file in files:
        id_ = reference("transformation", file.spec.get("transformation"))
        if id_ is not None and id_ not in transformations:
            message = f"transformation {id_!r} not found in the project"
            yield file.finding("destination/semantic-valid", ("spec", "transformation"), message)
