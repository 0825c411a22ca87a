"""Find suite files, and select scenarios with expressions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from svctoolkit import inputs
from svctoolkit.errors import ConfigError
from svctoolkit.inputs import SUITE_SUFFIXES, is_suite
from svctoolkit.runner.suite import common
from svctoolkit.yamlfile import display_name

_SKIPPED = {"__pycache__", "node_modules", "venv"}
_KIND = rb"^kind:\s*[\"']?transformation\b(?!-)"
_TOKEN = re.compile(r"[()]|[^\s()]++")
Test: TypeAlias = Callable[[str], bool]
Predicate: TypeAlias = Callable[[Test], bool]


_SCENARIOS = re.compile(rb"^[\"']?scenarios[\"']?:", re.M)
_SHARED = re.compile(rb"^[\"']?(vars|fixtures|recorder|never|always|losses|policies)[\"']?:", re.M)
#: Ends of names of files that may be meant as suites; editors append `.txt`.
_SUITE_LIKE = (".yaml", ".yml", ".suite", ".suite.json", ".suite.txt", ".suite.yaml.txt", ".suite.yml.txt")
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
            raise ConfigError(
                f"{path} is not a suite{what}: the name of a suite must end with {' or '.join(SUITE_SUFFIXES)}"
            )
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
            if is_suite(path) or (projects and name.endswith((".yaml", ".yml")) and is_project(path)):
                yield path


def overlooked(paths: Iterable[Path]) -> Iterator[str]:
    """Yield a line for each YAML file below folders that has scenarios, or what suites share, but not the name."""
    for folder in dict.fromkeys(path.resolve() for path in paths if path.is_dir()):
        for here, folders, files in os.walk(folder):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
            for name in sorted(files):
                path = Path(here, name)
                if name.lower().endswith(_SUITE_LIKE) and (why := _overlooked(path)):
                    yield f"{display_name(path)}: {why}"


def _overlooked(path: Path) -> str:
    """Return why a YAML file that looks like a suite, or like a `_common.yaml`, has no effect, or an empty string."""
    if not is_suite(path) and _has(path, _SCENARIOS):
        return "has scenarios, but is not run: the name of a suite must end with .suite.yaml"
    stem = path.stem.lower().strip("_").rstrip("s")
    if stem == "common" and path.name != common.NAME and _has(path, _SHARED):
        return f"has no effect: the file that suites share must be called {common.NAME}"
    return ""


def _has(path: Path, section: re.Pattern[bytes]) -> bool:
    try:
        return section.search(inputs.read(path, _MOST_BYTES)) is not None
    except (OSError, ValueError):
        return False


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
