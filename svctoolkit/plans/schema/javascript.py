"""How JavaScript writes and compares JSON values, because RudderStack's validator is a JavaScript program."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from svctoolkit.json_types import Json


def number_text(value: float) -> str:
    """Return a number as JavaScript writes it: `1.0` is `1`, `5e-07` is `5e-7`."""
    if isinstance(value, int):
        if abs(value) < 10**21:
            return str(value)
        value = float(value) if abs(value) < 10**308 else value
    text = repr(value)
    if "e" in text:
        digits, _, exponent = text.partition("e")
        power = int(exponent)
        if -7 < power < 21:
            return f"{value:.20f}".rstrip("0").rstrip(".")
        return f"{digits.removesuffix('.0')}e{'+' if power > 0 else '-'}{abs(power)}"
    return text.removesuffix(".0")


def text_of(value: Json) -> str:
    """Return the result of `String(value)` for a JSON value; None is JSON's null."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, list):
        return ",".join("" if item is None else text_of(item) for item in value)
    return "[object Object]"


def identity(value: Json) -> Hashable:
    """Return a key that is equal for equal JSON Schema values: 1 equals 1.0 but not true, key order is ignored."""
    if isinstance(value, bool) or value is None:
        return "constant", value
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        return "text", value
    if isinstance(value, list):
        return ("list", *map(identity, value))
    return "object", frozenset((key, identity(item)) for key, item in value.items())


def pointer_token(name: str) -> str:
    """Escape one step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def pointer_tokens(pointer: str) -> Iterator[str]:
    """Yield the unescaped steps of a JSON pointer."""
    for token in pointer.split("/")[1:]:
        yield token.replace("~1", "/").replace("~0", "~")
