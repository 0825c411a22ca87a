"""What scenarios cover: sources, connections, destinations, settings, event types, fields, lines of user code..."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from svctoolkit.displayed import Displayed
from svctoolkit.expect.compare import is_matchers
from svctoolkit.plans import Plan
from svctoolkit.plans.coverage import GROUPS, event_items, plan_items
from svctoolkit.plans.pictures import coverage_map
from svctoolkit.runner.coverage.reach import Reach, effective_settings, event_fields
from svctoolkit.runner.suite.model import Scenario, Step, Suite, as_list
from svctoolkit.runner.suite.results import STAGES
from svctoolkit.runner.suite.webhooks import is_webhook
from svctoolkit.warehouse import is_warehouse
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svctoolkit.pictures import HeatMap

_SHOWN = 8
_GROUPS = (
    *("sources", "connections", "destinations", "warehouses", "settings", "event types", "stages", "event names"),
    *("fields", "fixtures", "lines", "branches", *GROUPS),
)


@dataclass(slots=True)
class Group:
    """One kind of thing: the items that scenarios cover, and those that they miss."""

    name: str
    covered: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)

    @property
    def total(self) -> int:
        return len(self.covered) + len(self.missing)

    def count(self, item: str, covered: bool) -> None:
        """Count an item. An item that is covered once stays covered; one without a name does not count."""
        if not item.strip():
            return
        if covered:
            self.covered.add(item)
            self.missing.discard(item)
        elif item not in self.covered:
            self.missing.add(item)


@dataclass(frozen=True, slots=True)
class CheckedLines:
    """Lines of user code that scenarios run, as `file:line`: those that they check, and those that they do not.

    A line is checked if a scenario fails when something in it is changed (`svctoolkit mutate`).
    """

    checked: Sequence[str]
    unchecked: Sequence[str]


@dataclass(frozen=True, slots=True)
class Coverage(Displayed):
    """The groups that have any items. `percent` covers all of them.

    `lost` lists event fields (`Order Completed properties.coupon`) that reach none of the destinations that a scenario
    sends them to. They are useful to know, but not a gap in the scenarios, so they do not count. `checked` is None as
    long as `svctoolkit mutate` has not judged the code.
    """

    groups: Sequence[Group]
    lost: Sequence[str] = ()
    checked: CheckedLines | None = None

    def display_text(self) -> str:
        """Return what is covered and what is missing, by group."""
        return "\n".join(coverage_lines(self))

    @property
    def percent(self) -> float:
        total = sum(group.total for group in self.groups)
        return 100.0 * sum(len(group.covered) for group in self.groups) / total if total else 100.0

    def plan_map(self) -> HeatMap:
        """Return what scenarios cover of tracking plans, as a picture."""
        groups = [group for group in self.groups if group.name in GROUPS]
        covered = [(group.name, item) for group in groups for item in sorted(group.covered)]
        return coverage_map(covered, [(group.name, item) for group in groups for item in sorted(group.missing)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return what scenarios cover of tracking plans as matplotlib axes. Raises `ConfigError` without the library.

        It is in `svctoolkit[plot]`.
        """
        return self.plan_map().plot(ax)


def coverage_lines(coverage: Coverage) -> Iterator[str]:
    """Yield coverage as lines of text."""
    yield f"coverage {coverage.percent:.1f} %"
    for group in coverage.groups:
        missing = sorted(group.missing)
        names = f"   missing: {_first(missing)}" if missing else ""
        yield f"  {group.name:<14} {len(group.covered):>4} of {group.total:<4}{names}"
    if coverage.checked is not None:
        unchecked = sorted(coverage.checked.unchecked)
        names = f"   only run: {_first(unchecked)}" if unchecked else ""
        count = len(coverage.checked.checked)
        yield f"  {'lines checked':<14} {count:>4} of {count + len(unchecked):<4}{names}"
    if coverage.lost:
        yield f"  fields that reach no destination: {_first(coverage.lost)}"


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


class Collector:
    """Collect outcomes and compute the coverage at the end of the run."""

    def __init__(self, suites: Sequence[Suite]) -> None:
        self._groups = {name: Group(name) for name in _GROUPS}
        self._reach, self._reached = Reach(), Group("reach")
        for suite in suites:
            self.include(suite)

    def include(self, suite: Suite) -> None:
        """Count what scenarios can cover in a suite's workspace; destinations that get no requests are left out."""
        from svctoolkit.destinations import CATALOGUE, definitions, effects

        self._include_sources(suite.workspace)
        for key, destination in suite.workspace.destinations.items():
            # No scenario could ever cover these, so they would only lower the percentage.
            if definitions.reason_unsent(destination.type, destination.config, suite.workspace.delivery.mode):
                continue
            self._groups["destinations"].count(key, False)
            idle = effects.variables_without_effect(destination.type)
            for name in self._reach.settings(suite.workspace, key) - idle:
                self._groups["settings"].count(f"{key} {name}", False)
            for stage in STAGES if destination.transformation else STAGES[1:]:
                self._groups["stages"].count(f"{key} {stage}", False)
            for type in CATALOGUE[destination.type].handlers:
                self._groups["event types"].count(f"{key} {type}", False)
            for name in _event_names({k: value for k, value in destination.config.items() if k not in idle}):
                self._groups["event names"].count(name, False)
        for source in suite.workspace.sources.values():
            link = suite.workspace.plan_link(source)
            for group, item in plan_items(link.plan) if link is not None and link.plan is not None else ():
                self._groups[group].count(item, False)
        for name, used in suite.fixtures.items():
            self._groups["fixtures"].count(name, used)

    def _include_sources(self, workspace: Workspace) -> None:
        """Count enabled sources and connections, and warehouses."""
        for key, destination in workspace.destinations.items():
            if is_warehouse(destination.type):
                self._groups["warehouses"].count(key, False)
        for key, source in workspace.sources.items():
            for destination in workspace.destinations_of(source) if source.enabled else ():
                self._groups["sources"].count(key, False)
                if destination.enabled:
                    self._groups["connections"].count(f"{key} -> {destination.key}", False)

    # Any: an Outcome, which belongs to a layer above this one
    def add(self, outcome: Any) -> None:
        """Count what one scenario covered; skipped scenarios cover nothing."""
        for step in outcome.steps:
            keys = _destination_keys(outcome.scenario, step.step)
            self._count_sources(outcome.scenario, step.step, keys)
            events = [event for event in _events(step.step.spec) if isinstance(event, Mapping)]
            for key in keys:
                self._count_existing("destinations", key)
                for stage in STAGES:
                    if stage in step.results or (stage == "send_to_destination" and "delivered" in step.results):
                        self._count_existing("stages", f"{key} {stage}")
                for event in events:
                    self._count_existing("event types", f"{key} {event.get('type')}")
            plan = _plan_of(outcome.scenario, step.step)
            for event in events:
                for group, item in event_items(plan, event) if plan is not None else ():
                    self._groups[group].count(item, True)
                if isinstance(event.get("event"), str):
                    self._count_existing("event names", event["event"])
            if step.step.spec.calls is UNSET:  # calls are left out: the client adds fields that are unknown here
                self._count_reached(outcome.scenario, keys, events)
            for name, as_sent in _FIELDS.items():
                self._fields(keys, step.step.expect.get(name), step.results.get(name), as_sent)

    def _count_sources(self, scenario: Scenario, step: Step, keys: Sequence[str]) -> None:
        """Count the source of a step, its connections to the destinations that it reaches, and checked warehouses."""
        spec, workspace = step.spec, scenario.suite.workspace
        name = spec.source
        if spec.request is not UNSET and isinstance(spec.request.auth, Mapping):
            name = spec.request.auth.get("source", UNSET)
        if name is not UNSET:
            source = workspace.source(name)
            self._count_existing("sources", source.key)
            for key in keys or [d.key for d in workspace.destinations_of(source)]:
                self._count_existing("connections", f"{source.key} -> {key}")
        expected = step.expect.get("warehouse")
        warehouses = [key for key, d in workspace.destinations.items() if is_warehouse(d.type)]
        if isinstance(expected, Mapping):
            for key in [key for key in warehouses if key in expected] or warehouses[:1]:
                self._count_existing("warehouses", key)

    def branches(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Count branches of user code: by file, how often each was taken."""
        for file, branches in counts.items():
            for branch, count in branches.items():
                self._groups["branches"].count(f"{file}:{branch}", count > 0)

    def lines(self, counts: Mapping[str, Mapping[int, int]]) -> None:
        """Count lines of user code: by file, how often each line ran."""
        for file, lines in counts.items():
            for line, count in lines.items():
                self._groups["lines"].count(f"{file}:{line}", count > 0)

    def _count_reached(self, scenario: Scenario, keys: Sequence[str], events: Sequence[Mapping[str, Any]]) -> None:
        for event in events:
            for key, lineage in self._reach.lineages(scenario.suite.workspace, keys, event):
                for item, reaches in event_fields(lineage, event):
                    self._reached.count(item, reaches)
                for name in effective_settings(lineage):
                    self._count_existing("settings", f"{key} {name}")

    def _count_existing(self, group: str, item: str) -> None:
        counts = self._groups[group]
        # Names that only appear in events still count; other items must exist in the workspace.
        if item in counts.missing or group == "event names":
            counts.count(item, True)

    def _fields(self, keys: Sequence[str], expected: Any, results: Any, as_sent: Callable[[Any], Any]) -> None:
        """Count the fields that destinations receive: those that an expectation checks, and the others."""
        if results is None:
            return
        several = len(keys) > 1 or (isinstance(results, Mapping) and results.keys() <= set(keys))
        for key in keys:
            payloads = as_list(results.get(key) if several and isinstance(results, Mapping) else results)
            written = expected.get(key) if several and isinstance(expected, Mapping) else expected
            for index, payload in enumerate(payloads):
                expectation = written[index] if isinstance(written, list) and index < len(written) else written
                for path, looked_at in _leaves(as_sent(expectation), as_sent(payload), ()):
                    if path:
                        self._groups["fields"].count(f"{key} {path}", looked_at)

    def counts(self) -> dict[str, tuple[list[str], list[str]]]:
        """Return the covered and missing items by group, as plain values for `merge` in another process."""
        groups = {**self._groups, self._reached.name: self._reached}
        return {name: (sorted(group.covered), sorted(group.missing)) for name, group in groups.items()}

    def merge(self, counts: Mapping[str, Sequence[Sequence[str]]]) -> None:
        """Add the counts of another process."""
        groups = {**self._groups, self._reached.name: self._reached}
        for name, (covered, missing) in counts.items():
            for item in missing:
                groups[name].count(item, False)
            for item in covered:
                groups[name].count(item, True)

    def coverage(self) -> Coverage:
        return Coverage([group for group in self._groups.values() if group.total], sorted(self._reached.missing))


def _destination_keys(scenario: Scenario, step: Any) -> list[str]:
    return [*scenario.destinations_of(step)]


def _plan_of(scenario: Scenario, step: Any) -> Plan | None:
    """Return the tracking plan that the events of a step are checked against."""
    if step.spec.source is UNSET:
        return None
    link = scenario.suite.workspace.plan_link(scenario.suite.workspace.source(step.spec.source))
    return None if link is None else link.plan


def _events(spec: Any) -> list[Any]:
    if spec.event is not UNSET:
        return list(as_list(spec.event))
    if spec.send is not UNSET:
        return [event for event in as_list(spec.send) if not is_webhook(event)]
    return [_event(*next(iter(call.items()))) for call in spec.calls] if spec.calls is not UNSET else []


def _event(name: str, arguments: Any) -> dict[str, Any]:
    """Return the parts that coverage needs of the event that a `ServiceClient` call sends."""
    if isinstance(arguments, Mapping):
        return {"type": name, "event": arguments.get("name")}
    return {"type": name, "event": next(iter(as_list(arguments)), None)}


_NAMES = ("eventName", "rsEventName", "rudderEventName")  # members of rows, with the name of an event
_OTHERS = ("propert", "attribute", "merch", "eventtypeto")  # `eventProperties`, `eventTypeToTopicMap`...


def _event_names(config: Any) -> Iterator[str]:
    """Yield the event names in a configuration: in allow and deny lists, and in mappings of names."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            if key in _NAMES and isinstance(value, str) and value.strip():
                yield value.strip()
            elif _maps_names(str(key).lower()) and isinstance(value, list):
                yield from (row["from"] for row in value if isinstance(row, Mapping) and _is_name(row.get("from")))
            yield from _event_names(value)
    elif isinstance(config, list):
        for value in config:
            yield from _event_names(value)


def _maps_names(variable: str) -> bool:
    """Return whether a variable (in lower case) maps event names, not properties or types of events."""
    return "event" in variable and not any(word in variable for word in _OTHERS)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _payload_fields(payload: Any) -> Any:
    """Return the parts of a payload that the destination receives, named as in a request, without constant members.

    >>> _payload_fields({"version": "1", "endpoint": "https://x.example", "body": {"JSON": {"n": 1}, "XML": {}}})
    {'url': 'https://x.example', 'body': {'n': 1}}
    """
    if not isinstance(payload, Mapping) or is_matchers(payload):
        return payload
    body = payload.get("body")
    if isinstance(body, Mapping) and not is_matchers(body):
        body = next((value for value in body.values() if value), {})
    named = {"method": "method", "endpoint": "url", "headers": "headers", "params": "query", "files": "files"}
    return {new: payload[name] for name, new in named.items() if name in payload} | ({"body": body} if body else {})


def _request_fields(request: Any) -> Any:
    """Return a delivered request without transport details: most headers, and the status."""
    if not isinstance(request, Mapping) or is_matchers(request):
        return request
    return {name: request[name] for name in ("method", "url", "query", "body") if name in request}


_FIELDS = {"dest_transform": _payload_fields, "delivered": _request_fields}


def _leaves(expected: Any, actual: Any, path: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """Yield each leaf of `actual`, and whether `expected` checks it; all elements of a list count as one field."""
    looks = expected is not None and not isinstance(expected, (Mapping, list))
    if isinstance(expected, Mapping) and is_matchers(expected):
        looks = True
    if isinstance(actual, Mapping) and actual:
        for key, value in actual.items():
            # Below a matcher such as `$exact`, everything counts as checked.
            inner = _LOOKED if looks else expected.get(key) if isinstance(expected, Mapping) else None
            yield from _leaves(inner, value, (*path, str(key)))
    elif isinstance(actual, list) and actual:
        for index, value in enumerate(actual):
            within = isinstance(expected, list) and index < len(expected)
            yield from _leaves(_LOOKED if looks else expected[index] if within else None, value, (*path, "*"))
    elif actual not in ({}, []):
        yield ".".join(step or '""' for step in path), looks or expected is not None


_LOOKED = "looked at"
