"""What a reviewer wants to know about a change, from the project as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypedDict

from svctoolkit.apply import plans, settings
from svctoolkit.apply.change import MASK, Change, Detail
from svctoolkit.apply.resources import Resource
from svctoolkit.destinations import effects
from svctoolkit.errors import UnknownName
from svctoolkit.pipeline.rules import connection_mode
from svctoolkit.rudder_cli import imports_of
from svctoolkit.workspace import Destination, Source, Workspace

ACCOUNT_SECRETS: Final = ("credentials", "password", "privateKey", "privateKeyPassphrase")
#: Blocks of `config` that decide by source whether events are sent at all.
_ROUTING: Final = ("connection_mode", "use_native_sdk", "consent_management")
_FILTERS: Final = ("event_filtering", "event_filtering_whitelist", "event_filtering_blacklist")


class Found(TypedDict):
    """Members of a change."""

    no_effect: str
    remarks: tuple[str, ...]
    destinations: frozenset[str]


def words(names: list[str]) -> str:
    """Return `a, b and c`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


class Review:
    """Reads two states of a workspace for the remarks on each change."""

    def __init__(self, before: Workspace, after: Workspace) -> None:
        self.before, self.after = before, after

    def of(self, change: Change, old: Resource | None, new: Resource | None) -> Found:
        """Return what is to be said about a change of a resource."""
        item = new or old
        if item is None:
            return Found(no_effect="", remarks=(), destinations=frozenset())
        found = getattr(self, f"_{item.kind.replace('-', '_')}", self._nothing)(change, item)
        no_effect, remarks, destinations = found
        return Found(no_effect=no_effect, remarks=tuple(remarks), destinations=frozenset(destinations))

    def _nothing(self, _change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        if item.kind in ("account", "retl-source-sql-model", "retl-source-table", "retl-connections"):
            return "", ["reverse ETL is not run here"], []
        return ("", ["data graphs are not run here"], []) if item.kind.startswith("data-graph") else ("", [], [])

    # Destinations

    def _destination(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        if change.action == "delete":
            return "", [], [item.id] if item.id in self.before.destinations else []
        if item.id not in self.after.destinations:
            return "", [], []
        destination = self.after.destinations[item.id]
        sources = self._sources(item.id)
        if change.action == "create":
            return "", [self._reach(destination, sources)], [item.id]
        idle: list[str] = []
        remarks: list[str] = []
        for detail in change.details:
            reason = self._without_effect(detail, destination, sources)
            if reason:
                idle.append(reason)
            else:
                remarks += self._detail(detail, destination, sources)
        only_idle = len(idle) == len(change.details)
        of_config = any(detail.path.startswith("config.") for detail in change.details)
        if of_config and not only_idle and not remarks:
            remarks.append(self._reach(destination, sources))
        no_effect = "; ".join(dict.fromkeys(idle)) if only_idle else ""
        return no_effect, remarks if only_idle else [*dict.fromkeys(idle), *remarks], [item.id]

    def _sources(self, destination: str, *, off: bool = False) -> list[Source]:
        """Return the sources whose events reach a destination; with `off`, also those that are switched off."""
        return [
            source
            for source in self.after.sources.values()
            for each in source.connections
            if each.destination == destination and (off or (each.enabled and source.enabled))
        ]

    def _reach(self, destination: Destination, sources: list[Source]) -> str:
        if not destination.enabled:
            return "it is disabled: nothing is delivered yet"
        names = words([source.key for source in sources])
        if not names:
            return "no enabled connection leads to it: nothing is delivered yet"
        return f"it gets the events of {names}"

    def _detail(self, detail: Detail, destination: Destination, sources: list[Source]) -> Iterator[str]:
        """Yield remarks on a member that differs."""
        if detail.path == "enabled":
            yield from self._switched(destination, sources)
        elif detail.path == "type":
            yield "apply fails at this step, with earlier steps done: a type cannot be changed. Use another id"
        elif detail.path == "transformation":
            name = destination.transformation
            yield f"its events now run through {name}" if name else "its events run through no transformation any more"
        elif detail.path.startswith(("config.connection_mode.", "config.use_native_sdk.")):
            yield from self._mode(detail, destination)
        elif detail.path.split(".")[:2] == ["config", "consent_management"]:
            sides = [side for side in (detail.before, detail.after) if isinstance(side, dict)]
            for source in detail.path.split(".")[2:3] or dict.fromkeys(name for side in sides for name in side):
                yield settings.consents(self.before, self.after, destination.key, source)
        elif detail.path.startswith("config."):
            yield from settings.tables(detail, destination.type)
            if MASK in (detail.before, detail.after):
                yield from settings.secret(detail, self.before, self.after, destination.key)

    def _switched(self, destination: Destination, sources: list[Source]) -> Iterator[str]:
        if not destination.enabled:
            yield "it is switched off: nothing is delivered any more"
        elif sources:
            yield f"it is switched on: it gets the events of {words([source.key for source in sources])}"
        else:
            others = self._sources(destination.key, off=True)
            only = "its only connection is still off" if len(others) == 1 else "all its connections are still off"
            names = f" ({words([source.key for source in others])})" if others else ""
            why = f"{only}{names}" if others else "no source is connected to it"
            yield f"the destination is on, but {why}: nothing is delivered yet"

    def _mode(self, detail: Detail, destination: Destination) -> Iterator[str]:
        source_type = detail.path.split(".")[2]
        named = [s.key for s in self._sources(destination.key) if _spelled(s.platform) == source_type]
        who = words(named) or f"sources of the type {source_type}"
        was, now = _mode_of(detail.before), _mode_of(detail.after)
        code = f" and {destination.transformation} does not run for them" if destination.transformation else ""
        if now == "device":
            yield (
                f"events of {who} now go to it from the client's SDK (device mode), no longer through the data plane:"
                f"{code.replace(' and', '', 1) + ',' if code else ''} and nothing of them is seen here or in a replay"
            )
        elif now == "hybrid":
            yield f"events of {who} are now sent by the client's SDK and the data plane (hybrid mode)"
        elif was in ("device", "hybrid"):
            yield f"events of {who} now go through the data plane (cloud mode), which sends them for the SDK"
        others = [s.key for s in self._sources(destination.key) if s.key not in named]
        if others:
            yield f"{words(others)} {'keeps its' if len(others) == 1 else 'keep their'} mode there"

    def _without_effect(self, detail: Detail, destination: Destination, sources: list[Source]) -> str:
        """Return why a setting that differs changes nothing that the data plane delivers; empty if it may."""
        if not detail.path.startswith("config."):
            return ""
        name = detail.path.removeprefix("config.")
        key = name.split(".")[0]
        if key in _ROUTING or not self._is_of_sdk(key, destination):
            return self._unused(detail, name, destination, sources)
        modes = {source.key: str(connection_mode(destination.config, source.platform) or "cloud") for source in sources}
        in_sdk = [source for source, mode in modes.items() if mode in ("device", "hybrid")]
        if in_sdk:
            return f"{name} acts in the client's SDK only: it concerns {words(in_sdk)}, and not what is delivered here"
        if self._cloud_only(destination):
            where = (
                f"this type has cloud mode only, so that {words([*modes]) or 'no source'} sends every event as before"
            )
        else:
            where = f"{words([*modes]) or 'no source'} {'reach' if len(modes) > 1 else 'reaches'} it in cloud mode"
        reason = f"{name} acts in the client's SDK in device mode only; {where}"
        if key not in _FILTERS:
            return reason
        if detail.after == []:
            return (
                f"{reason}. It reads like a stop: an empty list counts as chosen, and discards every track event there"
            )
        return f"{reason}; to stop an event, drop it in a transformation" if detail.after else reason

    def idle(self, id_: str, detail: Detail) -> str:
        """Return why a setting of a destination has no effect; empty if it may have one, or if nothing is sent."""
        sources = self._sources(id_)
        return self._without_effect(detail, self.after.destinations[id_], sources) if sources else ""

    def _unused(self, detail: Detail, name: str, destination: Destination, sources: list[Source]) -> str:
        if destination.enabled and sources:
            return ""
        if detail.path.startswith("config."):
            why = "the destination is disabled" if not destination.enabled else "no enabled connection leads to it"
            return f"{name}: {why}"
        return ""

    def _cloud_only(self, destination: Destination) -> bool:
        project = self.after.project
        item = project.every_destination.get(destination.key) if project else None
        modes = item.definition.modes.values() if item and item.definition else ()
        return all(each == ["cloud"] for each in modes)

    def _is_of_sdk(self, key: str, destination: Destination) -> bool:
        """Whether a key only acts in client SDKs: neither the mapping nor a rule of the data plane reads it."""
        if key in _FILTERS:
            return True
        project = self.after.project
        item = project.every_destination.get(destination.key) if project else None
        if item is None or item.definition is None or key in item.secret_keys or self._cloud_only(destination):
            return False  # of a type without an SDK, the rest is read where the data plane sends
        names = {name for name, own in item.keys.items() if own == key}
        try:
            unread = effects.unread_variables(destination.type, names)
        except UnknownName:
            return False
        return bool(names) and names <= unread

    # Connections and sources

    def _event_stream_connection(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        source, to = (str(item.data.get(end)).strip().partition(":")[2] for end in ("source", "destination"))
        left = [other.key for other in self._sources(to)]
        if to not in self.after.destinations or source not in self.after.sources:
            return "", [], [to]
        if change.action == "delete":
            rest = (
                f"it still gets the events of {words(left)}"
                if left
                else ("it has no other source: it receives nothing any more")
            )
            return "", [f"{to} no longer gets the events of {source}; {rest}"], [to]
        origin = self.after.sources[source]
        remarks = [*self._new_connection(origin, self.after.destinations[to], item)]
        return "", remarks, [to]

    def _new_connection(self, source: Source, destination: Destination, item: Resource) -> Iterator[str]:
        if item.data.get("enabled") is False:
            yield "it is off: nothing is delivered"
            return
        off = [what for what, on in (("source", source.enabled), ("destination", destination.enabled)) if not on]
        if off:
            yield f"its {off[0]} is disabled: nothing is delivered yet"
            return
        code = f" through {destination.transformation}" if destination.transformation else ""
        plan = "" if source.tracking_plan else f"; {source.key} has no tracking plan, so that they are not checked"
        mode = connection_mode(destination.config, source.platform)
        how = "" if mode in (None, "cloud") else f" ({mode} mode)"
        yield f"{destination.key} now gets the events of {source.key}{code}{how}{plan}"

    def _event_stream_source(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        if change.action == "delete":
            return "", ["its events are rejected"], []
        source = self.after.sources.get(item.id)
        if source is None:
            return "", [], []
        to = [each.destination for each in source.connections if each.enabled]
        if change.action == "create":
            return "", [f"it is connected to {words(to)}" if to else "it is connected to no destination"], to
        remarks: list[str] = []
        for detail in change.details:
            if detail.path == "enabled":
                names = words(to) or "no destination"
                off = f"it is switched off: its events no longer reach {names}"
                remarks.append(f"its events reach {names} again" if source.enabled else off)
            elif detail.path.startswith("governance.validations.config."):
                remarks.append(plans.setting_text(detail))
            elif detail.path.startswith("governance"):
                plan = source.tracking_plan
                remarks.append(f"its events are checked against {plan}" if plan else "its events are no longer checked")
            elif detail.path == "type":
                remarks.append("settings by source type of its destinations may apply differently")
        return "", remarks, to

    # Code

    def _transformation(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        users = self._users({item.id})
        if not users:
            return _unused(change, "no destination uses it")
        return "", [f"it runs for {words(self._marked(users))}{self._checked_before(users)}"], users

    def _transformation_library(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        project = self.after.project
        name = str(item.data.get("import_name"))
        files = project.of_kind("transformation") if project else []
        code = [str(file.spec.get("id")) for file in files if name in imports_of(file)[1]]
        users = self._users({*code})
        if not code:
            return _unused(change, "no transformation imports it")
        if not users:
            return _unused(change, f"{words(code)} imports it, and no destination uses that")
        verb = "imports" if len(code) == 1 else "import"
        return "", [f"{words(code)} {verb} it, for {words(self._marked(users))}{self._checked_before(users)}"], users

    def _marked(self, destinations: list[str]) -> list[str]:
        """Return the names, with a mark at those to which nothing is delivered."""
        on = {key for key in destinations if self.after.destinations[key].enabled and self._sources(key)}
        return [key if key in on else f"{key} (off)" for key in destinations]

    def _checked_before(self, destinations: list[str]) -> str:
        """Return that plans are checked before the code, if events of these destinations are checked."""
        sources = [source for key in destinations for source in self._sources(key) if source.tracking_plan]
        return "; tracking plans are checked before it, so that its output is not" if sources else ""

    def _users(self, transformations: set[str]) -> list[str]:
        return [d.key for d in self.after.destinations.values() if d.transformation in transformations]

    # The catalog

    def _tracking_plan(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        return "", [*plans.remarks(change, item.id, self.before, self.after)], []

    def _property(self, change: Change, _item: Resource) -> tuple[str, list[str], list[str]]:
        return "", [*plans.use_remarks(change, self.before, self.after)], []

    _custom_type = _property

    def _event(self, change: Change, item: Resource) -> tuple[str, list[str], list[str]]:
        renamed = [detail for detail in change.details if detail.path == "name"]
        remarks = [text for detail in renamed for text in plans.rename_remarks(detail, self.before, self.after)]
        return "", remarks or self._property(change, item)[1], []


def _unused(change: Change, why: str) -> tuple[str, list[str], list[str]]:
    """Return that code is not used: an update has no effect then."""
    return (why, [], []) if change.action == "update" else ("", [] if change.action == "delete" else [why], [])


def _mode_of(value: Any) -> str:
    """Return the mode that a value of `connection_mode` or `use_native_sdk` means."""
    return value if isinstance(value, str) else "device" if value is True else "cloud"


_SPELLED: Final[Mapping[str, str]] = {
    "androidKotlin": "android_kotlin",
    "iosSwift": "ios_swift",
    "reactnative": "react_native",
}


def _spelled(platform: str) -> str:
    return _SPELLED.get(platform, platform)
