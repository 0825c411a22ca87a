"""The last stage of lineage: what a simulated server holds of an event's payloads, and what it loses.

The payloads, and those of each changed event, are sent to an account that holds nothing yet. Differences between what
it then holds show where a value ended up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec import structs

from svctoolkit.delivery import request
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import GONE, close_payload, differing_leaves, leaves, other, replace_at
from svctoolkit.pipeline.reruns import OpenPayload, Run, Way
from svctoolkit.pipeline.simulated import read_request
from svctoolkit.results.lineage import Cell, Path, dotted_path
from svctoolkit.secrets import Masker
from svctoolkit.simulations import Level, Loss
from svctoolkit.simulations import open as open_simulation

_Field: TypeAlias = tuple[int, Path]  # index of the payload, and the path in it
#: The losses of a whole record. Of a record that is `cut`, the rest is held.
_WHOLE = ("refused", "dropped", "folded")


class Account(NamedTuple):
    """What an account holds, and what it lost, after it got the payloads of an event."""

    tables: Mapping[str, list[dict[str, Json]]]
    losses: tuple[Loss, ...]


class HeldValue(NamedTuple):
    """The last stage of one value of the event: its cells, what is lost of it, and the rules that it breaks itself."""

    cells: tuple[Cell, ...] = ()
    losses: tuple[Loss, ...] = ()
    breaks: tuple[str, ...] = ()


class HeldStage:
    """The last stage for the payloads of one event, `base`. At level `answers` nothing is held or lost."""

    def __init__(self, base: Run, way: Way, level: Level) -> None:
        self._way, self._level, self._payloads = way, level, base.payloads
        self._base = self._account(base.payloads)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What is lost of the event, with secrets masked."""
        return tuple(self._mask(loss) for loss in self._base.losses)

    def cells(self, field: _Field) -> tuple[Cell, ...]:
        """Return the cells that contain the value of a payload's field."""
        number, path = field
        if not self._base.tables or path[0] not in ("body", "params"):  # not held: method, address and headers
            return ()
        payloads, value = list(self._payloads), leaves(self._payloads[number])[path]
        payloads[number] = replace_at(payloads[number], path, other(value))
        return self._cells([self._account(payloads)], value)

    def of_event(self, value: Json, fields: Sequence[_Field], runs: Sequence[Run]) -> HeldValue:
        """Return the last stage of a value of the event.

        `fields` are the fields of payloads that it goes into, `runs` those with another value and without it.
        """
        accounts = [self._account(run.payloads) for run in runs if run.payloads and run.payloads != self._payloads]
        if self._level == "answers" or not accounts:
            return HeldValue()
        cells = self._cells(accounts, value)
        # Fewer losses: another value must not break another rule instead.
        better = [account.losses for account in accounts if len(account.losses) < len(self._base.losses)]
        keys = [{_key(loss) for loss in losses} for losses in better]
        caused = [loss for loss in self._base.losses if any(_key(loss) not in others for others in keys)]
        payloads = {number + 1 for number, _ in fields}
        whole = [loss for loss in self._base.losses if loss.what in _WHOLE and loss.request in payloads]
        lost = caused if cells else [*caused, *(loss for loss in whole if loss not in caused)]
        return HeldValue(cells, tuple(map(self._mask, lost)), tuple(dict.fromkeys(loss.rule for loss in caused)))

    def _account(self, payloads: Sequence[OpenPayload]) -> Account:
        if self._level == "answers":
            return Account({}, ())
        destination, now = self._way.route.destination, self._way.context.clock()
        server = open_simulation(
            destination.type,
            self._way.route.config,
            account=destination.declared,
            level=self._level,
            now=now,
            destination=destination.key,
        )
        for payload in payloads:
            with contextlib.suppress(ToolkitError):  # a changed value may be one that HTTP cannot carry
                server.respond(read_request(request(close_payload(payload))))
        return Account(server.held(), tuple(server.losses))

    def _cells(self, accounts: Sequence[Account], value: Json) -> tuple[Cell, ...]:
        """Return the cells whose value changes, or else those that contain the value (cut, perhaps) and disappear."""
        found = [difference for account in accounts for difference in self._differences(account)]
        changed = [path for path, new in found if new is not GONE]
        held = leaves(self._base.tables)
        paths = changed or [path for path, _ in found if _contains(value, held.get(path))]
        # What belongs to a row repeats the ids of its owner.
        own = [path for path in paths if len(path) > 2 and path[2] != "under"]
        return tuple(dict.fromkeys(self._cell(path) for path in own))

    def _cell(self, path: Path) -> Cell:
        return Cell(str(path[0]), int(path[1]) + 1, dotted_path(_mask_path(path[2:], self._way.route.masker)))

    def _differences(self, account: Account) -> Iterator[tuple[Path, Json]]:
        """Yield the cells that differ. In a table with fewer rows, all of them: others have moved up."""
        for table, rows in self._base.tables.items():
            others: Any = account.tables[table]
            if len(others) < len(rows):
                yield from (((table, *path), GONE) for path in leaves(rows))
            else:
                yield from (((table, *path), new) for path, new in differing_leaves(rows, others) if rows)

    def _mask(self, loss: Loss) -> Loss:
        return structs.replace(loss, value=self._way.route.masker.mask(loss.value))


def _contains(value: Json, held: Json) -> bool:
    is_cut = isinstance(value, str) and isinstance(held, str) and held != "" and value.startswith(held)
    return is_cut or (value == held and value not in ("", None))


def _key(loss: Loss) -> tuple[Any, ...]:
    return loss.rule, loss.what, loss.table, loss.place


def _mask_path(path: Sequence[str | int], masker: Masker) -> Path:
    return tuple(masker.key(step) if isinstance(step, str) else step for step in path)
