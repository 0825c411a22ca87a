"""`github`: GitHub Actions annotations: an error for each condition that is met, a warning for each large group."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.replay.reports._contract import Report
from svctoolkit.replay.results.attention import by_attention, label
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.text import describe, example_line
from svctoolkit.replay.review.terms import Breach

_MOST = 9  # warnings; GitHub shows at most ten annotations of each kind per step
_QUIET = ("accepted", "no longer failing", "newly delivered", "filtered", "unmapped")


def text(result: Replayed | Comparison, breaches: Sequence[Breach], _page: str) -> str:
    """Return workflow commands, one per line."""
    lines = [_command("error", breach.condition, breach.text) for breach in breaches]
    for group in [group for group in by_attention(result.groups) if group.personal or group.kind not in _QUIET][:_MOST]:
        examples = [example_line(example) for example in group.examples]
        lines.append(
            _command("warning", f"{group.destination}: {label(group)}", "\n".join([describe(group), *examples]))
        )
    return "".join(f"{line}\n" for line in lines)


def _command(kind: str, title: str, message: str) -> str:
    name = _escape(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={name}::{_escape(message)}"


def _escape(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


report = Report(text)
