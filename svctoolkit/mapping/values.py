"""Values as destinations expect them: JSON text, XML text, flat objects."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_XML_NAME = re.compile(r"[^\W\d][\w.\-]*(?::[^\W\d][\w.\-]*)?")
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"})
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def json_text(value: Any) -> str:
    """`value` as JSON text without spaces, as JavaScript writes it: `4.0` is `4`, `NaN` is `null`.

    >>> json_text({"n": 4.0, "t": "ü"})
    '{"n":4,"t":"ü"}'
    """
    return json.dumps(_as_javascript(value), ensure_ascii=False, separators=(",", ":"))


def _as_javascript(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if isinstance(value, Mapping):
        return {key: _as_javascript(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_javascript(item) for item in value]
    return value


def text(value: Any) -> str:
    """A text stays as it is; everything else becomes its JSON text.

    >>> text("a"), text(True), text({"k": None})
    ('a', 'true', '{"k":null}')
    """
    return value if isinstance(value, str) else json_text(value)


def flattened(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object of one level: `a.b` for members, `a[0]` for elements. Empty objects and lists stay as they are.

    >>> flattened({"a": {"b": 1}, "c": ["x", {"d": 2}]})
    {'a.b': 1, 'c[0]': 'x', 'c[1].d': 2}
    """
    return dict(_leaves(value, ""))


def _leaves(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and (value or not at):
        for key, item in value.items():
            yield from _leaves(item, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{at}[{index}]")
    else:
        yield at, value


def xml_text(root: str, value: Any) -> str:
    """An XML document with `root` around `value`. A list repeats its element; null is an empty element.

    Raises `ValueError` for a key that cannot be the name of an element, and for characters that XML cannot hold.

    >>> xml_text("order", {"id": 7, "item": ["a", "b"]})
    '<?xml version="1.0" encoding="UTF-8"?><order><id>7</id><item>a</item><item>b</item></order>'
    """
    return '<?xml version="1.0" encoding="UTF-8"?>' + "".join(_elements(root, value))


def _elements(name: str, value: Any) -> Iterator[str]:
    if not _XML_NAME.fullmatch(name):
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
        if _NOT_IN_XML.search(content):
            raise ValueError(f"the value of {name!r} has a character that XML cannot hold")
        yield content.translate(_ESCAPED)
    yield f"</{name}>"
