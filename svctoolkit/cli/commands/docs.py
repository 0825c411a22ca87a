"""`svctoolkit docs`: show the bundled documentation in a browser or in the terminal."""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ToolkitError, UnknownName, UsageError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "page",
        nargs="?",
        metavar="PAGE",
        help="print this page as Markdown, such as suites or sdk/values; PAGE#SECTION prints one section; "
        "a rule (MP.missing.userId), a code (ECONNREFUSED) or an error (InvalidSuite) prints what it means",
    )
    parser.add_argument("--search", metavar="WORDS", help="search all pages and print the best results")
    parser.add_argument("--build", metavar="DIR", help="write the documentation as a static HTML site to this folder")
    parser.add_argument("--no-open", action="store_true", help="list the pages without opening a browser")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.cli._site import titles

    if sum(value is not None for value in (args.page, args.search, args.build)) > 1:
        raise UsageError("PAGE, --search and --build exclude each other: use one of them")
    if args.page is not None:
        _terminal.out(_page(args.page))
        return Exit.OK
    if args.search is not None:
        return _search(args.search)
    if args.build is not None:
        _terminal.out(f"wrote {_write(Path(args.build))}")
        return Exit.OK
    pages = titles()
    width = max(map(len, pages))
    _terminal.out("\n".join(f"{name:<{width}}  {title}" for name, title in pages.items()))
    if not args.no_open and sys.stdout is not None and sys.stdout.isatty():
        _open()
    return Exit.OK


def _page(address: str) -> str:
    """The Markdown of a page, or of one section: `suites`, `suites#matchers`."""
    from svctoolkit.cli._rules import explanation
    from svctoolkit.cli._site import names, sections

    name, _, anchor = address.partition("#")
    name = name.removesuffix(".md").removesuffix(".html")
    known = names()
    if name not in known:
        explained = explanation(address, {part.heading: part for part in sections(_text("troubleshooting"))})
        if explained:
            return explained
        raise UnknownName("page", name, known)
    text = _text(name)
    if not anchor:
        return text.rstrip()
    parts = {section.anchor: section for section in sections(text)}
    if anchor not in parts:
        raise UnknownName(f"section of {name}", anchor, parts)
    return parts[anchor].markdown


def _text(name: str) -> str:
    from svctoolkit.cli._main import COMMANDS
    from svctoolkit.cli._site import DOCS, texts

    file = DOCS / f"{name}.md"
    return file.read_text("utf-8") if file.is_file() else texts(COMMANDS)[name]


def _search(words: str) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.cli._main import COMMANDS
    from svctoolkit.cli._site import open_search, texts

    with open_search(texts(COMMANDS)) as search:
        found = search(words)
    if not found:
        _terminal.err(f"no results for {words!r}")
        return Exit.NOTHING
    for entry in found:
        address = entry["url"].partition(":~:")[0].replace(".html", "")
        name = entry["page"] if entry["heading"] == entry["page"] else f"{entry['page']} › {entry['heading']}"
        text = textwrap.shorten(entry["text"], 150, placeholder=" …")
        _terminal.out(f"{name}\n  svctoolkit docs {address}\n  {text}\n")
    return Exit.OK


def _write(folder: Path) -> Path:
    from svctoolkit.cli._main import COMMANDS
    from svctoolkit.cli._site import texts, write

    try:
        return write(folder, texts(COMMANDS))
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
        the installed commands, YAML keys, matchers and the Python API. With PAGE, print one page as Markdown.
        --search finds sections, options, settings and destination types, also with typos. Works offline.
    """,
    examples=(
        "svctoolkit docs",
        "svctoolkit docs lineage",
        "svctoolkit docs MP.missing.userId",
        'svctoolkit docs --search "retry after"',
        "svctoolkit docs --build public",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
