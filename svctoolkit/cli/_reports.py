"""`--report NAME[=FILE]`: open the outputs of reports. A file is written completely after the run, or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO, cast

from svctoolkit.cli import _terminal
from svctoolkit.errors import ConfigError, UsageError, did_you_mean
from svctoolkit.runner import REPORTERS, Output, Reporter


@contextmanager
def open_reporters(names: Sequence[str], environ: Mapping[str, str] = os.environ) -> Iterator[list[Reporter]]:
    """The selected reporters, plus `console` unless another one writes to standard output.

    In GitHub Actions, annotations are added, and a summary of the job unless a report in Markdown is selected. Raises
    `UsageError` before anything runs: for an unknown reporter, two reports to the same place, or a file that cannot be
    written.
    """
    named = [(name, file) for name, _, file in (text.partition("=") for text in names)]
    if not any(not file for _, file in named):
        named.insert(0, ("console", ""))
    if environ.get("GITHUB_ACTIONS") == "true" and not any(name == "github" for name, _ in named):
        named.append(("github", ""))
    _check(named)
    with ExitStack() as stack:
        reporters = [
            REPORTERS[name](stack.enter_context(open_file(file)) if file else _standard()) for name, file in named
        ]
        summary = None if any(name == "markdown" for name, _ in named) else stack.enter_context(job_summary(environ))
        if summary is not None:
            reporters.append(REPORTERS["markdown"](Output(summary)))
        yield reporters


def write_invalid(names: Sequence[str], error: ConfigError) -> None:
    """Write the JUnit reports of a run that does not start: an older file would show CI its last result."""
    files = [file for name, _, file in (text.partition("=") for text in names) if name == "junit" and file]
    if files:
        from svctoolkit.runner.report.reporters.junit import invalid_suites

        text = invalid_suites([str(problem) for problem in error.problems] or [str(error)])
        for file in files:
            with open_file(file) as output:
                output.stream.write(text)


@contextmanager
def job_summary(environ: Mapping[str, str]) -> Iterator[TextIO | None]:
    """Open the summary of a job of GitHub Actions, to which several commands of a step may add; None elsewhere."""
    step = environ.get("GITHUB_STEP_SUMMARY", "") if environ.get("GITHUB_ACTIONS") == "true" else ""
    with ExitStack() as stack:
        stream: TextIO | None = None
        if step:
            with suppress(OSError):
                stream = stack.enter_context(open(step, "a", encoding="utf-8", errors="backslashreplace"))
        yield stream


def _check(named: Sequence[tuple[str, str]]) -> None:
    for name, _ in named:
        if name not in REPORTERS:
            names = REPORTERS.names()
            near = did_you_mean(name, names) or f" Available: {', '.join(names)}."
            raise UsageError(f"--report: unknown reporter {name!r}.{near}")
    places = [os.path.abspath(file) for _, file in named if file]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"--report: two reports go to {place}")
    plain = [name for name, file in named if not file and name != "github"]
    if len(plain) > 1:
        raise UsageError(f"--report: {' and '.join(plain)} both write to standard output; give one a file: NAME=FILE")


def _standard() -> Output:
    terminal = sys.stdout is not None and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    stream = cast(TextIO, _terminal.StandardOutput())
    return Output(stream, terminal, _terminal.colours(sys.stdout), _terminal.width())


@contextmanager
def open_file(name: str) -> Iterator[Output]:
    """Open a report's file, which is created only if the block ends without an error. Raises `UsageError`.

    A device or a pipe is written directly.
    """
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():  # `/dev/stdout`: to replace it would destroy it
        try:
            with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
                yield Output(stream)
        except OSError as error:
            raise UsageError(f"--report: cannot write {name}: {error.strerror}") from error
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(21, "is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise UsageError(f"--report: cannot write {name}: {error.strerror}") from error
    try:
        with open(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            yield Output(stream)
        os.chmod(temporary, 0o644)  # mkstemp creates files with 0600; use the usual permissions
        os.replace(temporary, path)
    except OSError as error:
        raise UsageError(f"--report: cannot write {name}: {error.strerror}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
