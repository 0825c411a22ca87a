"""`github`: GitHub Actions annotations: an error for each condition that is met, a warning for each story.

A story that is due to an edited line of code is shown at that line."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit.replay.reports._contract import Report
from svctoolkit.replay.results.attention import story_lines
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.stories import day_bars, number_lines, stories
from svctoolkit.replay.results.text import example_line
from svctoolkit.replay.review.terms import Breach

_MOST = 9  # warnings; GitHub shows at most ten annotations of each kind per step
_LINES = 8  # of a story
_QUIET = ("other", "accepted")  # stories that need no annotation


def text(result: Replayed | Comparison, breaches: Sequence[Breach], _page: str) -> str:
    """Return workflow commands, one per line."""
    lines = [_command("error", breach.condition, breach.text) for breach in breaches]
    for story in [story for story in stories(result.groups) if story.severity not in _QUIET][:_MOST]:
        examples = [example_line(example) for example in story.groups[0].examples]
        more = [*examples, *number_lines(story.groups[0]), *filter(None, [day_bars(story.days)])]
        texts = list(story_lines(story))
        rest = [f"and {len(texts) - _LINES:,} more groups"] if len(texts) > _LINES else []
        title = f"{', '.join(story.destinations[:_LINES])}: {story.title}"
        lines.append(_command("warning", title, "\n".join([*texts[:_LINES], *rest, *more]), story.edited))
    return "".join(f"{line}\n" for line in lines)


def _command(kind: str, title: str, message: str, place: tuple[str, int] = ("", 0)) -> str:
    """Return a command; with a place, GitHub shows it at that line of the pull request."""
    file, line = place
    at = f"file={_property(file)},line={line}," if file else ""
    return f"::{kind} {at}title={_property(title)}::{_escape(message)}"


def _property(value: str) -> str:
    return _escape(value).replace(":", "%3A").replace(",", "%2C")


def _escape(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


report = Report(text)
