"""Highlight related leaves: pointing at one, or choosing it, highlights those it is paired with. Without scripts.

Every leaf is a radio button with its label, so one press of Tab reaches the group and arrow keys move through it. A
style sheet with one rule per leaf does the highlighting. In views that strip styles, the leaves are plain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from html import escape
from typing import TypeAlias

from svctoolkit.display._html import Html, html, join

#: Decorates a leaf: (path in a JSON value, HTML of the leaf) -> HTML with additions.
Leaf: TypeAlias = Callable[[tuple[str | int, ...], Html], Html]

_STYLE = re.sub(
    r"\n\s*",
    "",
    """
.lights label.leaf{display:inline-block;max-width:100%;margin:0;padding:0 2px;
position:relative;cursor:pointer;border-radius:3px}
.lights label.leaf>input{position:absolute;opacity:0;width:1px;height:1px;margin:0;pointer-events:none}
.lights label.leaf:has(>:focus-visible){outline:2px solid var(--info)}
.lights label.leaf:has(>:checked){background:color-mix(in srgb,var(--info) 8%,transparent)}
.lights .why{display:none;font:12px/1.4 var(--ui)}
.lights .why::before{content:" — "}
.lights :checked~.why{display:inline}
.lights table.rows .why{display:none!important}
.lights .sign{font:12px/1.4 var(--ui);white-space:nowrap;border:1px dashed var(--line);border-radius:8px;padding:0 6px}
""",
)
_LIT = "background:color-mix(in srgb,var(--ok) 8%,transparent);box-shadow:0 0 0 1px var(--ok)"


class Lights:
    """Related names, in `pairs`; a chosen leaf shows its note. One leaf can be chosen per `scope`.

    >>> lights = Lights([("userId", "body.id")], {"userId": "goes to body.id"})
    >>> block = lights.group(lights.leaf("userId", "userId: 1"), lights.leaf("body.id", "id: 1"))
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], notes: Mapping[str, str], scope: str = "") -> None:
        self._notes = notes
        self._partners: dict[str, dict[str, None]] = {}
        for one, other in pairs:
            self._partners.setdefault(one, {})[other] = None
            self._partners.setdefault(other, {})[one] = None
        self._numbers = {name: number for number, name in enumerate(dict.fromkeys([*self._partners, *self._notes]))}
        self._id = "lit" + sha256(repr([self._partners, self._notes, scope]).encode()).hexdigest()[:10]

    def leaf(self, name: str, block: object, sign: object = "") -> Html:
        """`block` as a leaf; unchanged if its name has neither a pair nor a note. `sign` is always shown next to it."""
        number = self._numbers.get(name)
        if number is None:
            return Html(html(block))
        note = escape(self._notes.get(name, ""))
        why = f'<span class="why">{note}</span>' if note else ""
        mark = f' <span class="sign">{html(sign)}</span>' if sign else ""
        control = f'<input type="radio" name="{self._id}" aria-label="{escape(name)}: {note}">'
        return Html(f'<label class="leaf n{number}" title="{note}">{control}{html(block)}{mark}{why}</label>')

    def group(self, *blocks: object) -> Html:
        """The blocks that contain the leaves, with the style that highlights them."""
        rules = "".join(self._rule(name, partners) for name, partners in self._partners.items())
        # else JupyterLab uses the arrow keys to move between cells
        return Html(
            f'<style>{_STYLE}{rules}</style><div class="lights {self._id}" role="group" aria-label="fields that belong '
            f'together light up" data-lm-suppress-shortcuts="true">{join(blocks)}</div>'
        )

    def _rule(self, name: str, partners: Iterable[str]) -> str:
        at = f".n{self._numbers[name]}"
        lit = ",".join(f".n{self._numbers[partner]}" for partner in partners)
        return f".{self._id}:has({at}:hover,{at}>:checked) :is({lit}){{{_LIT}}}"
