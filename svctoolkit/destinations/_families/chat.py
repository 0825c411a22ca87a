"""Shared by chat types: Handlebars templates, rows that choose one by event name, and the user's display name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from svctoolkit.destinations._settings import Tags
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misconfigured, javascript_text, path
from svctoolkit.patterns import SECONDS, search

_PLACE = re.compile(r"\{\{\{(?P<plain>[^{}]++)\}\}\}|\{\{(?P<escaped>[^{}]++)\}\}")
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "`": "&#x60;", "=": "&#x3D;"}
)
_SPECIAL = re.compile("[&<>\"'`=]")


class _Row(Protocol):
    @property
    def event_name(self) -> str: ...
    @property
    def event_regex(self) -> bool: ...


Row = TypeVar("Row", bound=_Row)


class TemplateRow(msgspec.Struct, frozen=True, rename="camel"):
    """The template for events with this name."""

    event_name: str = ""
    event_regex: bool = False
    event_template: str = ""


def matching_row(rows: Iterable[Row], name: str, setting: str) -> Row | None:
    """Return the first row whose `eventName` equals this name, or (with `eventRegex`) matches a part of it."""
    for row in rows:
        try:
            if row.event_name and (search(row.event_name, name) if row.event_regex else row.event_name == name):
                return row
        except re.error as error:
            raise Misconfigured(
                setting, f"{row.event_name!r} is not a regular expression: {error}", field="event", case="expression"
            ) from error
        except TimeoutError as error:
            why = f"{row.event_name!r} takes more than {SECONDS:g} s for this event's name; simplify the expression"
            raise Misconfigured(setting, why, field="event", case="expression-time") from error
    return None


def person_values(event: Event, listed: Tags, template: str) -> dict[str, Json]:
    """Return the template values about the user. The list of traits is built only if the template refers to traits."""
    traits = event.traits
    person = {"name": person_name(event), "traitsList": traits}
    if "traits" in template:
        person["traits"] = listing({key: value for key, value in traits.items() if not listed or key in listed})
    return person


def person_name(event: Event) -> str:
    traits, user, anonymous = event.traits, event.raw.get("userId"), event.raw.get("anonymousId")
    first, last = traits.get("firstName"), traits.get("lastName")
    full = _plain(first) + _plain(last) if first else ""
    name = traits.get("name") or full or traits.get("username") or event.properties.get("email") or traits.get("email")
    if name:
        return _plain(name)
    if user:
        return f"User {javascript_text(user)}"
    return f"Anonymous user {javascript_text(anonymous)}" if "anonymousId" in event.raw else "Anonymous user"


def listing(members: Mapping[str, Json]) -> str:
    return "".join(f"{key}: {javascript_text(value)} " for key, value in members.items())


def render(template: str, values: Mapping[str, Json], setting: str) -> str:
    """Render a Handlebars template: two braces escape for HTML, three do not, and `newline` is a line break."""

    def place(match: re.Match[str]) -> str:
        name = (match["plain"] or match["escaped"]).strip() or " "
        if name[0] in "#/>^!":
            raise Misconfigured(
                setting,
                f"the template has {match[0]!r}; only placeholders such as {{{{name}}}} are supported",
                case="template",
            )
        if name == "newline":
            return "\n"
        single = "traitsList" + name.removeprefix("traits") if name.startswith("traits.") else name
        value = values[name] if name in values else path(single)(values)
        return escape(value) if match["escaped"] else _plain(value)

    return _PLACE.sub(place, template)


def _plain(value: Any) -> str:
    return "" if value is None else javascript_text(value)


def escape(value: Json) -> str:
    plain = _plain(value)
    return plain.translate(_ESCAPED) if _SPECIAL.search(plain) else plain
