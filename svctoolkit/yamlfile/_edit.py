"""Change single values of a YAML text: comments, order and everything else stay unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any

import yaml

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.yamlfile._dump import dump
from svctoolkit.yamlfile._load import load
from svctoolkit.yamlfile._removed import REMOVED


def edit(text: str, changes: Mapping[tuple[str, ...], Json], *, name: str) -> str:
    """See `svctoolkit.yamlfile.edit`. Objects on the way to a new value are created, as blocks if written in braces."""
    for path, value in changes.items():
        text = _edit(text, path, value, name)
    return text


def _edit(text: str, path: tuple[str, ...], value: Any, name: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return text if value is REMOVED else dump(_nested(path, value))
    node, depth = root, 0
    while True:
        if not isinstance(node, yaml.MappingNode):
            raise ConfigError(f"{'.'.join(path[:depth]) or 'the file'} is not an object", where=name)
        entry = next(((k, v) for k, v in node.value if k.value == path[depth]), None)
        if entry is None:
            return text if value is REMOVED else _add(text, node, path[depth:], value, path[:depth])
        key, inner = entry
        last = depth == len(path) - 1
        if last or not isinstance(inner, yaml.MappingNode) or inner.flow_style:
            if node.flow_style:  # only the file itself: other objects in braces are rewritten from their key
                raise ConfigError("cannot be changed: it is written in braces", where=name)
            old = None if last else _data(text, inner)
            if not last and value is REMOVED and old is None:
                return text
            if not isinstance(old, Mapping | None):
                raise ConfigError(f"{'.'.join(path[: depth + 1])} is not an object", where=name)
            new = value if last else _with(old, path[depth + 1 :], value)
            if last and value is REMOVED and len(node.value) == 1 and depth:
                return _edit(text, path[:-1], REMOVED, name)
            return _replace(text, key, inner, path[depth], new)
        node, depth = inner, depth + 1


def _data(text: str, node: yaml.Node) -> Any:
    return load(text[node.start_mark.index : node.end_mark.index]).data


def _with(data: Any, path: tuple[str, ...], value: Any) -> Any:
    members = dict(data) if isinstance(data, Mapping) else {}
    step, rest = path[0], path[1:]
    if not rest and value is REMOVED:
        members.pop(step, None)
    elif rest or value is not REMOVED:
        members[step] = _with(members.get(step), rest, value) if rest else value
    return members


def _nested(path: tuple[str, ...], value: Any) -> Any:
    return {path[0]: _nested(path[1:], value)} if path else value


def _replace(text: str, key: yaml.Node, inner: yaml.Node, name: str, value: Any) -> str:
    """Return the text with an entry of a block replaced; a comment behind the old value is kept with a scalar."""
    lines = text.splitlines(keepends=True)
    start, column = key.start_mark.line, key.start_mark.column
    end = _end(lines, inner)
    block = "" if value is REMOVED else indent(dump({name: value}), " " * column)
    if block and isinstance(inner, yaml.ScalarNode) and inner.end_mark.line == start and block.count("\n") == 1:
        rest = lines[start][inner.end_mark.column :].rstrip("\n")
        block = f"{block[:-1]}{rest}\n"
    return "".join([*lines[:start], block, *lines[end:]])


def _end(lines: Sequence[str], node: yaml.Node) -> int:
    """Return the number of the line after a node; comments and blank lines that follow it belong to what is next."""
    mark = node.end_mark  # of a block: where the next token begins
    end = mark.line + 1 if mark.line < len(lines) and lines[mark.line][: mark.column].strip() else mark.line
    while end > node.start_mark.line + 1 and (not (bare := lines[end - 1].strip()) or bare.startswith("#")):
        end -= 1
    return end


def _add(text: str, node: yaml.MappingNode, path: tuple[str, ...], value: Any, above: tuple[str, ...]) -> str:
    """Return the text with a new last entry in an object."""
    if node.flow_style or not node.value:
        if not above:
            return dump(_with(_data(text, node), path, value))
        return _edit(text, above, _with(_data(text, node), path, value), "")
    lines = text.splitlines(keepends=True)
    _, last = node.value[-1]
    end = _end(lines, last)
    if lines[end - 1 :] and not lines[end - 1].endswith("\n"):
        lines[end - 1] += "\n"
    column = node.value[0][0].start_mark.column
    return "".join([*lines[:end], indent(dump(_nested(path, value)), " " * column), *lines[end:]])
