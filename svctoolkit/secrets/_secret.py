"""Secret values: strings that no output shows.

>>> token = Secret("s3cr3t")
>>> f"{token!r} {token} {token.reveal()}"
"Secret('••••') •••• s3cr3t"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import local
from typing import Any, Literal, TypeAlias, get_args

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json

MASK = "••••"


class Secret:
    """A string that is masked wherever it is shown. `reveal()` returns the text.

    `origin` is its reference (`$(env:NAME)`), so that saving a workspace writes the reference and not the value.
    `pieces` are the values of the variables in it by name. `unset` has the variables without a value by name, with the
    placeholders that take their place. It is pickled without the text, except inside `with_values`.
    """

    __slots__ = ("_pieces", "_value", "origin", "unset")

    def __init__(
        self,
        value: str | None,
        *,
        origin: str = "",
        pieces: Mapping[str, str] | None = None,
        unset: Mapping[str, str] | None = None,
    ) -> None:
        self._value, self.origin = value, origin
        self._pieces, self.unset = dict(pieces or {}), dict(unset or {})

    def reveal(self) -> str:
        """The text. Raises `ConfigError` for a secret that was pickled without it."""
        if self._value is None:
            name = f" {self.origin}" if self.origin else ""
            raise ConfigError(f"the secret{name} was pickled without its value; load its workspace again")
        return self._value

    def texts(self) -> Iterator[str]:
        """The whole text, and its secret pieces. Placeholders are not secret."""
        if not self.unset:
            yield self.reveal()
        yield from self._pieces.values()

    def named(self, setting: str) -> Iterator[tuple[str, str]]:
        """Each secret text after the name of its environment variable; `setting` names a text without a variable.

        A variable that is not set has its placeholder.
        """
        yield from self._pieces.items()
        yield from self.unset.items()
        if not self._pieces and not self.unset:
            yield setting, self.reveal()

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
        # a text without any secret needs no protection
        values = (self._value, self._pieces) if _pickling.with_values or self._is_placeholder() else (None, {})
        return (_restore, (self.origin, *values, self.unset))

    def _is_placeholder(self) -> bool:
        return bool(self.unset) and not self._pieces


#: What an environment variable is: any text, a whole URL, or a part of one.
Form: TypeAlias = Literal["text", "url", "part"]


def placeholder(name: str, form: Form = "text") -> str:
    """The value of an environment variable that is not set, where nothing is sent.

    That of a part of a URL is valid at any place there: it may be a part of the host, the path or the query.
    """
    if form == "part":
        return f"unset-{name.lower().replace('_', '-')[:_LABEL].strip('-')}"
    return f"https://unset.example/{name}" if form == "url" else f"<{name}>"


#: Characters; a label of a host name has 63 at most.
_LABEL = 50


def is_placeholder(text: str, name: str) -> bool:
    """Whether a text takes the place of a variable without a value, in whichever form."""
    return any(text == placeholder(name, form) for form in get_args(Form))


def _restore(origin: str, value: str | None, pieces: Mapping[str, str], unset: Mapping[str, str]) -> Secret:
    return Secret(value, origin=origin, pieces=pieces, unset=unset)


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
