"""`svctoolkit docs`: show the bundled documentation in a browser or in the terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ToolkitError, UnknownName, UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "page", nargs="?", metavar="PAGE", help="print this page as Markdown, such as suites or sdk/values"
    )
    parser.add_argument("--site", metavar="DIR", help="write the documentation as a static HTML site to this folder")
    parser.add_argument("--no-open", action="store_true", help="list the pages without opening a browser")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.cli._site import DOCS, titles

    if args.page is not None and args.site is not None:
        raise UsageError("--site writes all pages: remove PAGE")
    pages = titles()
    if args.page is not None:
        name = args.page.removesuffix(".md")
        if name not in pages:
            raise UnknownName("page", name, pages)
        _terminal.out((DOCS / f"{name}.md").read_text(encoding="utf-8").rstrip())
        return Exit.OK
    if args.site is not None:
        _terminal.out(f"wrote {_write(Path(args.site))}")
        return Exit.OK
    width = max(map(len, pages))
    _terminal.out("\n".join(f"{name:<{width}}  {title}" for name, title in pages.items()))
    if not args.no_open and sys.stdout is not None and sys.stdout.isatty():
        _open()
    return Exit.OK


def _write(folder: Path) -> Path:
    from svctoolkit.cli._main import COMMANDS
    from svctoolkit.cli._site import write

    try:
        return write(folder, COMMANDS)
    except OSError as error:
        raise ToolkitError(f"cannot write the site to {folder}: {error.strerror}") from error


def _open() -> None:
    import webbrowser

    import platformdirs

    from svctoolkit import __version__
    from svctoolkit.cli import _terminal

    page = _write(Path(platformdirs.user_cache_dir("svctoolkit")) / "docs" / __version__).resolve().as_uri()
    opened = webbrowser.open(page)
    _terminal.out(f"\n{'opened' if opened else 'no browser found; open'} {page}")


command = Command(
    help="open the documentation in a browser, or print a page",
    description="""
        List the pages of the bundled documentation and, on a terminal, open them in the browser, with references of
        the installed commands, YAML keys, matchers and the Python API. With PAGE, print one page as Markdown. Works
        offline.
    """,
    examples=("svctoolkit docs", "svctoolkit docs lineage", "svctoolkit docs --site public"),
    add_arguments=_add_arguments,
    run=_run,
)
