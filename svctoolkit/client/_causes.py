"""Parse the causes of failures that a remote Test API returns as text.

RudderStack and older versions answer with sentences. Known forms become a specific `Cause`; otherwise the whole text is
the reason. This is the only place that parses messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from svctoolkit.causes import Cause, CodeError, Refusal, json_value, text_template
from svctoolkit.results import DestinationResult, EventResult, error_of
from svctoolkit.results.cause_header import read_causes

_PLACE = re.compile(r"\s\(([^()\s:]+):(\d+)(?::(\d+))?\)$")
_ERROR = re.compile(r"(?P<name>[A-Za-z_]\w*): (?P<message>.*)", re.S)
_NEEDS = re.compile(r"needs (?P<expected>.+?) at (?P<field>[^:]+)(?:: (?P<why>.*))?$", re.S)
_MISSING = re.compile(r'Missing required value from "?(?P<field>[^":]+?)"?$')
_EXPECTED = re.compile(
    r"(?P<field>[^\s:]+): expected (?P<expected>.+?)(?:, got (?P<value>.+?))?(?:; (?P<why>.*))?$", re.S
)
_AT = re.compile(r"(?P<field>(?:properties|traits|context|integrations)\.[\w.]*\w): (?P<why>.*)", re.S)


def set_causes(results: Iterable[DestinationResult], headers: Mapping[str, str]) -> None:
    """Fill in the causes of results, from a header of the response, else from the texts in it."""
    given = read_causes(headers)
    for result in results:
        of_result = given.get(result.destination_id, {})
        for number, entry in enumerate(result.data):
            entry.cause = of_result.get(number)
            if entry.cause is None:
                _parse_entry(entry)


def _parse_entry(entry: EventResult) -> None:
    stages: tuple[tuple[Literal["user_transform", "dest_transform"], object], ...] = (
        ("user_transform", entry.user_transformed_payload),
        ("dest_transform", entry.dest_transformed_payload),
    )
    for stage, output in stages:
        text = error_of(output)
        if text is not None and (cause := parse_cause(stage, text)) is not None:
            entry.cause = cause


def parse_cause(stage: Literal["user_transform", "dest_transform"], text: str) -> Cause | None:
    """Parse an error's text; None if it only says that an earlier stage failed."""
    if text.endswith("Aborting."):
        return None
    return _code_error(text) if stage == "user_transform" else _refusal(text)


def _code_error(text: str) -> CodeError:
    place = _PLACE.search(text)
    file, line, column = (place[1], int(place[2]), int(place[3] or 0)) if place else ("", 0, 0)
    text = _PLACE.sub("", text)
    error = _ERROR.match(text)
    name, message = (error["name"], error["message"]) if error else ("Error", text)
    return CodeError(name, message, file=file, line=line, column=column)


def _refusal(text: str) -> Refusal:
    if match := _NEEDS.match(text) or _MISSING.match(text):
        groups = match.groupdict()
        expected, why = groups.get("expected") or "a value", groups.get("why") or ""
        return Refusal("missing", field=match["field"], expected=expected, why=why)
    if match := _EXPECTED.match(text):
        value = match["value"]
        value = None if value is None else json_value(value[1:-1] if value[:1] == value[-1:] == "'" else value)
        return Refusal("misfit", match["field"], expected=match["expected"], value=value, why=match["why"] or "")
    field = match["field"] if (match := _AT.match(text)) else ""
    words = "-".join(re.findall(r"\w+", text_template(text))[:8])
    return Refusal("fault", field=field, why=text, case=words)
