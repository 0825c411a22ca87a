"""`svctoolkit transform`: run one event through a user transformation."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _inputs, _violations
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.secrets import Masker
    from svctoolkit.transformations import Output
    from svctoolkit.workspace import Transformation, Workspace

_LANGUAGES = {".py": "python", ".js": "javascript", ".mjs": "javascript"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="transformation code: .py, .js or .mjs")
    event = parser.add_argument_group("event (default: --sample track)")
    event.add_argument(
        "--event",
        metavar="FILE",
        help="JSON file with the event, or with a list or lines of events; - reads standard input",
    )
    event.add_argument("--sample", metavar="NAME", help="built-in sample event: track, identify, page, screen...")
    parser.add_argument(
        "--workspace",
        metavar="FILE",
        help="workspace with libraries and credentials (default: workspace.yaml, if it exists)",
    )
    _violations.add_option(parser)
    parser.add_argument(
        "--watch", action="store_true", help="rerun whenever the file or the event changes, until Ctrl-C"
    )


def _run(args: argparse.Namespace) -> int:
    if not args.watch:
        return _once(args)
    if args.event == "-":
        raise UsageError("--watch needs the event in a file: standard input can be read only once")
    from svctoolkit.cli import _terminal

    files = [Path(name) for name in (args.file, args.event, args.workspace) if name]
    for _ in _changes(files):
        _terminal.out(_terminal.style(f"--- {time.strftime('%H:%M:%S')} {args.file}", "dim"))
        _try(lambda: _once(args))
    return Exit.OK


def _try(run: Callable[[], int]) -> None:
    """Run, but report an error instead of raising it: files are often briefly invalid while they are edited."""
    from svctoolkit.cli import _terminal
    from svctoolkit.errors import ToolkitError

    try:
        run()
    except ToolkitError as error:
        _terminal.err(str(error))


def _changes(files: list[Path], sleep: Callable[[float], object] = time.sleep) -> Iterator[None]:
    """Yield immediately, then after each change of a file, forever."""
    stamps: list[Any] = []
    while True:
        now = [_stamp(file) for file in files]
        if now != stamps:
            stamps = now
            yield
        sleep(0.2)


def _stamp(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _once(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    sample = args.sample or (None if args.event else "track")
    events = _inputs.events(args.event, sample)
    workspace = _workspace(args.workspace)
    transformation = _transformation(workspace, Path(args.file))
    for event in events:
        _violations.show(args, event)
    started = time.perf_counter()
    outputs = transformation.run(events)  # in one call, as `transformBatch` needs it
    spent = (time.perf_counter() - started) * 1000
    for number, (event, output) in enumerate(zip(events, outputs, strict=True), 1):
        if len(events) > 1:
            _terminal.out(_terminal.style(f"input {number} of {len(events)}", "bold"))
        _terminal.out(_report(output, event, workspace.masker))
    _terminal.out(_terminal.style(f"{spent:.1f} ms, including sandbox start", "dim"))
    return Exit.FAILED if any(output.error for output in outputs) else Exit.OK


def _workspace(file: str | None) -> Workspace:
    from svctoolkit.workspace import Workspace

    if file is None and not Path("workspace.yaml").is_file():
        return Workspace()
    return Workspace.load(Path(file or "workspace.yaml"))


def _transformation(workspace: Workspace, file: Path) -> Transformation:
    if file.suffix not in _LANGUAGES:
        raise UsageError(f"{file}: not a transformation; expected a .py, .js or .mjs file")
    workspace.folder = None  # so that the path is relative to the current folder
    return workspace.transformation(file.name, file=file, language=_LANGUAGES[file.suffix])  # type: ignore[arg-type]


def _report(output: Output, event: dict[str, Any], masker: Masker) -> str:
    """Logs, output events and their changes from the input, with secrets masked and control characters escaped."""
    from svctoolkit.cli._terminal import plain, style

    lines = [style(plain(f"{log.level}: {log.text}"), "dim") for log in output.logs]
    if output.error is not None:
        lines.append(style("failed", "red", "bold") + f"  {plain(str(output.error))}")
        lines += [f"  | {plain(output.error.source_line.rstrip())}"] if output.error.source_line else []
    elif not output.events:
        lines.append(style("dropped", "yellow", "bold") + "  the transformation returned no event")
    for number, new in enumerate(output.events, 1):
        of = f" {number} of {len(output.events)}" if len(output.events) > 1 else ""
        text = json.dumps(masker.mask(new), indent=2, ensure_ascii=False)
        lines += [style(f"event{of}", "bold"), *map(plain, text.split("\n")), *_diff(*map(masker.mask, (event, new)))]
    return "\n".join(lines)


def _diff(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    from svctoolkit.cli._terminal import plain, style
    from svctoolkit.results.changes import changes

    colours = {"added": "green", "removed": "red", "changed": "yellow"}
    lines = [style(plain(f"  {change}"), colours[change.kind]) for change in changes(before, after)]
    yield style("changes", "bold") if lines else "no changes"
    yield from lines


command = Command(
    help="run events through a user transformation in a file",
    description="""
        Run an event, or several in one call, through the code in a file, in the sandbox, and show the output, its
        differences from the input event, the log and the time taken. The exit code is 1 if the code fails.

        A recorder answers requests of the code (fetch, geolocation), so nothing leaves the machine, unless the
        workspace's delivery mode is live.
    """,
    examples=(
        "svctoolkit transform clean.py",
        "svctoolkit transform clean.js --sample identify",
        "svctoolkit transform clean.js --event order.json --watch",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
