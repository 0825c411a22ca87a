"""A sample of the events that includes every rare shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from msgspec import structs

from svctoolkit.json_types import Json
from svctoolkit.replay.records.record import Record

_DEPTH = 5


def sample_of(records: Iterable[Record], share: float, count: Callable[[str], None]) -> Iterator[Record]:
    """Yield about `share` of the records, chosen by messageId (or place), and the first record of each shape.

    The same records give the same sample. A shape is the type and name of an event, its members, and the JSON types of
    their values; it is the `stratum` of a record. `count` is called with the stratum of every record, sampled or not.
    """
    forms: dict[Any, str] = {}
    # A hash below the bound is in the sample: a smaller share is always a subset of a larger one.
    bound = int(share * 2**64)
    for record in records:
        form = (record.event.get("event"), shape(record.event))
        try:
            stratum, is_new = forms.get(form, ""), form not in forms
        except TypeError:  # a name that is a list or an object
            form = (repr(form[0]), form[1])
            stratum, is_new = forms.get(form, ""), form not in forms
        if is_new:
            text = canonical(form).encode("utf-8", "replace")
            stratum = forms[form] = blake2b(text, digest_size=8).hexdigest()
        count(stratum)
        if is_new or int.from_bytes(blake2b(_key(record).encode("utf-8", "replace"), digest_size=8).digest()) < bound:
            yield structs.replace(record, stratum=stratum)


def canonical(form: Json) -> str:
    """Return the same text for equal shapes in every process."""
    if isinstance(form, frozenset):
        return f"{{{','.join(sorted(map(canonical, form)))}}}"
    if isinstance(form, tuple):
        return f"({','.join(map(canonical, form))})"
    return repr(form)


def _key(record: Record) -> str:
    return str(record.event.get("messageId") or record.place)


def shape(value: Json, depth: int = _DEPTH) -> Json:
    """Return the shape of a value: equal for values that differ only in their strings and numbers."""
    if isinstance(value, Mapping):
        return frozenset((key, shape(inner, depth - 1)) for key, inner in value.items()) if depth else "object"
    if isinstance(value, list):
        return ("list", frozenset(shape(inner, depth - 1) for inner in value)) if depth else "list"
    if isinstance(value, (bool, type(None))):
        return value
    return "text" if isinstance(value, str) else "number"
