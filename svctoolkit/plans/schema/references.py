"""Resolves `$ref` inside a schema. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

from svctoolkit.json_types import Json
from svctoolkit.plans.schema.dialect import is_draft_4
from svctoolkit.plans.schema.javascript import pointer_tokens

_REFERRING = frozenset({"$ref", "$recursiveRef", "$recursiveAnchor", "$dynamicRef", "$dynamicAnchor"})
_CONTENT = frozenset({"enum", "const", "default", "examples"})  # values of these keywords are data, not schemas


class Target(NamedTuple):
    """A referenced part of a schema: its position and its base address."""

    schema: Any
    path: tuple[str | int, ...]
    base: str


class References:
    """The references of one schema document."""

    def __init__(self, root: Json) -> None:
        self._root = root
        self._id = "id" if is_draft_4(root) else "$id"
        self.base = self._address(root, "")
        self._targets: dict[str, Target] = {}
        for target, anchor in self._addresses(root, (), ""):
            self._targets.setdefault(anchor, target)

    def target(self, reference: str, base: str) -> Target | None:
        """Return the target of a reference, resolved against `base`, or None."""
        address, fragment = urldefrag(urljoin(base, reference))
        start = self._targets.get(address)
        if start is None or not fragment:
            return start
        if not fragment.startswith("/"):
            return self._targets.get(f"{address}#{fragment}")
        return self._follow(start, fragment)

    def base_of(self, schema: Json, base: str) -> str:
        """Return the base address inside a schema whose surrounding base address is `base`."""
        return self._address(schema, base)

    def _follow(self, start: Target, pointer: str) -> Target | None:
        node, path, base = start
        for token in pointer_tokens(unquote(pointer)):
            step: str | int = token
            if isinstance(node, list) and token.isascii() and token.isdecimal():
                step = int(token)
            try:
                node = node[step]
            except (KeyError, IndexError, TypeError):
                return None
            path = (*path, step)
            base = self._address(node, base)
        return Target(node, path, base) if isinstance(node, (dict, bool)) else None

    def _address(self, schema: Any, base: str) -> str:
        address = schema.get(self._id) if isinstance(schema, dict) else None
        if not isinstance(address, str) or address.startswith("#"):
            return base
        return urldefrag(urljoin(base, address))[0]

    def _addresses(self, node: Any, path: tuple[str | int, ...], base: str) -> Iterator[tuple[Target, str]]:
        """Yield everything that has its own address: the root, `$id`s, anchors."""
        if isinstance(node, list):
            for place, item in enumerate(node):
                yield from self._addresses(item, (*path, place), base)
        if not isinstance(node, dict):
            return
        inner = self._address(node, base)
        target = Target(node, path, inner)
        if not path or inner != base:
            yield target, inner
        for keyword in ("$anchor", "$dynamicAnchor", self._id):
            name = node.get(keyword)
            if isinstance(name, str) and (keyword != self._id or name.startswith("#")):
                yield target, f"{inner}#{name.removeprefix('#')}"
        for key, value in node.items():
            if key not in _CONTENT and isinstance(value, (dict, list)):
                yield from self._addresses(value, (*path, key), inner)


def is_inline(schema: Json) -> bool:
    """Whether RudderStack inlines the target of a reference, because the target itself contains no references."""
    if isinstance(schema, list):
        return all(map(is_inline, schema))
    if not isinstance(schema, dict):
        return True
    return not (schema.keys() & _REFERRING) and all(map(is_inline, schema.values()))
