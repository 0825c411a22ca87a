"""`svctoolkit mcp`: serve the toolkit to coding agents."""

from __future__ import annotations

import argparse
from pathlib import Path

from svctoolkit.cli._command import Command, Exit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--workspace", metavar="FILE", default="workspace.yaml", help="workspace file (default: %(default)s)"
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.agents.server import mcp_server
    from svctoolkit.agents.worker import Worker

    worker = Worker(Path.cwd(), Path(args.workspace), strict=args.strict)
    try:
        mcp_server(worker).run("stdio")
    finally:
        worker.close()
    return Exit.OK


command = Command(
    help="serve the toolkit to coding agents over MCP",
    description="""
        Serve tools over the Model Context Protocol on standard input and output: list and explain destinations, test
        an event, measure lineage, find failures, run suites and explain what fails, replay and query events, write a
        scenario. Coding agents start it themselves; `svctoolkit docs agents` shows how to set them up.

        Nothing leaves the machine: deliveries are recorded, whatever the workspace's delivery mode. Answers contain no
        secrets. Tools read and write files below the current folder only. Needs `pip install 'svctoolkit[mcp]'`.
    """,
    examples=("svctoolkit mcp", "svctoolkit mcp --workspace shop.yaml"),
    add_arguments=_add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
)
