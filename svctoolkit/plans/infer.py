"""Draft a plan from real events, as a project of rudder-cli.

Each guess is followed by the number of events that support it: a draft is meant to be reviewed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.lexical import storable
from svctoolkit.personal import kind_of, mask, replace_in_text
from svctoolkit.plans.formats._contract import RULE_TYPES, default_section
from svctoolkit.plans.schema.formats import FORMATS

#: with fewer events of one name, nothing is guessed
LEAST_EVENTS: Final = 5
_MOST_VALUES: Final = 10  # values of an enum
_TRACKED_VALUES: Final = 50
_REPEATED: Final = 3  # of each value: with values that occur once, there are others that have not occurred yet
_LEAST_VALUES: Final = 20  # of a property with an enum
_LEVELS: Final = 3
_FORMATS: Final = ("date-time", "date", "uuid", "email", "ipv4")
_LONGEST_NAME: Final = 64
_RARE: Final = 0.02  # a type of a smaller share of the values is a mistake of few events,
_ENOUGH: Final = 50  # if there are at least this many values
_LONGEST_VALUE: Final = 40  # of an enum; longer ones, and those of four words, are free text
#: Words in names of properties of which new values come every day: users write them, or they name single things.
_FREE: Final = {
    *("body", "comment", "description", "keyword", "keywords", "message", "note", "notes", "q", "query", "search"),
    *("term", "text", "url", "uri", "href", "link", "path", "pathname", "referrer", "referer", "host", "hostname"),
    *("title", "file", "filename", "slug", "name", "label", "author", "customer", "user", "agent", "id", "ids", "uuid"),
    *("guid", "key", "hash", "sku", "ean", "gtin", "isbn", "asin", "barcode", "coupon", "voucher", "promo", "token"),
    *("version", "build", "utm", "session", "campaign", "coordinates", "location", "date", "time", "day"),
}
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
#: Values with the form of a path or address, number, version or hash are never a complete set.
_OPEN_FORM: Final = re.compile(r".*/.*|[-+]?\d[\d.,:_ -]*|v?\d+(\.\d+)+.*|[0-9a-fA-F-]{16,}", re.S)
_TWO_NAMES: Final = re.compile(r"[A-Z][a-z]+ [A-Z][a-z'-]+")  # perhaps those of a person


@dataclass(slots=True)
class Draft:
    """File contents by name, and the events that were left out because there are too few of them."""

    files: dict[str, str]
    skipped: dict[str, int]


@dataclass(slots=True)
class _Values:
    """The observed values of one property."""

    count: int = 0
    types: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    inner: dict[str, _Values] = field(default_factory=dict)
    objects: int = 0

    def add(self, value: Any, level: int = 0) -> None:
        self.count += 1
        kind = _type(value)
        self.types[kind] += 1
        if isinstance(value, str):
            if len(self.texts) <= _TRACKED_VALUES:
                self.texts[value] += 1
            self.formats.update(name for name in _FORMATS if FORMATS[name](value))
        elif isinstance(value, list):
            self.items.update({_type(item) for item in value})
        elif isinstance(value, Mapping) and level < _LEVELS:
            self.objects += 1
            for name, inner in value.items():
                if storable(str(name)) == str(name):  # YAML cannot hold half of a surrogate pair
                    self.inner.setdefault(str(name), _Values()).add(inner, level + 1)

    @property
    def rare(self) -> dict[str, int]:
        """Return the types that are set aside: of very few values, such as `n/a` among numbers."""
        numbers = self.types["integer"] + self.types["number"]
        shares = {"integer": numbers, "number": numbers}
        rest = {
            kind: n for kind, n in self.types.items() if kind != "null" and shares.get(kind, n) < _RARE * self.count
        }
        return rest if self.count >= _ENOUGH else {}

    @property
    def type_names(self) -> list[str]:
        """Return the types, without rare ones; integers among other numbers count as numbers."""
        names = set(self.types) - set(self.rare)
        return sorted(names - {"integer"} if "number" in names else names)

    # Any: JSON
    def config(self, name: str) -> dict[str, Any]:
        """Return what all values have in common, if they are strings.

        An enum rejects all other values, so it needs a set that looks complete: never values of people, free text,
        ids, paths or versions.
        """
        if set(self.type_names) - {"null"} != {"string"}:
            return {}
        texts = self.types["string"]
        fitting = [name for name in _FORMATS if self.formats[name] == texts]
        if fitting and texts >= LEAST_EVENTS:
            return {"format": fitting[0]}
        if any("{{" in text or storable(text) != text for text in self.texts):  # a variable, or not possible in YAML
            return {}
        words = {word.lower() for word in _WORDS.findall(name)}
        if kind_of(name, "properties") or any(map(_is_open, self.texts)) or _FREE & words:
            return {}
        few = 1 < len(self.texts) <= _MOST_VALUES and min(self.texts.values()) >= _REPEATED
        return {"enum": sorted(self.texts)} if few and texts >= _LEAST_VALUES and "null" not in self.types else {}


def _type(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, float) and not value.is_integer():
        return "number"
    for kind, name in ((int | float, "integer"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def infer(events: Iterable[Mapping[str, Json]], name: str = "draft") -> Draft:
    """Draft a project from events: types, required properties (present in all), enums, formats, nested objects.

    The properties of identify and group events are read from `traits`, or if missing from `context.traits`.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    shapes: dict[tuple[str, str, str], _Values] = {}
    for event in events:
        key, properties = _subject(event)
        if key is not None:
            counts[key] += 1
            shapes.setdefault(key, _Values()).add(properties)
    skipped = {key[1] or key[0]: count for key, count in counts.items() if count < LEAST_EVENTS}
    drawn = {key: values for key, values in shapes.items() if counts[key] >= LEAST_EVENTS}
    return Draft(_Writer(name).files(drawn), skipped)


def _subject(event: Mapping[str, Any]) -> tuple[tuple[str, str, str] | None, Mapping[str, Any]]:
    """Return type, name and section of an event, and its properties."""
    kind, name = event.get("type"), event.get("event")
    if kind not in RULE_TYPES or (kind == "track" and not _is_name(name)):
        return None, {}
    section = default_section(str(kind))
    properties = event.get(section)
    if section == "traits" and not isinstance(properties, Mapping):
        context = event.get("context")
        section, properties = "context.traits", context.get("traits") if isinstance(context, Mapping) else None
    members = properties if isinstance(properties, Mapping) else {}
    return (str(kind), str(name) if kind == "track" else "", section), members


class _Writer:
    """Writes the files of a project. A property with the same name and shape is declared once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._properties: dict[str, tuple[str, str]] = {}  # shape -> id, line
        self._ids: set[str] = set()

    def files(self, drawn: Mapping[tuple[str, str, str], _Values]) -> dict[str, str]:
        """Return the contents of `events.yaml`, `properties.yaml` and `plan.yaml`."""
        events: list[str] = []
        rules: list[str] = []
        sections = Counter((kind, name) for kind, name, _ in drawn)
        for (kind, name, section), values in drawn.items():
            if sections[kind, name] > 1 and section == "context.traits":
                continue  # one rule per event: the most common section wins
            id = self._id(name or kind)
            named = f", name: {_text(name)}" if name else ""
            events.append(f"    - {{id: {id}{named}, event_type: {kind}}}  # {values.count} events")
            rules += self._rule(id, section, values)
        head = "version: rudder/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"
        name = _slug(self._name)

        def file(kind: str, lines: Iterable[str]) -> str:
            return head.format(kind=kind, name=name) + "\n".join(lines) + "\n"

        properties = [line for _, line in self._properties.values()]
        plan = [f"  id: {name}", f"  display_name: {_text(self._name)}", "  rules:" if rules else "  rules: []", *rules]
        return {
            "events.yaml": file("events", ["  events:" if events else "  events: []", *events]),
            "properties.yaml": file("properties", ["  properties:" if properties else "  properties: []", *properties]),
            "plan.yaml": file("tracking-plan", plan),
        }

    def _rule(self, id: str, section: str, values: _Values) -> Iterator[str]:
        yield "    - type: event_rule"
        yield f"      id: {id}_rule"
        yield f'      event: "#event:{id}"'
        yield f"      identity_section: {section}"
        if values.inner:
            yield "      properties:"
            yield from self._members(values, "        ")

    def _members(self, values: _Values, indent: str) -> Iterator[str]:
        for name, inner in sorted(values.inner.items()):
            if not _is_name(name):
                continue
            every = inner.count == values.objects
            yield f'{indent}- property: "#property:{self._declare(name, inner)}"  # {inner.count} of {values.objects}'
            if every:
                yield f"{indent}  required: true"
            if inner.inner and set(inner.type_names) <= {"object", "null"}:
                yield f"{indent}  additional_properties: true"
                yield f"{indent}  properties:"
                yield from self._members(inner, f"{indent}    ")

    def _declare(self, name: str, values: _Values) -> str:
        """Return the id of a property. A new property is declared."""
        members = [f"name: {_text(name)}", f"types: {_list(values.type_names)}"]
        if values.items and "array" in values.types:
            kinds = set(values.items)
            members.append(f"item_types: {_list(sorted(kinds - {'integer'} if 'number' in kinds else kinds))}")
        if config := values.config(name):
            members.append(f"config: {json.dumps(config, ensure_ascii=False)}")
        shape = ", ".join(members)
        if shape not in self._properties:
            id = self._id(name)
            self._properties[shape] = id, f"    - {{id: {id}, {shape}}}  # {_numbers(values)}"
        return self._properties[shape][0]

    def _id(self, name: str) -> str:
        id = base = _slug(name)
        number = 2
        while id in self._ids:
            id, number = f"{base}_{number}", number + 1
        self._ids.add(id)
        return id


def _is_name(name: Any) -> bool:
    """Whether a project can use the name: not too long, without variables, and without half of a surrogate pair."""
    return isinstance(name, str) and 1 <= len(name) <= _LONGEST_NAME and "{{" not in name and storable(name) == name


def _is_open(text: str) -> bool:
    """Whether other values are to be expected: it may be written by a person, be about one, or name a single thing."""
    has_form = _OPEN_FORM.fullmatch(text) or _TWO_NAMES.fullmatch(text)
    is_long = len(text) > _LONGEST_VALUE or len(text.split()) > 3
    return is_long or has_form is not None or replace_in_text(text, mask) != text


def _numbers(values: _Values) -> str:
    rare = values.rare
    counts = [f"{count} {kind}" for kind, count in values.types.most_common() if kind not in rare]
    aside = ", ".join(f"{count} {kind}" for kind, count in rare.items())
    return ", ".join(counts) + (f"; set aside as mistakes: {aside}" if aside else "")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "x"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, names))}]"
