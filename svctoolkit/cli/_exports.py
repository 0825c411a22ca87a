"""Options that name exports of RudderStack: files, or its API."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from svctoolkit.cli import _inputs, _parser
from svctoolkit.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options that `open_export`, `others` and `code_paths` read."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="workspaceConfig.json, or the folder of a Rudder CLI project"
    )
    parser.add_argument(
        "--from",
        dest="origin",
        choices=("rudderstack",),
        help="get code and tracking plans, and without FILE the configuration, from RudderStack's API, with the tokens "
        "in RUDDERSTACK_ACCESS_TOKEN and RUDDERSTACK_WORKSPACE_TOKEN",
    )
    _parser.add_var_files(parser)
    parser.add_argument("--region", choices=("us", "eu"), default="us", help="region of the API (default: %(default)s)")
    parser.add_argument("--api-url", metavar="URL", help="another address of the API")
    parser.add_argument(
        "--workspace-id", metavar="ID", default="", help="workspace to import, if the file contains several"
    )
    parser.add_argument(
        "--code",
        metavar="PATH",
        action="append",
        default=[],
        help="file or folder with code of transformations and libraries (default: the folder of FILE); may be repeated",
    )
    parser.add_argument(
        "--env",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="export of another workspace, such as of production, which becomes an environment; may be repeated",
    )
    parser.add_argument(
        "--no-verify",
        action="store_true",
        help="do not run the suites in a copy of what git would track, without the environment of this shell",
    )


@contextmanager
def open_export(args: argparse.Namespace, environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """The path of the export: the given one, or one that is fetched to a folder for the duration of the block.

    Raises `UsageError`, or `ConfigError` for what cannot be fetched.
    """
    path = Path(args.file) if args.file else None
    if path is not None and not path.exists():
        raise UsageError(f"{args.file}: no such file or folder")
    if args.origin is None:
        if path is None:
            raise UsageError("give the FILE of an export, or get one: --from rudderstack")
        yield path
        return
    from svctoolkit.project import rudderstack
    from svctoolkit.secrets import Secret

    workspace, access = (Secret(environ.get(f"RUDDERSTACK_{name}_TOKEN", "")) for name in ("WORKSPACE", "ACCESS"))
    url = args.api_url or rudderstack.REGIONS[args.region]
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        yield rudderstack.fetch(Path(temporary), rudderstack.Tokens(workspace, access), url, export=path)


def others(args: argparse.Namespace) -> dict[str, Path]:
    """The exports of environments, by name. Raises `UsageError`."""
    exports = {}
    for text in args.env:
        name, file = _inputs.assignment("--env", text, "NAME=FILE")
        if not re.fullmatch(r"[\w-]+", name):
            raise UsageError(f"--env {text}: the name of an environment has letters, digits, - and _")
        if not Path(file).is_file():
            raise UsageError(f"--env {text}: no such file: {file}")
        exports[name] = Path(file)
    return exports


def code_paths(args: argparse.Namespace) -> list[Path]:
    """The places to search for code; empty for the default."""
    return [Path(code) for code in args.code]
