"""What a file says, and where it says it."""

from __future__ import annotations

import gc
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from svctoolkit.errors import Problem
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from yaml import Node

Path: TypeAlias = Sequence[str | int]

MAX_PROBLEMS = 100
_WIDTH = 100
_LINE_END = re.compile("\r\n|\r|\n")  # what editors count; the parser counts a few more


def cap(problems: Iterable[Problem]) -> list[Problem]:
    """The first `MAX_PROBLEMS` of `problems`, and one that says so when there are more."""
    rest = iter(problems)
    first = list(islice(rest, MAX_PROBLEMS))
    return [*first, Problem("there are more problems than these")] if next(rest, None) else first


@contextmanager
def without_collector() -> Iterator[None]:
    """A tree of many objects makes the garbage collector walk it over and over: half of the time for a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# A key of a block or of braces, with or without quotes.
_KEY = re.compile(r"""(?:^|[{,])[ \t]*(?:-[ \t]+)*(?:[\w.$<>-]+|"[^"]*"|'[^']*')[ \t]*:(?=[ \t]|$)""")
_COVER = "\u2022"


class Text:
    """A text with a name, and the lines of it."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name or "<text>"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in _LINE_END.finditer(self.text))]

    def at(self, index: int) -> tuple[int, int]:
        """The line and column (from 1, in characters) of a character index."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1

    def where_at(self, index: int) -> str:
        line, column = self.at(index)
        return f"{self.name}:{line}:{column}"

    def excerpt_at(self, index: int) -> str:
        """The source line and a caret below it; a long line is cut around the caret."""
        line, column = self.at(index)
        start = self._starts[line - 1]
        end = _LINE_END.search(self.text, start)
        cut = max(0, column - 1 - _WIDTH // 2)
        excerpt = self.text[start + cut : end.start() if end else None][:_WIDTH]
        # One cell per character, or the caret stands in the wrong place.
        excerpt = "".join(c if c.isprintable() else " " for c in excerpt)
        return f"    {excerpt}\n    {' ' * (column - 1 - cut)}^"

    def problem_at(self, index: int, message: str) -> Problem:
        """A problem that shows its source line: for mistakes in the writing itself.

        Which value is a secret is not known of a file that cannot be read, so the line shows its keys only.
        """
        return Problem(f"{message}\n{_cover(self.excerpt_at(index))}", self.where_at(index))


class Document(Text):
    """One YAML file. `data` has plain JSON values, `name` is the file as errors show it, `text` is what was read.

    Places are looked up when they are asked for. A value that stands behind an alias has the place of its anchor.
    """

    def __init__(
        self, text: str, name: str, data: Json, compose: Callable[[], Node | None], node: Node | None = None
    ) -> None:
        super().__init__(text, name)
        self.data, self._compose, self._composed = data, compose, node
        self._entries: dict[int, dict[str, tuple[Node, Node]]] = {}

    @property
    def _node(self) -> Node | None:
        if self._composed is None:
            self._composed = self._compose()
        return self._composed

    def release(self) -> None:
        """Forget what places are looked up in, until one is asked for: many objects, and most files have no error."""
        self._composed = None
        self._entries.clear()

    def part(self, data: Json) -> Document:
        """A document with a part of the data (the same keys further down): its places are those in this file."""
        return Document(self.text, self.name, data, lambda: self._node)

    def below(self, path: Path) -> Document:
        """The value at `path` as a document of its own: its places are those in this file."""
        data = self.data
        for step in path:
            data = data[step]
        return Document(self.text, self.name, data, lambda: self._node_at(path))

    def overlay(self, data: Json, other: Document) -> Document:
        """A document with `data`, in which what stands in `other` has its place there, and the rest here."""
        return _Overlay(self, data, other)

    def has(self, path: Path) -> bool:
        """Whether something is written at `path`."""
        return not path or self._node_at(path) is not None

    def _node_at(self, path: Path) -> Node | None:
        node = self._node
        for step in path:
            child = self._child(node, step)
            node = child[1] if child else None
        return node

    def where(self, path: Path, *, key: bool = False) -> str:
        """`file:line:col` of the value at `path`, or of its key; of the nearest that exists above, if it is absent."""
        return self.where_at(self._index(path, key))

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, in characters."""
        return self.at(self._index(path, key))

    def excerpt(self, path: Path, *, key: bool = False) -> str:
        """The source line of `where`, and a line with a caret below."""
        return self.excerpt_at(self._index(path, key))

    def problem(self, path: Path, message: str, *, key: bool = False) -> Problem:
        return Problem(message, self.where(path, key=key))

    def _index(self, path: Path, key: bool) -> int:
        node = self._node
        index = node.start_mark.index if node else 0
        for depth, step in enumerate(path, 1):
            child = self._child(node, step)
            if child is None:
                break
            key_node, node = child
            index = (key_node if key and depth == len(path) else node).start_mark.index
        return int(index)

    def _child(self, node: Any, step: str | int) -> tuple[Node, Node] | None:
        """The nodes of a member and its key; an item of a list is its own key."""
        if isinstance(step, int):
            if node is None or node.id != "sequence" or not 0 <= step < len(node.value):
                return None
            return node.value[step], node.value[step]
        if node is None or node.id != "mapping":
            return None
        if id(node) not in self._entries:
            self._entries[id(node)] = _entries(node)
        return self._entries[id(node)].get(step)


class _Overlay(Document):
    def __init__(self, base: Document, data: Any, other: Document) -> None:
        super().__init__(base.text, base.name, data, lambda: base._node)
        self._other = other

    def where(self, path: Path, *, key: bool = False) -> str:
        return self._other.where(path, key=key) if self._other.has(path) and path else super().where(path, key=key)

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        inside = self._other.has(path) and path
        return self._other.position(path, key=key) if inside else super().position(path, key=key)


def _cover(excerpt: str) -> str:
    """`excerpt` with a dot for each letter and digit of what is no key: quotes and brackets stay in place."""
    source, _, caret = excerpt.partition("\n")
    parts, end = [], 0
    for key in _KEY.finditer(source):
        parts += [re.sub(r"\w", _COVER, source[end : key.start()]), key[0]]
        end = key.end()
    return "".join((*parts, re.sub(r"\w", _COVER, source[end:]), "\n", caret))


def _entries(node: Any, depth: int = 0) -> dict[str, tuple[Node, Node]]:
    """The members of a mapping by key, those merged in with `<<` behind its own."""
    own: dict[str, tuple[Node, Node]] = {}
    merged: dict[str, tuple[Node, Node]] = {}
    for key, value in node.value:
        if key.value == "<<" and not key.style and depth < 100:
            for source in value.value if value.id == "sequence" else [value]:
                merged = {**_entries(source, depth + 1), **merged}
        elif key.id == "scalar":
            own.setdefault(key.value, (key, value))
    return {**merged, **own}
