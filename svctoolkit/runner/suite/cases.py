"""`cases` and `matrix`: one scenario becomes a test for each row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import fixtures as _fixtures
from svctoolkit.yamlfile import Document

_SPACE = " \t"
_SLUG = re.compile(r"[^A-Za-z0-9_.]+")


class Row(NamedTuple):
    """One row: its variables, its id, and its place in the suite."""

    values: Mapping[str, Any]
    id: str
    place: tuple[str | int, ...]


def rows(raw: Mapping[str, Json], document: Document, place: tuple[str | int, ...], folder: Path) -> list[Row]:
    """Return the rows of a scenario. Raises `ConfigError`."""
    if "matrix" in raw:
        return list(_combinations(raw["matrix"], (*place, "matrix")))
    cases = raw["cases"]
    if not isinstance(cases, str):
        return [Row(row, str(row.get("id", n + 1)), (*place, "cases", n)) for n, row in enumerate(cases)]
    path = folder / cases
    if not inputs.is_file(path):
        problem = document.problem([*place, "cases"], f"no such file: {cases} (looked for {path})")
        raise ConfigError(problem)
    if path.suffix == ".csv":
        values = csv_rows(yamlfile.load_text(path), yamlfile.display_name(path))
    else:
        values = _fixtures.load_file(path)
    if not isinstance(values, list) or not values or not all(isinstance(row, dict) for row in values):
        raise ConfigError("rows must be a list of at least one object", where=yamlfile.display_name(path))
    return [_check_row(row, n, path, (*place, "cases")) for n, row in enumerate(values)]


def _check_row(row: dict[str, Any], index: int, path: Path, place: tuple[str | int, ...]) -> Row:
    id = row.get("id", index + 1)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", str(id)):
        where = yamlfile.display_name(path)
        raise ConfigError(f"row {index + 1}: invalid id {id!r}; use letters, digits, _ . and -", where=where)
    return Row(row, str(id), place)


def _combinations(axes: Mapping[str, list[Any]], place: tuple[str | int, ...]) -> Iterator[Row]:
    """Yield every combination; its id has the values if they are short and unique, else their numbers."""
    labels = {name: _labels(values) for name, values in axes.items()}
    for numbers in product(*(range(len(values)) for values in axes.values())):
        chosen = dict(zip(axes, numbers, strict=True))
        id = "-".join(labels[name][n] for name, n in chosen.items())
        yield Row({name: axes[name][n] for name, n in chosen.items()}, id, place)


def _labels(values: list[Any]) -> list[str]:
    plain = [isinstance(v, (str, int, float)) or v is None for v in values]
    slugs = [_SLUG.sub("-", "null" if v is None else str(v)).strip("-") for v in values]
    # Compared in lower case: ids also name snapshot folders, and some file systems ignore case.
    if all(plain) and all(0 < len(s) <= 40 for s in slugs) and len({s.lower() for s in slugs}) == len(slugs):
        return slugs
    return [str(n + 1) for n in range(len(values))]


def csv_rows(text: str, name: str) -> list[dict[str, Json]]:
    """Return the rows of a CSV file whose first line names the variables.

    Cells may be padded with spaces. An empty cell is null, a quoted one is a string, others are numbers, true, false,
    null or strings as in YAML. The column `tags` has words separated by spaces. Raises `ConfigError` with its position.

    >>> csv_rows("id, price, zip\\na, 9.99, \\"0123\\"\\nb, , x", "prices.csv")
    [{'id': 'a', 'price': 9.99, 'zip': '0123'}, {'id': 'b', 'price': None, 'zip': 'x'}]
    """
    lines = list(_records(text, name))
    if not lines:
        raise ConfigError("the file is empty; the first line must name the variables", where=name)
    (_, head), *rest = lines
    names = [str(cell.text) for cell in head]
    for index, cell in enumerate(head):
        if not cell.text or cell.text in names[:index]:
            raise ConfigError(
                f"duplicate column {cell.text!r}" if cell.text else "a column has no name", where=cell.where
            )
    values = []
    for line, cells in rest:
        if len(cells) != len(names):
            message = f"{len(cells)} cells, but the first line has {len(names)}"
            raise ConfigError(message, where=f"{name}:{line}:1")
        row = {key: cell.value for key, cell in zip(names, cells, strict=True)}
        values.append({k: _special(k, v) for k, v in row.items() if k not in _SPECIAL or v is not None})
    return values


_SPECIAL = ("id", "tags", "skip", "xfail")


def _special(key: str, value: Any) -> Any:
    if key == "tags":
        return str(value).split()
    return str(value) if key in _SPECIAL else value


class _Cell(NamedTuple):
    text: str
    quoted: bool
    where: str

    @property
    def value(self) -> Any:
        if self.quoted:
            return self.text
        return yamlfile.scalar(self.text) if self.text else None


def _records(text: str, name: str) -> Iterator[tuple[int, list[_Cell]]]:
    """Yield the line number and cells of each line that is not empty."""
    at, line, start = 0, 1, 0
    cells: list[_Cell] = []
    while at < len(text):
        first, here = line, at - start + 1
        while at < len(text) and text[at] in _SPACE:
            at += 1
        where = f"{name}:{line}:{at - start + 1}"
        if text[at : at + 1] == '"':
            value, at = _cell_in_quotes(text, at + 1, where)
            line += value.count("\n")
            end = _end(text, at)
            if text[at:end].strip(_SPACE):
                raise ConfigError("text after the closing quote: double the quotes inside a quoted cell", where=where)
            cells.append(_Cell(value, True, where))
        else:
            end = _end(text, at)
            cells.append(_Cell(text[at:end].strip(_SPACE), False, where))
        at = end
        if text[at : at + 1] == ",":
            at += 1
            if at < len(text) and text[at] not in "\r\n":
                continue
            cells.append(_Cell("", False, f"{name}:{line}:{here}"))
        at += 2 if text.startswith("\r\n", at) else 1
        if any(cell.text or cell.quoted for cell in cells):
            yield first, cells
        cells, line, start = [], line + 1, at


def _end(text: str, at: int) -> int:
    match = re.compile(r"[,\r\n]").search(text, at)
    return match.start() if match else len(text)


def _cell_in_quotes(text: str, at: int, where: str) -> tuple[str, int]:
    value = ""
    while True:
        end = text.find('"', at)
        if end < 0:
            raise ConfigError("the quote is never closed", where=where)
        value += text[at:end]
        if text[end + 1 : end + 2] != '"':
            return value, end + 1
        value, at = value + '"', end + 2
