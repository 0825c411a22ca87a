"""`svctoolkit test`: one event through one destination or source, here or on a remote service."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _inputs, _parser, _violations
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from svctoolkit.client import TestApiClient
    from svctoolkit.pipeline import Pipeline, Stages
    from svctoolkit.results import DestinationResult

STAGES = ("user_transform", "dest_transform", "send_to_destination")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = _parser.one_of("kind of test", ("destination", "source"))
    parser.add_argument("what", type=what, metavar="destination|source", help="what to test")
    parser.add_argument("id", metavar="ID", help="its id, or its key in the workspace file")
    event = parser.add_argument_group("event (one of these)")
    event.add_argument("--event", metavar="FILE", help="a JSON file with the event; - reads it from standard input")
    event.add_argument(
        "--sample", metavar="NAME", help="a sample event: track, identify, page, screen, group, alias..."
    )
    here = parser.add_argument_group("where")
    here.add_argument("--workspace", metavar="FILE", help="a workspace file (default: workspace.yaml, if it is here)")
    here.add_argument("--base-url", metavar="URL", help="test on a remote service instead, by its Test API")
    here.add_argument("--email", help="the account's e-mail address, for --base-url; none for a service access token")
    here.add_argument("--token", help="its access token; better in the environment as SVC_TOKEN")
    how = parser.add_argument_group("how")
    how.add_argument(
        "--stage",
        action="append",
        default=[],
        metavar="STAGE=on|off",
        help=f"switch a stage on or off ({', '.join(STAGES)}); may be repeated",
    )
    how.add_argument("--send", action="store_true", help="also send to the destination: --stage send_to_destination=on")
    how.add_argument("--force", action="store_true", help="test a disabled destination or source too")
    how.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override one variable of the destination, as text; KEY:=JSON for other types; may be repeated",
    )
    parser.add_argument("--lineage", action="store_true", help="also: where each field of the payloads comes from")
    _violations.add_option(how)
    parser.add_argument("--json", action="store_true", help="print the specified JSON, with secrets masked")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _result, _terminal

    if args.what == "source" and args.config:
        raise UsageError("--config overrides one destination's configuration; a source has none")
    stages, config, event = _stages(args), _inputs.settings(args.config), _inputs.event(args.event, args.sample)
    with _target(args) as target:
        if args.what == "destination":
            single = target.test_destination(args.id, event, stages=stages, config=config or None, force=args.force)
            results, text = [single], _result.indented_json(single.to_masked_dict())
        else:
            by_source = target.test_source(args.id, event, stages=stages, force=args.force)
            results, text = list(by_source), _result.indented_json(by_source.to_masked_dict())
        if args.lineage and (args.base_url or args.json):
            raise UsageError("--lineage is measured here and printed for people: without --base-url and --json")
        if not args.json:
            _violations.show(args, event)
        _terminal.out(text if args.json else _result.report(results, event, stages, _note(target, stages)))
        for result in results if args.lineage else ():
            if result.data:
                _terminal.out("\n" + "\n".join(map(_terminal.plain, str(result.lineage()).splitlines())))
        tested = [result for result in results if not _is_out_of_reach(target, result)]
    return Exit.OK if all(result.ok for result in tested or results) else Exit.FAILED


def _is_out_of_reach(target: Pipeline | TestApiClient, result: DestinationResult) -> bool:
    """Whether it is of a kind that no test reaches: beside others that is said, and no failure."""
    from svctoolkit.destinations import definitions
    from svctoolkit.errors import Unsupported
    from svctoolkit.pipeline import Pipeline

    if not isinstance(target, Pipeline) or result.error is None or result.data:
        return False
    try:
        definitions.check_supported(target.workspace.destination(result.destination_id).type)
    except Unsupported:
        return True
    except UnknownName:
        return False
    return False


def _stages(args: argparse.Namespace) -> Stages:
    from svctoolkit.pipeline import Stages

    chosen = {"send_to_destination": True} if args.send else {}
    for text in args.stage:
        name, value = _inputs.assignment("--stage", text, "STAGE=on", STAGES)
        if value not in ("on", "off", "true", "false"):
            raise UsageError(f"--stage {text}: expected {name}=on or {name}=off")
        chosen[name] = value in ("on", "true")
    return Stages(**chosen)


@contextmanager
def _target(args: argparse.Namespace) -> Iterator[Pipeline | TestApiClient]:
    """What runs the test, as long as it is needed."""
    if args.base_url is None:
        for option in ("email", "token"):
            if getattr(args, option) is not None:
                raise UsageError(f"--{option} is for a remote service: give --base-url too")
        yield _local(args.workspace)
        return
    if args.workspace is not None:
        raise UsageError("--workspace tests here and --base-url on a remote service: give one of them")
    with _remote(args) as api:
        yield api


def _local(file: str | None) -> Pipeline:
    from svctoolkit.pipeline import Pipeline
    from svctoolkit.workspace import Workspace

    if file is None and not Path("workspace.yaml").is_file():
        raise UsageError(
            "there is no workspace.yaml here: give --workspace FILE, or --base-url URL for a remote service. "
            "`svctoolkit init` writes a project to start from"
        )
    return Pipeline(Workspace.load(Path(file or "workspace.yaml")))


def _remote(args: argparse.Namespace) -> TestApiClient:
    from svctoolkit.client import TestApiClient

    token = os.environ.get("SVC_TOKEN", "") if args.token is None else args.token
    if not token:
        raise UsageError("--base-url needs an access token: set SVC_TOKEN, or give --token")
    return TestApiClient(args.base_url, args.email or "", token)


def _note(target: Any, stages: Stages) -> str:
    """What a reader has to know about where the event went, in a few words."""
    from svctoolkit.pipeline import Pipeline

    if not isinstance(target, Pipeline):
        return f"tested by {target.base_url}"
    workspace = target.workspace
    if stages.send_to_destination and not workspace.sends:
        description = workspace.delivery_mode.describe(workspace.delivery_setting())
        return f"delivery mode {workspace.delivery.mode}: {description}"
    return ""


command = Command(
    help="run one event through a destination or a source",
    description="""
        Runs one event through the stages of a destination, or of every destination that is connected to a source, and
        shows what each stage gave: the event after the user transformation, the HTTP request, the answer.

        The test runs here, with a workspace file, or on a service that you name with --base-url. Nothing is sent to a
        destination unless you say --send. The exit code is 1 if there is an error in the result.
    """,
    examples=(
        "svctoolkit test destination hook --sample track",
        "svctoolkit test destination hook --event order.json --config webhookMethod=PUT",
        "svctoolkit test destination hook --sample track --lineage",
        "svctoolkit test source web --sample identify --stage user_transform=off --json",
        "svctoolkit test destination 1aIXqM --sample page --send \\\n"
        "    --base-url https://api.example.com --email me@example.com",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
