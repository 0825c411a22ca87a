"""`markdown`: a summary for a job or a pull request."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from svctoolkit.mutation.result import Result
from svctoolkit.mutation.text import summary

_MOST = 50  # rows


def text(result: Result, mask: Callable[[str], str]) -> str:
    """Return the counts, and a table of the changes that no scenario notices."""
    return "\n".join(_lines(result, mask)) + "\n"


def _lines(result: Result, mask: Callable[[str], str]) -> Iterator[str]:
    yield "### Mutation testing"
    yield ""
    yield summary(result)
    if not result.unnoticed:
        return
    yield ""
    yield "| place | change | why it is not noticed |"
    yield "|---|---|---|"
    for verdict in result.unnoticed[:_MOST]:
        change = verdict.change
        cells = [change.where, f"{change.kind}: {change.text}", verdict.reason]
        yield f"| {' | '.join(_cell(mask(cell)) for cell in cells)} |"
    if len(result.unnoticed) > _MOST:
        yield ""
        yield f"and {len(result.unnoticed) - _MOST} more"


def _cell(text: str) -> str:
    """Return a cell in which nothing is markup."""
    return re.sub(r"([\\`*_{}\[\]#|])", r"\\\1", html.escape(" ".join(text.split()), quote=False))
