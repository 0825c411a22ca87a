"""`svctoolkit schema`: print JSON Schemas for editors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from svctoolkit.cli import _parser
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = _parser.one_of("schema", ("suite", "workspace"))
    parser.add_argument("what", type=what, metavar="suite|workspace", help="kind of file")
    parser.add_argument(
        "--workspace", metavar="FILE", help="also check the names of this workspace's sources, destinations and events"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to this file (default: standard output)")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import runner, workspace
    from svctoolkit.cli import _terminal

    if args.workspace and args.what != "suite":
        raise UsageError("--workspace is only supported for `schema suite`")
    named = workspace.Workspace.load(args.workspace) if args.workspace else None
    schema = runner.editor_schema(named) if args.what == "suite" else workspace.schema()
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    if args.output:
        runner.write(Path(args.output), text + "\n")
    else:
        _terminal.out(text)
    return Exit.OK


command = Command(
    help="print the JSON Schema of suite or workspace files",
    description="""
        Print the JSON Schema (2020-12) of suite files or workspace files, generated from the types that validate them.
        Editors with a YAML language server use it for completion and validation if the first line of the file is:

        # yaml-language-server: $schema=./suite.schema.json
    """,
    examples=(
        "svctoolkit schema suite -o suite.schema.json",
        "svctoolkit schema suite --workspace workspace.yaml -o suite.schema.json",
        "svctoolkit schema workspace -o workspace.schema.json",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
