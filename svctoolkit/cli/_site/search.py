"""The search in Python: the ranking of the site, run by V8, so that terminal and browser give the same results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from typing import Protocol

from svctoolkit.cli._site.sections import Entry, entries

_HERE = files("svctoolkit.cli._site")
#: in the order in which they are loaded
SCRIPTS = ("minisearch/minisearch.js", "ranking.js")


class Search(Protocol):
    """Find the entries for `words`, best first."""

    def __call__(self, words: str, most: int = ...) -> list[Entry]: ...


@contextmanager
def opened(texts: Mapping[str, str]) -> Iterator[Search]:
    """A search in pages by name, while the block runs."""
    from py_mini_racer import mini_racer

    with mini_racer() as engine:
        for script in SCRIPTS:
            engine.eval(_HERE.joinpath(script).read_text("utf-8"))
        engine.eval(f"const find = searcher({json.dumps(list(entries(texts)))});")

        def search(words: str, most: int = 10) -> list[Entry]:
            found: list[Entry] = json.loads(
                str(engine.eval(f"JSON.stringify(find({json.dumps(words)}, {json.dumps(most)}))"))
            )
            return found

        yield search
