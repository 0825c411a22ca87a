"""`svctoolkit serve`: a workspace as a server."""

from __future__ import annotations

import argparse
from pathlib import Path

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="FILE", help="the workspace file (default: a demonstration workspace)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=8091, help="the port; 0 takes a free one (default: %(default)s)")
    parser.add_argument("--store", metavar="FILE", help="keep events in this SQLite file (default: in memory)")
    parser.add_argument("--live", action="store_true", help="send to the real destinations, whatever the file says")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port; expected 0 to 65535")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import server
    from svctoolkit.cli import _terminal
    from svctoolkit.workspace import Workspace

    if args.workspace is None and args.live:
        raise UsageError("--live needs --workspace FILE: the demonstration workspace has no real destinations")
    workspace, token = server.demo() if args.workspace is None else (Workspace.load(Path(args.workspace)), "")
    if args.live:
        workspace.delivery.mode = "live"
    server.serve(
        # A file is read again when it changes; with --live it would undo what the option says.
        workspace if args.workspace is None or args.live else Path(args.workspace),
        host=args.host,
        port=args.port,
        store=args.store,
        announce=lambda plane: _terminal.out(server.banner(plane, token)),
    )
    return Exit.OK


command = Command(
    help="serve a workspace: data plane and Test API",
    description="""
        Serves a workspace until Ctrl-C. Event SDKs send to it (/v1/batch and the other routes of a data plane), its
        destinations get the events, and /inspect shows what became of them. The Test API is there, too: POST
        /v0/testDestination/ID, POST /v0/testSource/ID and GET /destination-definitions, with a page at /docs.

        The workspace file is read again when it changes. Events are kept in memory, or in --store FILE.

        Without --workspace it serves a demonstration workspace and prints a token made for this run. Requests to
        destinations are recorded and do not leave this machine, unless the file or --live says so.
    """,
    examples=(
        "svctoolkit serve",
        "svctoolkit serve --workspace workspace.yaml --port 9000",
        "svctoolkit serve --workspace workspace.yaml --live",
    ),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
)
