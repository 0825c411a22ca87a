"""Inputs of the plan commands: a plan, and files of events."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from svctoolkit.errors import UnknownName, UsageError
from svctoolkit.json_types import Json
from svctoolkit.plans import FORWARDING, Plan, Rule, Settings
from svctoolkit.replay.records.record import Reject


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a plan."""
    group = parser.add_argument_group("plan")
    group.add_argument("--plan", metavar="PATH", help="plan file, folder of schemas, or rudder-cli project")
    group.add_argument("--id", metavar="ID", help="plan to use, if there are several")
    add_format(group)
    group.add_argument("--workspace", metavar="FILE", help="use the plan and settings of this workspace file")
    group.add_argument("--source", metavar="KEY", help="source in --workspace whose plan to use")


# Any: argparse's parser or a group of it
def add_format(parser: Any) -> None:
    """Add the options that set how a plan is read."""
    parser.add_argument("--format", metavar="NAME", help="format of the plan (default: detected)")
    parser.add_argument(
        "--lenient", action="store_true", help="accept schemas that RudderStack rejects; their events are not checked"
    )


def plan_of(args: argparse.Namespace) -> tuple[Plan, Settings]:
    """The plan that the options select, with its settings. Raises `UsageError`."""
    if (args.plan is None) == (args.workspace is None and args.source is None):
        raise UsageError("a plan is required: --plan PATH, or --source KEY (with --workspace FILE)")
    if args.plan is not None:
        return load(args.plan, args.id, args), FORWARDING
    from svctoolkit.workspace import Workspace

    workspace = Workspace.load(Path(args.workspace or "workspace.yaml"))
    if args.source is None:
        raise UsageError(f"a source is required: --source {' or '.join(workspace.sources)}")
    link = workspace.plan_link(workspace.source(args.source))
    if link is None or link.plan is None:
        raise UsageError(f"the source {args.source!r} has no tracking plan")
    return link.plan, link.settings


def rule(plan: Plan, name: str) -> Rule:
    """The planned event with this name. Raises `UnknownName`."""
    named = plan.rule_by_name(name)
    if named is None:
        raise UnknownName("planned event", name, plan.names)
    return named


def load(path: str, id: str | None, args: argparse.Namespace) -> Plan:
    """The plan in a file or folder."""
    from svctoolkit import plans

    return plans.load(path, format=args.format, strict=not args.lenient).plan(id)


def events(paths: Sequence[str], rejects: list[Reject]) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Yield every event with its place, `file:line`. Invalid records are added to `rejects`. Raises `ConfigError`."""
    from svctoolkit.replay.inputs import Files, records
    from svctoolkit.replay.records.columns import Columns

    columns = Columns()
    for chunk in Files(list(paths)).chunks():
        for record in [chunk] if isinstance(chunk, Reject) else records(chunk, columns):
            if isinstance(record, Reject):
                rejects.append(record)
            else:
                yield record.place, record.event
