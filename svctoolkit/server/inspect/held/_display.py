"""The rich display of what simulated destinations hold. Secrets are masked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shorten, shows
from svctoolkit.json_types import Json
from svctoolkit.results.blocks import loss_table
from svctoolkit.secrets import Masker
from svctoolkit.server.inspect.held.person import HeldPerson
from svctoolkit.server.inspect.held.tables import Held, HeldTable, Losses
from svctoolkit.simulations import Merged, Person, Version

_SHOWN = 50  # maximum number of rows in a table
_WIDTH = 200  # characters of a value
_NONE = "no destination of this data plane is simulated: set `simulate: simulated`"


@shows(Held)
def held(found: Held) -> Html:
    """Return the tables of a simulated destination, and its losses."""
    return display.page(*held_blocks(found))


def held_blocks(found: Held) -> list[Html]:
    """Return a table for each table with rows, and the losses."""
    blocks = [display.section(name, _held_rows(table)) for name, table in found.tables.items() if len(table)]
    if not blocks:
        blocks = [display.message("nothing held", "info")]
    return [*blocks, *([display.section("lost", _lost_rows(found.lost))] if found.lost else [])]


def held_everywhere(held: Mapping[str, Held], lost: Losses) -> list[Html]:
    """Return the tables of each simulated destination, and all losses."""
    if not held:
        return [display.message(_NONE, "info")]
    alone = len(held) == 1
    tables = [display.more(f"{key}: {_summary(one)}", *held_blocks(one), is_open=alone) for key, one in held.items()]
    return [*tables, *([display.section("lost", loss_blocks(lost))] if len(held) > 1 else [])]


def _summary(one: Held) -> str:
    counts = ", ".join(f"{name} {len(table):,}" for name, table in one.tables.items() if len(table))
    return f"{counts or 'nothing held'}; {len(one.lost):,} lost"


@shows(HeldTable)
def held_table(found: HeldTable) -> Html:
    return display.page(_held_rows(found))


@shows(Losses)
def losses(found: Losses) -> Html:
    return display.page(loss_blocks(found))


def loss_blocks(found: Losses) -> Html:
    """Return the last losses as a table; without losses, a message."""
    return _lost_rows(found) if found else display.message("nothing lost", "ok")


def _held_rows(found: HeldTable) -> Html:
    last = f", the last {_SHOWN} of them" if len(found) > _SHOWN else ""
    return _table(found[-_SHOWN:], found.masker(), f"{len(found):,} rows{last}")


def _table(rows: Iterable[Mapping[str, Json]], masker: Masker, caption: str) -> Html:
    """Return rows as a table, one column for each member."""
    masked = [masker.mask(dict(row)) for row in rows]
    head = list(dict.fromkeys(name for row in masked for name in row))
    cells = [[shorten(row[name], _WIDTH) if name in row else "" for name in head] for row in masked]
    return display.table(head, cells, caption=caption)


def _lost_rows(found: Losses) -> Html:
    return loss_table(found[-_SHOWN:], found.masker(), f"{len(found):,} records")


@shows(HeldPerson)
def person(found: HeldPerson) -> Html:
    return display.page(*person_blocks(found))


def person_blocks(found: HeldPerson) -> list[Html]:
    """Return all about a person: an overview, the profiles side by side, how each came about, and what was lost."""
    if not found:
        return [display.message(_NONE, "info")]
    if not any(found.values()):
        return [display.message(found.masker.text(f"no destination holds a profile with {found.id!r}"), "info")]
    profiles = [(key, one) for key, persons in found.items() for one in persons]
    trees = [_tree(found, key, one) for key, one in profiles]
    details = [display.section(_title(found, key), *_details(one, found.masker)) for key, one in profiles]
    caption = f"{len(found.lost):,} lost" if found.lost else ""
    lost = [display.section("lost", loss_table(found.lost[-_SHOWN:], found.masker, caption))] if found.lost else []
    return [_overview(found), display.columns(*trees), *details, *lost]


def _title(found: HeldPerson, key: str) -> str:
    return found.masker.text(f"{key} ({found.titles[key]})")


def _overview(found: HeldPerson) -> Html:
    """Return a row for each destination: how many profiles it has, and of the first one ids, and numbers of rows."""
    rows = []
    for key, persons in found.items():
        lost = sum(loss.destination == key for loss in found.lost)
        ids = "; ".join(_ids(one.ids, found.masker) for one in persons[:_SHOWN])
        counts = ", ".join(
            f"{table} {count:,}" for one in persons[:_SHOWN] for table, count in one.counts.items() if count
        )
        several = display.pill(len(persons), "warning" if len(persons) > 1 else "plain")
        rows.append((_title(found, key), several, ids, counts, lost))
    return display.table(("destination", "profiles", "ids", "rows", "lost"), rows)


def _ids(ids: Mapping[str, Json], masker: Masker) -> str:
    """Return ids in one line, without empty lists."""
    shown = {name: value for name, value in ids.items() if value not in (None, [], {})}
    return ", ".join(f"{name} {shorten(masker.mask(value), 60)}" for name, value in shown.items())


def _tree(found: HeldPerson, key: str, one: Person) -> Html:
    return display.tree(found.masker.mask({"ids": one.ids, **one.members}), _title(found, key), open_depth=3)


def _details(one: Person, masker: Masker) -> Iterator[Html]:
    if one.merged:
        yield merges(one, masker)
    yield timeline(one.versions, masker)
    for table, rows in one.rows.items():
        last = f", the last {len(rows)} of them" if len(rows) < one.counts[table] else ""
        title = f"{table} {one.counts[table]:,}"
        yield display.more(title, _table(_without_owner(rows), masker, f"{title}{last}"))


def _without_owner(rows: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    return [{name: value for name, value in row.items() if name != "under"} for row in rows]


def merges(one: Person, masker: Masker) -> Html:
    """Return a picture of the profiles that were merged into one, and by what; too many are only listed."""
    boxes = [(_ids(merged.ids, masker) or "unknown ids", _cause(merged)) for merged in one.merged]
    present = _ids(one.ids, masker)
    summary = "; ".join(f"{name} ({below})" for name, below in boxes)
    lines = [(place, 0) for place in range(len(boxes))]
    picture = display.flow(f"Merged into {present}: {summary}", boxes, [(present, "profile now")], lines)
    return picture or display.table(("merged", "by"), boxes, caption=f"{len(boxes):,} merged into {present}")


def _cause(merged: Merged) -> str:
    """Return the request by which a profile was merged, and the rule."""
    if merged.version is None:
        return "before the remembered changes"
    rules = ", ".join(dict.fromkeys(finding.rule for finding in merged.version.findings))
    return f"request {merged.version.request}{f': {rules}' if rules else ''}"


def timeline(versions: Sequence[Version], masker: Masker) -> Html:
    """Return the changes of a profile as a table; each opens to the profile before and after it."""
    rows = [_row(version, masker) for version in versions[-_SHOWN:]]
    inside = [
        display.diff(masker.mask(version.before or {}), masker.mask(version.after or {}))
        for version in versions[-_SHOWN:]
    ]
    last = f", the last {_SHOWN} of them" if len(versions) > _SHOWN else ""
    head = ("request", "at (UTC)", "endpoint", "events", "rules", "change")
    return display.table(head, rows, caption=f"{display.quantity(len(versions), 'change')}{last}", inside=inside)


def _row(version: Version, masker: Masker) -> tuple[Any, ...]:
    rules = Html("<br>".join(display.html(f"{one.what}: {one.rule}: {one.says}") for one in version.findings))
    return (
        str(version.request or ""),
        f"{version.at:%Y-%m-%d %H:%M:%S}",
        masker.text(version.endpoint),
        masker.text(shorten(", ".join(version.events), _WIDTH)),
        rules,
        "created" if version.before is None else "removed" if version.after is None else "changed",
    )
