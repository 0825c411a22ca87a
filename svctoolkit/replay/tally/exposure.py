"""Personal data that did not reach a destination before: a value that is no longer hashed, or a new field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from svctoolkit import personal
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.policies.paths import named_leaves
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import Change
from svctoolkit.results.texts import open_texts

#: Kinds that are reported -> words for users. Ids of users and devices are pseudonyms.
KIND_WORDS: Final[Mapping[str, str]] = {
    "email": "e-mail addresses",
    "phone": "telephone numbers",
    "name": "names",
    "date": "dates of birth",
    "text": "personal details such as postal addresses",
    "ip": "IP addresses",
    "place": "coordinates",
}
_ADDRESS = ("endpoint", "headers")  # of a payload: where it goes, which may be an IP address


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
    text = encode(before)
    return [kind for kind, values in after.items() if kind not in known and not _contains(text, values)]


def delivered_personal_data(output: Sequence[Json]) -> list[str]:
    """Return the kinds of plain personal data in the payloads of an event that did not arrive before."""
    parts = [{k: v for k, v in item.items() if k not in _ADDRESS} for item in output if isinstance(item, Mapping)]
    return list(_plain_values("", open_texts(parts)))


def _contains(text: bytes, values: set[str]) -> bool:
    return all(encode(value).strip(b'"') in text for value in values)


def _plain_values(path: str, value: Json) -> dict[str, set[str]]:
    """Return the personal values at a path by kind, without those that are hashed, masked or empty."""
    found: dict[str, set[str]] = {}
    for _, name, owner, leaf in named_leaves(value, (), *personal.names_at(path)):
        for kind, values in personal.plain_data(leaf, name, owner).items():
            if kind in KIND_WORDS:
                found.setdefault(kind, set()).update(values)
    return found
