"""`svctoolkit plan infer`: draft a tracking plan from events."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._inputs import report_rejects
from svctoolkit.cli.commands.plan import _inputs
from svctoolkit.errors import UsageError
from svctoolkit.replay.records.record import Reject


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("events", nargs="+", metavar="EVENTS", help="event files or folders, as for `replay`")
    parser.add_argument(
        "-o",
        "--output",
        metavar="PATH",
        help="write the project to this folder, or to one file if the name ends with .yaml (default: print one file)",
    )
    parser.add_argument("--name", default="draft", help="name of the plan (default: draft)")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.plans.infer import LEAST_EVENTS, infer

    rejects: list[Reject] = []
    draft = infer((event for _, event in _inputs.events(args.events, rejects)), args.name)
    if report_rejects(rejects):
        return Exit.USAGE
    for name, count in draft.skipped.items():
        few = _terminal.quantity(count, "event")
        _terminal.err(f"skipped: {_terminal.plain(name)!r} has {few}; at least {LEAST_EVENTS} are needed")
    together = "---\n".join(f"# {name}\n{text}" for name, text in draft.files.items())
    output = Path(args.output or "")
    if not args.output:
        _terminal.out(together.rstrip())
    elif output.suffix.lower() in (".yaml", ".yml"):
        _write(output.parent, {output.name: together})
    else:
        _write(output, draft.files)
    return Exit.OK


def _write(folder: Path, files: Mapping[str, str]) -> None:
    from svctoolkit import runner

    there = [name for name in files if (folder / name).exists()]
    if there:
        raise UsageError(f"{folder / there[0]} already exists and is not overwritten; choose another --output")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create {folder}: {error.strerror}") from error
    for name, text in files.items():
        runner.write(folder / name, text)
    _terminal.err(f"wrote {', '.join(files)} to {folder}")


command = Command(
    help="draft a tracking plan from events",
    description="""
        Write a rudder-cli project (events.yaml, properties.yaml, plan.yaml) inferred from real events: types, required
        properties, enumerated values, formats and nested objects. A comment next to each states how many events support
        it. Without --output they are printed as one file, which `--plan` accepts, too.
    """,
    examples=(
        "svctoolkit plan infer events.ndjson > shop.plan.yaml",
        "svctoolkit plan infer events.ndjson -o tracking --name Shop",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
