"""`svctoolkit docs`: the pages of the documentation that come with the package."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UnknownName


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("page", nargs="?", metavar="PAGE", help="a page, such as suites or sdk/values")


def _pages() -> dict[str, Path]:
    """The pages by name: `suites`, `sdk/values`."""
    folder = Path(str(files("svctoolkit") / "docs"))
    return {file.relative_to(folder).with_suffix("").as_posix(): file for file in sorted(folder.rglob("*.md"))}


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as file:
        return file.readline().lstrip("# ").strip()


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    pages = _pages()
    if args.page is None:
        width = max(map(len, pages))
        _terminal.out("\n".join(f"{name:<{width}}  {_title(page)}" for name, page in pages.items()))
        return Exit.OK
    name = args.page.removesuffix(".md")
    if name not in pages:
        raise UnknownName("page", name, pages)
    _terminal.out(pages[name].read_text(encoding="utf-8").rstrip())
    return Exit.OK


command = Command(
    help="list the pages of the documentation, or print one",
    description="""
        The documentation comes with the package, as Markdown. Without a name the pages are listed.
    """,
    examples=("svctoolkit docs", "svctoolkit docs lineage", "svctoolkit docs sdk/values | less"),
    add_arguments=_add_arguments,
    run=_run,
)
