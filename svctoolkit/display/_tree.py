"""JSON as a collapsible tree."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from svctoolkit.display._html import Html, box, quantity
from svctoolkit.display._lights import Leaf
from svctoolkit.json_types import Json

_MAX_NODES = 2_000
_MAX_DEPTH = 60
_MAX_TEXT = 4_000
# The label's text is in the style: where styles are stripped, the switch does nothing and has no label.
_SWITCH = '<label class="all"><input type="checkbox" aria-label="Expand all"></label>'

_EMPTY = {True: '<span class="empty">{}</span>', False: '<span class="empty">[]</span>'}


def tree(value: Json, title: str = "", *, open_depth: int = 2, leaf: Leaf | None = None) -> Html:
    """JSON as nested lists; the outer `open_depth` levels are open. Of more than 2,000 nodes, the outer ones are
    shown.

    Without a title, the tree has no frame. `leaf` may decorate each leaf. A switch expands everything without scripts;
    where scripts run, `tree_tools.js` adds search and copy.
    """
    nodes = _Drawing(_Budget(value), open_depth, leaf).node("", value, ())
    switch = _SWITCH if "<details><" in nodes else ""
    body = f'<div class="tree">{switch}{nodes}</div>'
    return box(title, Html(body), label=title, note=_size(value)) if title else Html(body)


def _size(value: Any) -> str:
    try:
        return f"{len(json.dumps(value, ensure_ascii=False, separators=(',', ':')).encode('utf-8', 'replace')):,} B"
    except (TypeError, ValueError, RecursionError):
        return ""


class _Budget:
    """The number of members to show of each object and list: outer levels first, so that no branch uses it up."""

    def __init__(self, value: Any) -> None:
        self._cell: dict[int, int] = {}
        room = _MAX_NODES
        waiting = deque([(value, 0)])
        while waiting:
            node, depth = waiting.popleft()
            members = _members(node)
            if members is None or depth >= _MAX_DEPTH:
                continue
            count = min(len(members), room)
            room -= count
            self._cell[id(node)] = max(count, self._cell.get(id(node), 0))
            waiting.extend((inner, depth + 1) for _, inner in members[:count])

    def of(self, node: Any, depth: int) -> int:
        return self._cell.get(id(node), 0) if depth < _MAX_DEPTH else 0


def _members(node: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(node, Mapping):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, Sequence) and not isinstance(node, (str, bytes)) else None


class _Drawing(NamedTuple):
    """Settings shared by all nodes of a tree."""

    budget: _Budget
    open_depth: int
    leaf: Leaf | None

    def node(self, label: str, node: Any, path: tuple[str | int, ...]) -> str:
        members = _members(node)
        if not members:
            block = Html(label + (_leaf(node) if members is None else _EMPTY[isinstance(node, Mapping)]))
            return self.leaf(path, block) if self.leaf else block
        named = isinstance(node, Mapping)
        first, last = "{}" if named else "[]"
        count = self.budget.of(node, len(path))
        items = [f"<li>{self.node(_key(key, named), inner, (*path, key))}</li>" for key, inner in members[:count]]
        if count < len(members):
            items.append(f'<li class="dim">… {len(members) - count:,} more</li>')
        what = f'<span class="dim">{first} {quantity(len(members), "key" if named else "item")} {last}</span>'
        is_open = " open" if len(path) < self.open_depth else ""
        return f"<details{is_open}><summary>{label}{what}</summary><ul>{''.join(items)}</ul></details>"


def _key(key: object, named: bool) -> str:
    return f'<span class="{"key" if named else "dim"}">{escape(str(key))}</span>: '


def _leaf(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return f'<span class="word">{json.dumps(value)}</span>'
    if isinstance(value, (int, float)):
        return f'<span class="number">{value}</span>'
    text = value if isinstance(value, str) else str(value)
    more = f'<span class="dim">… {len(text) - _MAX_TEXT:,} more characters</span>' if len(text) > _MAX_TEXT else ""
    return f'<span class="text">{escape(json.dumps(text[:_MAX_TEXT], ensure_ascii=False))}</span>{more}'
