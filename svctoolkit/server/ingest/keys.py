"""Identify the sender of events: the source by its write key, and the run that a test has named."""

from __future__ import annotations

import base64
import hmac
import logging
from collections.abc import Mapping

from svctoolkit.server.ingest.refusals import NO_KEY, SOURCE_DISABLED, UNKNOWN_KEY, GatewayRefusal
from svctoolkit.server.web.requests import run_name
from svctoolkit.workspace import Source, Workspace

_LOG = logging.getLogger("svctoolkit.ingest")
_SHOWN = 4  # characters of an unknown key
_MOST_UNKNOWN = 100  # keys that are logged


def source_of(
    workspace: Workspace, key: str, *, missing: tuple[int, str] = NO_KEY, disabled: bool = False
) -> tuple[Source, str]:
    """Return the source with this write key, and the run after a `~` in the key. Raises `GatewayRefusal`.

    A disabled source is refused unless `disabled`. `KEY~run` is for clients that cannot send a header. The key is
    compared with every source's, so that the response time reveals nothing.
    """
    if not key.strip():
        raise GatewayRefusal(*missing)
    source, run = _source_with(workspace, key), ""
    if source is None and "~" in key:
        plain, _, name = key.rpartition("~")
        source, run = _source_with(workspace, plain), run_name(name)
    if source is None:
        raise GatewayRefusal(*UNKNOWN_KEY, key=key)
    if not source.enabled and not disabled:
        raise GatewayRefusal(*SOURCE_DISABLED)
    return source, run


class UnknownKeys:
    """Logs unknown write keys, each once, and at most 100: clients repeat a refused request forever."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def log(self, workspace: Workspace, key: str) -> None:
        """Log the beginning of a key, and the names of the sources.

        The rest of the key is left out: it may be the key of another environment, or a token by mistake.
        """
        if not key or key in self._seen or len(self._seen) >= _MOST_UNKNOWN:
            return
        self._seen.add(key)
        start = key if len(key) <= 2 * _SHOWN else f"{key[:_SHOWN]}…"
        _LOG.warning("401: unknown write key %r; sources: %s", start, ", ".join(workspace.sources) or "none")


def _source_with(workspace: Workspace, key: str) -> Source | None:
    secret, match = key.encode("utf-8", "surrogatepass"), None
    for source in workspace.sources.values():
        if source.write_key and hmac.compare_digest(source.write_key.encode(), secret):
            match = source
    return match


def basic_user(headers: Mapping[str, str]) -> str:
    """Return the user name of a Basic header, or an empty string. Old clients wrap the value, which does no harm."""
    scheme, _, text = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        login = base64.b64decode("".join(text.split()), validate=True).decode()
    except ValueError:
        return ""
    return login.partition(":")[0]
