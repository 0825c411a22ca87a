"""A request as a shell command."""

from __future__ import annotations

import base64
import re
from shlex import quote

from svctoolkit.delivery._http import HttpRequest

#: curl sets these itself, and correctly.
_OWN = ("content-length", "connection", "accept-encoding")
_MAX_ARGUMENT = 100_000  # Linux accepts 131,072 bytes in one argument
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # control characters that a terminal would interpret


def curl(request: HttpRequest) -> str:
    """Return a command for POSIX shells that sends the same request. A body that is not plain text is sent via base64.

    It shows everything in the request: mask the request first if the secrets must not be visible.
    """
    words = ["curl --head" if request.method == "HEAD" else f"curl -X {quote(request.method)}"]
    if re.search(r"[\[\]{}]", request.url):
        words[0] += " --globoff"
    words.append(quote(request.url))
    words += [f"-H {quote(_field(n, v))}" for n, v in request.headers.items() if n.lower() not in _OWN]
    if any(name.lower() == "accept-encoding" for name in request.headers):
        words.append("--compressed")
    if not request.body and not any(name.lower() == "content-length" for name in request.headers):
        return _lines(words)
    if not any(name.lower() == "content-type" for name in request.headers):
        words.append("-H 'Content-Type:'")  # else curl declares the body a form
    text = _plain_text(request.body)
    if text is not None:
        return _lines([*words, f"--data-raw {quote(text)}"])
    encoded = base64.b64encode(request.body).decode()
    return f"printf %s {encoded} | base64 -d | " + _lines([*words, "--data-binary @-"])


def _lines(words: list[str]) -> str:
    return " \\\n  ".join(words)


def _field(name: str, value: str) -> str:
    return f"{name}: {value}" if value else f"{name};"


def _plain_text(body: bytes) -> str | None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if len(body) > _MAX_ARGUMENT or _UNSAFE.search(text) else text
