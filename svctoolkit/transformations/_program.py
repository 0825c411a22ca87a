"""The user's code with its libraries, and the positions of its errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from svctoolkit.errors import TransformationError, did_you_mean
from svctoolkit.transformations import standard
from svctoolkit.transformations._contract import Library, Limits, shorten
from svctoolkit.transformations._frames import Failure, LoadAnswer, Place, Unit
from svctoolkit.transformations._layers import code_is_trusted
from svctoolkit.transformations._worker import Worker

_LONGEST, _LONGEST_STACK, _LONGEST_NAME = 2000, 4000, 100  # characters of an error
#: The entry point's parameter list, and the name of the second parameter.
_PARAMETERS = re.compile(
    r"\btransform(?:Event|Batch)?\b[\s=]*(?:async\b\s*)?(?:function\b\s*)?\(\s*[\w$]+\s*(?:,\s*([\w$]+)\s*)?\)"
)
_ENTRY_POINT = re.compile(r"\btransform(?:Event|Batch)?\b")
# `[...x]` and `{...x}` copy a value; other dots may be those of a function that gets all its arguments.
_BACK_DOORS = re.compile(
    r"\b(?:arguments|eval|exec|Function|locals|vars|inspect|sys)\b|(?<![\[{])(?<![\[{] )\.\.\.|\\u"
)
#: A line of V8's stacks: `    at transformEvent (clean.js:8:29)`, or without a function `    at clean.js:1:7`.
_FRAME = re.compile(
    r"at (?:async )?(?:new )?(?:(?P<function>[\w$.<>#]{1,200}) (?:\[as [^\]]{1,100}\] )?\()?"
    r"(?P<script>[^\s()]+):(?P<line>\d{1,7}):(?P<column>\d{1,7})\)?$"
)
_SYNTAX = re.compile(r"([^\n]*):(\d+): (\w+): ([^\n]*)(?:\n[^\n]*\n([^\n^]*)\^)?")


class Program:
    """One transformation. Programs with the same `identity` behave the same and share workers."""

    def __init__(
        self,
        code: str,
        language: str,
        *,
        name: str,
        libraries: Mapping[str, Library],
        credentials: Mapping[str, str],
        limits: Limits,
        scope: str,
        coverage: bool,
        version: str,
    ) -> None:
        self.language, self.limits, self.scope = language, limits, scope
        self._code = code
        self._own = {at: library.code for at, library in libraries.items() if not at.startswith(standard.PREFIX)}
        self._is_known = False
        self._libraries = list(libraries)
        self._sources = {name: code} | {library.name: library.code for library in libraries.values()}
        # V8 accepts no spaces and quotes in a script name
        self._scripts = {re.sub(r"[\s'\"()]", "_", file): file for file in self._sources}
        message = {
            "main": {**self._source(name), "version": version},
            "libraries": [{**self._source(lib.name), "import": at} for at, lib in libraries.items()],
            "credentials": dict(credentials),
            "coverage": coverage,
            "limits": {
                "output_bytes": limits.output_bytes,
                "log_bytes": limits.log_bytes,
                "log_line": limits.log_line,
                "calls": limits.calls,
                "time": limits.time,
            },
        }
        self._payload = json.dumps(message).encode()
        self.identity = json.dumps([language, scope, repr(limits)]).encode() + self._payload
        self.units: list[Unit] = []

    def is_trusted(self) -> bool:
        """Whether the code runs even without the essential layers: all code is trusted, or each piece is recorded."""
        if not self._is_known:
            from svctoolkit.transformations._trust import TrustStore, imported_libraries  # only if a layer is missing

            store, own = TrustStore(), self._own
            pieces = [self._code, *(own[at] for at in imported_libraries(self._code, own))]
            self._is_known = all(map(store.has, pieces))
        return self._is_known or self.limits.trust or code_is_trusted()

    @cached_property
    def may_ask(self) -> bool:
        """Whether the code may read metadata, judged by its text without running it."""
        main, text = next(iter(self._sources.values())), "\n".join(self._sources.values())
        entries = _ENTRY_POINT.findall(main)
        parameters = _PARAMETERS.search(main)
        # Python's names may have other letters, such as full-width ones, that mean the same.
        if parameters is None or len(entries) > 1 or _BACK_DOORS.search(text) or not text.isascii():
            return True
        second = parameters[1] or "metadata"
        uses = len(re.findall(rf"(?<![\w$]){re.escape(second)}(?![\w$])", text))
        return uses > bool(parameters[1]) or (second != "metadata" and "metadata" in text)

    def _source(self, file: str) -> dict[str, str]:
        script = next(script for script, source in self._scripts.items() if source == file)
        return {"file": file, "script": script, "code": self._sources[file]}

    def load(self, worker: Worker) -> None:
        """Load the program. Raises `TransformationError` if this fails or the code has not exactly one entry point."""
        worker.program, worker.units = b"", []
        answer = worker.load(self._payload, self.limits)
        self.units = worker.units = answer.units
        if error := self._refusal(answer):
            raise error
        worker.program = self.identity

    def _refusal(self, answer: LoadAnswer) -> TransformationError | None:
        if answer.unknown_import:
            module = answer.unknown_import[:200]
            meant = did_you_mean(module, [*self._libraries, *standard.names()])
            return self._error("Error", f"import from {module} failed. Module not found.{meant}", answer.at)
        if answer.syntax:
            return self._syntax(answer.syntax)
        if answer.error is not None:
            error = self.error(answer.error)
            error.kind = "syntax" if error.name == "SyntaxError" else "error"
            return error
        if answer.entry_point is not None and not answer.entry_point.name:
            text, file = shorten(answer.entry_point.problem, 500), next(iter(self._sources))
            return TransformationError(text, name="Error", at=(file, 0, 0), kind="syntax")
        return None

    def _syntax(self, text: str) -> TransformationError:
        """Return V8's report: the position, the line, and a caret under the mistake."""
        report = _SYNTAX.match(text)
        if report is None:
            return TransformationError(shorten(text.strip(), 500), name="SyntaxError", kind="syntax")
        script, number, name, message, before = report.groups()
        file = self._scripts.get(script, next(iter(self._sources)))
        # the function that V8 compiles has three lines before the user's code
        line, column = int(number) - 3, len(before or "") + 1
        lines = self._sources[file].split("\n")
        if script not in self._scripts or line > len(lines):  # the error is in what follows the user's code
            line, message = len(lines), "Unexpected end of input"
            column = len(lines[-1]) + 1
            if "Single function literal" in text:
                message = "Unexpected token '}'"
        elif line == 1:
            column -= self._head(file)
        return self._error(name, shorten(message, _LONGEST), (file, line, max(1, column)))

    def _head(self, file: str) -> int:
        return next((unit.head for unit in self.units if unit.file == file), 0)

    def _error(self, name: str, message: str, at: Place | None) -> TransformationError:
        at, source_line = self._place(at)
        return TransformationError(message, name=name, at=at, source_line=source_line, kind="syntax")

    def error(self, failure: Failure | None) -> TransformationError:
        """Return the error from a worker's description, with its position in the user's files."""
        if failure is None:
            return TransformationError("the transformation failed", name="Error")
        message = shorten(failure.message, _LONGEST)
        if failure.plain:
            message = f"{message or '(nothing)'} (not an Error; throw an Error to see where)"
        at, function = failure.at, failure.function
        if at is None:
            at, function = self._first_frame(failure.stack[:_LONGEST_STACK])
        at, line = self._place(at)
        name = shorten(failure.name, _LONGEST_NAME) or "Error"
        return TransformationError(
            message, name=name, at=at, function=shorten(function, _LONGEST_NAME), source_line=line
        )

    def _first_frame(self, stack: str) -> tuple[Place | None, str]:
        """Return the innermost position in the user's files in a V8 stack, and the function there."""
        for line in stack.split("\n")[:40]:
            frame = _FRAME.search(line)
            if frame and frame["script"] in self._scripts:
                file, number, column = self._scripts[frame["script"]], int(frame["line"]), int(frame["column"])
                return (file, number, self._column(file, number, column)), frame["function"] or ""
        return None, ""

    def _column(self, file: str, line: int, column: int) -> int:
        """Return the column in the user's code for a column in the generated script."""
        inserted = next((unit.inserted for unit in self.units if unit.file == file), [])
        longer = sum(size for at, begin, size in inserted if at == line and begin < column)
        return max(1, column - longer)

    def _place(self, at: Place | None) -> tuple[Place | None, str]:
        """Return the position and its source line; nothing if the worker's position does not exist."""
        if at is None:
            return None, ""
        file, line, _ = at
        lines = self._sources.get(file, "").split("\n")
        if file not in self._sources or not 0 < line <= len(lines):
            return None, ""
        return at, lines[line - 1].rstrip("\r")

    def line_counts(self, hits: Sequence[Sequence[int]]) -> dict[str, dict[int, int]]:
        """Return line coverage: how often each executable line has run, by file."""
        counts: dict[str, dict[int, int]] = {}
        for unit, numbers in zip(self.units, hits, strict=False):
            of_file = counts.setdefault(unit.file, {})
            for line, times in zip(unit.lines, numbers, strict=False):
                of_file[line] = max(of_file.get(line, 0), times)
        return counts

    def branch_counts(self, hits: Sequence[Sequence[int]]) -> dict[str, dict[str, int]]:
        """Return branch coverage: how often each outcome has occurred, such as `8:3 false`, by file."""
        return {
            unit.file: {
                f"{line}:{column} {outcome}": times
                for (line, column, outcome), times in zip(unit.branches, numbers[len(unit.lines) :], strict=False)
            }
            for unit, numbers in zip(self.units, hits, strict=False)
        }
