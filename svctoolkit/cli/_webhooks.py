"""`svctoolkit test source NAME --webhook FILE`: a webhook, the events that it becomes, and their payloads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Exit
from svctoolkit.errors import ConfigError, InvalidWebhook, UsageError
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.pipeline import Pipeline, Stages
    from svctoolkit.results import SourceResult


def add_options(parser: argparse._ArgumentGroup) -> None:
    """Add the options of a webhook."""
    parser.add_argument(
        "--webhook", metavar="FILE", help="for a webhook source: file with the body; - reads standard input"
    )
    parser.add_argument("--topic", metavar="TOPIC", help="with --webhook: the topic in the query, as Shopify sends it")
    parser.add_argument(
        "--query", action="append", default=[], metavar="NAME=VALUE", help="with --webhook: a query parameter"
    )
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="with --webhook: a header")


def check(args: argparse.Namespace) -> None:
    """Raise `UsageError` for options that do not fit together."""
    if args.webhook is None:
        used = next((name for name in ("topic", "query", "header") if getattr(args, name)), "")
        if used:
            raise UsageError(f"--{used} requires --webhook FILE")
        return
    if args.what != "source":
        raise UsageError("--webhook tests a source: `svctoolkit test source NAME --webhook FILE`")
    for other in ("event", "sample", "base_url"):
        if getattr(args, other) is not None:
            raise UsageError(f"--webhook cannot be combined with --{other.replace('_', '-')}")


def test(pipeline: Pipeline, args: argparse.Namespace, stages: Stages) -> int:
    """Print the events of the webhook, and their results at each destination. Return the exit code."""
    from svctoolkit.cli import _result

    request = _request(args)
    try:
        events = pipeline.webhook_events(args.id, request)
    except InvalidWebhook as error:
        _refuse(error, as_json=args.json)
        return Exit.FAILED
    options = {"stages": stages, "force": args.force, **({"simulate": args.simulate} if args.simulate else {})}
    connected = events if pipeline.workspace.source(args.id).connections else []
    results = [pipeline.test_source(args.id, event, **options) for event in connected]
    if args.json:
        found = [result.to_masked_dict() for result in results] or [[]] * len(events)
        shown = [{"event": event, "results": result} for event, result in zip(events, found, strict=True)]
        _terminal.out(_result.indented_json(pipeline.workspace.masker.mask(shown)))
    else:
        _print(pipeline, args, events, results, stages, request)
    return Exit.OK if all(each.ok for result in results for each in result) else Exit.FAILED


def _print(
    pipeline: Pipeline,
    args: argparse.Namespace,
    events: Sequence[dict[str, Json]],
    results: Sequence[SourceResult],
    stages: Stages,
    request: dict[str, Json],
) -> None:
    from svctoolkit.cli import _result

    plural = "" if len(events) == 1 else "s"
    _terminal.out(f"the webhook becomes {len(events)} event{plural}")
    for number, event in enumerate(events):
        shown = pipeline.workspace.masker.mask(event)
        _terminal.out(f"\nevent {number + 1}:\n{_result.indented_json(shown)}")
        result = list(results[number]) if results else []
        if result:
            _terminal.out(_result.report(result, event, stages, ""))
        for each in result if args.lineage else ():
            if each.data:
                destination = pipeline.workspace.destination(each.destination_id).key
                lineage = pipeline.webhook_lineage(destination, request, source=args.id, event=number)
                _terminal.out("\n" + "\n".join(map(_terminal.plain, str(lineage).splitlines())))


def _refuse(error: InvalidWebhook, *, as_json: bool) -> None:
    if as_json:
        from svctoolkit.cli import _result

        _terminal.out(_result.indented_json({"status": error.status, "error": str(error)}))
    else:
        _terminal.out(f"refused with {error.status}: {error}. In production this webhook is lost")


def _request(args: argparse.Namespace) -> dict[str, Json]:
    from svctoolkit.cli._inputs import assignment
    from svctoolkit.sources import pack

    try:
        body = sys.stdin.buffer.read() if args.webhook == "-" else Path(args.webhook).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {args.webhook}: {error.strerror}") from error
    query = dict(assignment("--query", text, "NAME=VALUE") for text in args.query)
    headers = dict(assignment("--header", text, "NAME=VALUE") for text in args.header)
    return pack(body, topic=args.topic or "", query=query, headers=headers)
