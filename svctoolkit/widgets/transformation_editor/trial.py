"""Results of a transformation: output, changes, logs, the error at its line, the time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from svctoolkit.delivery import Recorder
from svctoolkit.display import (
    Excerpt,
    Html,
    Step,
    bundle,
    code,
    diff,
    message,
    more,
    page,
    section,
    status,
    strip,
    table,
    tree,
)
from svctoolkit.errors import TransformationError
from svctoolkit.json_types import Json
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import Change, changes
from svctoolkit.secrets import Masker
from svctoolkit.workspace import UserCode, mask_output

if TYPE_CHECKING:
    from typing import Literal

    from svctoolkit.transformations import Output
    from svctoolkit.workspace import Transformation, Workspace

_SIGNS = {"added": "+", "removed": "−", "changed": "~"}
_LONGEST = 300  # characters shown of a changed value
_DETAILED = 5  # events shown individually; the table has all of them, and more would delay each key


@dataclass(frozen=True, slots=True)
class Trial:
    """The result for one event. `name` is its name in lists."""

    name: str
    event: Mapping[str, Any]
    output: Output

    @property
    def status(self) -> Literal["ok", "dropped", "failed"]:
        if self.output.error is not None:
            return "failed"
        return "ok" if self.output.events else "dropped"

    def __str__(self) -> str:
        """One line: the status, and the output or error."""
        return f"{self.name}: {self.status}{', ' if self.summary else ''}{self.summary}"

    @property
    def summary(self) -> str:
        """A short description of the output."""
        if self.output.error is not None:
            return str(self.output.error)
        if not self.output.events:
            return ""
        count = sum(1 for event in self.output.events for _ in changes(self.event, event))
        what = "" if len(self.output.events) == 1 else f"{len(self.output.events)} events, "
        return what + ("no change" if not count else "1 change" if count == 1 else f"{count} changes")


@dataclass(frozen=True, slots=True)
class Trials(Sequence[Trial]):
    """The results of a transformation for some events, in one call. Secrets of the workspace are masked.

    `milliseconds` is the time of the call, `loading` the time to load the code; `source` is the code, whose lines
    begin at line `offset` + 1 of a notebook cell.
    """

    name: str
    file: str
    source: str
    trials: tuple[Trial, ...]
    milliseconds: float
    loading: float
    offset: int = 0

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: Any) -> Any:
        return self.trials[index]

    def only(self, trial: Trial) -> Trials:
        """The same with only this event."""
        return replace(self, trials=(trial,))

    @property
    def ok(self) -> bool:
        """Whether no event failed."""
        return all(trial.status != "failed" for trial in self.trials)

    def __str__(self) -> str:
        lines = [f"{self.name}: {_time(self)}"]
        for trial in self.trials:
            lines += [str(trial), *(f"  {log.level}: {log.text}" for log in trial.output.logs)]
            for event in trial.output.events:
                lines += [f"  {change}" for change in changes(trial.event, event)]
            excerpt = self._excerpt(trial.output.error)
            lines += str(excerpt).splitlines() if excerpt else []
        return "\n".join(lines)

    def html(self) -> Html:
        """The notebook display: one event in full, or a table of several with each to open."""
        return Html(self.summary_block() + self.whole())

    def summary_block(self) -> Html:
        """A summary: error, log and changes of one event, or a table of several."""
        if len(self.trials) == 1:
            return Html("".join([self._strip(self.trials[0]), *self._summarize(self.trials[0])]))
        rows = [(t.name, status(t.status), len(t.output.events), t.summary) for t in self.trials]
        return table(("event", "result", "events out", "what"), rows, caption=f"{self.name}, {_time(self)}")

    def whole(self) -> Html:
        """Collapsible details: input and output side by side, and the output, for each event."""
        if len(self.trials) == 1:
            return Html("".join(self._whole(self.trials[0])))
        visible = self.trials[:_DETAILED]
        first = next((trial for trial in visible if trial.status == "failed"), None)
        return Html("".join(self._fold(trial, is_open=trial is first) for trial in visible))

    def marks(self) -> list[tuple[int, int, str]]:
        """The errors located in the code, without duplicates: line, column (both from 1) and text."""
        errors = [trial.output.error for trial in self.trials if trial.output.error is not None]
        places = [(*(error.at or ("", 0, 0)), f"{error.name}: {error.message}") for error in errors]
        return list(dict.fromkeys((line, column, text) for file, line, column, text in places if file == self.file))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return bundle(page(self.html()), str(self))

    def _strip(self, trial: Trial) -> Html:
        note = trial.summary if trial.status == "ok" else ""
        return strip([Step(f"{trial.name} → {self.name}", trial.status, self.milliseconds, note or _load(self))])

    def _fold(self, trial: Trial, *, is_open: bool) -> Html:
        title = Html(f"{status(trial.status)} {escape(trial.name)}")
        return more(title, *self._summarize(trial), *self._whole(trial), is_open=is_open)

    def _summarize(self, trial: Trial) -> Iterator[Html]:
        if trial.output.error is not None:
            yield self._error(trial.output.error)
        elif not trial.output.events:
            yield message("The transformation returned no event, so the event is dropped.", "warning")
        if trial.output.logs:
            yield section("Log", code("\n".join(f"{log.level}: {log.text}" for log in trial.output.logs), "log"))
        for number, event in enumerate(trial.output.events, 1):
            differences = list(changes(trial.event, event))
            what = f"what changed{_of(number, trial)}"
            yield (
                _change(differences, what) if differences else message(f"Nothing changed{_of(number, trial)}.", "info")
            )

    def _whole(self, trial: Trial) -> Iterator[Html]:
        for number, event in enumerate(trial.output.events, 1):
            of = _of(number, trial)
            if any(changes(trial.event, event)):
                yield more(f"Side by side{of}", diff(trial.event, event, left=trial.name, right=f"after {self.name}"))
            yield more(f"Output{of}", tree(event, open_depth=3))

    def _error(self, error: TransformationError) -> Html:
        excerpt = self._excerpt(error)
        if excerpt is None:
            where = f"\n{error.where}: {error.source_line.strip()}" if error.where else ""
            return message(f"{error.name}: {error.message}{where}", "error")
        line = f"line {excerpt.line + self.offset}"
        where = f"{line} of the cell" if self.offset else f"{self.file}, {line}"
        text = message(f"{error.name}: {error.message}\n{where}", "error")
        return Html(text + excerpt.html(f"the code around {line}"))

    def _excerpt(self, error: TransformationError | None) -> Excerpt | None:
        """The lines around an error; None without an error, or if it is in a library."""
        file, line, column = (error and error.at) or ("", 0, 0)
        return Excerpt(self.source, line, column, self.offset) if line and file == self.file else None


class Bench:
    """Runs the code of one workspace. Loaded code stays in memory, so that the next run of the same code is fast."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._code = UserCode(workspace, Recorder())

    def run(
        self, transformation: Transformation, events: Mapping[str, Mapping[str, Json]], *, offset: int = 0
    ) -> Trials:
        """Run `transformation` on `events` (by name) in one call. `offset`: see `Trials`. Never raises."""
        return self.try_out(transformation, events, offset=offset)[0]

    def try_out(
        self, transformation: Transformation, events: Mapping[str, Mapping[str, Json]], *, offset: int = 0
    ) -> tuple[Trials, list[Output]]:
        """The same, but with secrets unmasked in the outputs. Never raises."""
        began = perf_counter()
        runnable = self._code.runnable(transformation)
        loaded = perf_counter()
        outputs = runnable.run(list(events.values()), [{} for _ in events])
        ended = perf_counter()
        masker = self.workspace.masker
        trials = [
            Trial(name, masker.mask(event), _mask(output, masker))
            for (name, event), output in zip(events.items(), outputs, strict=True)
        ]
        code_text, file = masker.text(transformation.code), file_of(transformation)
        spent, loading = (ended - loaded) * 1000, (loaded - began) * 1000
        return Trials(transformation.key, file, code_text, tuple(trials), spent, loading, offset), list(outputs)


def _change(differences: Sequence[Change], what: str) -> Html:
    """A row for each change: the path, and the value before and after."""
    rows = [(_path(change), _side(change.before, "del"), _side(change.after, "ins")) for change in differences]
    return table(("where", "before", "after"), rows, caption=what)


def _path(change: Change) -> Html:
    sign = f'<span aria-hidden="true">{_SIGNS[change.kind]}</span><span class="sr">{change.kind}</span>'
    return Html(f"{sign}\N{NO-BREAK SPACE}{escape(change.path) or '(the event)'}")


def _side(value: Any, tag: str) -> Html | None:
    if value is ABSENT:
        return None
    text = json.dumps(value, ensure_ascii=False, default=str)
    line = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return Html(f'<{tag} style="overflow-wrap:anywhere">{escape(line)}</{tag}>')


def _of(number: int, trial: Trial) -> str:
    """The position among several output events."""
    return "" if len(trial.output.events) == 1 else f", {number} of {len(trial.output.events)}"


def file_of(transformation: Transformation) -> str:
    """The file name in its errors."""
    if transformation.file is not None:
        return transformation.file.name
    return f"{transformation.key}.{'py' if transformation.language == 'python' else 'js'}"


def _mask(output: Output, masker: Masker) -> Output:
    masked = mask_output(output, masker, masker.cut_text)
    return msgspec.structs.replace(masked, events=tuple(map(masker.mask, output.events)))


def _time(trials: Trials) -> str:
    return f"{trials.milliseconds:.1f} ms" + (f", {_load(trials)}" if trials.loading >= 1 else "")


def _load(trials: Trials) -> str:
    return f"loaded in {trials.loading:.0f} ms" if trials.loading >= 1 else ""
