"""`svctoolkit record`: turn received events into a suite."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import Problem, UsageError

if TYPE_CHECKING:
    from svctoolkit.runner.record.writer import ReceivedEvent
    from svctoolkit.workspace import Workspace

_MOST_BAD = 20  # skipped lines reported individually


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="events as NDJSON; without it, listen and record until Ctrl-C"
    )
    parser.add_argument("-o", "--output", metavar="SUITE", required=True, help="the suite to write (*.suite.yaml)")
    parser.add_argument(
        "--workspace", metavar="FILE", default="workspace.yaml", help="workspace file (default: %(default)s)"
    )
    parser.add_argument(
        "--source",
        default="",
        metavar="KEY",
        help="source for events that do not name one (default: the first of the workspace)",
    )
    parser.add_argument("--port", type=int, default=0, help="listen on this port (default: a free one)")
    parser.add_argument("--keep-personal-data", action="store_true", help="keep names, addresses and IDs unmasked")
    parser.add_argument("--force", action="store_true", help="overwrite an existing suite")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import runner
    from svctoolkit.cli import _terminal
    from svctoolkit.inputs import is_suite
    from svctoolkit.runner.record import writer as record
    from svctoolkit.workspace import Workspace

    output = Path(args.output)
    if not is_suite(output):
        raise UsageError(f"-o {args.output}: the file name of a suite must end with .suite.yaml")
    if output.exists() and not args.force:
        raise UsageError(f"-o {args.output}: the file exists; --force overwrites it")
    if not _writable(output):
        raise UsageError(f"-o {args.output}: the folder is not writable")
    if args.workspace == "workspace.yaml" and not Path(args.workspace).exists():
        raise UsageError("no workspace.yaml in the current folder; give --workspace FILE")
    workspace = Workspace.load(Path(args.workspace))
    if not workspace.sources:
        raise UsageError(f"{args.workspace} has no source; add one to send events")
    bad: list[Problem] = []
    if args.file:
        events = record.read_events(Path(args.file), bad)
    else:
        events = record.recordable(_listen(workspace, args.port), bad, "received event")
    for problem in bad[:_MOST_BAD]:
        _terminal.err(f"skipped: {problem}")
    if len(bad) > _MOST_BAD:
        _terminal.err(f"skipped: {len(bad) - _MOST_BAD} more lines")
    if not events:
        _terminal.err("no events received")
        return Exit.NOTHING
    suite = record.record_suite(events, workspace, source=args.source, personal=args.keep_personal_data)
    relative = os.path.relpath(args.workspace, output.parent)
    runner.write(output, record.dump(suite, Path(relative).as_posix()))
    scenarios = _terminal.quantity(len(suite["scenarios"]), "scenario")
    _terminal.out(f"{output}: {scenarios} from {_terminal.quantity(len(events), 'event')}")
    return Exit.OK


def _writable(path: Path) -> bool:
    """Whether the file can be written. Checked up front, so that no recording is lost."""
    there = next(parent for parent in path.absolute().parents if parent.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def _listen(workspace: Workspace, port: int) -> list[ReceivedEvent]:
    """The events received until Ctrl-C or SIGTERM. Nothing is delivered, whatever the workspace's delivery mode."""
    from svctoolkit.cli import _terminal
    from svctoolkit.runner.record.writer import ReceivedEvent
    from svctoolkit.server import DataPlane
    from svctoolkit.server.foreground import run_until_stopped

    with DataPlane(workspace.in_mode("record"), port=port) as plane:
        keys = ", ".join(f"{key}: {source.write_key}" for key, source in workspace.sources.items())
        run_until_stopped(lambda: _terminal.out(f"recording at {plane.url} (write keys: {keys}); press Ctrl-C to stop"))
        return [ReceivedEvent(dict(record.event), record.source) for record in plane.received]


command = Command(
    help="turn received events into a suite",
    description="""
        Write a suite from recorded events: one scenario for each distinct event shape, with its current outcome as the
        expectation. Events come from FILE, or are received by a data plane that listens until Ctrl-C.

        Personal data is replaced by fake values; equal values get the same replacement. IDs and timestamps are left
        out: the suite freezes them.
    """,
    examples=(
        "svctoolkit record events.ndjson -o suites/recorded.suite.yaml",
        "svctoolkit record --port 9000 -o suites/recorded.suite.yaml",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
