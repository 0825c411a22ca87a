"""`svctoolkit conform`: the rows of the Test API specification, checked on a server."""

from __future__ import annotations

import argparse
import json
import os

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="base URL of the Test API: the part before /v0/")
    parser.add_argument("--email", default="", help="account e-mail address; omit it for a service access token")
    parser.add_argument("--token", help="access token; prefer the environment variable SVC_TOKEN")
    targets = parser.add_argument_group("targets (rows without their target are skipped)")
    targets.add_argument(
        "--destination", required=True, metavar="ID", help="enabled destination without a user transformation"
    )
    for option, text in (
        ("source", "enabled source with connected destinations"),
        ("transformed", "destination with a user transformation that returns the event"),
        ("failing", "destination whose user transformation fails"),
        ("rejecting", "destination that rejects events, such as a webhook whose URL answers 404 (with --send)"),
        ("disabled-destination", "disabled destination"),
        ("disabled-source", "disabled source"),
        ("unsupported", "destination that the Test API does not support, such as object storage"),
    ):
        targets.add_argument(f"--{option}", default="", metavar="ID", help=text)
    how = parser.add_argument_group("execution")
    how.add_argument("--send", action="store_true", help="also check the rows that send events to destinations")
    how.add_argument(
        "--timeout", type=_seconds, default=30.0, metavar="SECONDS", help="limit per response (default: 30)"
    )
    how.add_argument(
        "--limit", type=_seconds, default=300.0, metavar="SECONDS", help="limit of all rows (default: 300)"
    )
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.client.conformance import Targets, conform

    token = os.environ.get("SVC_TOKEN", "") if args.token is None else args.token
    if not token:
        raise UsageError("an access token is required: set SVC_TOKEN, or give --token")
    targets = Targets(
        args.destination,
        source=args.source,
        transformed=args.transformed,
        failing=args.failing,
        rejecting=args.rejecting,
        disabled_destination=args.disabled_destination,
        disabled_source=args.disabled_source,
        unsupported=args.unsupported,
        send=args.send,
    )
    report = conform(args.url, args.email, token, targets, timeout=args.timeout, limit=args.limit)
    if args.json:
        _terminal.out(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    else:
        _terminal.out("\n".join(map(_terminal.plain, str(report).splitlines())))
    return Exit.OK if report.ok else Exit.FAILED


command = Command(
    help="check a server against the rows of the Test API specification",
    description="""
        Send requests to any server with a Test API (`svctoolkit serve` or the hosted one), and report for each row of
        the specification whether the response conforms, or how it differs. Nothing is sent to destinations without
        --send. The exit code is 1 if a row differs.
    """,
    examples=(
        "svctoolkit conform http://127.0.0.1:8000 --email me@example.com --destination hook --source web",
        "svctoolkit conform https://api.example.com --email me@example.com --destination 1aIXqM --json",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
