"""Values that nobody should see, and views that hide them.

>>> token = Secret("s3cr3t")
>>> f"{token!r} {token} {token.reveal()}"
"Secret('••••') •••• s3cr3t"
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

MASK = "••••"
_UP_TO_ITS_END = rb'(?=[^"\\]*(?:\\.[^"\\]*)*"(?!:))'  # the rest of a JSON string that is not a key


class Secret:
    """A text that shows itself masked everywhere. `reveal()` gives the text.

    `origin` is how it was written (`$(env:NAME)`), so that saving a workspace writes the reference and not the value.
    """

    __slots__ = ("_value", "origin")

    def __init__(self, value: str, *, origin: str = "") -> None:
        self._value, self.origin = value, origin

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        import hmac  # loads OpenSSL, and few secrets are compared

        return isinstance(other, Secret) and hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(("Secret", self._value))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": f"<code>{MASK}</code>"}

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (_restored, (self._value, self.origin))


def _restored(value: str, origin: str) -> Secret:
    return Secret(value, origin=origin)


def revealed(value: Any) -> Any:
    """`value` with every `Secret` inside it replaced by its text. Builds new objects."""
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {k: revealed(v) for k, v in value.items()}
    if isinstance(value, list):
        return [revealed(v) for v in value]
    return value


def secret_texts(value: Any) -> Iterator[str]:
    """The text of every `Secret` inside a JSON value."""
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from secret_texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from secret_texts(inner)


class Masker:
    """Replaces known secret values in any JSON value, also where they stand inside a longer text.

    A secret is found as it is, percent-encoded, escaped in JSON text, and inside the base64 of a Basic header.
    Values shorter than 4 characters are left alone: masking "1" everywhere would hide the data, not the secret.

    >>> Masker(["s3cr3t"]).masked({"url": "https://x/?key=s3cr3t", "n": 1})
    {'url': 'https://x/?key=••••', 'n': 1}
    """

    def __init__(self, values: Iterable[str]) -> None:
        import json  # what only masking needs is loaded here, not by every settings class
        from urllib.parse import quote

        known = {v for v in values if len(v) >= 4}
        spellings = known | {quote(v, safe="") for v in known} | {json.dumps(v)[1:-1] for v in known}
        self._values = sorted(spellings, key=len, reverse=True)

    def masked_json(self, text: bytes) -> bytes:
        """`masked` for JSON as text (UTF-8, in which only what must be is escaped), much faster."""
        if not self._values:
            return text
        basic = b'"Basic ' in text
        secrets, in_a_value = self._in_json
        if not (basic or any(secret in text for secret in secrets)):
            return text
        if in_a_value is not None and not basic:
            return in_a_value.sub(MASK.encode(), text)
        import json

        shown = json.dumps(self.masked(json.loads(text)), ensure_ascii=False, separators=(",", ":"))
        return shown.encode("utf-8", "surrogatepass")

    @cached_property
    def _in_json(self) -> tuple[list[bytes], re.Pattern[bytes] | None]:
        """The secrets as JSON text spells them, and a pattern for them where they can stand in strings only."""
        import json

        spelt = [json.dumps(v, ensure_ascii=False)[1:-1] for v in self._values]
        secrets = [v.encode("utf-8", "surrogatepass") for v in spelt]
        # outside of strings JSON has digits, punctuation, and three words
        if not all(re.search(r"[^0-9+.E{}\[\],:truefalsn\s-]", v) and "\\" not in v for v in spelt):
            return secrets, None
        return secrets, re.compile(b"(?:%s)%s" % (b"|".join(map(re.escape, secrets)), _UP_TO_ITS_END))

    def masked(self, value: Any) -> Any:
        """A copy of `value` (JSON) with every secret masked."""
        if not self._values or value is None:
            return value
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {k: self.masked(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.masked(v) for v in value]
        return value

    def _text(self, text: str) -> str:
        if text.startswith("Basic ") and self._in_base64(text[6:]):
            return f"Basic {MASK}"
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def _in_base64(self, text: str) -> bool:
        import base64

        try:
            decoded = base64.b64decode(text, validate=True).decode("utf-8", "replace")
        except ValueError:
            return False
        return any(value in decoded for value in self._values)
