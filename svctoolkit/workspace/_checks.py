"""Consistency checks of a workspace, in addition to the types of its members."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit.delivery.modes import MODES
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.destinations.value_checks import value_problems
from svctoolkit.errors import InvalidConfig, InvalidPlan, UnknownName, did_you_mean
from svctoolkit.releases import release_problems
from svctoolkit.workspace._idle import idle_settings_of
from svctoolkit.workspace._items import WEBHOOK_CATEGORY, Destination, Source, is_sdk_type
from svctoolkit.workspace._lookup import forward_key
from svctoolkit.workspace._platforms import entries_by_platform

if TYPE_CHECKING:
    from svctoolkit.sources import Setting
    from svctoolkit.workspace._model import Workspace

_HASH = re.compile("[0-9a-f]{64}")
_MISSPELT = 0.8  # how similar a type is to one that accepts webhooks


class Flaw(NamedTuple):
    """An inconsistency at a path in the workspace file, or (`key`) at the key there.

    `missing` is the path of the item that a reference points to. `bearable`: it affects only one destination's type or
    configuration, or a source's plan, and the rest of the workspace works. `known`: the entry of the workspace's
    `known` that accepts it.
    """

    path: tuple[str | int, ...]
    message: str
    key: bool = False
    missing: tuple[str, ...] = ()
    bearable: bool = False
    known: str = ""


def flaws(workspace: Workspace) -> Iterator[Flaw]:
    """Yield every flaw, also of configurations that do not fit their destination types."""
    for section in ("sources", "destinations", "transformations"):
        yield from _ids(section, getattr(workspace, section))
    yield from _write_keys(workspace)
    yield from _connections(workspace)
    unused = set(workspace.known)
    if unused:
        unused -= {name for _, name in idle_settings_of(workspace.destinations)}
    for key, destination in workspace.destinations.items():
        reference = destination.transformation
        if reference is not None and reference not in workspace.transformations:
            path = ("destinations", key, "transformation")
            yield _dangling(path, "transformations", reference, workspace.transformations)
        if destination.account is not None and destination.account not in workspace.accounts:
            yield _dangling(("destinations", key, "account"), "accounts", destination.account, workspace.accounts)
        if destination.declared:
            from svctoolkit.simulations.given import account_problems  # few workspaces declare an account

            yield from (
                Flaw(("destinations", key, "account", *place), text)
                for place, text in account_problems(destination.declared)
            )
        for flaw in _type(key, destination):
            unused.discard(flaw.known)
            if flaw.known not in workspace.known:
                yield flaw._replace(bearable=True)
    for flaw in _by_platform(workspace):
        unused.discard(flaw.known)
        if flaw.known not in workspace.known:
            yield flaw
    yield from _webhook_sources(workspace)
    for number, name in enumerate(workspace.known):
        if name in unused:
            text = f"no destination has an unknown {name!r}: remove it from `known`"
            yield Flaw(("known", number), text, bearable=True)
    yield from _code(workspace)
    yield from _users(workspace)
    yield from _plans(workspace)
    yield from _delivery(workspace)
    yield from _forwards(workspace)
    yield from _faults(workspace)
    for name, problem in release_problems(workspace.releases):
        yield Flaw(("releases", name), problem)


def _ids(section: str, items: Mapping[str, Any]) -> Iterator[Flaw]:
    """Both ids and keys identify items, so each must be unique across both."""
    what = section[:-1]
    owners: dict[str, str] = {}
    for key, item in items.items():
        path = (section, key) if item.id == key else (section, key, "id")
        if item.key != key:
            yield Flaw((section, key), f"listed under {key!r}, but its key is {item.key!r}", key=True)
        if not item.id:
            yield Flaw(path, "the id is empty")
        elif item.id in owners:
            yield Flaw(path, f"{what} {owners[item.id]!r} already has the id {item.id!r}", key=len(path) == 2)
        elif item.id != key and item.id in items:
            yield Flaw(path, f"the id {item.id!r} is the key of another {what}")
        owners.setdefault(item.id, key)


def _write_keys(workspace: Workspace) -> Iterator[Flaw]:
    owners: dict[str, str] = {}
    for key, source in workspace.sources.items():
        default = source.write_key == key
        path = ("sources", key) if default else ("sources", key, "writeKey")
        if not source.write_key:
            yield Flaw(path, "the write key is empty")
        elif source.write_key in owners:
            yield Flaw(path, f"source {owners[source.write_key]!r} has the same write key", key=default)
        owners.setdefault(source.write_key, key)


def _connections(workspace: Workspace) -> Iterator[Flaw]:
    for key, source in workspace.sources.items():
        keys = set()
        for i, connection in enumerate(source.connections):
            path = ("sources", key, "destinations", i, "destination")
            if connection.destination not in workspace.destinations:
                yield _dangling(path, "destinations", connection.destination, workspace.destinations)
            elif connection.destination in keys:
                yield Flaw(path, f"source {key!r} is already connected to {connection.destination!r}")
            keys.add(connection.destination)


def _by_platform(workspace: Workspace) -> Iterator[Flaw]:
    """Yield a flaw for each setting by kind of source that has nothing for a source that sends to the destination."""
    for key, destination in workspace.destinations.items():
        sources = [source for source in workspace.sources.values() if _sends(source, key)]
        for name, entries in entries_by_platform(destination.config) if destination.enabled else ():
            for platform in dict.fromkeys(source.platform for source in sources):
                if platform not in entries:
                    named = ", ".join(repr(source.key) for source in sources if source.platform == platform)
                    text = (
                        f"{name}: has no entry for {platform!r}, the kind of the source {named}; it has no effect there"
                    )
                    path = ("destinations", key, "config", name)
                    yield Flaw(path, text, bearable=True, known=f"{destination.type}.{name}")


def _sends(source: Source, destination: str) -> bool:
    connected = (c for c in source.connections if c.enabled and c.destination == destination)
    return source.enabled and next(connected, None) is not None


def _webhook_sources(workspace: Workspace) -> Iterator[Flaw]:
    """Check the types and settings of sources that accept webhooks. Other sources have any type, and no settings."""
    for key, source in workspace.sources.items():
        kind, path = source.webhook_type, ("sources", key)
        if kind is None:
            yield from _no_webhooks(source, path)
            continue
        settings = {setting.name: setting for setting in kind.settings}
        for name, value in source.config.items():
            if name not in settings:
                text = f"{kind.name} has no setting {name!r}.{did_you_mean(name, settings)}"
                yield Flaw((*path, "config", name), text, key=True, bearable=True)
            elif problem := _misfit(settings[name], value):
                yield Flaw((*path, "config", name), problem, bearable=True)


def _misfit(setting: Setting, value: Any) -> str:
    if setting.kind == "boolean":
        return "" if isinstance(value, bool) else f"{setting.name} must be true or false"
    if setting.kind == "rows":
        rows = isinstance(value, list) and all(isinstance(row, Mapping) for row in value)
        return "" if rows else f"{setting.name} must be a list of objects"
    return "" if isinstance(value, str) else f"{setting.name} must be a string"


def _no_webhooks(source: Source, path: tuple[str, ...]) -> Iterator[Flaw]:
    if is_sdk_type(source.type) and source.category != WEBHOOK_CATEGORY and not source.config:
        return
    from difflib import get_close_matches

    from svctoolkit.sources import CATALOGUE  # most workspaces have only sources of SDKs

    # Users name the types of SDK sources freely: only a misspelt webhook type is worth a note.
    is_misspelt = bool(get_close_matches(source.type.lower(), map(str.lower, CATALOGUE.names()), 1, _MISSPELT))
    if source.config or source.category == WEBHOOK_CATEGORY or is_misspelt:
        near = did_you_mean(source.type, CATALOGUE.names())
        text = f"no source type {source.type!r} accepts webhooks"
        yield Flaw((*path, "type"), f"{text}.{near or ' The type webhook takes any JSON.'}", bearable=True)


def _dangling(path: tuple[str | int, ...], section: str, reference: str, items: Mapping[str, Any]) -> Flaw:
    what = section[:-1]
    by_id = next(
        (key for key, item in items.items() if getattr(item, "id", None) == reference), None
    )  # accounts have only keys
    hint = f" It is the id of {by_id!r}: write the key." if by_id is not None else _hint(reference, items)
    return Flaw(path, f"unknown {what} {reference!r}.{hint}", missing=(section, reference))


def _hint(name: str, names: Collection[str]) -> str:
    return did_you_mean(name, names) if len(names) <= 500 else ""  # thousands of names would take seconds


def _type(key: str, destination: Destination) -> Iterator[Flaw]:
    kind, config = destination.type, destination.config
    path = ("destinations", key, "config")
    try:
        unknown = definitions.unknown_variables(kind, config)
    except KeyError:
        names = {*definitions.names(), *CATALOGUE.names()}
        near = did_you_mean(kind, names) or definitions.suggestion(kind)
        text = f"unknown destination type {kind!r}.{near}"
        yield Flaw(("destinations", key, "type"), text, known=kind)
        return
    for name in unknown:
        near = did_you_mean(name, definitions.variables(kind))
        yield Flaw(
            (*path, name), f"{kind} has no configuration variable {name!r}.{near}", key=True, known=f"{kind}.{name}"
        )
    reported = set(unknown)
    for message in _misfits(kind, {name: value for name, value in config.items() if name not in reported}):
        name = re.split(r"[:.\[\s]", message, maxsplit=1)[0]
        if name in reported or (name not in config and did_you_mean(name, unknown)):
            continue
        reported.add(name)
        yield Flaw((*path, name), message) if name in config else Flaw(path, message)
    for problem in value_problems(kind, config):
        if problem.path[0] not in reported:
            yield Flaw((*path, *problem.path), problem.message, known=f"{kind}.{problem.path[0]}")


def _misfits(kind: str, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems that a type's definition and mapping find in its values; secrets are not shown."""
    try:
        definitions.check_variables(kind, config)
    except InvalidConfig as error:
        yield from (problem.message for problem in error.problems)
    try:
        if kind in CATALOGUE and (config or not definitions.is_recorded_only(kind)):
            CATALOGUE[kind].prepare(definitions.with_choices(kind, config))
    except InvalidConfig as error:
        yield from (problem.message for problem in error.problems)


def _code(workspace: Workspace) -> Iterator[Flaw]:
    for key, item in workspace.transformations.items():
        if item.function is None and not (item.code or item.file or item.version_id):
            yield Flaw(("transformations", key), f"{key!r} has no code: give 'code' or 'file'", key=True)
    for key, library in workspace.libraries.items():
        if library.key != key:
            yield Flaw(("libraries", key), f"listed under {key!r}, but its key is {library.key!r}", key=True)
        if not (library.code or library.file or library.version_id):
            yield Flaw(("libraries", key), f"{key!r} has no code: give 'code' or 'file'", key=True)


def _users(workspace: Workspace) -> Iterator[Flaw]:
    emails = set()
    for i, person in enumerate(workspace.users):
        if ":" in person.email:
            yield Flaw(("users", i, "email"), "an e-mail address must not contain a colon")
        elif person.email and person.email in emails:
            yield Flaw(("users", i, "email"), f"{person.email} is listed twice")
        if not _HASH.fullmatch(person.token_hash):
            yield Flaw(("users", i, "token"), "a hashed token is 'sha256:' and 64 hexadecimal digits")
        emails.add(person.email)


def _plans(workspace: Workspace) -> Iterator[Flaw]:
    """Check that the plans of sources exist, and that RudderStack supports their settings."""
    for key, source in workspace.sources.items():
        path: tuple[str, ...] = ("sources", key, "trackingPlan")
        inside = (*path, "plan") if source.plan_settings is not None else path
        if source.tracking_plan is not None and source.tracking_plan not in workspace.tracking_plans:
            hint = _hint(source.tracking_plan, workspace.tracking_plans)
            missing = ("trackingPlans", source.tracking_plan)
            yield Flaw(inside, f"unknown tracking plan {source.tracking_plan!r}.{hint}", missing=missing)
        elif source.tracking_plan is not None and (item := workspace.tracking_plans[source.tracking_plan]).project.name:
            try:
                _ = item.chosen
            except UnknownName:
                pass  # reported at the plan itself
            except InvalidPlan as error:
                yield Flaw(inside, error.problems[0].message)
        if source.plan_settings:
            from svctoolkit.plans import setting_problems  # few sources have any

            for steps, message in setting_problems(source.plan_settings):
                yield Flaw((*path, "settings", *steps), message, key=True)


def _forwards(workspace: Workspace) -> Iterator[Flaw]:
    """Check that no destination has the key of what forwards a source."""
    for key, source in workspace.sources.items():
        if source.forward and forward_key(key) in workspace.destinations:
            text = f"the key is that of `forward` of the source {key!r}; choose another one"
            yield Flaw(("destinations", forward_key(key)), text, key=True)


def _faults(workspace: Workspace) -> Iterator[Flaw]:
    """Check fault profiles, and that what names them exists."""
    faults = workspace.faults
    for name, profile in faults.profiles.items():
        for path, message in profile.problems():
            yield Flaw(("faults", "profiles", name, *path), message, key=True)
    # Also sources without `forward`: it is off on a machine without its secrets.
    targets = [*workspace.destinations, *map(forward_key, workspace.sources)]
    for kind, items in (("destinations", targets), ("sources", [*workspace.sources])):
        for key, name in getattr(faults, kind).items():
            if key not in items:
                yield Flaw(("faults", kind, key), f"unknown {kind[:-1]} {key!r}.{_hint(key, items)}", key=True)
            if name not in faults.profiles:
                yield Flaw(("faults", kind, key), f"unknown fault profile {name!r}.{_hint(name, faults.profiles)}")


def _delivery(workspace: Workspace) -> Iterator[Flaw]:
    delivery = workspace.delivery
    if delivery.mode not in MODES:
        hint = did_you_mean(delivery.mode, MODES.names())
        yield Flaw(("delivery", "mode"), f"must be one of {', '.join(MODES.names())}.{hint}")
    elif (needs := MODES[delivery.mode].needs) is not None and getattr(delivery, needs[0]) is None:
        yield Flaw(("delivery",), f"mode {delivery.mode!r} needs {needs[0]!r}: {needs[1]}", key=True)
    if not 0 < delivery.timeout <= 86400:
        yield Flaw(("delivery", "timeout"), "must be more than 0 and at most 86400 seconds")
