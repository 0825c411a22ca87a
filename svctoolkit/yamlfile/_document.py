"""A parsed document: its values and their positions in the file."""

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
#: The first step of the path of a value in another file: see `Document.with_shared`.
SHARED = "_common.yaml"
_WIDTH = 100
_LINE_END = re.compile("\r\n|\r|\n")  # what editors count as line ends; the parser accepts more


def cap(problems: Iterable[Problem]) -> list[Problem]:
    """Return the first `MAX_PROBLEMS` problems, and if there are more, a last one that says so."""
    rest = iter(problems)
    first = list(islice(rest, MAX_PROBLEMS))
    return [*first, Problem("more problems are not listed")] if next(rest, None) else first


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the garbage collector: it would scan a large node tree repeatedly, half of a large file's load time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# A key in block or flow style, with or without quotes; or the name of a variable.
_KEY = re.compile(
    r"""(?:^|[{,])[ \t]*(?:-[ \t]+)*(?:[\w.$<>-]+[ \t]*:(?=[ \t]|$)|"[^"]*"[ \t]*:|'[^']*'[ \t]*:(?=[ \t]|$))"""
    r"|\{\{[ \t]*\.\w+|\$\((?:env|var|secret):\w+"  # names of variables are not secret, and tell where to look
)  # in JSON, nothing has to follow the colon
_COVER = "\u2022"


class Text:
    """A text with a name and an index of its lines."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name or "<text>"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in _LINE_END.finditer(self.text))]

    def at(self, index: int) -> tuple[int, int]:
        """Return the line and column (from 1, in characters) of a character index."""
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1

    def where_at(self, index: int) -> str:
        line, column = self.at(index)
        return f"{self.name}:{line}:{column}"

    def excerpt_at(self, index: int, mask: Callable[[str], str] = str) -> str:
        """Return the source line and a caret below it. A long line is cut around the caret, with "…".

        `mask` hides secrets before the line is cut: it would not find a part of one.
        """
        line, _ = self.at(index)
        start = self._starts[line - 1]
        end = _LINE_END.search(self.text, start)
        before, after = mask(self.text[start:index]), mask(self.text[index : end.start() if end else None])
        whole, caret = before + after, len(before)
        cut = max(0, caret - _WIDTH // 2) if len(whole) > _WIDTH else 0
        # One cell per character, or the caret ends up in the wrong place.
        excerpt = "".join(c if c.isprintable() else " " for c in whole[cut : cut + _WIDTH])
        excerpt = f"…{excerpt[1:]}" if cut else excerpt
        excerpt = f"{excerpt[:-1]}…" if len(whole) > cut + _WIDTH else excerpt
        return f"    {excerpt}\n    {' ' * (caret - cut)}^"

    def problem_at(self, index: int, message: str) -> Problem:
        """Return a problem that shows its source line, for syntax errors.

        Only the keys of the line are shown: in a file that cannot be parsed, any value could be a secret.
        """
        return Problem(f"{message}\n{_cover(self.excerpt_at(index))}", self.where_at(index))


class Document(Text):
    """One YAML file. `data` has plain JSON values, `name` is the file name for errors, `text` is the source.

    Positions are computed on demand. A value written as an alias has the position of its anchor.
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
        """Free the node tree that positions are looked up in. It is rebuilt on demand; most files have no errors."""
        self._composed = None
        self._entries.clear()

    def part(self, data: Json) -> Document:
        """Return a document with a part of the data (the same keys further down). Positions refer to the same file."""
        return Document(self.text, self.name, data, lambda: self._node)

    def below(self, path: Path) -> Document:
        """Return the value at `path` as its own document. Positions refer to the same file."""
        data = self.data
        for step in path:
            data = data[step]
        return Document(self.text, self.name, data, lambda: self._node_at(path))

    def overlay(self, data: Json, other: Document) -> Document:
        """Return a document with `data`. Values defined in `other` have their position there, the rest in this file."""
        return _Overlay(self, data, other)

    def with_shared(self, others: Sequence[Document]) -> Document:
        """Return a document in which the paths `(SHARED, n, ...)` have their position in `others[n]`."""
        return _Shared(self, others) if others else self

    def has(self, path: Path) -> bool:
        """Whether the file has a value at `path`."""
        return not path or self._node_at(path) is not None

    def _node_at(self, path: Path) -> Node | None:
        node = self._node
        for step in path:
            child = self._child(node, step)
            node = child[1] if child else None
        return node

    def where(self, path: Path, *, key: bool = False) -> str:
        """Return `file:line:col` of the value at `path`, or of its key; if absent, of its nearest existing parent."""
        return self.where_at(self._index(path, key))

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return line and column, from 1, in characters."""
        return self.at(self._index(path, key))

    def excerpt(self, path: Path, *, key: bool = False, mask: Callable[[str], str] = str) -> str:
        """Return the source line of `where`, masked, and a line with a caret below it."""
        return self.excerpt_at(self._index(path, key), mask)

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
        """Return the nodes of a member and of its key. An item of a list is its own key."""
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


class _Shared(Document):
    def __init__(self, base: Document, others: Sequence[Document]) -> None:
        super().__init__(base.text, base.name, base.data, lambda: base._node)
        self._base, self._others = base, others

    def release(self) -> None:
        super().release()
        self._base.release()

    def where(self, path: Path, *, key: bool = False) -> str:
        return self._other(path).where(path[2:], key=key) if _is_shared(path) else super().where(path, key=key)

    def excerpt(self, path: Path, *, key: bool = False, mask: Callable[[str], str] = str) -> str:
        if _is_shared(path):
            return self._other(path).excerpt(path[2:], key=key, mask=mask)
        return super().excerpt(path, key=key, mask=mask)

    def position(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        # A line without its file: that of this file's beginning.
        return super().position(() if _is_shared(path) else path, key=key)

    def _other(self, path: Path) -> Document:
        return self._others[int(path[1])]


def _is_shared(path: Path) -> bool:
    return tuple(path[:1]) == (SHARED,)


def _cover(excerpt: str) -> str:
    """Return `excerpt` with a dot for each letter and digit, except in keys and names of variables."""
    source, _, caret = excerpt.partition("\n")
    parts, end = [], 0
    for key in _KEY.finditer(source):
        parts += [re.sub(r"\w", _COVER, source[end : key.start()]), key[0]]
        end = key.end()
    return "".join((*parts, re.sub(r"\w", _COVER, source[end:]), "\n", caret))


def _entries(node: Any, depth: int = 0) -> dict[str, tuple[Node, Node]]:
    """Return the members of a mapping by key: its own first, then those merged in with `<<`."""
    own: dict[str, tuple[Node, Node]] = {}
    merged: dict[str, tuple[Node, Node]] = {}
    for key, value in node.value:
        if key.value == "<<" and not key.style and depth < 100:
            for source in value.value if value.id == "sequence" else [value]:
                merged = {**_entries(source, depth + 1), **merged}
        elif key.id == "scalar":
            own.setdefault(key.value, (key, value))
    return {**merged, **own}
