"""`svctoolkit serve`: a workspace as a server."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import InvalidWorkspace, UsageError

if TYPE_CHECKING:
    from svctoolkit.workspace import Workspace


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="FILE", help="the workspace file (default: a demonstration workspace)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8091, help="the port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--store", metavar="FILE", help="keep events in this SQLite file (default: in memory)")
    knobs = parser.add_argument_group("instead of what the workspace file says")
    knobs.add_argument("--profile", choices=("quick", "production"), help="retries for tests, or as the service does")
    knobs.add_argument(
        "--backoff",
        type=_backoff,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a member of the back-off, such as attempts=3 or mostAsked=600; again for others",
    )
    knobs.add_argument(
        "--limit",
        type=_limit,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="what is taken and held in memory: body, answer, waiting, unrouted, changes; again for others",
    )
    knobs.add_argument("--width", type=_count, metavar="N", help="requests that a destination gets at a time")
    knobs.add_argument("--window", type=_seconds, metavar="SECONDS", help="how long a messageId counts as known")
    knobs.add_argument("--keep", type=_count, metavar="EVENTS", help="how many events are kept")
    knobs.add_argument("--keep-for", type=_seconds, metavar="SECONDS", help="how long events are kept")
    knobs.add_argument("--lenient", action="store_true", help="set a bad event of a batch aside and take the rest")
    parser.add_argument("--tls-cert", metavar="FILE", help="serve by https with this certificate (PEM)")
    parser.add_argument("--tls-key", metavar="FILE", help="its key (PEM), where that is not in the same file")
    parser.add_argument(
        "--log", choices=("text", "json"), help="write every request, and what happens, to standard error"
    )
    parser.add_argument("--live", action="store_true", help="send to the real destinations, whatever the file says")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; expected 0 to 65535")
    return int(text)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 10**9):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 10**9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return seconds


def _backoff(text: str) -> dict[str, float]:
    """The member of `delivery.backoff` in `NAME=NUMBER`."""
    return _workspace_with(text, "delivery", "backoff").delivery.backoff


def _limit(text: str) -> dict[str, int]:
    """The member of `dataPlane.limits` in `NAME=NUMBER`."""
    limits = _workspace_with(text, "dataPlane", "limits").data_plane.limits
    name = text.partition("=")[0]
    return {name: getattr(limits, name)}


def _workspace_with(text: str, section: str, group: str) -> Workspace:
    """An option is checked as the same member of a workspace file."""
    from svctoolkit.workspace import Workspace

    name, _, number = text.partition("=")
    try:
        return Workspace.loads(json.dumps({section: {group: {name: json.loads(number)}}}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NUMBER") from None
    except InvalidWorkspace as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error.problems[0].message}") from None


def _adjust(workspace: Workspace, args: argparse.Namespace) -> None:
    """Change a workspace as the options say."""
    delivery, plane = workspace.delivery, workspace.data_plane
    if args.live:
        delivery.mode = "live"
    delivery.profile, delivery.width = args.profile or delivery.profile, args.width or delivery.width
    for member in args.backoff:
        delivery.backoff = {**delivery.backoff, **member}
    for member in args.limit:
        plane.limits = replace(plane.limits, **member)
    plane.lenient = args.lenient or plane.lenient
    plane.window = plane.window if args.window is None else args.window
    plane.events, plane.seconds = args.keep or plane.events, args.keep_for or plane.seconds


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import server
    from svctoolkit.cli import _log, _terminal
    from svctoolkit.runner.over_http import operations as runner_operations

    if args.workspace is None and args.live:
        raise UsageError("--live needs --workspace FILE: the demonstration workspace has no real destinations")
    if args.tls_key and not args.tls_cert:
        raise UsageError("--tls-key needs --tls-cert FILE: a key alone is of no use")
    if args.log:
        _log.start(sys.stderr, args.log)
    tls = server.Tls(Path(args.tls_cert), Path(args.tls_key) if args.tls_key else None) if args.tls_cert else None
    workspace, token = server.demo() if args.workspace is None else (Path(args.workspace), "")
    server.serve(
        workspace,
        host=args.host,
        port=args.port,
        store=args.store,
        adjust=lambda workspace: _adjust(workspace, args),
        additions=[runner_operations],
        tls=tls,
        announce=lambda plane: _terminal.out(server.banner(plane, token)),
    )
    return Exit.OK


command = Command(
    help="serve a workspace: data plane and Test API",
    description="""
        Serves a workspace until Ctrl-C. Event SDKs send to it (/v1/batch and the other routes of a data plane), its
        destinations get the events, and /inspect shows what became of them. The Test API is there, too: POST
        /v0/testDestination/ID, POST /v0/testSource/ID and GET /destination-definitions, with a page at /docs.

        The workspace file is read again when it changes; what options say stays. Back-off, width, window, limits and
        what is kept stand in it under `delivery` and `dataPlane`. Events are kept in memory, or in --store FILE.

        A browser shows events as they arrive at the address that is printed, token and all.

        Without --workspace it serves a demonstration workspace and prints a token made for this run. Requests to
        destinations are recorded and do not leave this machine, unless the file or --live says so.
    """,
    examples=(
        "svctoolkit serve",
        "svctoolkit serve --workspace workspace.yaml --port 9000",
        "svctoolkit serve --workspace workspace.yaml --live",
        "svctoolkit serve --workspace workspace.yaml --tls-cert cert.pem --tls-key key.pem --log json",
        "svctoolkit serve --workspace workspace.yaml --profile production --store events.db",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
