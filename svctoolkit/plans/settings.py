"""A source's settings, by event type: what happens to an event that violates the plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.plans.schema.dialect import DEFAULT_OPTIONS, Options
from svctoolkit.plans.schema.javascript import text_of
from svctoolkit.plans.violation import ADDITIONAL_PROPERTIES, UNPLANNED_EVENT, Violation

#: keys of settings for one event type, in RudderStack's spelling
KEYS = (
    "allowUnplannedEvents",
    "unplannedProperties",
    "anyOtherViolation",
    "propagateValidationErrors",
    "sendViolatedEventsTo",
    "ajvOptions",
)
#: rudder-cli's spelling -> RudderStack's key, and its words for true and false
CLI_KEYS = {
    "propagate_violations": ("propagateValidationErrors", "true", "false"),
    "drop_unplanned_properties": ("unplannedProperties", "drop", "forward"),
    "drop_other_violations": ("anyOtherViolation", "drop", "forward"),
    "drop_unplanned_events": ("allowUnplannedEvents", "false", "true"),
}
#: what settings can apply to, in addition to `global`
TYPES = ("track", "identify", "page", "screen", "group")


@dataclass(frozen=True)
class TypeSettings:
    """The merged settings of one event type. If there are none, events of the type are not checked."""

    values: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def validates(self) -> bool:
        """Whether events of the type are checked."""
        return bool(self.values)

    @cached_property
    def marks(self) -> bool:
        """Whether violations are written into `context`: always, unless set to the text "false"."""
        return self.values.get("propagateValidationErrors") != "false"

    @cached_property
    def options(self) -> Options:
        """The options for compiling schemas."""
        options = self.values.get("ajvOptions")
        return Options.of(options) if isinstance(options, dict) and options else DEFAULT_OPTIONS

    def drops(self, violations: Sequence[Violation]) -> bool:
        """Whether an event with these violations is dropped."""
        return any(self._dropping(violation.type) for violation in violations)

    def _dropping(self, kind: str) -> bool:
        if kind == UNPLANNED_EVENT:
            return self._word("allowUnplannedEvents") == "false"
        key = "unplannedProperties" if kind == ADDITIONAL_PROPERTIES else "anyOtherViolation"
        return self._word(key) == "drop"

    def _word(self, key: str) -> str:
        return text_of(self.values.get(key)).lower()


@dataclass(frozen=True)
class Settings:
    """The settings of a source as RudderStack stores them: `{"global": {...}, "track": {...}, ...}`.

    Nothing is dropped unless a setting says so, and without any settings nothing is checked.
    """

    by_type: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of_words(cls, data: Mapping[str, Mapping[str, Json]]) -> Settings:
        """Read settings in the spelling of RudderStack or of rudder-cli."""
        return cls({kind: dict(_service_words(words)) for kind, words in data.items()})

    def of(self, event_type: Json) -> TypeSettings:
        """Return the settings of an event type: those of `global`, overridden key by key."""
        return self._merged.get(event_type, self._global) if isinstance(event_type, str) else self._global

    @cached_property
    def _global(self) -> TypeSettings:
        return TypeSettings(dict(self.by_type.get("global") or {}))

    @cached_property
    def _merged(self) -> dict[str, TypeSettings]:
        return {name: TypeSettings(self._merge(name)) for name in TYPES}

    def _merge(self, name: str) -> dict[str, Any]:
        base, own = self.by_type.get("global") or {}, self.by_type.get(name) or {}
        merged = {**base, **own}
        if isinstance(base.get("ajvOptions"), dict) and isinstance(own.get("ajvOptions"), dict):
            merged["ajvOptions"] = {**base["ajvOptions"], **own["ajvOptions"]}
        return merged


def _service_words(words: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in words.items():
        if key in CLI_KEYS:
            service_key, yes, no = CLI_KEYS[key]
            yield service_key, yes if value else no
        else:
            yield key, value


def setting_problems(data: Mapping[str, Json]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what is wrong with settings in either spelling: the path of a key, and a message."""
    kinds = ("global", *TYPES)
    for kind, words in data.items():
        if kind not in kinds:
            yield (kind,), f"settings apply to {', '.join(kinds)}, not {kind!r}.{did_you_mean(kind, kinds)}"
        elif not isinstance(words, Mapping):
            yield (kind,), "the settings of an event type must be an object"
        else:
            for key, value in words.items():
                if key not in KEYS and key not in CLI_KEYS:
                    yield (kind, key), f"unknown setting {key!r}.{did_you_mean(key, [*KEYS, *CLI_KEYS])}"
                elif key in CLI_KEYS and not isinstance(value, bool):
                    yield (kind, key), f"{key!r} must be true or false"


#: default of a plan without settings: events are checked, and all are forwarded
FORWARDING = Settings({"global": {"allowUnplannedEvents": "true"}})
