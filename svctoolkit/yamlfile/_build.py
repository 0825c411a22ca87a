"""Parse text to nodes with PyYAML, and convert the nodes to plain values by our own rules.

PyYAML reads YAML 1.1: `NO` is False, `2026-01-01` a date, `12:30:45` the number 45045. Event data is full of such
strings. Here, as in YAML 1.2's core schema and in JSON, they stay strings; only numbers in JSON syntax are numbers.
"""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from svctoolkit.errors import Problem
from svctoolkit.json_types import Json
from svctoolkit.yamlfile._document import Text

MAX_DEPTH = 100
MAX_ALIASED = 100_000

_PLAIN = "plain"
_TEXT = "tag:yaml.org,2002:str"
_KINDS = {"scalar": _TEXT, "mapping": "tag:yaml.org,2002:map", "sequence": "tag:yaml.org,2002:seq"}
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class TooDeep(Exception):
    """The values nest too deeply; the problem is at the character with this index."""

    def __init__(self, index: int) -> None:
        self.index = index


class _Hooks:
    """Callbacks of the parser while it composes: resolve nothing, count nodes and limit the depth."""

    depth = 0
    nodes = 0

    def resolve(self, kind: type, _value: str | None, implicit: Any) -> str:
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else _TEXT
        return _KINDS["mapping" if kind is yaml.MappingNode else "sequence"]

    def descend_resolver(self, parent: Any, _index: Any) -> None:
        self.depth += 1
        self.nodes += 1
        if self.depth > MAX_DEPTH + 1:  # the parser recurses in C: deeper nesting would crash the process
            raise TooDeep(parent.start_mark.index)

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _PythonParser(_Hooks, Reader, Scanner, Parser, Composer):
    """PyYAML's own parser."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)


if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class _Parser(_Hooks, CParser):
        """libyaml, six times faster than PyYAML's own parser."""

else:
    _Parser = _PythonParser  # type: ignore[misc,assignment]


def compose(text: str) -> tuple[Json, int]:
    """Return the root node (None for an empty string) and the number of nodes. Raises `yaml.YAMLError` or `TooDeep`."""
    parser: _PythonParser | _Parser = _Parser(text)
    try:
        return parser.get_single_node(), parser.nodes
    except yaml.YAMLError as error:
        # libyaml 0.2.6 reads ahead and stops at 1,000 levels by itself, far behind the place where it is too deep here.
        if "nesting depth" not in str(error):
            raise
        parser = _PythonParser(text)
        return parser.get_single_node(), parser.nodes


def scalar(text: str) -> Json:
    """Return the value of a scalar without quotes: None, true, false, a number or the text itself.

    Raises `ValueError` for a number that is too large to represent, such as 5,000 digits or 1e999.
    """
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    if not number:
        return text
    if not number[1] and not number[2]:
        return int(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


class Builder:
    """Converts nodes to plain values and collects what is wrong with them in `problems`."""

    def __init__(self, source: Text, nodes: int) -> None:
        self.problems: list[Problem] = []
        self._source, self._left = source, nodes + MAX_ALIASED

    # Any: PyYAML's nodes
    def value(self, node: Any, depth: int = 0) -> Json:
        """Return the plain value of a node.

        Raises `TooDeep` for an alias inside its own anchor, and for aliases that expand beyond the limit.
        """
        self._left -= 1
        if self._left < 0:
            raise TooDeep(node.start_mark.index)
        if node.id == "scalar":
            return self._scalar(node)
        if depth == MAX_DEPTH:
            raise TooDeep(node.start_mark.index)
        self._check_tag(node)
        if node.id == "sequence":
            return [self.value(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _scalar(self, node: Any) -> Any:
        if node.tag != _PLAIN:
            self._check_tag(node)
            return node.value
        try:
            return scalar(node.value)
        except ValueError:
            self._problem(node, "the number is too large; put it in quotes to make it text")
            return 0

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        first: dict[str, Any] = {}
        for key, value in node.value:
            if key.id != "scalar" or (key.tag == _PLAIN and not key.value):
                self._problem(key, "a key must be a string" if key.value else "a key is missing before ':'")
            elif key.tag == _PLAIN and key.value == "<<":
                merged = {**self._merge(value, depth), **merged}
            elif key.value in own:
                line, _ = self._source.at(first[key.value].start_mark.index)
                self._problem(key, f"duplicate key {key.value!r}: it is already defined in line {line}")
            else:
                first[key.value] = key
                own[key.value] = self.value(value, depth + 1)
        return {**merged, **own} if merged else own

    def _merge(self, node: Any, depth: int) -> dict[str, Any]:
        """Return the members that `<<` merges in. If several sources define a key, the first one wins."""
        members: dict[str, Any] = {}
        for source in node.value if node.id == "sequence" else [node]:
            value = self.value(source, depth + 1)
            if isinstance(value, dict):
                members = {**value, **members}
            else:
                self._problem(source, "'<<' can only merge objects")
        return members

    def _check_tag(self, node: Any) -> None:
        if node.tag != _KINDS[node.id]:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            self._problem(node, f"unknown tag {tag!r}: files here are plain YAML without tags")

    def _problem(self, node: Any, message: str) -> None:
        self.problems.append(self._source.problem_at(node.start_mark.index, message))
