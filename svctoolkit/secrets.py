"""Secret values, and masking them in output.

>>> token = Secret("s3cr3t")
>>> f"{token!r} {token} {token.reveal()}"
"Secret('••••') •••• s3cr3t"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from threading import local
from typing import Any

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json

MASK = "••••"


class Secret:
    """A string that is masked wherever it is shown. `reveal()` returns the text.

    `origin` is its reference (`$(env:NAME)`), so that saving a workspace writes the reference and not the value.
    In a longer text (`Bearer $(env:NAME)`), `pieces` are the parts that are secret themselves.
    It is pickled without the text, except inside `with_values`.
    """

    __slots__ = ("_pieces", "_value", "origin")

    def __init__(self, value: str | None, *, origin: str = "", pieces: Iterable[str] = ()) -> None:
        self._value, self.origin, self._pieces = value, origin, tuple(pieces)

    def reveal(self) -> str:
        """The text. Raises `ConfigError` for a secret that was pickled without it."""
        if self._value is None:
            name = f" {self.origin}" if self.origin else ""
            raise ConfigError(f"the secret{name} was pickled without its value; load its workspace again")
        return self._value

    def texts(self) -> Iterator[str]:
        """The whole text, and its secret pieces."""
        yield self.reveal()
        yield from self._pieces

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        import hmac  # imported here because it loads OpenSSL, and few secrets are compared

        if not isinstance(other, Secret):
            return NotImplemented
        mine, theirs = ((side._value or "").encode("utf-8", "surrogatepass") for side in (self, other))
        return hmac.compare_digest(mine, theirs)

    def __hash__(self) -> int:
        return hash(("Secret", self._value))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<code>{MASK}</code>"}

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        values = (self._value, self._pieces) if _pickling.with_values else (None, ())
        return (_restore, (self.origin, *values))


def _restore(origin: str, value: str | None, pieces: tuple[str, ...]) -> Secret:
    return Secret(value, origin=origin, pieces=pieces)


class _Pickling(local):
    """Whether the current thread pickles secrets with their values."""

    with_values = False


_pickling = _Pickling()


@contextmanager
def with_values() -> Iterator[None]:
    """Pickle secrets with their values inside the block, to send them to another process of the same run."""
    before, _pickling.with_values = _pickling.with_values, True
    try:
        yield
    finally:
        _pickling.with_values = before


def reveal(value: Json) -> Json:
    """`value` with every `Secret` inside it replaced by its text. Builds new objects."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {k: reveal(v) for k, v in value.items()}
    if isinstance(value, list):
        return [reveal(v) for v in value]
    return value


def secret_texts(value: Json) -> Iterator[str]:
    """The texts of every `Secret` inside a JSON value."""
    if isinstance(value, Secret):
        yield from value.texts()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from secret_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from secret_texts(inner)


class Masker:
    """Replaces known secret values in any JSON value, including inside longer texts and in keys.

    A secret is found literally, percent-encoded, escaped in JSON text, in base64, and inside a Basic header. Values
    shorter than 4 characters are not masked: masking "1" everywhere would hide the data, not the secret. A pickled
    masker loses its secrets. `Masker.of` returns a cached masker for the same secrets, since creating one is slow.

    >>> Masker(["s3cr3t"]).mask({"url": "https://x/?key=s3cr3t", "n": 1})
    {'url': 'https://x/?key=••••', 'n': 1}
    """

    def __init__(self, values: Iterable[str]) -> None:
        texts = {spelling for value in values if len(value) >= _SHORTEST for spelling in _spellings(value)}
        self._texts = sorted(texts, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, self._texts))) if texts else None

    @classmethod
    def of(cls, values: Iterable[str]) -> Masker:
        """The masker of these secrets, created once."""
        return _masker(frozenset(value for value in values if len(value) >= _SHORTEST))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Masker, ((),))

    def __repr__(self) -> str:
        return "<Masker>"

    def mask(self, value: Json) -> Json:
        """A copy of `value` (JSON) with every secret masked; `value` itself if it contains no secret."""
        if self._pattern is None or value is None or isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, str):
            return self.text(value)
        return value if self._is_clean(value) else self._mask(value)

    def _is_clean(self, value: Any) -> bool:
        """Whether the JSON text of a value has no secret: true for most values, and ten times faster than `mask`."""
        import msgspec

        try:
            text = _encoder().encode(value)
        except (TypeError, ValueError, OverflowError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
            return False
        return b"Basic " not in text and not any(secret in text for secret in self._json_texts)

    def _mask(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Secret):
            return MASK
        if isinstance(value, Mapping):
            return {self.text(k) if type(k) is str else k: self._mask(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._mask(v) for v in value]
        return value

    def text(self, text: str) -> str:
        """A string with every secret masked."""
        if self._pattern is None:
            return text
        if "Basic " in text:
            text = _BASIC.sub(self._basic, text)
        return self._pattern.sub(MASK, text) if any(secret in text for secret in self._texts) else text

    def mask_json(self, text: bytes) -> bytes:
        """`mask` for JSON text (UTF-8 with minimal escaping), much faster."""
        if self._pattern is None:
            return text
        basic = b"Basic " in text
        if not basic and not any(secret in text for secret in self._json_texts):
            return text
        if self._json_pattern is not None and not basic:
            return self._json_pattern.sub(MASK.encode(), text)
        import json

        masked = json.dumps(self.mask(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
        return masked.encode("utf-8", "surrogatepass")

    @cached_property
    def _json_texts(self) -> list[bytes]:
        """The secrets as escaped in JSON text."""
        import json

        spelt = {json.dumps(text, ensure_ascii=False)[1:-1] for text in self._texts}
        return [text.encode("utf-8", "surrogatepass") for text in sorted(spelt, key=lambda text: (-len(text), text))]

    @cached_property
    def _json_pattern(self) -> re.Pattern[bytes] | None:
        """A pattern for the secrets in JSON text, where they can only occur in strings."""
        # outside strings, JSON has only numbers, punctuation, true, false and null
        if not all(re.search(rb"[^0-9+.E{}\[\],:truefalsn\s-]", v) and b"\\" not in v for v in self._json_texts):
            return None
        return re.compile(b"|".join(map(re.escape, self._json_texts)))

    def _basic(self, header: re.Match[str]) -> str:
        import base64

        try:
            raw = base64.b64decode(header[1] + "=" * (-len(header[1]) % 4), validate=True)
        except ValueError:
            return header[0]
        known = self._pattern is not None and self._pattern.search(raw.decode("utf-8", "replace"))
        return f"Basic {MASK}" if known else header[0]


@cache
def _encoder() -> Any:
    import msgspec

    return msgspec.json.Encoder()


@lru_cache(maxsize=256)
def _masker(values: frozenset[str]) -> Masker:
    return Masker(values)


_SHORTEST = 4
_SHORTEST_IN_BASE64 = 8  # shorter base64 occurs by chance
_BASIC = re.compile(r"Basic ([A-Za-z0-9+/]{4,}={0,2})")


def _spellings(value: str) -> Iterator[str]:
    import json  # imported here because only masking needs it
    from urllib.parse import quote, quote_plus

    raw = value.encode("utf-8", "surrogatepass")
    yield value
    for encoded in (quote(raw, safe=""), quote_plus(raw), quote(raw)):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), encoded)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    if len(raw) >= _SHORTEST_IN_BASE64:
        yield from _base64_spellings(raw)


def _base64_spellings(raw: bytes) -> Iterator[str]:
    """The base64 parts that depend only on `raw`, for every alignment of it in a longer text."""
    import base64

    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield encoded[first:last]
        yield encoded[first:last].replace("+", "-").replace("/", "_")
