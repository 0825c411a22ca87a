"""`svctoolkit serve`: serve a workspace over HTTP."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import InvalidWorkspace, UsageError

if TYPE_CHECKING:
    from svctoolkit.workspace import Workspace


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="FILE", help="workspace file (default: a demo workspace)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=_port, default=8091, help="port to listen on; 0 picks a free one (default: %(default)s)"
    )
    parser.add_argument("--store", metavar="FILE", help="keep events in this SQLite file (default: in memory)")
    parser.add_argument(
        "--history", metavar="FILE", help="on exit, add counts of the events to this history, see `trend`"
    )
    knobs = parser.add_argument_group("overrides of the workspace file")
    knobs.add_argument(
        "--preset", choices=("quick", "production"), help="retry quickly for tests, or on RudderStack's schedule"
    )
    knobs.add_argument(
        "--backoff",
        type=_backoff,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="set a retry back-off value, such as attempts=3 or maxRetryAfter=600; may be repeated",
    )
    knobs.add_argument(
        "--limit",
        type=_limit,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="set a limit: body, answer, waiting, unrouted, changes, mapping or head; may be repeated",
    )
    knobs.add_argument(
        "--concurrency", type=_count, metavar="N", help="send at most N concurrent requests to each destination"
    )
    knobs.add_argument(
        "--dedup-window", type=_seconds, metavar="SECONDS", help="drop repeated messageIds within this time"
    )
    knobs.add_argument("--max-events", type=_count, metavar="EVENTS", help="keep at most this number of events")
    knobs.add_argument("--keep-for", type=_seconds, metavar="SECONDS", help="delete events after this time")
    knobs.add_argument("--lenient", action="store_true", help="set invalid events of a batch aside and accept the rest")
    parser.add_argument("--tls-cert", metavar="FILE", help="serve HTTPS with this certificate (PEM)")
    parser.add_argument(
        "--tls-key", metavar="FILE", help="private key of the certificate (PEM), if it is in a separate file"
    )
    parser.add_argument(
        "--log", choices=("text", "json"), help="log requests and events to standard error in this format"
    )
    parser.add_argument(
        "--live", action="store_true", help="send to the real destinations, whatever the workspace file says"
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is not a valid port (0 picks a free one; maximum 65535)")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return seconds


def _backoff(text: str) -> dict[str, float]:
    """The `delivery.backoff` value in `NAME=NUMBER`."""
    return _workspace_with(text, "delivery", "backoff").delivery.backoff


def _limit(text: str) -> dict[str, float]:
    """The `dataPlane.limits` value in `NAME=NUMBER`."""
    limits = _workspace_with(text, "dataPlane", "limits").data_plane.limits
    name = text.partition("=")[0]
    return {name: getattr(limits, name)}


def _workspace_with(text: str, section: str, group: str) -> Workspace:
    """A workspace with this one value, so that an option is validated like the same key of a workspace file."""
    from svctoolkit.workspace import Workspace

    name, _, number = text.partition("=")
    try:
        return Workspace.loads(json.dumps({section: {group: {name: json.loads(number)}}}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None
    except InvalidWorkspace as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.problems[0].message}") from None


def _token(text: str) -> str:
    """The token of the data plane; an empty text for a random one. Raises `UsageError` if it is easy to guess."""
    if text and not (len(text) >= 16 and text.isascii() and text.isprintable() and " " not in text):
        raise UsageError(
            "SVCTOOLKIT_TOKEN needs 16 or more ASCII characters without spaces; unset it for a random token"
        )
    return text


def _adjust(workspace: Workspace, args: argparse.Namespace) -> None:
    """Apply the options to a workspace."""
    delivery, plane = workspace.delivery, workspace.data_plane
    if args.live:
        delivery.mode = "live"
    workspace.simulate = args.simulate or workspace.simulate  # a demo workspace is not loaded from a file
    if args.simulate not in (None, "answers") and delivery.mode != "record":
        hint = "remove --live" if args.live else "set `mode: record` in the workspace file"
        raise UsageError(f"--simulate needs delivery mode record, because simulated servers replace real ones: {hint}")
    delivery.profile = args.preset or delivery.profile
    delivery.concurrency = args.concurrency or delivery.concurrency
    for member in args.backoff:
        delivery.backoff = {**delivery.backoff, **member}
    for member in args.limit:
        plane.limits = replace(plane.limits, **member)
    plane.lenient = args.lenient or plane.lenient
    plane.dedup_window = plane.dedup_window if args.dedup_window is None else args.dedup_window
    plane.events, plane.seconds = args.max_events or plane.events, args.keep_for or plane.seconds


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import server
    from svctoolkit.cli import _log, _terminal

    if args.workspace is None and args.live:
        raise UsageError("--live needs --workspace FILE: the demo workspace has no real destinations")
    if args.tls_key and not args.tls_cert:
        raise UsageError("--tls-key needs --tls-cert FILE")
    if args.log:
        _log.start(sys.stderr, args.log)
    tls = server.Tls(Path(args.tls_cert), Path(args.tls_key) if args.tls_key else None) if args.tls_cert else None
    workspace, token = server.demo() if args.workspace is None else (Path(args.workspace), "")
    server.serve(
        workspace,
        host=args.host,
        port=args.port,
        store=args.store,
        history=args.history,
        adjust=lambda workspace: _adjust(workspace, args),
        tls=tls,
        token=_token(os.environ.get("SVCTOOLKIT_TOKEN", "")),
        announce=lambda plane: _terminal.out(server.banner(plane, token)),
    )
    return Exit.OK


command = Command(
    help="serve a workspace: data plane and Test API",
    description="""
        Serve a workspace until Ctrl-C. Event SDKs send to its data plane (/v1/batch and the other routes), which
        delivers to the destinations; /inspect shows the outcome of every event. The same port serves the Test API: POST
        /v0/testDestination/ID, POST /v0/testSource/ID and GET /destination-definitions, documented at /docs.

        The workspace file is reloaded when it changes; options keep overriding it. In the file, `delivery` and
        `dataPlane` set the same values as the options below. Events are kept in memory, or in --store FILE.

        With --simulate, destinations with a simulation judge requests and hold what they accept: see /inspect/held,
        `svctoolkit held`, and the vendors' own endpoints below /simulated/DESTINATION/.

        Open the printed address, which includes the token, in a browser to watch events arrive. Each start has a new
        random token, unless the environment variable SVCTOOLKIT_TOKEN sets one.

        Without --workspace, serve a demo workspace and print a token generated for this run. Requests to
        destinations are recorded and never leave this machine, unless the workspace file or --live enables delivery.
    """,
    examples=(
        "svctoolkit serve",
        "svctoolkit serve --workspace workspace.yaml --port 9000",
        "svctoolkit serve --workspace workspace.yaml --live",
        "svctoolkit serve --workspace workspace.yaml --simulate",
        "svctoolkit serve --workspace workspace.yaml --tls-cert cert.pem --tls-key key.pem --log json",
        "svctoolkit serve --workspace workspace.yaml --preset production --store events.db",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
    simulates=True,
)
