"""An answer is lost and the pipeline tries again: each simulated type counts the event once or twice, as documented."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.destinations import examples
from svctoolkit.simulations import SIMULATIONS

PAGE = (Path(__file__).parents[2] / "svctoolkit/docs/simulations.md").read_text(encoding="utf-8")
_TIMES = ("timestamp", "originalTimestamp", "sentAt", "receivedAt", "messageId")


def table() -> dict[str, str]:
    """The table of the page: type -> `once` or `twice`."""
    start = PAGE.index("| type | a repeated event counts |")
    rows = [line.strip("| ").split(" | ") for line in PAGE[start : PAGE.index("\n\n", start)].splitlines()[2:]]
    return {name.strip("`"): count for names, count, *_ in rows for name in names.split(", ")}


#: what is there before: Intercom folds the events of users that it has
GIVEN: dict[str, dict[str, Any]] = {"INTERCOM": {"profiles": [{"ids": {"external_id": "u1"}}]}}


def held(type: str, config: Mapping[str, Any], event: Mapping[str, Any], *answers: Answer) -> tuple[list[str], int]:
    """The fates of an event, and how many rows are held after it."""
    shop = Workspace("shop")
    shop.destination("d", type, config=dict(config), simulate="simulated", account={"history": "existing"})
    shop.source("web", destinations=["d"])
    with DataPlane(shop, listen=False) as plane:
        server = plane.simulation("d")
        server.give(GIVEN.get(type, {}))
        if answers:
            plane.script("d", *answers)
        plane.send(dict(event), source="web")
        plane.drain()
        return [fate.status for fate in plane.fates], sum(len(server.rows(table)) for table in server.tables)


def counted(type: str) -> str | None:
    """Send the first example of an event that is held, with and without a lost answer."""
    shown = [example for example in examples(type) if example.payloads]
    shown.sort(key=lambda example: (example.event.get("type") != "track", len(example.config)))
    for example in shown:
        event = {name: value for name, value in example.event.items() if name not in _TIMES}
        event.setdefault("anonymousId", "device-1")
        fates, once = held(type, example.config, event)
        if fates == ["delivered"] and once:
            again, rows = held(type, example.config, event, Answer(close="after"))
            assert again == ["delivered"]
            return "once" if rows == once else "twice"
    return None


def test_every_type_is_in_the_table() -> None:
    """A new simulation says what a retry does."""
    assert table().keys() == set(SIMULATIONS.names())


@pytest.mark.parametrize("type", SIMULATIONS.names())
def test_a_retry_counts_as_documented(type: str) -> None:
    """The table of the page is what a data plane measures."""
    assert counted(type) == table()[type]
