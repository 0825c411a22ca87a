"""Convert values to what destinations expect: JSON text, XML text, flat objects."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from svctoolkit import lexical
from svctoolkit.json_types import Json

_NOTHING: Mapping[str, Any] = {}
_NESTED = (dict, list)
_EMPTIES = (str, list, dict)
_PLAIN = frozenset({str, int, bool, type(None)})
_ENCODER = msgspec.json.Encoder()
#: In an object or list, `4.0` and `1e16` where JavaScript writes `4` and `10000000000000000`; texts may have them, too.
#: Two patterns, because each begins with one fixed byte: together, they take ten times as long.
_WHOLE_FLOATS = (re.compile(rb"\.0[,}\]]"), re.compile(rb"e(?:1[6-9]|20)[,}\]]"))
_XML_NAME = r"[^\W\d][\w.\-]*(?::[^\W\d][\w.\-]*)?"
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_URL_SAFE = re.compile(r"[A-Za-z0-9_.!~*'()-]*")
#: each byte as escaped in a URL; a third faster than `urllib.parse.quote`
_URL_BYTES = [chr(byte) if _URL_SAFE.fullmatch(chr(byte)) else f"%{byte:02X}" for byte in range(256)]
#: the ASCII characters to escape, `%` first; faster still for long texts, such as JSON in a URL
_URL_ESCAPES = {chr(byte): _URL_BYTES[byte] for byte in (ord("%"), *range(128)) if _URL_BYTES[byte] != chr(byte)}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_LONG = 100
_NOT_IN_XML = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"


def json_text(value: Json) -> str:
    """`value` as JSON text without spaces, as JavaScript writes it: `4.0` is `4`, `NaN` is `null`.

    >>> json_text({"n": 4.0, "t": "ü"})
    '{"n":4,"t":"ü"}'
    """
    if type(value) is dict or type(value) is list:
        # To search for such numbers takes a third of the time of visiting each value.
        with suppress(UnicodeEncodeError, OverflowError, TypeError):
            encoded = _ENCODER.encode(value)
            if not any(pattern.search(encoded) for pattern in _WHOLE_FLOATS):
                return encoded.decode()
    plain = _as_javascript(value)
    try:
        return _ENCODER.encode(plain).decode()
    except (UnicodeEncodeError, OverflowError, TypeError):  # a lone surrogate, over 64 bits, a non-text key
        import json

        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))


def _as_javascript(value: Any) -> Any:
    """The value with numbers as JavaScript writes them. A value without such numbers is returned itself."""
    kind = type(value)  # exact types, and no call for scalars: this runs for every value of a body
    if kind is dict:
        out = value
        for key, item in value.items():
            of = type(item)
            if of is str or of is int:
                continue
            if of is float:
                if item % 1 > 0:  # has a fraction; NaN for infinity
                    continue
                plain = int(item) if -1e21 < item < 1e21 else _number(item)
            else:
                plain = item if of in _PLAIN else _as_javascript(item)
            if plain is not item:
                out = value.copy() if out is value else out
                out[key] = plain
        return out
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else _as_javascript(item) for item in value]
    if isinstance(value, float):
        return _number(value)
    return {key: _as_javascript(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _number(value: float) -> int | float | None:
    if value.is_integer():
        return int(value) if -1e21 < value < 1e21 else value
    return value if math.isfinite(value) else None


def text(value: Json) -> str:
    """A string unchanged, or any other value as JSON text.

    >>> text("a"), text(True), text({"k": None})
    ('a', 'true', '{"k":null}')
    """
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if kind is int:
        return str(value)
    if kind is float:
        return _ENCODER.encode(_number(value)).decode()
    return value if isinstance(value, str) else json_text(value)


def js_join(value: Json) -> str:
    """A value as JavaScript writes it inside a longer text: a list as its elements joined by commas.

    An object is written as JSON text, where JavaScript writes `[object Object]`.

    >>> js_join(["a", 2, None]), js_join(None), js_join(True), js_join({"k": 1})
    ('a,2,', 'null', 'true', '{"k":1}')
    """
    if type(value) is str:
        return value
    if isinstance(value, list):
        return ",".join("" if item is None else js_join(item) for item in value)
    return text(value)


def javascript_text(value: Json) -> str:
    """A value as JavaScript's `String(value)` writes it, for types where RudderStack sends exactly that.

    >>> javascript_text(["a", {"k": 1}]), javascript_text({"k": 1}), javascript_text(None)
    ('a,[object Object]', '[object Object]', 'null')
    """
    if isinstance(value, dict):
        return "[object Object]"
    if isinstance(value, list):
        return ",".join("" if item is None else javascript_text(item) for item in value)
    return text(value)


def flatten(value: Mapping[str, Json], joint: str = ".", *, brackets: bool = True) -> dict[str, Json]:
    """An object of one level: `a.b` for members, `a[0]` for elements. Empty objects and lists are kept.

    Members are joined by `joint`; without `brackets`, elements are joined by it too.

    >>> flatten({"a": {"b": 1}, "c": ["x", {"d": 2}]})
    {'a.b': 1, 'c[0]': 'x', 'c[1].d': 2}
    >>> flatten({"a": {"b": 1}, "c": ["x", {"d": 2}]}, "_", brackets=False)
    {'a_b': 1, 'c_0': 'x', 'c_1_d': 2}
    """
    out: dict[str, Any] = {}
    for key, item in value.items():
        if type(item) is not str and item and isinstance(item, _NESTED):
            _flatten(item, key, joint, brackets, out)
        else:
            out[key] = item
    return out


def _flatten(node: dict[str, Any] | list[Any], at: str, joint: str, brackets: bool, out: dict[str, Any]) -> None:
    """Add each member or element of the node `at` this key to `out`."""
    start, end = at + joint, ""
    if isinstance(node, dict):
        for key, item in node.items():
            if type(item) is not str and item and isinstance(item, _NESTED):
                _flatten(item, f"{start}{key}", joint, brackets, out)
            else:
                out[f"{start}{key}"] = item
        return
    if brackets:
        start, end = f"{at}[", "]"
    for number, item in enumerate(node):
        where = f"{start}{number}{end}"
        if type(item) is not str and item and isinstance(item, _NESTED):
            _flatten(item, where, joint, brackets, out)
        else:
            out[where] = item


def unnest(value: Mapping[str, Json]) -> dict[str, Json]:
    """The values of an object and of its nested objects, each under its own name; the last one of a name wins.

    Nulls are left out at every level. Lists are kept unchanged.

    >>> unnest({"a": 1, "b": {"c": {"d": 2}, "e": None}})
    {'a': 1, 'd': 2}
    """
    out: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            out.update(unnest(item))
        elif item is not None:
            out[key] = item
    return out


def leading_number(value: Json) -> int | float | None:
    """The number that a string begins with, as JavaScript's `parseFloat` reads it; None for anything else.

    >>> leading_number("12.50 EUR"), leading_number(3), leading_number("EUR 3"), leading_number(True)
    (12.5, 3, None, None)
    """
    if isinstance(value, str):
        value = lexical.leading_number(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or (type(value) is float and not math.isfinite(value))
    ):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value


def is_empty(value: Json) -> bool:
    """Null, an empty string, an empty list or object. `0` and `False` are not empty."""
    return value is None or value == "" or value == [] or value == {}


def compact(value: Mapping[str, Json]) -> dict[str, Json]:
    """The members that are not empty, at the first level.

    >>> compact({"a": None, "b": "", "c": [], "d": 0, "e": False})
    {'d': 0, 'e': False}
    """
    return {key: item for key, item in value.items() if item or not (item is None or isinstance(item, _EMPTIES))}


_SIMPLE = frozenset({str, int, float, bool})


def without_nulls(value: Json) -> Json:
    """A JSON value without null members at any depth. Null elements of lists are kept.

    >>> without_nulls({"a": None, "b": [None, {"c": None}]})
    {'b': [None, {}]}
    """
    if isinstance(value, dict):
        return {
            key: item if type(item) in _SIMPLE else without_nulls(item)  # most members: spares a call
            for key, item in value.items()
            if item is not None
        }
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def without_scalars(value: Mapping[str, Json]) -> dict[str, Json]:
    """The members that are non-empty strings, lists or objects, at the first level.

    Some types treat numbers and booleans as empty, and do not send them.

    >>> without_scalars({"a": "x", "b": "", "c": [], "d": 1, "e": True, "f": {"g": 1}})
    {'a': 'x', 'f': {'g': 1}}
    """
    return {key: item for key, item in value.items() if item and isinstance(item, (str, list, dict))}


def as_object(value: Json) -> Mapping[str, Json]:
    """`value` if it is an object, else an empty object: events may contain anything."""
    return value if isinstance(value, dict) else _NOTHING


def objects(value: Json) -> list[Mapping[str, Json]]:
    """The elements of a list, each through `as_object`; an empty list if `value` is not a list."""
    return [as_object(item) for item in value] if isinstance(value, list) else []


def pick(value: Mapping[str, Json], paths: Iterable[str]) -> dict[str, Json]:
    """The members at these dotted paths, keeping the nesting. Null and missing ones are left out.

    >>> pick({"a": {"b": 1, "c": 2}, "d": None}, ["a.b", "d", "e"])
    {'a': {'b': 1}}
    """
    out: dict[str, Any] = {}
    for dotted in paths:
        *keys, last = dotted.split(".")
        node: Any = value
        for key in keys:
            node = as_object(node).get(key)
        member = as_object(node).get(last)
        if member is not None:
            into = out
            for key in keys:
                into = into.setdefault(key, {})
            into[last] = member
    return out


def without(value: Mapping[str, Json], paths: Iterable[str]) -> dict[str, Json]:
    """A copy without the members at these dotted paths; objects on the paths are copied, too.

    >>> without({"a": {"b": 1, "c": 2}, "d": 3}, ["a.b", "d", "e"])
    {'a': {'c': 2}}
    """
    out = dict(value)
    for dotted in paths:
        if "." not in dotted:
            out.pop(dotted, None)
            continue
        key, _, below = dotted.partition(".")
        if isinstance(out.get(key), Mapping):
            out[key] = without(out[key], [below])
    return out


def nest_dotted(members: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the members, with those whose keys have dots in nested objects, as RudderStack writes custom fields.

    The objects given are not changed. Where the place is taken by something else than an object, the later key wins.

    >>> nest_dotted({"plan": "pro", "shop.city": "Oslo", "shop.zip": "0150", "No event.": 1})
    {'plan': 'pro', 'shop': {'city': 'Oslo', 'zip': '0150'}, 'No event': 1}
    """
    if not any("." in key for key in members):
        return members  # the usual case is not copied
    out: dict[str, Any] = {}
    for key, value in members.items():
        *above, last = [part for part in key.split(".") if part] or [key]
        node = out
        for part in above:
            child = node.get(part)
            node[part] = child = dict(child) if isinstance(child, dict) else {}
            node = child
        node[last] = value
    return out


def in_url(value: Json) -> str:
    """`value` as one part of a URL's path or one value of its query, escaped as JavaScript's `encodeURIComponent` does.

    Raises `UnicodeEncodeError`, where JavaScript raises a `URIError`, for a lone surrogate: half of a character.

    >>> in_url("a b/ü@x.example")
    'a%20b%2F%C3%BC%40x.example'
    """
    plain = text(value)
    if _URL_SAFE.fullmatch(plain):
        return plain
    if len(plain) < _LONG:
        return _bytes_in_url(plain)
    for char, escaped in _URL_ESCAPES.items():
        if char in plain:
            plain = plain.replace(char, escaped)
    return plain if plain.isascii() else _NOT_ASCII.sub(lambda match: _bytes_in_url(match[0]), plain)


def _bytes_in_url(value: str) -> str:
    return "".join(map(_URL_BYTES.__getitem__, value.encode()))


def basic_auth(user: str, password: str = "") -> str:
    """The `Authorization` header of HTTP Basic authentication (RFC 7617). A lone surrogate becomes `?`.

    >>> basic_auth("token")
    'Basic dG9rZW46'
    """
    import base64  # imported here because few types need it

    return f"Basic {base64.b64encode(f'{user}:{password}'.encode('utf-8', 'replace')).decode()}"


def xml_text(root: str, value: Json) -> str:
    """An XML document with `root` around `value`. A list repeats its element; null is an empty element.

    Raises `ValueError` for a key that cannot be the name of an element, and for characters that XML cannot hold.

    >>> xml_text("order", {"id": 7, "item": ["a", "b"]})
    '<?xml version="1.0" encoding="UTF-8"?><order><id>7</id><item>a</item><item>b</item></order>'
    """
    return '<?xml version="1.0" encoding="UTF-8"?>' + "".join(_elements(root, value))


def _elements(name: str, value: Any) -> Iterator[str]:
    if not re.fullmatch(_XML_NAME, name):
        raise ValueError(f"{name!r} cannot be the name of an XML element")
    if isinstance(value, list):
        for item in value:
            yield from _elements(name, item)
        return
    yield f"<{name}>"
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _elements(key, item)
    elif value is not None:
        content = text(value)
        if re.search(_NOT_IN_XML, content):
            raise ValueError(f"the value of {name!r} has a character that XML cannot hold")
        yield content.translate(_ESCAPED)
    yield f"</{name}>"
