"""A simulated server: the answers of one destination in one run, what it holds and what it lost."""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal
from svctoolkit.simulations.account import Account
from svctoolkit.simulations.given import given_problems
from svctoolkit.simulations.judging import RequestContext
from svctoolkit.simulations.levels import Level
from svctoolkit.simulations.losses import Change, Loss
from svctoolkit.simulations.messages import Request, Response, events_of, object_at, objects
from svctoolkit.simulations.persons import PROFILES, Person, find_persons
from svctoolkit.simulations.rates import Rates
from svctoolkit.simulations.simulation import Simulation
from svctoolkit.simulations.tables.history import History, Step, decode, encode
from svctoolkit.simulations.tables.rows import Alias, Cause, Row, TableType
from svctoolkit.simulations.tables.spilled import Disk
from svctoolkit.simulations.tables.table import Table
from svctoolkit.simulations.visit import Visit

#: rows of each table in memory
ROWS = 200_000
_LOG = logging.getLogger("svctoolkit.simulations")
_FINDINGS = 10_000  # losses, and as many changes, in memory
_UNKNOWN = 1_000  # endpoints that are counted one by one
_SOUGHT = 100  # events of a request up to which each changed row names its own


def _now() -> datetime:
    return datetime.now(UTC)


class StoredRow(msgspec.Struct, frozen=True):
    """One row for the store: `data` is JSON, or None if the row was removed. Later versions replace earlier ones."""

    table: str
    number: int
    version: int
    data: bytes | None


class SimulatedServer:
    """The server of one destination in one run. Thread-safe: requests take effect one after the other.

    `rows` bounds each table: the oldest rows are removed, and `forgotten` counts them. With a `disk`, see `Table`.
    """

    def __init__(
        self,
        simulation: Simulation,
        config: Mapping[str, Json],
        *,
        account: Account | None = None,
        level: Level = "simulated",
        clock: Callable[[], datetime] = _now,
        destination: str = "",
        run: str = "",
        rows: int = ROWS,
        disk: Disk | None = None,
    ) -> None:
        self.simulation, self.account, self.level = simulation, account or Account(), level
        self._config, self.config = config, reveal(dict(config))
        self.destination, self.run = destination, run
        self._cause = Cause()
        self.tables = {name: Table(of, rows, disk, self._cause) for name, of in simulation.tables.items()}
        #: how rows without an owner changed; None if most rows are on a disk
        self.history = History() if disk is None else None
        self.losses: deque[Loss] = deque(maxlen=_FINDINGS)
        self.changes: deque[Loss] = deque(maxlen=_FINDINGS)
        #: how often endpoints were requested that the simulation does not have, by method and path;
        #: after 1,000 different ones, further ones count as `others`
        self.unknown: Counter[str] = Counter()
        #: how many requests the simulation failed on; they succeed like those to unknown endpoints
        self.faults = 0
        self.requests = 0
        self._clock, self._moved = clock, timedelta()
        self._lock = threading.RLock()
        self._version = 0
        self._rates = Rates()
        self._fresh: list[Loss] = []
        self._unsaved: list[StoredRow] = []  # rows that no request has changed, for the store
        self._add_objects(self.account.get("objects"))
        self._unsaved += self._take_changes("account", stored=True)[0]

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(table.shown()):,}" for name, table in self.tables.items() if table.rows)
        return f"<simulated {self.simulation.title}: {counts or 'nothing held'}; {len(self.losses):,} lost>"

    @property
    def forgotten(self) -> int:
        """How many rows were removed because later ones arrived."""
        return sum(table.forgotten for table in self.tables.values())

    def clock(self) -> datetime:
        """Return the current time, including what `advance` has added."""
        return self._clock() + self._moved

    def advance(self, seconds: float) -> None:
        """Let the clock move on."""
        self._moved += timedelta(seconds=seconds)

    # --- requests

    def answer(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: Json = None
    ) -> tuple[int, dict[str, str], Json]:
        """Return status, headers and body of the answer to a request.

        `body` is parsed JSON, a dict of form fields, text or None. Without `headers` the request has the credentials of
        the configuration. Endpoints that are not simulated succeed.
        """
        given = self.simulation.credentials(self.config) if headers is None else headers
        answered, _, _ = self.handle(Request(method.upper(), url, _lower(given), body))
        response = answered or Response(200, {})
        return response.status, dict(response.headers), response.body

    def use_config(self, config: Mapping[str, Json]) -> None:
        """Accept the keys of this configuration from now on."""
        if config is not self._config:
            self._config, self.config = config, reveal(dict(config))

    def handle(self, request: Request, *, stored: bool = False) -> tuple[Response | None, list[StoredRow], list[Loss]]:
        """Return the response to a request, and if states are `stored`, the rows and losses that it changed.

        The changes are taken together with the response, so that they never contain those of another request.
        """
        with self._lock:
            response = self.respond(request)
            rows, losses = self._take_changes(f"{request.method} {request.path}", request, stored=stored)
            unsaved, self._unsaved = self._unsaved, []
            return response, [*unsaved, *rows] if stored else rows, losses

    def respond(self, request: Request) -> Response | None:
        """Return the response to a request; None if the simulation does not have its endpoint."""
        with self._lock:
            self.requests += 1
            self._cause.record = {}
            context = RequestContext(
                self.level, self.simulation.rulebook, self.clock(), self.requests, request.events, self.destination,
                request.run or self.run, request.about, self._rates, self._note, self._cause,
            )  # fmt: skip
            visit = Visit(self.config, self.account, self.tables, context)
            try:
                response = self.simulation.respond(visit, request)
            except Exception:  # noqa: BLE001 - a fault of the simulation must not look like one of the pipeline
                _LOG.exception("the simulation of %s failed on %s", self.simulation.title, request.path)
                self.faults += 1
                response = None
            if response is None:
                endpoint = f"{request.method} {request.path}"
                is_new = len(self.unknown) >= _UNKNOWN and endpoint not in self.unknown
                self.unknown["others" if is_new else endpoint] += 1
            if self.history is not None:  # on a disk, nothing is forgotten
                for name, table in self.tables.items():
                    table.forget_merges(other for other in self.tables.values() if other.type.owner == name)
            return response

    def _note(self, finding: Loss) -> None:
        (self.changes if isinstance(finding, Change) else self.losses).append(finding)
        self._fresh.append(finding)

    def spill(self) -> None:
        """Move the oldest rows to the disk, if there is one, and forget losses and changes."""
        with self._lock:
            self.losses.clear()
            self.changes.clear()
            for table in self.tables.values():
                table.spill()

    # --- reading

    def recent_losses(self) -> list[Loss]:
        """Return the losses of the last request, oldest first."""
        recent = []
        for loss in reversed(self.losses):
            if loss.request != self.requests:
                break
            recent.append(loss)
        return recent[::-1]

    def held(self) -> dict[str, list[dict[str, Json]]]:
        """Return the rows of each table: profiles with `ids` and `attributes`, events with `name` and `under`."""
        with self._lock:
            return {name: [self.view(name, row) for row in table.shown()] for name, table in self.tables.items()}

    def state(self) -> dict[str, Json]:
        """Return `tables` as `held`, and `losses` and `changes` as objects with their `text`."""
        with self._lock:
            return {
                "tables": self.held(),
                "losses": [loss.item() for loss in self.losses],
                "changes": [change.item() for change in self.changes],
                "unknown": dict(self.unknown),
            }

    def rows(self, table: str) -> list[Row]:
        """Return the rows of a table that a vendor would list. Raises `UsageError` for an unknown table."""
        if table not in self.tables:
            raise UsageError(f"{self.simulation.title}: {table!r} is not simulated; it has {', '.join(self.tables)}")
        with self._lock:
            return self.tables[table].shown()

    def view(self, table: str, row: Row) -> dict[str, Json]:
        """Return a row as `held` has it."""
        declared = self.tables[table].type
        if not declared.owner:
            if table != PROFILES and _composed(declared):
                return {**row.ids, **row.values}
            weak = {n: v for n, v in (row.values.get("attributes") or {}).items() if n in declared.weak}
            return {"ids": {**weak, **row.ids}, **row.values}
        owners = self.tables[declared.owner]
        owner = owners.rows.get(owners.canonical(row.owner)) if row.owner else None
        return {**row.values, "under": self.view(declared.owner, owner)["ids"] if owner else None}

    def persons(self, id: str) -> list[Person]:
        """Return the profiles that have this value of any id or e-mail address, and what is known about each."""
        with self._lock:
            return find_persons(self.tables, self.history, self.view, id)

    # --- state from before

    def give(self, state: Mapping[str, Json]) -> None:
        """Put rows into tables: `{profiles: [{ids, attributes}], events: [{name, under}]}`.

        Members that are not tables are declarations of the account, such as `lists`. Raises `UsageError` for rows that
        are not lists of objects, members of the wrong type, and for an `under` that no profile has.
        """
        for place, text in given_problems(self.simulation.tables, state):
            raise UsageError(f"given {'.'.join(map(str, place))}: {text}")
        with self._lock:
            self.account = Account(
                {**self.account.declared, **{n: v for n, v in state.items() if n not in self.tables}}
            )
            for name in [name for name in self.tables if name in state]:
                for row in state[name]:
                    self._give(name, row)

            if "objects" not in self.tables:
                self._add_objects(state.get("objects"))
            self._unsaved += self._take_changes("given", stored=True)[0]

    def _add_objects(self, declared: Json) -> None:
        """Add the account's objects, `{type, id, properties}`, to the tables of their types."""
        tables = {kind: name for name, table in self.simulation.tables.items() for kind in table.objects}
        for item in objects(declared):
            name = tables.get(str(item.get("type")), tables.get("*"))
            if name is None:
                continue
            properties, type = object_at(item, "properties"), self.simulation.tables[name]
            own = {**properties, "type": item.get("type"), "id": str(item.get("id"))}
            names = [member for id in type.ids if not isinstance(id, Alias) for member in _members(id)]
            ids = {name: own[name] for name in names if own.get(name) not in (None, "")}
            values = {**type.new_values(), "attributes": dict(properties)}
            self.tables[name].add({**type.makes(self.tables[name].next_number), **ids}, values, at=self.clock())

    def _give(self, name: str, given: Mapping[str, Json]) -> None:
        table, declared = self.tables[name], self.simulation.tables[name]
        values = {key: value for key, value in given.items() if key not in ("ids", "under")}
        if declared.owner:
            owner = self.tables[declared.owner].find(given.get("under") or {})
            if given.get("under") and owner is None:
                raise UsageError(f"given {name}: no row of {declared.owner} has the ids {dict(given['under'])}")
            table.add({}, values, owner=owner.number if owner else 0, at=self.clock())
        elif composed := _composed(declared):
            given = {**given, **(given.get("ids") or {})}
            ids = {key: given.get(key) for key in composed}
            members = {key: value for key, value in values.items() if key not in ids}
            table.add({**declared.makes(table.next_number), **ids}, members, at=self.clock())
        else:
            own = given.get("ids") or {}
            ids = {**declared.makes(table.next_number), **declared.derives(own), **own}
            table.add(ids, {**declared.new_values(), **values}, at=self.clock())

    # --- the store

    def _take_changes(
        self, endpoint: str, request: Request | None = None, *, stored: bool = False
    ) -> tuple[list[StoredRow], list[Loss]]:
        """Return the rows (if states are `stored`) and losses that have changed, and remember how."""
        fresh, self._fresh = self._fresh, []
        rows: list[StoredRow] = []
        if self.history is None and not stored:
            for table in self.tables.values():
                table.dirty.clear()
            return rows, []
        for name, table in self.tables.items():
            history = None if table.type.owner else self.history
            for number, record in table.dirty.items() if stored or history is not None else ():
                content = _content(table, number)
                if history is not None:
                    history.add(self._step(endpoint, request, fresh, StoredRow(name, number, 0, content), record))
                if stored:
                    self._version += 1
                    rows.append(StoredRow(name, number, self._version, content))
            table.dirty.clear()
        return rows, fresh if stored else []

    def _step(
        self,
        endpoint: str,
        request: Request | None,
        fresh: Sequence[Loss],
        changed: StoredRow,
        record: Mapping[str, Json],
    ) -> Step:
        events = request.events if request else ()
        if request is not None and len(events) <= _SOUGHT:
            events = events_of(record, events, request.about)
        return Step(
            table=changed.table,
            number=changed.number,
            request=self.requests if request else 0,
            at=self.clock().timestamp(),
            endpoint=endpoint,
            events=events,
            findings=tuple(
                loss
                for loss in fresh
                if set(loss.events) <= set(events) and (loss.table == changed.table or loss.table not in self.tables)
            ),
            content=changed.data or b"{}",
        )

    def restore(self, rows: Sequence[StoredRow], losses: Sequence[Loss]) -> None:
        """Continue with rows and losses that were stored, instead of the account's objects."""
        if rows:
            self._unsaved.clear()
            for table in self.tables.values():
                table.clear()
        for stored in rows:
            self._version = max(self._version, stored.version)
            if stored.table not in self.tables or stored.data is None:
                continue
            of, content = self.tables[stored.table], decode(stored.data)
            if content["row"] is not None:
                of.restore(msgspec.convert(content["row"], Row))
            if content["into"] is not None:
                of.moved[stored.number] = content["into"]
        for loss in losses:
            (self.changes if isinstance(loss, Change) else self.losses).append(loss)
        self._take_changes("restored")
        for table in self.tables.values():
            for row in table.shown() if table.type.folds else ():
                table.refold(table.fold_keys(row, row.owner), row)


def _content(table: Table, number: int) -> bytes | None:
    """Return a row for the store; None if it was removed."""
    row, into = table.rows.get(number), table.moved.get(number)
    return None if row is None and into is None else encode(row, into)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _composed(declared: TableType) -> tuple[str, ...]:
    """Return the ids by which a row is found together, such as type and id of an object; none if one is enough."""
    first = declared.ids[0] if declared.ids else ()
    return first if isinstance(first, tuple) else ()


def _members(id: str | tuple[str, ...]) -> tuple[str, ...]:
    return (id,) if isinstance(id, str) else id
