"""How deep JSON from outside may be nested."""

from __future__ import annotations

from svctoolkit.json_types import Json

#: Objects and lists inside each other; more is refused wherever JSON comes in.
MAX_DEPTH = 200


def too_deep(value: Json, limit: int = MAX_DEPTH) -> bool:
    """Whether objects and lists are nested more than `limit` levels. Level by level, so that depth costs no stack."""
    level = [value]
    for _ in range(limit + 1):
        nodes = [node for node in level if isinstance(node, (dict, list))]
        if not nodes:
            return False
        level = [child for node in nodes for child in (node.values() if isinstance(node, dict) else node)]
    return True
