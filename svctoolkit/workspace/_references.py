"""Replace `$(env:NAME)` in a string by the value of an environment variable.

`$(env:NAME:-default)` has a default for a variable that is not set, or empty, as in a shell. These values are secret;
`$(var:NAME)` is the same for public values, such as a host. `$$(env:` is the literal text `$(env:`: one dollar sign is
removed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from svctoolkit.secrets import Form, Secret, placeholder

_OPENING = re.compile(r"(?<!\$)(\$++)\((?:env|var):")
_IN_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S*\Z", re.IGNORECASE)
_REFERENCE = re.compile(r"\$\((env|var):([A-Za-z_][A-Za-z0-9_]*)(?::-([^)]*))?\)")


def resolve(text: str, environ: Mapping[str, str], *, url: bool = False) -> str | Secret:
    """Return the resolved string, as a `Secret` (with `text` as its origin) if it contains `$(env:NAME)`.

    A secret variable that is not set, or empty, gets a placeholder, and is in `unset` of the secret; `url` says that
    the string is a URL. Raises `ValueError` that says what is wrong with a reference.
    """
    texts: list[str] = []
    pieces: dict[str, str] = {}
    unset: dict[str, str] = {}
    end = 0
    for opening in _OPENING.finditer(text):
        if opening.start() < end:
            continue
        texts.append(text[end : opening.start()])
        if len(opening[1]) > 1:
            texts.append(opening[0][1:])
            end = opening.end()
            continue
        reference = _REFERENCE.match(text, opening.start())
        if reference is None:
            raise ValueError("invalid reference: write $(env:NAME) or $(env:NAME:-default); $$(env: is plain text")
        kind, name, default = reference.groups()
        value = _value(name, default, environ)
        if kind == "env" and not value and default is None:
            is_whole = reference.span() == (0, len(text))
            form: Form = "url" if url and is_whole else "part" if _IN_URL.match("".join(texts)) else "text"
            value = unset[name] = placeholder(name, form)
        elif kind == "env":
            pieces[name] = value or ""
        if value is None:
            raise ValueError(not_set(name, "var"))
        texts.append(value)
        end = reference.end()
    whole = "".join([*texts, text[end:]])
    return Secret(whole, origin=text, pieces=pieces, unset=unset) if pieces or unset else whole


def not_set(name: str, kind: str = "env") -> str:
    """Return the message for a variable without a value."""
    return f"the environment variable {name} is not set: set it, or write $({kind}:{name}:-default)"


def _value(name: str, default: str | None, environ: Mapping[str, str]) -> str | None:
    value = environ.get(name)
    if default is not None:
        value = value or default
    if value is None:
        return None
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"the environment variable {name} is not UTF-8")
    return value


def has_reference(text: str) -> bool:
    return any(len(opening[1]) == 1 for opening in _OPENING.finditer(text))


def escape(text: str) -> str:
    """Return `text` escaped so that `resolve` returns it unchanged."""
    return _OPENING.sub(r"$\g<0>", text)
