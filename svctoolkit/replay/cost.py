"""What events cost at destinations: their events, distinct users and requests, by prices and limits of the user."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, did_you_mean
from svctoolkit.events.clock import time_of
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.replay.engine.sides import select
from svctoolkit.replay.inputs import Events
from svctoolkit.replay.requests import sent_to, valid_events
from svctoolkit.replay.review.amounts import Amounts
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

MEASURES: Final = ("events", "users", "requests")
_WINDOWS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
#: larger numbers than any real one, but every sum of them is finite
_MOST = 10**15
_AMOUNT = {"type": "number", "minimum": 0, "maximum": _MOST}
_PRICE = {
    "oneOf": [
        _AMOUNT,
        {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["price"],
                "properties": {"price": _AMOUNT, "up_to": _AMOUNT},
            },
        },
    ]
}
_LIMIT = {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST}
_RATES = [f"{what}_per_{window}" for what in ("events", "requests") for window in _WINDOWS]
_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["destinations"],
    "properties": {
        "currency": {"type": "string"},
        "destinations": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "minProperties": 1,
                "properties": {
                    **dict.fromkeys(MEASURES, _PRICE),
                    "limits": {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": dict.fromkeys((*MEASURES, *_RATES), _LIMIT),
                    },
                },
            },
        },
    },
}
_EXACT = 50_000  # distinct users that are counted one by one
_MOST_SPANS = 200_000  # of a rate; then only the fullest ones are kept


@dataclass(frozen=True, slots=True)
class CostLine:
    """One measure of a destination: a quantity, and its price. `_before` are those of the earlier workspace, if any.

    `limits` says which limits are exceeded, for `users` with their quantity, for rates with the time of the peak.
    """

    destination: str
    measure: str
    quantity: int
    price: float
    quantity_before: int | None = None
    price_before: float | None = None
    limits: tuple[str, ...] = ()

    def __str__(self) -> str:
        before = "" if self.quantity_before is None else f"{self.quantity_before:,} -> "
        priced = f"{self.price:,.2f}"
        if self.price_before is not None:
            priced = f"{self.price_before:,.2f} -> {priced}"
        return f"{self.destination}: {before}{self.quantity:,} {self.measure}: {priced}"


class Costs(tuple[CostLine, ...]):
    """A line for each destination and measure. `currency` is that of the price table."""

    currency = ""

    def frame(self) -> pd.DataFrame:
        """Return one row for each line; `quantity_before` and `price_before` are missing without an earlier side."""
        import pandas as pd

        kinds = {"quantity": "int64", "quantity_before": "Int64", "price": "float64", "price_before": "Float64"}
        rows = [{**asdict(line), "limits": "; ".join(line.limits)} for line in self]
        return pd.DataFrame(rows, columns=list(CostLine.__dataclass_fields__)).astype(kinds)

    def to_list(self) -> list[Json]:
        """Return the lines as JSON."""
        return [{**asdict(line), "limits": list(line.limits)} for line in self]

    @property
    def total(self) -> float:
        return sum(line.price for line in self)

    @property
    def total_before(self) -> float | None:
        """The price of the earlier side; None without one."""
        earlier = [line.price_before for line in self if line.price_before is not None]
        return sum(earlier) if earlier else None

    @property
    def amounts(self) -> Amounts:
        """The totals that conditions are about: see `Replayed.breaches`."""
        exceeded = sum(len(line.limits) for line in self)
        return Amounts(self.total, self.total_before, exceeded, self.currency)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        unit, total, before = f" {self.currency}".rstrip(), self.total, self.total_before
        change = "" if before is None else f"{before:,.2f} -> "
        yield f"cost: {change}{total:,.2f}{unit}"
        yield from (f"  {line}" for line in self)
        yield from (f"  {line.destination}: exceeds {limit}" for line in self for limit in line.limits)


# Any: prices as in their file
def cost(
    events: Events,
    workspace: Workspace,
    prices: Mapping[str, Any] | Path | str,
    *,
    before: Workspace | None = None,
    jobs: int = 20,
    destinations: Sequence[str] | None = None,
    source: str | None = None,
) -> Costs:
    """Return what events cost at the destinations in `prices`, a YAML file or the same as an object. Nothing is sent.

    Events and requests are those that are sent, in calls of at most `jobs` events. Users are distinct `userId`s, or
    `anonymousId`s of events without one. They are counted exactly up to 50,000, and within 1% beyond. `before` is an
    earlier workspace to compare with. The events are read once for each workspace.

    Raises `ConfigError` for prices with mistakes, or of an unknown destination, or a subclass for other problems.
    """
    table = _table(prices, workspace)
    after = _usages(events, workspace, table, jobs, destinations, source)
    earlier = _usages(events, before, table, jobs, destinations, source) if before is not None else None
    lines = Costs(line for key, usage in after.items() for line in _lines(key, usage, earlier, table[key]))
    lines.currency = str(table.currency)
    return lines


class _Table(dict[str, Mapping[str, Any]]):
    currency = ""


def _table(prices: Mapping[str, Any] | Path | str, workspace: Workspace) -> _Table:
    document = None
    if isinstance(prices, Mapping):
        if misfits := yamlfile.misfits(dict(prices), _SCHEMA):
            raise ConfigError(f"prices: {misfits[0].message}")
        data: Mapping[str, Any] = prices
    else:
        document = yamlfile.load(Path(prices))
        yamlfile.check(document, _SCHEMA, ConfigError)
        data = document.data
    for key in data["destinations"]:
        if key not in workspace.destinations:
            near = did_you_mean(key, workspace.destinations)
            where = document.where(["destinations", key], key=True) if document else ""
            raise ConfigError(f"prices of an unknown destination {key!r}.{near}", where=where)
        for measure, price in data["destinations"][key].items():
            if isinstance(price, list) and (flaw := _tier_flaw(price)):
                path = ["destinations", key, measure]
                raise ConfigError(f"{measure} of {key}: {flaw}", where=document.where(path) if document else "")
    table = _Table(data["destinations"])
    table.currency = data.get("currency", "")
    return table


def _tier_flaw(tiers: Sequence[Mapping[str, float]]) -> str:
    """Return what is wrong with tiers: without the last price, everything above would be free."""
    *limited, last = tiers
    bounds = [tier.get("up_to") for tier in limited]
    if None in bounds:
        return "only the last tier has no 'up_to'"
    if "up_to" in last:
        return f"above {last['up_to']:,} there is no price: add a last tier without 'up_to', such as {{price: 0}}"
    if any(one >= other for one, other in pairwise(bound for bound in bounds if bound is not None)):
        return "the 'up_to' of tiers must increase"
    return ""


class _Users:
    """Counts distinct texts in limited memory: hashes are equally far apart, so the smallest ones tell how many."""

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._known = set[int]()

    def add(self, user: str) -> None:
        number = int.from_bytes(blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        if number in self._known:
            return
        if len(self._heap) < _EXACT:
            heapq.heappush(self._heap, -number)
        elif number < -self._heap[0]:
            self._known.discard(-heapq.heapreplace(self._heap, -number))
        else:
            return
        self._known.add(number)

    @property
    def count(self) -> int:
        if len(self._heap) < _EXACT:
            return len(self._heap)
        return round((_EXACT - 1) * 2**64 / -self._heap[0])


@dataclass(slots=True)
class _Usage:
    """What is sent to a destination; `spans` counts events or requests by window, for the rates that have limits."""

    events: int = 0
    requests: int = 0
    users: _Users = field(default_factory=_Users)
    spans: dict[str, Counter[int]] = field(default_factory=dict)

    def add(self, events: Sequence[tuple[Mapping[str, Any], datetime]], requests: int) -> None:
        self.events += len(events)
        self.requests += requests
        for event, _ in events:
            self.users.add(str(event.get("userId") or event.get("anonymousId") or ""))
        for rate, counts in self.spans.items():
            what, _, window = rate.partition("_per_")
            seconds = [int(at.timestamp()) // _WINDOWS[window] for _, at in events]
            if what == "events":
                counts.update(seconds)
            elif seconds:
                counts[seconds[-1]] += requests  # the last event of a batch completes it
            if len(counts) > _MOST_SPANS:
                self.spans[rate] = Counter(dict(counts.most_common(_MOST_SPANS // 10)))

    def quantity(self, measure: str) -> int:
        return self.users.count if measure == "users" else int(getattr(self, measure))


def _usages(
    events: Events,
    workspace: Workspace,
    table: Mapping[str, Mapping[str, Any]],
    jobs: int,
    destinations: Sequence[str] | None,
    source: str | None,
) -> dict[str, _Usage]:
    """Return what is sent to each destination that has prices."""
    if jobs < 1:
        raise ConfigError("jobs must be at least 1")
    pipeline = Pipeline(workspace.in_mode("record"))
    keys = sent_to(workspace, select((workspace,), destinations, source), destinations)
    usages = {key: _Usage() for key in keys if key in table}
    for key, usage in usages.items():
        usage.spans = {rate: Counter() for rate in table[key].get("limits", ()) if rate in _RATES}
    now, stream = datetime.now(UTC), valid_events(events)
    while call := list(islice(stream, jobs)):
        times = [time_of(event, now) for event in call]
        for key, usage in usages.items():
            for item in pipeline.deliveries(key, call, jobs=jobs, source=source, times=times):
                if item.status == "sent" and item.payloads:
                    usage.add([(call[place], times[place]) for place in item.events], len(item.payloads))
    return usages


def _lines(
    key: str, usage: _Usage, earlier: Mapping[str, _Usage] | None, prices: Mapping[str, Any]
) -> Iterator[CostLine]:
    limits = prices.get("limits", {})
    for measure in MEASURES:
        quantity, exceeded = usage.quantity(measure), list(_exceeded(measure, usage, limits))
        if measure not in prices and not exceeded:
            continue
        tariff = prices.get(measure, 0)
        old = None if earlier is None else earlier[key].quantity(measure) if key in earlier else 0
        yield CostLine(
            key,
            measure,
            quantity,
            _price(quantity, tariff),
            old,
            None if old is None else _price(old, tariff),
            tuple(exceeded),
        )


def _exceeded(measure: str, usage: _Usage, limits: Mapping[str, float]) -> Iterator[str]:
    if measure in limits and usage.quantity(measure) > limits[measure]:
        yield f"{measure} {limits[measure]:,g}: {usage.quantity(measure):,}"
    for rate, counts in usage.spans.items():
        what, _, window = rate.partition("_per_")
        if what == measure and counts:
            (span, most), *_ = counts.most_common(1)
            if most > limits[rate]:
                at = datetime.fromtimestamp(span * _WINDOWS[window], UTC)
                yield f"{rate} {limits[rate]:,g}: {most:,} from {at:%Y-%m-%d %H:%M:%S} on"


def _price(quantity: int, tariff: Any) -> float:
    """Return the price of a quantity: a price for each, or tiers, each with its price up to a total quantity."""
    if not isinstance(tariff, list):
        return float(quantity * tariff)
    total, done = 0.0, 0.0
    for tier in tariff:
        end = min(quantity, tier.get("up_to", quantity))
        total += max(0.0, end - done) * tier["price"]
        done = max(done, end)
    return total
