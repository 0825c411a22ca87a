"""`svctoolkit secrets scan`: find the secrets of a workspace in files."""

from __future__ import annotations

import argparse
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError
from svctoolkit.inputs import is_suite

if TYPE_CHECKING:
    from svctoolkit.secrets import NamedSecrets

_REFERENCE = re.compile(r"\$\((?:env|secret):([A-Za-z_][A-Za-z0-9_]*)")
_SHOWN = 5  # names in a note


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file or folder to search")
    parser.add_argument(
        "--workspace", metavar="FILE", default="workspace.yaml", help="workspace file (default: %(default)s)"
    )


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.secrets.scan import Skipped, files, scan

    workspace = Path(args.workspace)
    paths = [Path(path) for path in args.paths]
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    secrets, named = _known(workspace)
    _note("not set, and therefore not found", [name for name, text in named.items() if not text])
    ordinary = [name for name, text in named.items() if text and name not in secrets]
    _note("short or an ordinary word, and therefore not found", ordinary)
    count = found = 0
    for file in files(paths):
        count += 1
        try:
            for line, column, name in scan(file, secrets):
                found += 1
                _terminal.out(_terminal.plain(f"{file}:{line}:{column}: the secret {name}"))
        except Skipped as skipped:
            _terminal.err(f"note: {_terminal.plain(str(file))} is not searched: {skipped}")
    searched = f"{_terminal.quantity(count, 'file')} searched for {_terminal.quantity(len(secrets), 'secret')}"
    _terminal.out(f"{_terminal.quantity(found, 'secret')} found, {searched}")
    return Exit.FAILED if found else Exit.OK


def _note(what: str, names: list[str]) -> None:
    if names:
        others = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        _terminal.err(f"note: {what}: {', '.join(names[:_SHOWN])}{others}")


def _known(file: Path) -> tuple[NamedSecrets, dict[str, str]]:
    """Return the secrets to find, and a value of each by name, which is empty for a variable that is not set.

    They are those of the workspace in all of its environments, of the suites below its folder, and of its `.env`.
    """
    from svctoolkit.secrets import NamedSecrets
    from svctoolkit.workspace import Workspace, environments, load_env

    pairs = []
    environ = load_env(file.parent, os.environ)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other commands report what is wrong with the workspace
        for name in ("", *environments.names(file)):
            workspace = Workspace.load(file, environment=name)
            pairs += [
                (setting, "" if setting in workspace.unset else text) for setting, text in workspace.secret_names()
            ]
    pairs += [(name, environ.get(name, "")) for name in _references(file.parent)]
    pairs += load_env(file.parent, {}).items()
    secrets = NamedSecrets(pair for pair in pairs if pair[1])
    return secrets, dict(sorted(pairs, key=lambda pair: bool(pair[1])))


def _references(folder: Path) -> Iterator[str]:
    """Yield the variables in the workspace files and suites of a folder: tokens of users are kept only as hashes."""
    for file in [*folder.glob("workspace*.yaml"), *filter(is_suite, folder.rglob("*.suite.*"))]:
        yield from _REFERENCE.findall(file.read_text("utf-8", "replace"))


command = Command(
    help="find the secrets of a workspace in files",
    description="""
        Search files for the secrets of a workspace, in every spelling: escaped, percent-encoded, in base64, in
        hexadecimal, line by line. Print file, line, column and the name of each, never its value; the exit code is 1 if
        there are any. For a CI job and as a pre-commit hook: it keeps secrets out of snapshots, notebooks, reports and
        cassettes.

        The secrets are those of the workspace in all of its environments, of the suites next to it, and of its .env.
        Variables that are not set cannot be found, and ordinary words are not searched: both are listed. A .env is
        searched only if it is given, and files in a compressed format other than gzip are not understood.
    """,
    examples=(
        "svctoolkit secrets scan .",
        "svctoolkit secrets scan suites notebooks report.html --workspace shop/workspace.yaml",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
