"""`svctoolkit test`: run one event through a destination or source, locally or on a remote service."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from svctoolkit.cli import _inputs, _parser, _violations, _webhooks
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import RequestError, UnknownName, UsageError
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.client import TestApiClient
    from svctoolkit.pipeline import Pipeline, Stages
    from svctoolkit.results import DestinationResult

STAGES = ("user_transform", "dest_transform", "send_to_destination")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = _parser.one_of("kind of test", ("destination", "source"))
    parser.add_argument("what", type=what, metavar="destination|source", help="what to test")
    parser.add_argument("id", metavar="ID", help="its id, or its key in the workspace file")
    event = parser.add_argument_group("event (choose one)")
    event.add_argument(
        "--event",
        metavar="FILE",
        help="JSON file with the event, or with a list or lines of events; - reads standard input",
    )
    event.add_argument(
        "--sample", metavar="NAME", help="built-in sample event: track, identify, page, screen, group, alias..."
    )
    event.add_argument(
        "--as-is",
        action="store_true",
        help="do not add what an SDK and the gateway add (messageId, times, ...), like the Test API; implied by --json",
    )
    _webhooks.add_options(parser.add_argument_group("webhook"))
    here = parser.add_argument_group("target")
    here.add_argument("--workspace", metavar="FILE", help="workspace file (default: workspace.yaml)")
    here.add_argument("--base-url", metavar="URL", help="test on a remote service through its Test API")
    here.add_argument("--email", help="account e-mail address for --base-url; omit it for a service access token")
    here.add_argument("--token", help="access token for --base-url; prefer the environment variable SVC_TOKEN")
    how = parser.add_argument_group("execution")
    how.add_argument(
        "--stage",
        action="append",
        default=[],
        metavar="STAGE=on|off",
        help=f"switch a stage on or off ({', '.join(STAGES)}); may be repeated",
    )
    how.add_argument(
        "--send", action="store_true", help="send to the destination; same as --stage send_to_destination=on"
    )
    how.add_argument("--force", action="store_true", help="test even if the destination or source is disabled")
    how.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a configuration variable as a string; KEY:=JSON for other types; may be repeated",
    )
    parser.add_argument("--lineage", action="store_true", help="show which event field each payload field comes from")
    _violations.add_option(how)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the answer of the Test API for the event as it is, as JSON with secrets masked",
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _result, _terminal
    from svctoolkit.server.store.enrich import complete

    if args.what == "source" and args.config:
        raise UsageError("--config applies to destinations only: a source has no configuration")
    if args.simulate and args.base_url:
        raise UsageError("--simulate tests locally: start the service with `svctoolkit serve --simulate` instead")
    _webhooks.check(args)
    if args.webhook is not None:
        return _webhooks.test(_local(args.workspace), args, _stages(args))
    stages, config, events = _stages(args), _inputs.settings(args.config), _inputs.events(args.event, args.sample)
    options: dict[str, Any] = {"stages": stages, "force": args.force}
    options |= {"simulate": args.simulate} if args.simulate else {}  # remote services have no such option
    if args.lineage and (args.base_url or args.json):
        raise UsageError("--lineage cannot be combined with --base-url or --json")
    added = [complete(event) for event in events] if args.event and not (args.as_is or args.json) else [[]]
    code, shown = Exit.OK, list[Json]()
    with _target(args) as target, _rejections(as_json=args.json):
        for event in events:
            as_json: Json
            if args.what == "destination":
                single = target.test_destination(args.id, event, config=config or None, **options)
                results, as_json = [single], cast("Json", single.to_masked_dict())
            else:
                by_source = target.test_source(args.id, event, **options)
                results, as_json = list(by_source), by_source.to_masked_dict()
            if not shown:  # nothing was added to events that could not be tested
                _inputs.report_added(list(dict.fromkeys(chain.from_iterable(added))), in_output=not args.json)
            shown.append(as_json)
            if not args.json:
                _show(args, target, event, results, stages)
            tested = [result for result in results if not _is_out_of_reach(target, result)]
            code = code if all(result.ok for result in tested or results) else Exit.FAILED
    if args.json:
        _terminal.out(_result.indented_json(shown if len(events) > 1 else shown[0]))
    return code


def _show(
    args: argparse.Namespace,
    target: Pipeline | TestApiClient,
    event: Mapping[str, Json],
    results: Sequence[DestinationResult],
    stages: Stages,
) -> None:
    """Print the results of one event."""
    from svctoolkit.cli import _result, _terminal

    _violations.show(args, event)
    _terminal.out(_result.report(results, event, stages, _note(target, stages)))
    for result in results if args.lineage else ():
        if result.data:
            _terminal.out("\n" + "\n".join(map(_terminal.plain, str(result.lineage()).splitlines())))


def _is_out_of_reach(target: Pipeline | TestApiClient, result: DestinationResult) -> bool:
    """Whether its type cannot be tested here. Next to results of other destinations, that is not a failure."""
    from svctoolkit.destinations import definitions
    from svctoolkit.errors import Unsupported
    from svctoolkit.pipeline import Pipeline

    if not isinstance(target, Pipeline) or result.error is None or result.data:
        return False
    try:
        type = target.workspace.destination(result.destination_id).type
        definitions.check_supported(type)
        definitions.check_mapped(type)
    except Unsupported:
        return True
    except UnknownName:
        return False
    return False


def _stages(args: argparse.Namespace) -> Stages:
    from svctoolkit.pipeline import Stages

    chosen = {"send_to_destination": True} if args.send or args.simulate else {}
    for text in args.stage:
        name, value = _inputs.assignment("--stage", text, "STAGE=on", STAGES)
        if value not in ("on", "off", "true", "false"):
            raise UsageError(f"--stage {text}: expected {name}=on or {name}=off")
        chosen[name] = value in ("on", "true")
    return Stages(**chosen)


@contextmanager
def _rejections(*, as_json: bool) -> Iterator[None]:
    """Print the body of a rejected request as JSON, too: with --json, the output is the answer of the Test API."""
    from svctoolkit.cli import _result, _terminal

    try:
        yield
    except RequestError as error:
        if as_json:
            _terminal.out(_result.indented_json(dict(error.body)))
        raise


@contextmanager
def _target(args: argparse.Namespace) -> Iterator[Pipeline | TestApiClient]:
    """The local pipeline or remote client that runs the test."""
    if args.base_url is None:
        for option in ("email", "token"):
            if getattr(args, option) is not None:
                raise UsageError(f"--{option} needs --base-url")
        yield _local(args.workspace)
        return
    if args.workspace is not None:
        raise UsageError("--workspace tests locally and --base-url on a remote service: give only one of them")
    with _remote(args) as api:
        yield api


def _local(file: str | None) -> Pipeline:
    from svctoolkit.pipeline import Pipeline
    from svctoolkit.workspace import Workspace

    if file is None and not Path("workspace.yaml").is_file():
        raise UsageError(
            "no workspace.yaml in the current folder; give --workspace FILE, or --base-url URL for a remote service. "
            "`svctoolkit init` creates a starter project"
        )
    return Pipeline(Workspace.load(Path(file or "workspace.yaml")))


def _remote(args: argparse.Namespace) -> TestApiClient:
    from svctoolkit.client import TestApiClient

    token = os.environ.get("SVC_TOKEN", "") if args.token is None else args.token
    if not token:
        raise UsageError("--base-url needs an access token: set SVC_TOKEN, or give --token")
    return TestApiClient(args.base_url, args.email or "", token)


def _note(target: Any, stages: Stages) -> str:
    """A short note on where the event was tested or delivered."""
    from svctoolkit.pipeline import Pipeline

    if not isinstance(target, Pipeline):
        return f"tested by {target.base_url}"
    workspace = target.workspace
    if stages.send_to_destination and not workspace.sends:
        description = workspace.delivery_mode.describe(workspace.delivery_setting())
        return f"delivery mode {workspace.delivery.mode}: {description}"
    return ""


command = Command(
    help="run events through a destination or a source",
    description="""
        Run an event, or several, through a destination, or through every destination connected to a source, and show
        the output of each stage: the event after the user transformation, the HTTP request, the destination's answer.

        The test runs locally with a workspace file, or on the service at --base-url. Nothing is sent to a destination
        without --send. With --simulate, the destination's simulated server answers, and what it loses is listed. The
        exit code is 1 if the result contains an error.
    """,
    examples=(
        "svctoolkit test destination hook --sample track",
        "svctoolkit test destination hook --event order.json --config webhookMethod=PUT",
        "svctoolkit test destination hook --sample track --lineage",
        "svctoolkit test destination mp --event order.json --simulate",
        "svctoolkit test source web --sample identify --stage user_transform=off --json",
        "svctoolkit test source shop --webhook order.json --topic orders_create --lineage",
        "svctoolkit test destination 1aIXqM --sample page --send \\\n"
        "    --base-url https://api.example.com --email me@example.com",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
    simulates=True,
)
