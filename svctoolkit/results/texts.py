"""JSON in texts: objects and lists that a payload carries as text, opened so that their fields have paths."""

from __future__ import annotations

import re

import msgspec

from svctoolkit.json_types import Json
from svctoolkit.readings import json_content

_raw = msgspec.json.Decoder(msgspec.Raw)  # checks JSON, and makes no values of it
# A text that begins like an object or a list. In JSON, no quote that ends a text is followed by a bracket.
_JSON_TEXT = re.compile(rb'(?<!\\)"[\[{][^"\\]*+(?:\\.[^"\\]*+)*+"')
# A text in JSON that may begin like an object or a list; its first characters may be escaped.
_MAY_NEST = re.compile(r'"\s*[\[{\\]')
_OPENS = ("{", "[")
_DEEPEST = 30  # levels of objects, lists and texts in texts


def open_texts(value: Json, depth: int = _DEEPEST) -> Json:
    """Return a value in which every text that is the JSON of an object or a list is replaced by what it contains.

    Parts without such texts are shared with the original. Texts in texts are opened, too.
    """
    if depth == 0:
        return value
    if isinstance(value, str):
        content = json_content(value)
        if content is None:
            return value
        # Nearly always, a search shows that no text inside begins like JSON, and no value has to be visited.
        return open_texts(content, depth - 1) if _MAY_NEST.search(value) else content
    if isinstance(value, dict):
        members = {key: open_texts(inner, depth - 1) for key, inner in value.items()}
        return members if any(members[key] is not inner for key, inner in value.items()) else value
    if isinstance(value, list):
        elements = [open_texts(inner, depth - 1) for inner in value]
        return elements if any(new is not old for new, old in zip(elements, value, strict=True)) else value
    return value


def with_raw_texts(payload: Json) -> Json:
    """Return a payload to be encoded, in which JSON that a format of its body has as text is `msgspec.Raw`.

    Its quotes need no escapes then, and the text is not opened again by `open_json`.
    """
    body = payload.get("body") if type(payload) is dict else None
    if type(body) is not dict:
        return payload
    changed: dict[str, Json] = {}
    for form, content in body.items():
        if type(content) is dict and len(content) == 1:  # `JSON_ARRAY: {batch: ...}`
            ((name, text),) = content.items()
            if type(text) is not str or text[:1] not in _OPENS:
                continue
            # A batch is JSON that a mapping has encoded; other texts may be of an event.
            raw = msgspec.Raw(text) if name == "batch" and form == "JSON_ARRAY" else _raw_of(text)
            if raw is not None:
                changed[form] = {name: raw}
    return {**payload, "body": {**body, **changed}} if changed else payload


def _raw_of(text: str) -> msgspec.Raw | None:
    """Return a text that is the JSON of an object or a list, to be encoded as it is; otherwise None."""
    try:
        return _raw.decode(text)
    except (ValueError, RecursionError):
        return None


def open_json(text: bytes) -> bytes:
    """Return JSON in which texts that are the JSON of an object or a list are replaced by what they contain.

    Like `open_texts`, and much faster: no value is visited in Python. Texts that begin with spaces stay texts.
    """
    for _ in range(_DEEPEST):
        # In JSON, only a text that begins with a bracket has a quote before one. To find none is much faster.
        if b'"{' not in text and b'"[' not in text:
            break
        opened = _JSON_TEXT.sub(_inner, text)
        if opened == text:
            break
        text = opened
    return text


def _inner(text: re.Match[bytes]) -> bytes:
    """Return the JSON that a text contains, or the text if it is something else."""
    try:
        content: str = msgspec.json.decode(text[0])
        _raw.decode(content)
    except (ValueError, RecursionError):
        return text[0]
    return content.encode("utf-8", "replace")
