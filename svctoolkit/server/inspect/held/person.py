"""What every simulated destination holds about one person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.secrets import Masker
from svctoolkit.server.inspect.frames import frame_of
from svctoolkit.server.store.records import EVENTS, Filter, Records
from svctoolkit.server.worker import Engine
from svctoolkit.simulations import Loss, Person, SimulatedServer

if TYPE_CHECKING:
    import pandas as pd

_IDS = 50  # ids by which the person's events are looked up
_EVENTS = 1_000  # of each id


class HeldPerson(Displayed, ArrowOut, Mapping[str, Sequence[Person]]):
    """The profiles with one id or e-mail address, by destination: a snapshot. Destinations without any are included.

    Usually a destination has one profile. Several are persons that the vendor has not merged. `lost` is what simulated
    destinations lost of the person's events.
    """

    def __init__(
        self, id: str, titles: Mapping[str, str], found: Mapping[str, Sequence[Person]], lost: Sequence[Loss],
        masker: Callable[[], Masker],
    ) -> None:  # fmt: skip
        self.id, self.titles, self.lost = id, dict(titles), lost
        self._found, self._masker = dict(found), masker

    @property
    def masker(self) -> Masker:
        """Masks the secrets of the workspace."""
        return self._masker()

    def __getitem__(self, destination: str) -> Sequence[Person]:
        return self._found[destination]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        counts = ", ".join(f"{key} {len(persons)}" for key, persons in self.items())
        return self.masker.text(f"<{self.id}: {counts or 'no simulated destinations'}; {len(self.lost):,} lost>")

    def frame(self) -> pd.DataFrame:
        """Return one row per member of a profile: destination, profile (from 1), member, value. Secrets are masked.

        Members have dotted names, such as `ids.external_id` and `attributes.tier`; `rows.events` counts the events.
        """
        rows: list[dict[str, Json]] = [
            {"destination": key, "profile": number, "member": member, "value": value}
            for key, persons in self.items()
            for number, person in enumerate(persons, 1)
            for member, value in _members(person)
        ]
        return frame_of(rows, self.masker)


def find_person(engine: Engine, id: str, run: str, destinations: Sequence[str] = ()) -> HeldPerson:
    """Return what simulated destinations (all by default) hold about a person in a run."""
    chosen = [
        destination
        for destination in engine.workspace.destinations.values()
        if engine.simulated.is_simulated(destination) and (not destinations or destination.key in destinations)
    ]
    servers = {destination.key: engine.simulated.server(destination, run) for destination in chosen}
    found = {key: server.persons(id) for key, server in servers.items()}
    titles = {key: server.simulation.title for key, server in servers.items()}
    lost = _losses(engine, run, _ids(id, found), servers.values())
    return HeldPerson(id, titles, found, lost, engine.masker)


def _ids(id: str, found: Mapping[str, Sequence[Person]]) -> list[str]:
    """Return the ids of a person, also those before merges: the one that was asked for comes first."""
    texts = dict.fromkeys([id])
    for persons in found.values():
        for person in persons:
            for ids in (person.ids, *(merged.ids for merged in person.merged)):
                texts |= dict.fromkeys(text for _, value in _leaves("", ids) for text in [str(value)])
    return list(texts)[:_IDS]


def _losses(engine: Engine, run: str, ids: Sequence[str], servers: Iterable[SimulatedServer]) -> list[Loss]:
    """Return the losses of the events that have one of these ids as their user, or of the profiles themselves."""
    events = {
        record.message_id
        for id in ids
        for record in Records(engine.store, EVENTS, Filter(run=run or None, user=id)).page(0, _EVENTS)
    }
    return [loss for server in servers for loss in server.losses if events.intersection(loss.events)]


def _members(person: Person) -> Iterator[tuple[str, Json]]:
    yield from _leaves("ids", person.ids)
    for name, value in person.members.items():
        yield from _leaves(name, value)
    for table, count in person.counts.items():
        yield f"rows.{table}", count


def _leaves(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{path}.{name}" if path else name, inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}[{place}]", inner)
    else:
        yield path, value
