"""Changes of one transformation that the assertions of a notebook cell notice: the magic `%%mutate`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType

from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.mutation.baseline import Baseline, measure
from svctoolkit.mutation.change import Change
from svctoolkit.mutation.code_changes import NewCode, code_changes
from svctoolkit.mutation.judge import Judge
from svctoolkit.mutation.place import Places
from svctoolkit.mutation.result import Result
from svctoolkit.mutation.run import require_green
from svctoolkit.mutation.text import summary
from svctoolkit.mutation.verdict import Verdict, names_place
from svctoolkit.runner import Suite
from svctoolkit.workspace import Transformation, Workspace

CELL = "<%%mutate>"
_ASSERTS = ("assert", "raises", "check", "expect", "verify")


@dataclass(frozen=True, slots=True)
class Mark:
    """A change of a line of code, and which assertion notices it (or why none does)."""

    line: int
    kind: str
    text: str
    outcome: str
    is_noticed: bool


@dataclass(frozen=True, slots=True)
class MarkedCode(Displayed):
    """The code of a transformation with the changes that assertions notice, and those that they do not. It is masked.

    `percent` is how many of the changes are noticed.
    """

    code: str
    language: str
    summary: str
    percent: float
    marks: Sequence[Mark]

    @classmethod
    def of(cls, item: Transformation, result: Result, mask: Callable[[str], str]) -> MarkedCode:
        """Return the result of changing a transformation, with `mask` applied to every text."""
        judged = [verdict for verdict in result.ordered if verdict.status in ("noticed", "unnoticed")]
        marks = [
            Mark(v.change.line, v.change.kind, mask(v.change.text), mask(v.scenario or v.reason), v.status == "noticed")
            for v in judged
        ]
        return cls(mask(item.code), str(item.language), summary(result), result.percent, marks)

    def unnoticed(self, line: int) -> list[Mark]:
        """Return the changes of a line that no assertion notices."""
        return [mark for mark in self.marks if mark.line == line and not mark.is_noticed]

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line of the code with its number, as text: `!` if a change is not noticed, `✓` if all are."""
        changed = {mark.line for mark in self.marks}
        for number, line in enumerate(self.code.splitlines(), 1):
            sign = "!" if self.unnoticed(number) else "✓" if number in changed else " "
            yield number, f"{sign}{number:>4} │ {line}".rstrip()

    def display_text(self) -> str:
        """Return the summary, and the code; below each line what may change there without being noticed."""
        lines = [self.summary, ""]
        for number, line in self.lines():
            lines.append(line)
            lines += [f"        {mark.kind}: {mark.text}  ({mark.outcome})" for mark in self.unnoticed(number)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.display_text()


def changes_of(workspace: Workspace, key: str) -> list[Change]:
    """Return the changes of the code of a transformation, with positions in that code.

    Raises `UnknownName`, and `ConfigError` for a Python function or code that has no change.
    """
    item = workspace.transformation(key)
    places = Places(item.key, None)
    of_key = {f"transformations.{item.key}"}
    changes = [change for change in code_changes(workspace, places, {}) if change.items == of_key]
    if not changes:
        what = "is a Python function" if item.function is not None else "has no code that can be changed"
        raise ConfigError(f"transformation {key!r} {what}; %%mutate needs code in the workspace, as of %%transform")
    return changes


def is_suite(cell: str) -> bool:
    """Return whether a cell has scenarios instead of Python."""
    return re.search(r"^scenarios:", cell, re.MULTILINE) is not None


def judge_scenarios(suite: Suite, changes: list[Change]) -> Iterator[Verdict]:
    """Yield the verdict of the scenarios of a suite on each change. Raises `ToolkitError` if one fails already."""
    baseline = Baseline()
    for outcome, lines in measure(suite.scenarios):
        baseline.add(outcome, lines)
    require_green(baseline)
    judge = Judge(baseline.passing)
    for change in changes:
        yield judge.judge(change, baseline.dependents(change))


def judge_assertions(
    transformation: Transformation, changes: list[Change], source: str, run: Callable[[], None]
) -> Iterator[Verdict]:
    """Yield the verdict of Python assertions on each change. `source` is their code, and `run` runs it.

    The transformation is changed in place, so that variables which refer to it see the change, too; afterwards it is as
    before. Raises `UsageError` for code without an assertion, or that fails without a change.
    """
    if not _asserts(source):
        raise UsageError("%%mutate: the cell asserts nothing; write assert statements, or the scenarios of a suite")
    try:
        run()
    except Exception as error:  # noqa: BLE001 - the user's code
        raise UsageError(f"%%mutate: nothing was changed: the cell fails already, {_failure(error, source)}") from None
    code = transformation.code
    for change in changes:
        assert isinstance(change.alteration, NewCode)  # noqa: S101 - `changes_of` returns no others
        transformation.code = change.alteration.edit.apply(code)
        try:
            run()
        except Exception as error:  # noqa: BLE001 - whatever the cell raises notices the change
            text = _failure(error, source)
            yield Verdict(change, "noticed", text, (text,), names_place(change, (text,)))
        else:
            yield Verdict(change, "unnoticed", reason="no assertion fails")
        finally:
            transformation.code = code


def _asserts(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if any(word in name.lower() for word in _ASSERTS):
                return True
    return False


def _failure(error: Exception, source: str) -> str:
    """Return where the cell fails, and the line of it; without an assertion also the error."""
    number = _line(error.__traceback__)
    lines = source.splitlines()
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    what = "" if isinstance(error, AssertionError) and not str(error) else f": {type(error).__name__}: {error}"
    return f"line {number + 1}: {line}{what}".partition("\n")[0]  # after the line with %%mutate


def _line(trace: TracebackType | None) -> int:
    number = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == CELL:
            number = trace.tb_lineno
        trace = trace.tb_next
    return number
