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
from svctoolkit.json_types import Json

_REASONS = 2  # losses in one message
_MOST = 5  # differences of the nearest row


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
                found = [row for row in held["tables"].get("profiles", ()) if place.matches(ids, row["ids"])]
                if found:
                    at = place.member(table).member(index)  # type: ignore[arg-type]  # a place in a list
                    text = f"{key}: a profile has {json_line(ids)}: {json_line(found[0]['ids'])}"
                    yield Difference(at.expectation, at.path, "nobody", json_line(found[0]["ids"]), text=text)
        else:
            yield from _rows(table, expected, held, place.member(table), key)


def _count(table: str, count: Json, held: Mapping[str, Json], place: Comparison, key: str) -> Iterator[Difference]:
    number = len(held["tables"].get(table, ()))
    for difference in place.differences(count, number):
        singular = table.removesuffix("s") if number == 1 else table
        expected = count if isinstance(count, int) else difference.expected
        text = f"{key}: {number} {singular} held, not {expected}{_because(held, table)}"
        yield replace(difference, text=text)


def _rows(
    table: str, expected: Sequence[Json], held: Mapping[str, Json], place: Comparison, key: str
) -> Iterator[Difference]:
    """Yield a difference for each expected row that no row matches, compared with the nearest one."""
    rows = held["tables"].get(table, [])
    for index, wanted in enumerate(expected):
        at = place.member(index)  # type: ignore[arg-type]  # a place in a list
        if any(at.matches(wanted, row) for row in rows):
            continue
        # "No such row" helps little: show the row that was probably meant, and how it differs.
        nearest = min(rows, key=lambda row: _distance(at, wanted, row), default=None)
        if nearest is None:
            text = f"{key}: no {table} held{_because(held, table)}"
            yield Difference(at.expectation, at.path, json_line(wanted), "nothing", text=text)
            continue
        for difference in islice(at.differences(wanted, nearest), _MOST):
            inner = ".".join(map(str, difference.path[len(at.path) :]))
            text = f"{key}: {table}: {inner or 'row'}: expected {difference.expected}, got {difference.got}"
            row = json_line(nearest)[:160]
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
