"""`github`: GitHub Actions annotations: a warning for each change that no scenario notices."""

from __future__ import annotations

from collections.abc import Callable

from svctoolkit.mutation.result import Result

_MOST = 10  # GitHub shows at most ten annotations of each kind per step


def text(result: Result, mask: Callable[[str], str]) -> str:
    """Return workflow commands, one per line."""
    commands = []
    for verdict in result.unnoticed[:_MOST]:
        change = verdict.change
        place = f"file={_property(change.file)},line={max(1, change.line)},title=not noticed"
        commands.append(f"::warning {place}::{_escape(mask(f'{change.kind}: {change.text} ({verdict.reason})'))}\n")
    return "".join(commands)


def _escape(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _escape(value).replace(":", "%3A").replace(",", "%2C")
