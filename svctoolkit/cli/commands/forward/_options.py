"""The options of `svctoolkit forward`, and what they mean."""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from svctoolkit.durations import UNITS, parse_duration
from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.secrets import Secret
    from svctoolkit.workspace import Throttle

KEY_VARIABLE = "SVCTOOLKIT_WRITE_KEY"
_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)/([smh])")
_MOST = 10_000  # events of a request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("store", metavar="STORE", help="file of `serve --store`; its data plane may be running")
    parser.add_argument("--to", required=True, metavar="URL", help="address of the data plane: https://plane.example")
    parser.add_argument(
        "--write-key",
        metavar="KEY",
        help=f"write key there, or '$(env:NAME)' (default: environment variable {KEY_VARIABLE})",
    )
    choice = parser.add_argument_group("choice of events")
    choice.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="KEY[=WRITE_KEY]",
        help="only this source, with its own write key there; may be repeated (default: the only source)",
    )
    choice.add_argument(
        "--since",
        metavar="TIME",
        help="received since then: 2026-11-26, 2026-11-26T08:00 (UTC), or 2h for 2 hours ago",
    )
    choice.add_argument("--until", metavar="TIME", help="received before")
    choice.add_argument("--run", default="", metavar="NAME", help="only events of this run")
    choice.add_argument("--event", default="", metavar="NAME", help="only events of this name or type")
    sending = parser.add_argument_group("sending")
    sending.add_argument("--rate", metavar="N/s", help="at most N events per second; also N/m, N/h (default: no limit)")
    sending.add_argument(
        "--batch", type=int, default=100, metavar="N", help="events per request (default: %(default)s)"
    )
    sending.add_argument(
        "--position", metavar="FILE", help="file that records what was sent (default: next to STORE, one for each URL)"
    )
    sending.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")
    output = parser.add_argument_group("output")
    output.add_argument("--refused", metavar="FILE", help="add refused events to this file, one JSON object per line")
    output.add_argument("--json", action="store_true", help="print the result as JSON")


def address(text: str) -> str:
    """Return the address of a data plane without a slash at its end. Raises `UsageError`."""
    expected = "expected the address of a data plane, such as https://plane.example"
    try:
        parts = urlsplit(text.strip())
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise UsageError(f"--to: {expected}") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(f"--to: {expected}, without a name, a password or a query; the write key is --write-key")
    if not is_valid:
        raise UsageError(f"--to {text}: {expected}")
    return parts.geturl().rstrip("/").removesuffix("/v1/batch")


def moment(option: str, text: str | None, now: datetime, default: float) -> float:
    """Return the seconds since 1970 of a date, a time (UTC without a zone), or a duration ago. Raises `UsageError`."""
    if text is None:
        return default
    try:
        with suppress(ValueError):
            return (now - timedelta(seconds=parse_duration(text))).timestamp()
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        forms = "2026-11-26, 2026-11-26T08:00 or a duration such as 2h"
        raise UsageError(f"{option} {text}: expected {forms}") from None


def throttle(text: str | None, size: int) -> Throttle | None:
    """Return a limit of at most one batch at a time for a rate such as `100/s`. Raises `UsageError`."""
    from svctoolkit.workspace import Throttle

    if text is None:
        return None
    match = _RATE.fullmatch(text)
    rate = float(match[1]) / UNITS[match[2]] if match else 0.0
    if not rate:
        raise UsageError(f"--rate {text}: expected a number of events per second, minute or hour, such as 100/s")
    events = max(1, min(size, math.floor(rate)))
    return Throttle(events, events / rate)


def size(count: int) -> int:
    """Return the events of a request. Raises `UsageError`."""
    if not 1 <= count <= _MOST:
        raise UsageError(f"--batch {count}: expected a number from 1 to {_MOST:,}")
    return count


def sources(texts: Sequence[str]) -> dict[str, str]:
    """Return the source keys, each with its write key, which may be empty. Raises `UsageError`."""
    pairs = [text.partition("=") for text in texts]
    if any(not key or (equals and not write_key) for key, equals, write_key in pairs):
        raise UsageError("--source: expected KEY or KEY=WRITE_KEY, such as web or web='$(env:WEB_KEY)'")
    return {key: write_key for key, _, write_key in pairs}


def write_key(text: str | None, source: str, environ: Mapping[str, str] = os.environ) -> Secret:
    """Return the write key of a source, from the environment if it is not given. Raises `UsageError`."""
    from svctoolkit.secrets import Secret
    from svctoolkit.workspace import resolve_reference

    try:
        key = resolve_reference(text or f"$(env:{KEY_VARIABLE})", environ)
    except ValueError as error:
        raise UsageError(f"write key of the source {source}: {error}") from error
    if isinstance(key, Secret) and key.unset:
        if text:
            raise UsageError(f"write key of the source {source}: {', '.join(key.unset)} is not set in the environment")
        raise UsageError(
            f"--write-key or {KEY_VARIABLE} is required: the key of the source {source} at that data plane"
        )
    return key if isinstance(key, Secret) else Secret(key)
