"""Find suite files, and select scenarios with expressions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from svctoolkit import inputs
from svctoolkit.errors import ConfigError

SUFFIXES = (".suite.yaml", ".suite.yml")
_SKIPPED = {"__pycache__", "node_modules", "venv"}
_KIND = rb"^kind:\s*[\"']?transformation\b(?!-)"
_TOKEN = re.compile(r"[()]|[^\s()]++")
Test: TypeAlias = Callable[[str], bool]
Predicate: TypeAlias = Callable[[Test], bool]


def is_suite(path: Path) -> bool:
    """Return whether a file is a suite, by its name."""
    return path.name.endswith(SUFFIXES)


_MOST_BYTES = 1_000_000  # of a file that may be a suite: repositories have large YAML files of other tools


def find(paths: Iterable[Path], *, projects: bool = False) -> Iterator[Path]:
    """Yield the suite files at `paths`: a file itself, and every `*.suite.yaml` (or `.yml`) below a folder, sorted.

    With `projects`, also the YAML files of rudder/v1 transformations. Hidden folders, `node_modules` and virtual
    environments are skipped. Raises `ConfigError` for a path that does not exist.
    """
    visited = set()
    for path in paths:
        if not path.exists():
            raise ConfigError(f"no such file or folder: {path}")
        if path.is_file() and not is_suite(path) and not (projects and is_project(path)):
            what = " or a rudder/v1 transformation" if projects else ""
            raise ConfigError(f"{path} is not a suite{what}: the name of a suite must end with {' or '.join(SUFFIXES)}")
        for file in [path] if path.is_file() else _below(path, projects):
            # `svctoolkit run suites suites/orders.suite.yaml` must not run a suite twice.
            if (real := file.resolve()) not in visited:
                visited.add(real)
                yield file


def _below(folder: Path, projects: bool) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        # In place: `os.walk` then skips the others.
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        for name in sorted(files):
            path = Path(here, name)
            if name.endswith(SUFFIXES) or (projects and name.endswith((".yaml", ".yml")) and is_project(path)):
                yield path


def overlooked(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the YAML files below folders that have scenarios, but not the name of a suite: they never run."""
    for folder in dict.fromkeys(path.resolve() for path in paths if path.is_dir()):
        for here, folders, files in os.walk(folder):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
            for name in sorted(files):
                path = Path(here, name)
                if name.lower().endswith((".yaml", ".yml")) and not is_suite(path) and _has_scenarios(path):
                    yield path


def _has_scenarios(path: Path) -> bool:
    try:
        text = inputs.read(path, _MOST_BYTES)
    except (OSError, ValueError):
        return False
    return re.search(rb"^[\"']?scenarios[\"']?:", text, re.M) is not None


def is_project(path: Path) -> bool:
    """Return whether a file is a transformation of a rudder/v1 project, by its first lines."""
    try:
        # Not parsed: a repository may contain large YAML files of other tools.
        start = inputs.read(path, 2000)
    except OSError:
        return False
    return bool(re.search(rb"^version:\s*[\"']?rudder/v1\b", start, re.M) and re.search(_KIND, start, re.M))


def expression(text: str) -> Predicate:
    """Return a predicate for words joined by `and`, `or`, `not` and parentheses; it calls a function for each word.

    >>> wanted = expression("orders and not (live or slow)")
    >>> wanted({"orders"}.__contains__), wanted({"orders", "slow"}.__contains__)
    (True, False)

    Raises `ConfigError`.
    """
    tokens = _TOKEN.findall(text)
    parsed, rest = _or(tokens, text)
    if rest:
        raise _wrong(text, f"unexpected {rest[0]!r}")
    return parsed


def _or(tokens: list[str], text: str) -> tuple[Predicate, list[str]]:
    first, rest = _and(tokens, text)
    if rest[:1] != ["or"]:
        return first, rest
    second, rest = _or(rest[1:], text)
    return (lambda test: first(test) or second(test)), rest


def _and(tokens: list[str], text: str) -> tuple[Predicate, list[str]]:
    first, rest = _one(tokens, text)
    if rest[:1] != ["and"]:
        return first, rest
    second, rest = _and(rest[1:], text)
    return (lambda test: first(test) and second(test)), rest


def _one(tokens: list[str], text: str) -> tuple[Predicate, list[str]]:
    if not tokens or tokens[0] in ("and", "or", ")"):
        raise _wrong(text, f"a word is missing {'before ' + repr(tokens[0]) if tokens else 'at the end'}")
    word, rest = tokens[0], tokens[1:]
    if word == "not":
        inner, rest = _one(rest, text)
        return (lambda test: not inner(test)), rest
    if word == "(":
        inner, rest = _or(rest, text)
        if rest[:1] != [")"]:
            raise _wrong(text, "a closing parenthesis is missing")
        return inner, rest[1:]
    return (lambda test: test(word)), rest


def _wrong(text: str, what: str) -> ConfigError:
    return ConfigError(
        f"cannot read the expression {text!r}: {what}. Write words with and, or, not: 'orders and not live'"
    )
