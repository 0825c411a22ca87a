"""`{$sha256: mira@mail.example}`: the encoded form of a text, in expectations and in values."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

from svctoolkit.expect.difference import Path
from svctoolkit.json_types import Json


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


ENCODINGS: Mapping[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "md5": _md5,
    "sha1": _sha1,
    "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "url": lambda text: quote(text, safe=""),
}
_KEYS = frozenset(f"${name}" for name in ENCODINGS)


def encode(value: Json) -> Json:
    """Return `value` with every `{$sha256: text}` replaced, at any depth; `{$literal: x}` is `x`, unchanged.

    Values without encodings are not copied; wrong operands stay (see `encoding_problems`).

    >>> encode({"hash": {"$md5": "mira"}, "plan": "pro"})
    {'hash': 'cf5bdfb40421ac1f30cc4d45b66b5a81', 'plan': 'pro'}
    """
    if isinstance(value, dict):
        if len(value) == 1:
            ((key, operand),) = value.items()
            if key in _KEYS:
                inner = encode(operand)
                return value if operand_problem(inner) else ENCODINGS[key[1:]](text_of(inner))
            if key == "$literal":
                return operand
        changed = {k: new for k, v in value.items() if (new := encode(v)) is not v}
        return {**value, **changed} if changed else value
    if isinstance(value, list):
        items = [encode(v) for v in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def mentions_encoding(text: str) -> bool:
    """Return whether a file may contain an encoding. Most do not, and walking every value takes time."""
    return any(key in text for key in _KEYS)


def encoding_problems(value: Json, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the places of encodings in `value` whose operand cannot be encoded."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$literal" and len(value) == 1:
                return
            if key in _KEYS and len(value) == 1 and (wrong := operand_problem(encode(inner))):
                yield (*path, key), f"{key} {wrong}. For a key of this name use $literal"
            else:
                yield from encoding_problems(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from encoding_problems(inner, (*path, index))


def operand_problem(operand: Json) -> str:
    """Return why `operand` cannot be encoded, or an empty string."""
    if isinstance(operand, (str, int, float)) and not isinstance(operand, bool) and operand != "":
        return ""
    return "must be a text or a number, such as mira@mail.example"


def text_of(operand: str | float) -> str:
    """Return the text that is encoded."""
    return operand if isinstance(operand, str) else str(operand)
