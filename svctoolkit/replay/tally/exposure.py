"""Personal data that did not reach a destination before: a value that is no longer hashed, or a new field."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from svctoolkit import personal
from svctoolkit.json_types import Json
from svctoolkit.personal import Kind
from svctoolkit.replay.records.json_text import encode
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import Change
from svctoolkit.results.texts import open_texts
from svctoolkit.secrets import MASK

#: Kinds that are reported -> words for users. Ids of users and devices are pseudonyms.
KIND_WORDS: Final[Mapping[str, str]] = {
    "email": "e-mail addresses",
    "phone": "telephone numbers",
    "name": "names",
    "date": "dates of birth",
    "text": "addresses and other personal details",
    "ip": "IP addresses",
    "place": "coordinates",
}
_ADDRESS = ("endpoint", "headers")  # of a payload: where it goes, which may be an IP address
_LOCAL_PHONE = re.compile(r"\(?0\d{1,4}\)?[ /-]\d[\d /-]{4,}")


def new_personal_data(change: Change, before: Sequence[Json]) -> list[str]:
    """Return the kinds of plain personal data in a change that the output of the side before did not contain.

    A value that only moved, or was another plain one at the same path, is not new.
    """
    if change.after is ABSENT:
        return []
    after = _plain_values(change.path, change.after)
    if not after:
        return []
    known = _plain_values(change.path, change.before) if change.before is not ABSENT else {}
    text = encode(before)[0]
    return [kind for kind, values in after.items() if kind not in known and not _contains(text, values)]


def delivered_personal_data(output: Sequence[Json]) -> list[str]:
    """Return the kinds of plain personal data in the payloads of an event that did not arrive before."""
    parts = [{k: v for k, v in item.items() if k not in _ADDRESS} for item in output if isinstance(item, Mapping)]
    return list(_plain_values("", open_texts(parts)))


def _contains(text: bytes, values: set[str]) -> bool:
    return all(encode(value)[0].strip(b'"') in text for value in values)


def _plain_values(path: str, value: Json) -> dict[str, set[str]]:
    """Return the personal values at a path by kind, without those that are hashed, masked or empty."""
    found: dict[str, set[str]] = {}

    def collect(item: Any, kind: Kind) -> Any:
        text = str(item).strip()
        if kind in KIND_WORDS and text and MASK not in text and not personal.is_hash(text) and _fits(text, kind):
            found.setdefault(kind, set()).add(str(item))
        return item

    personal.replace_at(path, value, collect)
    return found


def _fits(text: str, kind: Kind) -> bool:
    """Return whether the form of a text allows its kind: a long number is not yet a telephone number."""
    if kind == "email":
        return personal.is_email(text)
    if kind == "ip":
        return text.count(".") == 3 or text.count(":") > 1
    return kind != "phone" or text.startswith("+") or _LOCAL_PHONE.fullmatch(text) is not None
