"""Compare two values side by side, line by line and word by word.

Unlike `results.changes`, which knows paths, this finds the lines to draw next to each other. It also compares texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from html import escape
from typing import Any, NamedTuple

from svctoolkit.display._blocks import pill
from svctoolkit.display._html import Html, box, quantity
from svctoolkit.display._lights import Leaf
from svctoolkit.json_types import Json

_AROUND = 3  # unchanged lines shown around a change
_MAX_LINES = 3_000  # comparing takes quadratic time
_KEY = re.compile(r'\s*"(?:[^"\\]|\\.)*":')


class _Pair(NamedTuple):
    """A line of the left side and its counterpart on the right; None if a side has no line."""

    before: str | None
    after: str | None


def diff(
    before: Json,
    after: Json,
    *,
    left: str = "before",
    right: str = "after",
    leaves: tuple[Leaf | None, Leaf | None] = (None, None),
) -> Html:
    """Two JSON values (or texts) side by side: removals in <del>, additions in <ins>, unchanged lines folded.

    The order of keys does not count. Only the first 3,000 lines are compared. `leaves` may decorate the leaves of each
    side.
    """
    old, new, rest = _sides(before, after)
    rows: list[str] = []
    gone = come = 0
    at = [1, 1]
    draw = _Drawing(leaves, [list(_paths(value, ())) for value in (before, _order_like(after, before))])
    for equal, pairs in _runs(old, new):
        if equal:
            rows.append(_fold(pairs, at, draw, first=not rows, last=at[0] + len(pairs) > len(old)))
        else:
            rows += [_row(pair, at, draw) for pair in pairs]
            gone += sum(pair.before is not None for pair in pairs)
            come += sum(pair.after is not None for pair in pairs)
    if rest:
        rows.append(_wide(f"{quantity(rest, 'line')} more are not compared"))
    head = Html(f"{escape(left)} <span aria-hidden='true'>→</span> {escape(right)}")
    note = Html(f"{pill(f'− {gone}')} {pill(f'+ {come}')}") if gone or come else "no difference"
    names = (left, right)
    titles = "".join(f'<th scope="col" colspan="2"><span class="sr">{escape(name)}</span></th>' for name in names)
    widths = '<col class="line"><col>' * 2
    body = f'<table class="diff"><colgroup>{widths}</colgroup><thead><tr>{titles}</tr></thead>'
    body += f"<tbody>{''.join(rows)}</tbody></table>"
    return box(head, Html(body), label=f"differences of {left} and {right}", note=note)


class _Drawing(NamedTuple):
    """The decoration of the leaves of each side, and the path of each line; None for a line without a leaf."""

    leaves: tuple[Leaf | None, Leaf | None]
    paths: list[list[tuple[str | int, ...] | None]]

    def line(self, side: int, number: int, text: str) -> str:
        leaf, paths = self.leaves[side], self.paths[side]
        path = paths[number - 1] if leaf and number <= len(paths) else None
        return text if leaf is None or path is None else leaf(path, Html(text))


def _paths(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...] | None]:
    """The path of each line of a JSON value as `_lines` writes it."""
    is_text = isinstance(value, str) and not path
    if is_text or not (isinstance(value, (Mapping, list)) and value):
        yield None if is_text else path
        return
    yield None
    for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from _paths(inner, (*path, key))
    yield None


def diff_text(before: Json, after: Json, *, left: str = "before", right: str = "after") -> str:
    """The same comparison as a unified diff in plain text; empty for equal values."""
    old, new, _ = _sides(before, after)
    return "\n".join(unified_diff(old, new, left, right, lineterm=""))


def _sides(before: Any, after: Any) -> tuple[list[str], list[str], int]:
    old, new = _lines(before), _lines(_order_like(after, before))
    rest = max(len(old), len(new)) - _MAX_LINES
    return old[:_MAX_LINES], new[:_MAX_LINES], max(rest, 0)


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return text.splitlines()


def _order_like(value: Any, model: Any) -> Any:
    """`value` with its keys in the order of `model`, and equal numbers written the same way (`10.0` as `10`)."""
    if isinstance(value, Mapping) and isinstance(model, Mapping):
        keys = [*(k for k in model if k in value), *(k for k in value if k not in model)]
        return {k: _order_like(value[k], model.get(k)) for k in keys}
    if isinstance(value, list) and isinstance(model, list):
        return [_order_like(v, model[i] if i < len(model) else None) for i, v in enumerate(value)]
    numbers = {type(value), type(model)} <= {int, float}
    return model if numbers and value == model else value


def _runs(old: list[str], new: list[str]) -> Iterator[tuple[bool, list[_Pair]]]:
    """Runs of equal or of different lines. A trailing comma does not count as a difference."""
    for tag, i, j, p, q in _codes([line.removesuffix(",") for line in old], [line.removesuffix(",") for line in new]):
        if tag == "equal":
            yield True, list(map(_Pair, old[i:j], new[p:q]))
        else:
            yield False, list(_pair(old[i:j], new[p:q]))


def _pair(old: list[str], new: list[str]) -> Iterator[_Pair]:
    """Pair changed lines: first those with the same key, then the lines between them in order."""
    for tag, i, j, p, q in _codes(list(map(_key, old)), list(map(_key, new))):
        if tag == "equal" or (j - i == q - p and all(map(_alike, old[i:j], new[p:q]))):
            yield from map(_Pair, old[i:j], new[p:q])
        else:
            yield from (_Pair(line, None) for line in old[i:j])
            yield from (_Pair(None, line) for line in new[p:q])


def _key(line: str) -> str:
    match = _KEY.match(line)
    return match.group() if match else line


def _codes(old: list[str], new: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def _alike(before: str, after: str) -> bool:
    return SequenceMatcher(None, _words(before), _words(after), autojunk=False).ratio() > 0.5


def _words(line: str) -> list[str]:
    return re.findall(r"\w+|\s+|.", line)


def _row(pair: _Pair, at: list[int], draw: _Drawing) -> str:
    before, after = pair
    if before is not None and after is not None:
        old, new = _mark_words(before, after)
    else:
        old = "" if before is None else f"<del>{escape(before)}</del>"
        new = "" if after is None else f"<ins>{escape(after)}</ins>"
    old, new = (draw.line(side, at[side], text) for side, text in enumerate((old, new)))
    whole = " whole" if before is None or after is None else ""
    return f"<tr>{_half(before, old, at, 0, '−', 'gone' + whole)}{_half(after, new, at, 1, '+', 'come' + whole)}</tr>"


def _half(line: str | None, text: str, at: list[int], side: int, sign: str, css: str) -> str:
    if line is None:
        return '<td class="line"></td><td class="pad-cell"></td>'
    at[side] += 1
    return f'<td class="line">{at[side] - 1} {sign}</td><td class="{css}">{text}</td>'


def _mark_words(before: str, after: str) -> tuple[str, str]:
    """Both lines with the differing words marked."""
    old, new = _words(before), _words(after)
    old_words, new_words = [], []
    for tag, i, j, p, q in _codes(old, new):
        gone, come = escape("".join(old[i:j])), escape("".join(new[p:q]))
        old_words.append(gone if tag == "equal" or not gone else f"<del>{gone}</del>")
        new_words.append(come if tag == "equal" or not come else f"<ins>{come}</ins>")
    return "".join(old_words), "".join(new_words)


def _fold(pairs: list[_Pair], at: list[int], draw: _Drawing, *, first: bool, last: bool) -> str:
    """Equal lines; all but those next to a change are folded."""
    head, tail = 0 if first else _AROUND, 0 if last else _AROUND
    if len(pairs) <= head + tail + 1:
        return "".join(_plain(pair, at, draw) for pair in pairs)
    end = len(pairs) - tail
    before = "".join(_plain(pair, at, draw) for pair in pairs[:head])
    at[0], at[1] = at[0] + end - head, at[1] + end - head
    folded = "\n".join(str(pair.before) for pair in pairs[head:end])
    what = quantity(end - head, "unchanged line")
    fold = f"<details><summary>⋯ {what}</summary><pre>{escape(folded)}</pre></details>"
    return before + _wide(Html(fold)) + "".join(_plain(pair, at, draw) for pair in pairs[end:])


def _plain(pair: _Pair, at: list[int], draw: _Drawing) -> str:
    old, new = (draw.line(side, at[side], escape(str(text))) for side, text in enumerate(pair))
    at[0], at[1] = at[0] + 1, at[1] + 1
    return f'<tr><td class="line">{at[0] - 1}</td><td>{old}</td><td class="line">{at[1] - 1}</td><td>{new}</td></tr>'


def _wide(text: str) -> str:
    return f'<tr><td class="fold" colspan="4">{text}</td></tr>'
