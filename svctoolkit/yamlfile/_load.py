"""Load a file or a string, and report every syntax problem in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from svctoolkit import inputs
from svctoolkit.errors import ConfigError, Problem
from svctoolkit.yamlfile._build import MAX_DEPTH, Builder, TooDeep, compose
from svctoolkit.yamlfile._document import Document, Text, cap, without_collector

MAX_BYTES = 32_000_000

# Characters that YAML allows (specification, section 5.1), as the parser reads it.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

# The parser's messages, and what they mean for the author of the line.
_MEANINGS = {
    "mapping values are not allowed": "a ':' is wrong here: check the indentation, and quote text with ': ' in it",
    "did not find expected key": "a key is expected here: check the indentation, and quotes or brackets above",
    "expected <block end>": "a key is expected here: check the indentation, and quotes or brackets above",
    "did not find expected '-' indicator": "an item ('- ...') is expected here: check the indentation",
    "could not find expected ':'": "a ':' is missing after the key",
    "found unexpected end of stream": "a quote is never closed",
    "found undefined alias": "this alias has no anchor (&name) before it",
    "found another document": "a second document starts here; put it in its own file",
    "expected ',' or": "a ',' is missing here, or the closing bracket",
    "did not find expected node content": "a value is missing here, or a bracket is never closed",
    "found duplicate anchor": "this anchor is already defined above",
    "found unknown escape character": "unknown escape: write the backslash twice, or use single quotes",
}


def load_text(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte-order mark. Line ends are not converted.

    Raises `ConfigError` with the reason: the file does not exist, is a folder, is not UTF-8 (with the position) or is
    over 32 MB.
    """
    name = display_name(path)
    try:
        content = inputs.read(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise ConfigError(f"cannot be read: {getattr(error, 'strerror', None) or error}", where=name) from error
    if len(content) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES // 1_000_000} MB", where=name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = Text(content[: error.start].decode("utf-8-sig", "replace"), name)
        byte = content[error.start]
        problem = Problem(f"not UTF-8: byte 0x{byte:02x}; save the file as UTF-8", before.where_at(len(before.text)))
        raise ConfigError(problem) from error


def display_name(path: Path) -> str:
    """Return the path for error messages: relative to the working directory if it is below it."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def load(source: Path | str, *, name: str = "", error: type[ConfigError] = ConfigError) -> Document:
    """Return the document in a file (a `Path`) or in YAML text (a `str`, shown as `name` in errors).

    Raises `error` with every problem that can be found: invalid YAML, duplicate keys, tags, a second document, more
    than 100 levels, aliases that expand to over 100,000 values, invalid UTF-8, a missing file.
    """
    if isinstance(source, Path):
        try:
            text = load_text(source)
        except ConfigError as problem:
            raise error(problem.problems) from problem
        name = display_name(source)
    else:
        text = source.removeprefix("\ufeff")
    if text.lstrip()[:1] == "{":
        document = _from_json(text, name)
        if document is not None:
            return document
    return _from_yaml(Text(text, name), error)


def _from_yaml(source: Text, error: type[ConfigError]) -> Document:
    forbidden = _FORBIDDEN.search(source.text)
    if forbidden:
        code = f"U+{ord(forbidden[0]):04X}"
        raise error(source.problem_at(forbidden.start(), f"the character {code} is not allowed in a text file"))
    try:
        with without_collector():
            node, nodes = compose(source.text)
            builder = Builder(source, nodes)
            data = None if node is None else builder.value(node)
    except TooDeep as deep:
        limits = f"values nest more than {MAX_DEPTH} levels deep, or aliases (*name) expand without end"
        raise error(source.problem_at(deep.index, limits)) from deep
    except yaml.YAMLError as wrong:
        raise error(_syntax(source, wrong)) from wrong
    if builder.problems:
        raise error(cap(builder.problems))
    return Document(source.text, source.name, data, lambda: compose(source.text)[0], node)


def _syntax(source: Text, wrong: yaml.YAMLError) -> Problem:
    mark = getattr(wrong, "problem_mark", None) or getattr(wrong, "context_mark", None)
    message = str(getattr(wrong, "problem", None) or wrong)
    # Something missing at the end of the file is reported after the last character.
    index = min(mark.index if mark else 0, len(source.text.rstrip()))
    if source.text[index : index + 1] == "\t":
        return source.problem_at(index, "a tab in the indentation: YAML allows spaces only")
    if "invalid Unicode character escape" in message:
        return source.problem_at(*_escaped(source.text, index))
    if "cannot start any token" in message:
        return source.problem_at(index, f"text that starts with {source.text[index : index + 1]!r} needs quotes")
    meaning = next((ours for theirs, ours in _MEANINGS.items() if theirs in message), f"not YAML: {message}")
    opened = getattr(wrong, "context_mark", None)
    if opened and opened.index < index and "closed" in meaning:
        meaning += f" (opened in line {source.at(opened.index)[0]})"
    return source.problem_at(index, meaning)


def _escaped(text: str, index: int) -> tuple[int, str]:
    """Return the place of an escape that YAML rejects, and why. Before half of a pair, there may be whole ones."""
    half = next((found.start() for found in _ESCAPE.finditer(text) if found["half"]), None)
    if half is not None:
        return half, "half of a surrogate pair, such as half an emoji, is not text: remove it, or add the other half"
    return index, "this escape is not a character: write the character itself, as YAML has no surrogate pairs"


def _from_json(text: str, name: str) -> Document | None:
    """Return the document if the text is JSON, else None: then the YAML parser reads it.

    JSON is YAML except for escaped surrogate pairs, and RudderStack's configurations are many megabytes of JSON.
    """
    try:
        data = json.loads(text, object_pairs_hook=_object, parse_constant=_refusal, parse_float=_finite)
        if _SURROGATE.search(text):
            json.dumps(data, ensure_ascii=False).encode()
        _check_depth(data, MAX_DEPTH)
    except (ValueError, RecursionError):
        return None
    return Document(text, name, data, lambda: _compose_json(text))


def _compose_json(text: str) -> Any:
    # Only the places matter, so what YAML does not accept is replaced by text of the same length.
    return compose(_FORBIDDEN.sub("?", re.sub(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}", r"\\u003f", text)))[0]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("duplicate key")
    return members


#: An escape; `half` is of a surrogate pair. JSON writes a whole one as two.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def _refusal(text: str) -> Any:
    raise ValueError(text)


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(text)
    return value


def _check_depth(value: Any, levels: int) -> None:
    if isinstance(value, (dict, list)):
        if levels == 0:
            raise ValueError("too deep")
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, levels - 1)
