"""`svctoolkit trust`: record the user's own code by its content."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.transformations import Trusted, TrustStore
    from svctoolkit.workspace import CodePiece

_DIGITS = 12  # of a hash, in the list


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="code (.py, .js, .mjs), or a workspace or suite with code (default: workspace.yaml)",
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--list", action="store_true", help="list what is trusted")
    choice.add_argument("--remove", action="store_true", help="forget what was recorded for each FILE or hash")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.transformations import TrustStore

    store = TrustStore()
    if args.list:
        return _list(store, args.files)
    if args.remove:
        return _remove(store, args.files)
    return _trust(store, args.files or ["workspace.yaml"])


def _trust(store: TrustStore, files: Sequence[str]) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.workspace import record

    found = [piece for file in files for piece in _pieces(Path(file))]
    if not found:
        _terminal.err(f"{', '.join(files)}: contains no code of transformations or libraries")
        return Exit.NOTHING
    new = record(found, store)
    for piece in dict.fromkeys(found):
        state = "trusted" if piece in new else "already trusted"
        _terminal.out(f"{state}: {_terminal.plain(piece.label)}")
    return Exit.OK


def _pieces(file: Path) -> Iterator[CodePiece]:
    """Yield the code in a file: itself, or all that a workspace or suite refers to."""
    from svctoolkit import runner
    from svctoolkit.inputs import is_suite
    from svctoolkit.workspace import CODE_SUFFIXES, Workspace, code_file, every_piece, project_at

    if file.suffix in CODE_SUFFIXES:
        yield code_file(file)
    elif is_suite(file):
        yield from every_piece(runner.load(file).workspace)
    elif file.suffix in (".yaml", ".yml", ".json") or project_at(file) is not None:
        yield from every_piece(Workspace.load(file))
    else:
        raise UsageError(f"{file}: expected code (.py, .js, .mjs), a workspace or a suite (.yaml)")


def _list(store: TrustStore, files: Sequence[str]) -> int:
    from svctoolkit.cli import _terminal

    entries = [entry for entry in store.entries() if not files or any(_is_meant(entry, file) for file in files)]
    for entry in entries:
        name = os.path.relpath(entry.file) if os.path.isabs(entry.file) else entry.file
        _terminal.out(f"{entry.at[:10]}  {entry.digest[:_DIGITS]}  {_terminal.plain(name)}{_change(entry)}")
    if not entries:
        _terminal.err("nothing is trusted; svctoolkit trust FILE records code")
    return Exit.OK


def _change(entry: Trusted) -> str:
    from svctoolkit.transformations import digest_of
    from svctoolkit.workspace import CODE_SUFFIXES

    file = Path(entry.file)
    if not file.is_absolute() or file.suffix not in CODE_SUFFIXES:
        return ""
    try:
        return "" if digest_of(file.read_text("utf-8", "replace")) == entry.digest else "  (changed since)"
    except OSError:
        return "  (no such file now)"


def _remove(store: TrustStore, names: Sequence[str]) -> int:
    from svctoolkit.cli import _terminal

    if not names:
        raise UsageError("--remove needs a FILE or the first digits of a hash; --list shows them")
    entries = store.entries()
    for name in names:
        if not any(_is_meant(entry, name) for entry in entries):
            raise UsageError(f"nothing is recorded for {name}; svctoolkit trust --list shows what is")
    chosen = [entry for entry in entries if any(_is_meant(entry, name) for name in names)]
    store.remove(chosen)
    _terminal.out(f"no longer trusted: {_terminal.quantity(len(chosen), 'record')}")
    return Exit.OK


def _is_meant(entry: Trusted, name: str) -> bool:
    return entry.file == str(Path(name).resolve()) or (len(name) >= _DIGITS and entry.digest.startswith(name))


command = Command(
    help="record your own transformations, so that they run without a complete sandbox",
    description="""
        Where the sandbox lacks an essential layer (Python on Windows, in locked-down containers, on old kernels), code
        runs only if it is yours. This command records the SHA-256 hash of code in your user folder. The code then runs
        here, in every project, until it changes. `init`, `import` and `sync` record what they write. A library counts
        as code of the transformations that import it.

        Read other people's code before you record it: it can then do whatever you can. The records are in the folder
        SVCTOOLKIT_TRUST_STORE, if that is set.
    """,
    examples=(
        "svctoolkit trust transformations/clean.py",
        "svctoolkit trust workspace.yaml",
        "svctoolkit trust --list",
        "svctoolkit trust --remove transformations/clean.py",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
