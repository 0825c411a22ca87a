"""Query strings and forms, byte for byte as RudderStack's HTTP client writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus

from svctoolkit.delivery._js import stringify, text, well_formed
from svctoolkit.json_types import Json


def query(params: Mapping[str, Json]) -> str:
    """Encode params: `f[]=1&f[]=2` for lists, `g[h]=1` for objects, none for null; brackets encoded, space as `+`."""
    return "&".join(f"{_query_text(k)}={_query_text(v)}" for k, v in _pairs(params))


def form_of_object(value: Json) -> str:
    """Encode a JSON body under a form content type: names as in `query`, encoded as a form."""
    return _form(_pairs(value))


def form(value: Mapping[str, Json]) -> str:
    """Encode a FORM body: one pair per member; a list is `[a,b]`, an object its JSON, null `null`."""
    return _form((text(k), _form_value(v)) for k, v in value.items())


def fields(value: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields that a server reads of a FORM body; of a name that occurs several times, the last value."""
    return {well_formed(text(k)): well_formed(_form_value(v)) for k, v in value.items()}


def _form_value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_form_value, value))}]"
    return stringify(value) if isinstance(value, Mapping) else text(value)


def _form(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{_form_text(k)}={_form_text(v)}" for k, v in pairs)


def _form_text(value: str) -> str:
    return quote_plus(well_formed(value), safe="*").replace("~", "%7E")


def _query_text(value: str) -> str:
    return quote(well_formed(value), safe="!*'():$,").replace("%20", "+")


def _pairs(value: Any, path: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    for key, item in items:
        if item is None:
            continue
        token = text(key)
        name = token.strip()
        is_list = isinstance(item, (list, tuple))
        if not path and name.endswith("{}") and (is_list or isinstance(item, Mapping)):
            yield name, stringify(item)
        elif not path and is_list and (name.endswith("[]") or not any(map(_has_members, item))):
            yield from ((f"{name.removesuffix('[]')}[]", text(i)) for i in item if i is not None)
        elif _has_members(item):
            yield from _pairs(item, (*path, token))
        else:
            yield _name(path, name), text(item)


def _has_members(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def _name(path: Sequence[str], name: str) -> str:
    if not path:
        return name
    first, *others = (token.removesuffix("[]") for token in (*path, name))
    return first + "".join(f"[{token}]" for token in others)
