"""Compare what a simulated destination holds with an expectation.

A message names the vendor's rules by which records were lost, because they are the usual cause:

    kl: 1 event held, not 2; folded: events 0: without unique_id one event ... (kl.fold.second; Klaviyo OpenAPI, ...)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.pairing import pair
from svctoolkit.json_types import Json

_REASONS = 2  # losses in one message
_MOST = 5  # differences of the nearest row
_LONGEST = 160  # characters of a row in a message


def held_differences(destination: str, expected: Mapping[str, Json], state: Mapping[str, Json]) -> list[Difference]:
    """Return the differences between expected rows, counts and absent ids, and the state of a simulated server."""
    return list(holds(expected, state, Comparison(("holds",), ("holds", destination))))


def holds(wanted: Mapping[str, Json], held: Mapping[str, Json], place: Comparison) -> Iterator[Difference]:
    """Yield the differences between expected rows, counts and absent ids, and what a destination holds.

    `held` has `tables`, `losses` and `changes`.
    """
    key = str(place.path[-1])
    for table, expected in wanted.items():
        if table == "counts":
            for name, count in expected.items():
                yield from _count(name, count, held, place.member(table).member(name), key)
        elif table == "nobody":
            for index, ids in enumerate(expected):
                found = [
                    row for row in held["tables"].get("profiles", ()) if place.matches(_texts(ids), _texts(row["ids"]))
                ]
                if found:
                    at = place.member(table).member(index)  # type: ignore[arg-type]  # a place in a list
                    text = f"{key}: a profile has {json_line(ids)}: {json_line(found[0]['ids'])}"
                    yield Difference(at.expectation, at.path, "nobody", json_line(found[0]["ids"]), text=text)
        else:
            yield from _rows(table, expected, held, place.member(table), key)


def _texts(ids: Mapping[str, Json]) -> dict[str, Json]:
    """Return ids as texts: an id that is written as a number is the same id."""
    return {name: str(id) if type(id) in (int, float) else id for name, id in ids.items()}


def _count(table: str, count: Json, held: Mapping[str, Json], place: Comparison, key: str) -> Iterator[Difference]:
    rows = held["tables"].get(table, ())
    for difference in place.differences(count, len(rows)):
        expected = count if isinstance(count, int) else difference.expected
        text = f"{key}: {_number(rows, table)} held, not {expected}{_because(held, table)}"
        yield replace(difference, text=text)


def _rows(table: str, expected: Json, held: Mapping[str, Json], place: Comparison, key: str) -> Iterator[Difference]:
    """Yield the differences from a list of rows in any order, each with its own, or from a matcher of all rows."""
    rows = held["tables"].get(table, [])
    if not isinstance(expected, list):
        for difference in place.differences(expected, rows):
            inner = ".".join(map(str, difference.path[len(place.path) :]))
            text = f"{key}: {'.'.join([table, *filter(None, [inner])])}: expected {difference.expected}"
            yield replace(difference, text=f"{text}, got {difference.got}{_because(held, table)}")
        return
    ats = [place.member(index) for index in range(len(expected))]  # type: ignore[arg-type]  # places in a list
    matching = [
        [n for n, row in enumerate(rows) if at.matches(wanted, row)] for at, wanted in zip(ats, expected, strict=True)
    ]
    pairs = pair(matching)
    taken = {*pairs.values()}
    free = [row for n, row in enumerate(rows) if n not in taken]
    missing = [index for index in range(len(expected)) if index not in pairs]
    for index in missing:
        if matching[index]:
            text = f"{key}: {_number(rows, table)} held, and each of {len(expected)} expected rows needs its own: "
            text += f"none is left for {json_line(expected[index])}{_because(held, table)}"
            yield Difference(ats[index].expectation, ats[index].path, json_line(expected[index]), "none", text=text)
        else:
            yield from _unlike(table, expected[index], free or rows, held, ats[index], key)
    if free and not missing:
        text = f"{key}: {_number(rows, table)} held, not {len(expected)}; also {json_line(free[0])[:_LONGEST]}: "
        text += f"expect it, or write {table}: {{$contains: [...]}} if others may be there"
        yield Difference(place.expectation, place.path, f"{len(expected)} rows", str(len(rows)), text=text)


def _number(rows: Sequence[Json], table: str) -> str:
    return f"{len(rows)} {table.removesuffix('s') if len(rows) == 1 else table}"


def _unlike(
    table: str, wanted: Json, rows: Sequence[Json], held: Mapping[str, Json], at: Comparison, key: str
) -> Iterator[Difference]:
    """Yield how an expected row differs from the nearest one: "no such row" would help little."""
    nearest = min(rows, key=lambda row: _distance(at, wanted, row), default=None)
    if nearest is None:
        text = f"{key}: no {table} held{_because(held, table)}"
        yield Difference(at.expectation, at.path, json_line(wanted), "nothing", text=text)
        return
    for difference in islice(at.differences(wanted, nearest), _MOST):
        inner = ".".join(map(str, difference.path[len(at.path) :]))
        text = f"{key}: {table}: {inner or 'row'}: expected {difference.expected}, got {difference.got}"
        row = json_line(nearest)[:_LONGEST]
        yield replace(difference, text=f"{text} in the nearest row {row}{_because(held, table)}")


def _distance(place: Comparison, wanted: Json, row: Json) -> int:
    """Return how different two rows are. Wrong ids count more than other values."""
    return sum(3 if {"ids", "under", "name"} & {*map(str, d.path)} else 1 for d in place.differences(wanted, row))


def _because(held: Mapping[str, Json], table: str) -> str:
    """Return the losses and changes that may be the cause, those of the table first."""
    found = [*held["losses"], *(change for change in held["changes"] if change["what"] == "moved")]
    # Stable: losses of this table first, each group in the order in which they happened.
    found.sort(key=lambda loss: loss["table"] != table)
    texts = [*dict.fromkeys(loss["text"] for loss in found)][:_REASONS]
    return "".join(f"; {text}" for text in texts)
