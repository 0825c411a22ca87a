"""Linked highlights in a page, read from its CSS rules as a browser reads them."""

from __future__ import annotations

import re
from html import unescape

_LEAF = re.compile(r'<label class="leaf (n\d+)" title="([^"]*)"><input type="radio" name="(\w+)" aria-label="([^"]*?):')


def lit(page: str) -> dict[str, set[str]]:
    """Each leaf of a page by its name, with the leaves that are highlighted when it is chosen."""
    names = {(group, number): unescape(name) for number, _, group, name in _LEAF.findall(page)}
    rules = re.findall(r"\.(lit\w+):has\(\.(n\d+):hover,\.n\d+>:checked\) :is\(([^)]*)\)", page)
    partners = {name: set[str]() for name in names.values()}
    for group, number, targets in rules:
        if (group, number) in names:
            partners[names[group, number]] |= {
                names[group, target[1:]] for target in targets.split(",") if (group, target[1:]) in names
            }
    return partners
