"""Mask the secrets of a workspace in JSON and text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any
from urllib.parse import unquote_plus

from svctoolkit.json_types import Json
from svctoolkit.secrets._secret import MASK, Secret
from svctoolkit.secrets._spellings import number_of, spellings, strong_parts
from svctoolkit.secrets._words import is_secret_header, is_secret_name

_SHORTEST = 4  # characters of a secret that is masked where a credential belongs
_SHORTEST_PREFIX = 4
_BASIC = re.compile(r"Basic ([A-Za-z0-9+/]{4,}={0,2})")
_FORM = re.compile(r"(?<![^&])([^&=\s]+)=([^&\s]*)")
ADDRESSES = frozenset({"endpoint", "url", "uri"})  # members with the address of a request
_NAME = re.compile(r"[\w.$-]*", re.ASCII)  # a key that is a name, as opposed to a URL or a sentence
_EXACT = 2**53  # larger integers lose digits in JavaScript


class Masker:
    """Replaces known secrets in any JSON value.

    A secret that cannot occur by chance is found wherever it occurs: literally, escaped (JSON, HTML, URLs, Python's
    `repr`), in base64, in hexadecimal, line by line if it has several, as a number if it has digits only, in a Basic
    header. Its other spellings are masked in keys only if the key is the whole secret, or not a name.

    A secret that is an ordinary word, a short text, a date, a media type or a plain URL is masked only where a
    credential belongs: in members whose names say so, such as `api_key`. Masking it everywhere would hide the data.

    A pickled masker loses its secrets. `Masker.of` returns a cached masker for the same secrets, since creating one is
    slow.

    >>> Masker(["s3cr3t-token", "data"]).mask({"url": "https://x/s3cr3t-token", "user_data": "data", "token": "data"})
    {'url': 'https://x/••••', 'user_data': 'data', 'token': '••••'}
    """

    def __init__(self, values: Iterable[str]) -> None:
        known = {value for value in values if len(value) >= _SHORTEST}
        strong = {text for value in known for text in strong_parts(value)}
        self._words = frozenset(known - strong)
        self._numbers = frozenset(number for number in map(number_of, strong) if number is not None)
        self._spelled = frozenset(spelling for text in strong for spelling in spellings(text))
        self._texts = sorted(self._spelled, key=lambda text: (-len(text), text))
        self._pattern = pattern_of(self._texts) if self._texts else None

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
        if value is None or isinstance(value, bool) or not (self._pattern or self._words):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (int, float)):
            return MASK if self._is_secret_number(value) else value
        return value if self.is_clean_value(value) else self._mask(value)

    def is_clean_value(self, value: Json) -> bool:
        """Whether the JSON text of a value has no secret: true for most values, and ten times faster than `mask`."""
        import msgspec

        try:
            text = _encoder().encode(value)
        except (TypeError, ValueError, OverflowError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
            return False
        return self.is_clean(text)

    def is_clean(self, text: bytes) -> bool:
        """Whether JSON text (UTF-8 with minimal escaping) surely has no secret, so that `mask` would not change it."""
        if not (self._pattern or self._words):
            return True
        return b"Basic " not in text and not any(secret in text for secret in self._all_json_texts)

    def _mask(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Secret):
            return MASK
        if isinstance(value, Mapping):
            return {self.key(k) if type(k) is str else k: self._mask_member(k, v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._mask(v) for v in value]
        if isinstance(value, (int, float)) and self._numbers and self._is_secret_number(value):
            return MASK
        return value

    def _mask_member(self, name: Any, value: Any) -> Any:
        if self._words and type(value) is str and type(name) is str and self._is_word_in_place(name, value):
            return MASK
        return self._mask(value)

    def _is_word_in_place(self, name: str, value: str) -> bool:
        """Whether a member for a credential has a secret that is an ordinary word, or an address is a secret URL."""
        if name.lower() in ADDRESSES:
            return any("://" in word and value.startswith(word) for word in self._words)
        if not (is_secret_name(name) or is_secret_header(name)):
            return False
        return value in self._words or value.partition(" ")[2] in self._words

    def _is_secret_number(self, value: float) -> bool:
        if value in self._numbers:
            return not isinstance(value, bool)
        return abs(value) > _EXACT and any(_rounds_to(number, value) for number in self._numbers)

    def key(self, key: str) -> str:
        """A key of an object, masked if all of it is a secret. Keys that are not names are masked like texts."""
        if key in self._spelled:
            return MASK
        return key if _NAME.fullmatch(key) else self.text(key)

    def text(self, text: str) -> str:
        """A string with every secret masked."""
        if self._pattern is None and not self._words:
            return text
        if "Basic " in text:
            text = _BASIC.sub(self._basic, text)
        if self._pattern is None or not any(secret in text for secret in self._texts):
            return text
        return self._pattern.sub(MASK, text)

    def body(self, text: str) -> str:
        """The body of a request or response with every secret masked: JSON and forms like the values in them."""
        if not any(word in text for word in self._words):
            return self.text(text)
        import json

        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return _FORM.sub(self._parameter, self.text(text))
        masked = self.mask(value)
        return text if masked == value else json.dumps(masked, ensure_ascii=False, separators=(",", ":"))

    def _parameter(self, pair: re.Match[str]) -> str:
        name, value = unquote_plus(pair[1]), unquote_plus(pair[2])
        return f"{pair[1]}={MASK}" if self._is_word_in_place(name, value) else pair[0]

    def cut_text(self, text: str) -> str:
        """`text` for a text that was cut at an ellipsis: the beginning of a secret there is masked as well."""
        *cut, rest = self.text(text).split("…")
        return "…".join([*map(self._mask_begin, cut), rest])

    @cached_property
    def _beginnings(self) -> re.Pattern[str]:
        return re.compile("|".join({re.escape(secret[:_SHORTEST_PREFIX]) for secret in self._texts}))

    def _mask_begin(self, text: str) -> str:
        if not self._texts or self._beginnings.search(text) is None:
            return text
        begin = min((self._begin_of_cut(text, secret) for secret in self._texts), default=len(text))
        return text if begin >= len(text) else text[:begin] + MASK

    @staticmethod
    def _begin_of_cut(text: str, secret: str) -> int:
        """Return where a secret begins that is cut at the end of a text; the text's length if there is none."""
        start = max(0, len(text) - len(secret) + 1)
        while True:
            start = text.find(secret[:_SHORTEST_PREFIX], start)
            if start < 0 or secret.startswith(text[start:]):
                return len(text) if start < 0 else start
            start += 1

    def mask_json(self, text: bytes) -> bytes:
        """`mask` for JSON text (UTF-8 with minimal escaping), much faster."""
        basic = b"Basic " in text and (self._pattern is not None or bool(self._words))
        if not basic and not any(secret in text for secret in self._all_json_texts):
            return text
        if not basic and self._is_safe_in_json(text):
            return self._json_pattern.sub(MASK.encode(), text)
        import json

        masked = json.dumps(self.mask(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
        return masked.encode("utf-8", "surrogatepass")

    @cached_property
    def _json_texts(self) -> list[bytes]:
        """The secrets as escaped in JSON text."""
        return _in_json(self._texts)

    @cached_property
    def _all_json_texts(self) -> list[bytes]:
        return [*self._json_texts, *_in_json(self._words)]

    def _is_safe_in_json(self, text: bytes) -> bool:
        """Whether every secret in JSON text is all inside a string, and does not begin in the middle of an escape."""
        if any(secret in text for secret in self._unsafe_in_json):
            return False
        return b"\\" not in text or not any(b"\\" + secret in text for secret in self._json_texts)

    @cached_property
    def _unsafe_in_json(self) -> list[bytes]:
        """Ordinary words, and secrets that may occur outside strings or contain escapes."""
        # outside strings, JSON has only numbers, punctuation, true, false and null
        inside = re.compile(rb"[^0-9+.E{}\[\],:truefalsn\s-]")
        return [*_in_json(self._words), *(v for v in self._json_texts if b"\\" in v or not inside.search(v))]

    @cached_property
    def _json_pattern(self) -> re.Pattern[bytes]:
        return re.compile(b"|".join(map(re.escape, self._json_texts)))

    def _basic(self, header: re.Match[str]) -> str:
        import base64

        try:
            raw = base64.b64decode(header[1] + "=" * (-len(header[1]) % 4), validate=True)
        except ValueError:
            return header[0]
        text = raw.decode("utf-8", "replace")
        if self._pattern is not None and self._pattern.search(text):
            return f"Basic {MASK}"
        return header[0] if self._words.isdisjoint(text.split(":")) else f"Basic {MASK}"


def pattern_of(texts: Iterable[str]) -> re.Pattern[str]:
    """A pattern for texts, the longest first. A text of digits is not found inside a longer number."""
    return re.compile("|".join(rf"(?<!\d){text}(?!\d)" if text.isdigit() else re.escape(text) for text in texts))


def _in_json(texts: Iterable[str]) -> list[bytes]:
    import json

    spelt = {json.dumps(text, ensure_ascii=False)[1:-1] for text in texts}
    return [text.encode("utf-8", "surrogatepass") for text in sorted(spelt, key=lambda text: (-len(text), text))]


def _rounds_to(number: int, value: float) -> bool:
    try:
        return float(number) == float(value)
    except OverflowError:
        return False


@cache
def _encoder() -> Any:
    import msgspec

    return msgspec.json.Encoder()


@lru_cache(maxsize=256)
def _masker(values: frozenset[str]) -> Masker:
    return Masker(values)
