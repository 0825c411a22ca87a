"""What became of scenarios, for a notebook: a summary, each failure with its lines of YAML, the stages, coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from svctoolkit.display import Html, box, bundle, message, more, page, pill, section, table, tree
from svctoolkit.runner import REPORTERS, Covered, Finished, Outcome, Output, Started, hints, shown_coverage
from svctoolkit.runner import explanation as explained
from svctoolkit.runner.compare import printable
from svctoolkit.runner.reporters import _data
from svctoolkit.widgets._excerpt import Excerpt

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.display import Kind
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
_LISTED = 50  # scenarios of a text; of more only those that failed
_NAMED = 8  # of what is missing
_ANSWER = ("status", "headers", "body")  # what the stages are taken from


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
        """The numbers by status, the worst first, and the time: "1 failed, 12 passed in 0.42 s"."""
        return f"{counted(self.outcomes.values())}{self._left} in {self.seconds:.2f} s"

    @property
    def _left(self) -> str:
        """How many the last run left, because it was ended."""
        return f", {self.total - self.done} not run" if self.done < self.total else ""

    def frame(self) -> pd.DataFrame:
        """One row per scenario."""
        reporter: Any = REPORTERS["frame"](Output(StringIO()))
        for outcome in self.outcomes.values():
            reporter(outcome)
        found: pd.DataFrame = reporter.frame
        return found

    def __str__(self) -> str:
        lines = [self.summary]
        everything = len(self.outcomes) <= _LISTED
        for outcome in (o for o in self.outcomes.values() if everything or not o.ok):
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
        """The summary in a line."""
        pills = " ".join(
            pill(f"{number} {_LOOKS[status][1]}", _LOOKS[status][2])
            for status, number in _counts(self.outcomes.values())
        )
        return Html(f'<p role="status">{pills} <span class="dim">{self._left} in {self.seconds:.2f} s</span></p>')

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(page(self.html()), str(self))


def counted(outcomes: Iterable[Outcome]) -> str:
    """How many of each status, the worst first: "1 failed, 12 passed"."""
    return ", ".join(f"{number} {_LOOKS[status][1]}" for status, number in _counts(outcomes)) or "nothing run"


def _counts(outcomes: Iterable[Outcome]) -> list[tuple[Status, int]]:
    counts = Counter(outcome.status for outcome in outcomes)
    order: Sequence[Status] = ("failed", "error", "passed", "xfailed", "skipped")
    return [(status, counts[status]) for status in order if counts[status]]


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
    parts += _differences(outcome)
    parts += [message(line, "info") for step in outcome.steps for line in _hints(outcome, step)]
    parts += _values(outcome, data["steps"])
    note = f"{data['file']}:{data['line']}, {outcome.milliseconds:.1f} ms"
    return section(Html(f'{_pill(outcome)} {escape(data["title"])} <span class="dim">{escape(note)}</span>'), *parts)


def _hints(outcome: Outcome, step: StepOutcome) -> Iterator[str]:
    for line in hints(step) if step.differences else ():
        yield printable(str(outcome.scenario.suite.masker.masked(line)))


def _values(outcome: Outcome, steps: Sequence[Any]) -> Iterator[Html]:
    """What went in, what each stage gave, and the answer as a whole; open where something differs."""
    for number, (step, shown) in enumerate(zip(outcome.steps, steps, strict=True), 1):
        of = f"step {number}, " if len(steps) > 1 else ""
        differs = {str(d.path[0]) for d in step.differences if d.path}
        seen = sorted(shown["seen"].items(), key=lambda pair: pair[0] in _ANSWER)
        for name, value in [("given", shown["given"]), *seen]:
            yield more(of + name, tree(value, open_depth=3), is_open=name in differs)


def _differences(outcome: Outcome) -> Iterator[Html]:
    """Every difference below the lines of YAML that expect something else; those of one line together."""
    suite = outcome.scenario.suite
    placed = [(*suite.document.position(s.place(d)), d) for s in outcome.steps for d in s.differences]
    text = str(suite.masker.masked(suite.document.text))
    for line, found in groupby(placed[:_MOST], key=lambda placed: placed[0]):
        _, columns, differences = zip(*found, strict=True)
        where = f"{suite.name}:{line}:{columns[0]}"
        rows = "".join(_difference(outcome, difference) for difference in differences)
        lines = Excerpt(text, line, columns[0]).html(f"the suite around line {line}")
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
    rows = [(g.name, f"{len(g.covered)} of {g.total}", _missing(sorted(g.missing))) for g in coverage.groups]
    return table(("what", "covered", "missing"), rows, caption=f"coverage {coverage.percent:.1f} %")


def _missing(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
