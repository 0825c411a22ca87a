"""What became of scenarios, for a notebook: a summary, each failure with its lines of YAML, the stages, coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from html import escape
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from svctoolkit.display import Html, box, bundle, message, page, pill, table, tree
from svctoolkit.runner import REPORTERS, Covered, Finished, Outcome, Output, Started, hints, shown_coverage
from svctoolkit.runner import explanation as explained
from svctoolkit.runner.compare import printable
from svctoolkit.runner.reporters import _data
from svctoolkit.widgets._excerpt import Excerpt

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.display._html import Kind
    from svctoolkit.runner import Coverage, Difference, Notice, StepOutcome
    from svctoolkit.runner._outcome import Status

_LOOKS: dict[Status, tuple[str, str, Kind]] = {
    "passed": ("✓", "passed", "ok"),
    "failed": ("✗", "failed", "error"),
    "error": ("✗", "broken", "error"),
    "skipped": ("–", "skipped", "plain"),
    "xfailed": ("✓", "expected to fail", "warning"),
}
_MOST = 20  # differences of one scenario


class Results:
    """Hears the notices of runs, and keeps the last outcome of each scenario, by its name (`file::id`).

    `total`, `done` and `seconds` are those of the last run.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.coverage: Coverage | None = None
        self.total = self.done = 0
        self.seconds = 0.0

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self.total, self.done, self.coverage = len(notice.scenarios), 0, None
        elif isinstance(notice, Outcome):
            self.outcomes[notice.scenario.name] = notice
            self.done += 1
        elif isinstance(notice, Covered):
            self.coverage = notice.coverage
        elif isinstance(notice, Finished):
            self.seconds = notice.seconds

    def forget_all_but(self, names: Collection[str]) -> None:
        """Forget the outcomes of scenarios that are not there any more."""
        self.outcomes = {name: outcome for name, outcome in self.outcomes.items() if name in names}

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return all(outcome.ok for outcome in self.outcomes.values())

    @property
    def summary(self) -> str:
        """The numbers by status, the worst first."""
        return counted(self.outcomes.values())

    def frame(self) -> pd.DataFrame:
        """One row per scenario."""
        reporter: Any = REPORTERS["frame"](Output(StringIO()))
        for outcome in self.outcomes.values():
            reporter(outcome)
        found: pd.DataFrame = reporter.frame
        return found

    def __str__(self) -> str:
        lines = [f"{self.summary} in {self.seconds:.2f} s"]
        for outcome in self.outcomes.values():
            lines.append(f"{_LOOKS[outcome.status][1]}: {title_of(outcome)}")
            lines += [] if outcome.ok else [f"  {line}" for line in explained(outcome).splitlines()]
        return "\n".join([*lines, *(shown_coverage(self.coverage) if self.coverage else ())])

    __repr__ = __str__

    def html(self) -> Html:
        """The summary, every scenario, what failed in full, the coverage."""
        outcomes = list(self.outcomes.values())
        parts = [self.told(), scenarios_table(outcomes)]
        parts += [outcome_html(outcome) for outcome in outcomes if not outcome.ok]
        parts += [coverage_html(self.coverage)] if self.coverage else []
        return Html("".join(parts))

    def told(self) -> Html:
        """The summary as a message."""
        return message(f"{self.summary} in {self.seconds:.2f} s", "ok" if self.ok else "error")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(page(self.html()), str(self))


def counted(outcomes: Any) -> str:
    """How many of each status: "1 failed, 12 passed"."""
    counts = Counter(outcome.status for outcome in outcomes)
    order: Sequence[Status] = ("failed", "error", "passed", "xfailed", "skipped")
    return ", ".join(f"{counts[status]} {_LOOKS[status][1]}" for status in order if counts[status]) or "nothing run"


def sign_of(outcome: Outcome | None) -> str:
    """One sign for lists: not run yet, or what became of it."""
    return "○" if outcome is None else _LOOKS[outcome.status][0]


def word_of(outcome: Outcome) -> str:
    """The status as a word."""
    return _LOOKS[outcome.status][1]


def title_of(outcome: Outcome) -> str:
    """The scenario's title, secrets masked."""
    return str(outcome.scenario.suite.masker.masked(outcome.scenario.title))


def scenarios_table(outcomes: Sequence[Outcome]) -> Html:
    """A row for each scenario."""
    rows = [(_pill(o), title_of(o), o.scenario.where, round(o.milliseconds, 1)) for o in outcomes]
    return table(("result", "scenario", "where", "ms"), rows)


def _pill(outcome: Outcome) -> Html:
    _, word, kind = _LOOKS[outcome.status]
    return pill(word, kind)


def outcome_html(outcome: Outcome) -> Html:
    """One scenario in full: differences at their lines, what helps to understand them, what each stage gave."""
    data = _data.outcome(outcome)
    parts: list[Html] = []
    if not outcome.ok and not outcome.differences:
        parts.append(message(explained(outcome), "error"))
    elif outcome.reason:
        parts.append(message(data["reason"], "error" if outcome.status == "error" else "info"))
    parts += list(_differences(outcome))
    for number, (step, shown) in enumerate(zip(outcome.steps, data["steps"], strict=True), 1):
        parts += [message(line, "info") for line in _hints(outcome, step)]
        of = f"step {number}, " if len(outcome.steps) > 1 else ""
        differs = {str(d.path[0]) for d in step.differences if d.path}
        values = [("given", shown["given"]), *shown["seen"].items()]
        parts += [_folded(f"{of}{name}", value, opened=name in differs) for name, value in values]
    head = Html(f"{_pill(outcome)} {escape(data['title'])}")
    note = f"{data['file']}:{data['line']}, {outcome.milliseconds:.1f} ms"
    body = "".join(f'<div class="pad">{part}</div>' for part in parts)
    return box(head, Html(body), label=f"scenario {data['title']}", note=note)


def _hints(outcome: Outcome, step: StepOutcome) -> Iterator[str]:
    for line in hints(step) if step.differences else ():
        yield printable(str(outcome.scenario.suite.masker.masked(line)))


def _folded(name: str, value: Any, *, opened: bool) -> Html:
    shown = tree(value, open_depth=3)
    return Html(f'<details class="more"{" open" if opened else ""}><summary>{escape(name)}</summary>{shown}</details>')


def _differences(outcome: Outcome) -> Iterator[Html]:
    """Every difference below the lines of YAML that expect something else; those of one line together."""
    suite = outcome.scenario.suite
    placed = [(suite.document.position(s.place(d)), d) for s in outcome.steps for d in s.differences]
    text = str(suite.masker.masked(suite.document.text))
    for (line, column), found in groupby(placed[:_MOST], key=lambda pair: pair[0]):
        where = f"{suite.name}:{line}:{column}"
        rows = "".join(_difference(outcome, difference) for _, difference in found)
        lines = Excerpt(text, line, column).html(f"the suite around line {line}")
        yield box(where, Html(f"{lines}<ul>{rows}</ul>"), label=f"differences at {where}")
    if len(placed) > _MOST:
        yield message(f"{len(placed) - _MOST} more differences", "info")


def _difference(outcome: Outcome, found: Difference) -> str:
    masked = outcome.scenario.suite.masker.masked
    path = ".".join(map(str, found.path)) or "(value)"
    expected, got = (escape(str(masked(side))) for side in (found.expected, found.got))
    return f"<li><b>{escape(path)}</b>: expected <del>{expected}</del>, got <ins>{got}</ins></li>"


def coverage_html(coverage: Coverage) -> Html:
    """What the scenarios touch and miss."""
    rows = [(g.name, f"{len(g.covered)} of {g.total}", ", ".join(sorted(g.missing)[:50])) for g in coverage.groups]
    return table(("what", "covered", "missing"), rows, caption=f"coverage {coverage.percent:.1f} %")
