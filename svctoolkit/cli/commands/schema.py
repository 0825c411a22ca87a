"""`svctoolkit schema`: what editors check files with."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from svctoolkit.cli import _parser
from svctoolkit.cli._command import Command, Exit


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = _parser.one_of("schema", ("suite", "workspace"))
    parser.add_argument("what", type=what, metavar="suite|workspace", help="of which kind of file")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it there (default: standard output)")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit import runner, workspace
    from svctoolkit.cli import _terminal

    schema = runner.editor_schema() if args.what == "suite" else workspace.schema()
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    if args.output:
        runner.write(Path(args.output), text + "\n")
    else:
        _terminal.out(text)
    return Exit.OK


command = Command(
    help="print the JSON Schema of suites or workspaces",
    description="""
        Prints the JSON Schema (2020-12) of suite files or workspace files, made from the types that check them. An
        editor with a YAML language server completes and checks by it; a first line in the file names the schema:
        # yaml-language-server: $schema=./suite.schema.json
    """,
    examples=(
        "svctoolkit schema suite -o suite.schema.json",
        "svctoolkit schema workspace -o workspace.schema.json",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
