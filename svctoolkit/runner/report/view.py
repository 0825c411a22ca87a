"""Outcomes as parts of a page: a table, failures with their lines of YAML, stages, coverage. Secrets are masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from svctoolkit.display import Excerpt, Html, box, message, more, pill, section, table, tree
from svctoolkit.displayed import printable
from svctoolkit.expect.difference import Difference
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.report.reporters import _data
from svctoolkit.runner.report.text import explanation, hints, origin_text

if TYPE_CHECKING:
    from svctoolkit.display import Kind
    from svctoolkit.runner.coverage.collector import Coverage

__all__ = ["count_text", "coverage", "outcome", "scenarios", "sign", "status", "summary", "title", "word"]

_LOOKS: dict[str, tuple[str, str, Kind]] = {
    "passed": ("✓", "passed", "ok"),
    "failed": ("✗", "failed", "error"),
    "error": ("✗", "broken", "error"),
    "skipped": ("–", "skipped", "plain"),
    "xfailed": ("✓", "expected to fail", "warning"),
    "warned": ("!", "warned", "warning"),
}
_WORST = ("failed", "error", "warned", "passed", "xfailed", "skipped")
_MOST = 20  # differences of one scenario
_NAMED = 8  # number of missing items that are named
_ANSWER = ("status", "headers", "body")  # the response, which contains the stages


def count_text(outcomes: Iterable[Outcome]) -> str:
    """Return how many have each status, the worst first: "1 failed, 12 passed"."""
    return ", ".join(f"{number} {_LOOKS[status][1]}" for status, number in _counts(outcomes)) or "nothing was run"


def summary(outcomes: Iterable[Outcome], note: str) -> Html:
    """The same in one line with colours, followed by a note."""
    pills = " ".join(pill(f"{number} {_LOOKS[status][1]}", _LOOKS[status][2]) for status, number in _counts(outcomes))
    return Html(f'<p role="status">{pills} <span class="dim">{escape(note)}</span></p>')


def _counts(outcomes: Iterable[Outcome]) -> list[tuple[str, int]]:
    counts = Counter[str](outcome.status for outcome in outcomes)
    return [(status, counts[status]) for status in _WORST if counts[status]]


def sign(subject: Outcome | None) -> str:
    """A symbol for lists: not run yet, or the status."""
    return "○" if subject is None else _LOOKS[subject.status][0]


def word(subject: Outcome) -> str:
    """The status as a word."""
    return _LOOKS[subject.status][1]


def title(subject: Outcome) -> str:
    """The scenario's title, with secrets masked."""
    return str(subject.scenario.suite.masker.mask(subject.scenario.title))


def status(subject: str) -> Html:
    """A status as symbol, word and colour."""
    _, label, kind = _LOOKS[subject]
    return pill(label, kind)


def scenarios(outcomes: Iterable[Outcome]) -> Html:
    """A table with one row per scenario."""
    rows = [(status(o.status), title(o), o.scenario.where, f"{o.milliseconds:,.1f} ms") for o in outcomes]
    return table(("result", "scenario", "where", "time"), rows)


def outcome(subject: Outcome) -> Html:
    """One scenario in full: differences at their lines, hints, and the values of each stage."""
    data = _data.outcome(subject)
    blocks: list[Html] = []
    if not subject.ok and not subject.differences:
        blocks.append(message(explanation(subject), "error"))
    elif subject.reason:
        blocks.append(message(data["reason"], "error" if subject.status == "error" else "info"))
    blocks += _differences(subject)
    blocks += [message(line, "info") for step in subject.steps for line in _hints(subject, step)]
    blocks += _values(subject, data["steps"])
    note = f"{data['file']}:{data['line']}, {subject.milliseconds:.1f} ms"
    head = Html(f'{status(subject.status)} {escape(data["title"])} <span class="dim">{escape(note)}</span>')
    return section(head, *blocks)


def _hints(outcome: Outcome, step: StepOutcome) -> Iterator[str]:
    for line in hints(step) if step.differences else ():
        yield printable(str(outcome.scenario.suite.masker.mask(line)))


def _values(outcome: Outcome, steps: Sequence[Any]) -> Iterator[Html]:
    """Yield the input, the values of each stage, and the full response; open where something differs."""
    for number, (step, values) in enumerate(zip(outcome.steps, steps, strict=True), 1):
        of = f"step {number}, " if len(steps) > 1 else ""
        differs = {str(d.path[0]) for d in step.differences if d.path}
        results = sorted(values["results"].items(), key=lambda pair: pair[0] in _ANSWER)
        for name, value in [("given", values["given"]), *results]:
            yield more(of + name, tree(value, open_depth=3), is_open=name in differs)


def _differences(outcome: Outcome) -> Iterator[Html]:
    """Yield all differences below the lines of YAML that they contradict; those of one line together."""
    suite = outcome.scenario.suite
    placed = [(*suite.document.position(s.place(d)), (s, d)) for s in outcome.steps for d in s.differences]
    text = str(suite.masker.mask(suite.document.text))
    for line, subject in groupby(placed[:_MOST], key=lambda placed: placed[0]):
        _, columns, differences = zip(*subject, strict=True)
        where = f"{suite.name}:{line}:{columns[0]}"
        rows = "".join(_difference(outcome, *difference) for difference in differences)
        lines = Excerpt(text, line, columns[0]).html(f"the suite around line {line}")
        yield box(where, Html(f"{lines}<ul>{rows}</ul>"), label=f"differences at {where}")
    if len(placed) > _MOST:
        yield message(f"{len(placed) - _MOST} more differences", "info")


def _difference(outcome: Outcome, step: StepOutcome, subject: Difference) -> str:
    masked = outcome.scenario.suite.masker.mask
    path = ".".join(map(str, subject.path)) or "(value)"
    expected, got = (escape(str(masked(side))) for side in (subject.expected, subject.got))
    origin = escape(str(masked(origin_text(step, subject))))
    came = f'<div class="dim">{origin}</div>' if origin else ""
    return f"<li><b>{escape(path)}</b>: expected <del>{expected}</del>, got <ins>{got}</ins>{came}</li>"


def coverage(subject: Coverage) -> Html:
    """What the scenarios cover and miss."""
    rows = [(g.name, f"{len(g.covered)} of {g.total}", _missing(sorted(g.missing))) for g in subject.groups]
    counts = table(("what", "covered", "missing"), rows, caption=f"coverage {subject.percent:.1f} %")
    lost = message(f"fields that reach no destination: {_missing(subject.lost)}") if subject.lost else ""
    lines = subject.checked.unchecked if subject.checked is not None else ()
    unchecked = message(f"lines that scenarios run, but do not check: {_missing(lines)}") if lines else ""
    return Html(subject.plan_map().html() + counts + unchecked + lost)


def _missing(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
