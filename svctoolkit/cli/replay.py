"""`svctoolkit replay`: many events through a workspace, or through two."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ConfigError, UsageError, did_you_mean

if TYPE_CHECKING:
    from svctoolkit.pipeline import Stages
    from svctoolkit.replay import Comparison, Replayed
    from svctoolkit.workspace import Workspace

_DIFFERENCES = ("changed", "newly-dropped", "newly-delivered", "newly-failing", "no-longer-failing")
_STATUSES = ("failed", "dropped")
_STAGES = ("user_transform", "dest_transform", "send_to_destination")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="files or folders with events, stores of data planes (.db); - is NDJSON from stdin",
    )
    sides = parser.add_argument_group("what they go through")
    sides.add_argument("--workspace", metavar="FILE", help="the workspace (default: workspace.yaml)")
    sides.add_argument("--before", metavar="REF", help="compare with this: a path, or a git revision of the workspace")
    sides.add_argument("--after", metavar="REF", help="with --before: the other side (default: the workspace)")
    sides.add_argument("--destination", action="append", metavar="ID", help="only this one; may be repeated")
    sides.add_argument("--source", metavar="ID", help="the source they come from: only what is connected to it")
    sides.add_argument("--stage", action="append", default=[], metavar="STAGE=on", help="switch a stage on or off")
    events = parser.add_argument_group("events")
    events.add_argument(
        "--column", action="append", default=[], metavar="PATH=COLUMN", help="of CSV and Parquet; may be repeated"
    )
    events.add_argument(
        "--sample", type=float, default=1.0, metavar="SHARE", help="0.01: a hundredth, with rare shapes"
    )
    events.add_argument("--batch", type=int, default=200, metavar="N", help="events per call of user code (200)")
    run = parser.add_argument_group("how")
    run.add_argument("--workers", type=int, default=1, metavar="N", help="processes (1)")
    run.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://...")
    run.add_argument("--resume", action="store_true", help="go on with the replay in --out")
    report = parser.add_argument_group("what comes out")
    report.add_argument("--out", metavar="FOLDER", help="the rows as Parquet, and the reject list")
    report.add_argument("--html", metavar="FILE", help="a page with every group and its examples")
    report.add_argument("--json", action="store_true", help="print the numbers and groups as JSON")
    report.add_argument("--mask-personal", action="store_true", help="hide names, e-mail addresses and the like")
    report.add_argument(
        "--fail-on",
        default="",
        metavar="KINDS",
        help=f"exit code 1 for {', '.join(_DIFFERENCES)} or any; without --before: {', '.join(_STATUSES)}; or rejected",
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    if args.after is not None and args.before is None:
        raise UsageError("--after is the second side of a comparison: give --before too")
    fatal = _fatal(args.fail_on, compares=args.before is not None)
    result = _result(args)
    if args.html:
        result.to_html(args.html)
    _terminal.out(_json_report(result) if args.json else _report(result))
    if not result.complete:
        _terminal.err("interrupted" + (f"; go on with --resume --out {args.out}" if args.out else ""))
        return Exit.INTERRUPTED
    if not result.records:
        _terminal.err("there are no events in the input")
        return Exit.NOTHING
    if result.rejected == result.records:
        _terminal.err("no record of the input is an event")
        return Exit.FAILED
    bad = result.rejected if "rejected" in fatal else 0
    return Exit.FAILED if bad or any(result.total(what) for what in fatal) else Exit.OK


def _result(args: argparse.Namespace) -> Replayed | Comparison:
    from svctoolkit import replay
    from svctoolkit.workspace import Workspace

    options: dict[str, Any] = {
        "destinations": args.destination,
        "source": args.source,
        "stages": _stages(args.stage),
        "columns": dict(_inputs.assignment("--column", text, "PATH=COLUMN") for text in args.column),
        "batch": args.batch,
        "sample": args.sample,
        "mask_personal": args.mask_personal,
        "rows": False,
        "out": args.out,
        "resume": args.resume,
        "workers": args.workers,
        "scheduler": args.scheduler,
    }
    if args.before is None:
        return replay.replay(args.files, Workspace.load(_workspace_file(args.workspace)), **options)
    return replay.compare(args.files, _side(args.before, args), _side(args.after, args), **options)


def _side(ref: str | None, args: argparse.Namespace) -> Workspace:
    """One side of a comparison: a path, a git revision of the workspace, or the workspace as it is."""
    from svctoolkit.cli import _revision
    from svctoolkit.workspace import Workspace

    if ref is None:
        return Workspace.load(_workspace_file(args.workspace))
    if (file := _revision.file_of(ref)) is not None:
        return Workspace.load(file)
    return _revision.workspace_at(ref, _workspace_file(args.workspace))


def _workspace_file(name: str | None) -> Path:
    from svctoolkit.cli import _revision

    file = _revision.file_of(name or "workspace.yaml")
    if file is not None:
        return file
    if name is None:
        raise UsageError("there is no workspace.yaml here: give --workspace FILE")
    raise ConfigError("there is no such file", where=name)


def _stages(texts: list[str]) -> Stages:
    from svctoolkit.pipeline import Stages

    chosen = {}
    for text in texts:
        name, value = _inputs.assignment("--stage", text, "STAGE=on", _STAGES)
        if value not in ("on", "off", "true", "false"):
            raise UsageError(f"--stage {text}: expected {name}=on or {name}=off")
        chosen[name] = value in ("on", "true")
    return Stages(**chosen)


def _fatal(text: str, *, compares: bool) -> set[str]:
    """The kinds of `--fail-on`, in the words of the result."""
    words = (*_DIFFERENCES, "any", "rejected") if compares else (*_STATUSES, "rejected")
    chosen = {word.strip() for word in text.split(",") if word.strip()}
    for word in sorted(chosen - set(words)):
        near = did_you_mean(word, words)
        raise UsageError(f"--fail-on: nothing is called {word!r}; expected {', '.join(words)}.{near}")
    if "any" in chosen:
        chosen |= set(_DIFFERENCES)
    return {word.replace("-", " ") for word in chosen}


def _json_report(result: Replayed | Comparison) -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False, indent=2)


def _report(result: Replayed | Comparison) -> str:
    from svctoolkit.cli._terminal import plain, style

    first, *others = repr(result).split("\n")
    return "\n".join([style(plain(first), "bold"), *map(plain, others)])


command = Command(
    help="run many events through a workspace, or compare two",
    description="""
        Runs events from files through a workspace, and tells what became of them. With --before, they go through two
        workspaces, and it tells what comes out differently: which payloads are changed and where, and which events are
        newly dropped, delivered or failing. Nothing is ever sent.

        --before takes a path or a git revision: HEAD is the workspace as it was committed last.
    """,
    examples=(
        "svctoolkit replay events/ --workers 4 --out replayed",
        "svctoolkit replay orders.ndjson.gz --before HEAD --fail-on newly-dropped,newly-failing",
        "svctoolkit replay events.ndjson --before main --html changes.html --mask-personal",
        "svctoolkit replay events.db --source web --html delivered.html",
        "svctoolkit replay orders.csv --column type==track --column event==Order --column userId=user_id",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
