"""Find the edits between two workspaces: code, settings of destinations, routing, tracking plans, and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

from svctoolkit.json_types import Json
from svctoolkit.plans import Plan, Rule
from svctoolkit.replay.edits import code
from svctoolkit.replay.edits.code import Hunk
from svctoolkit.replay.edits.edit import Edit
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Destination, Library, Source, TrackingPlan, Transformation, Workspace

_SECTIONS: Final = {
    "destinations": "destination",
    "sources": "source",
    "transformations": "transformation",
    "libraries": "library",
    "tracking_plans": "tracking plan",
    "accounts": "account",
}
_WHOLE: Final = ("name", "credentials", "delivery", "data_plane", "warehouses", "limits", "simulate")
#: Members of policies that are not their kind.
_OF_ALL_POLICIES: Final = ("name", "severity", "owner", "accepted")
_FREE: Final = ("key", "file", "runnable", "write_key", "forward", "version_id", "code_version")
_NAMED: Final = 4  # hunks of one text that are named one by one
_ABSENT: Final = object()


def edits_between(before: Workspace, after: Workspace) -> list[Edit]:
    """Return the edits that turn `before` into `after`, as far as they can matter to events."""
    return list(_edits(before, after))


def policy_edits(before: Sequence[Mapping[str, Json]], after: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the policies that differ, as shown to users: `policy agree`. A weaker one hides breaches."""
    was, now = _by_name(before), _by_name(after)
    return [
        f"{'' if name in was and name in now else 'removed ' if name in was else 'new '}policy {name}"
        for name in dict.fromkeys([*was, *now])
        if was.get(name) != now.get(name)
    ]


def _by_name(policies: Sequence[Mapping[str, Json]]) -> dict[str, Mapping[str, Json]]:
    """Return policies by their names; those without one by their kinds, with a number for further ones."""
    found: dict[str, Mapping[str, Json]] = {}
    for policy in policies:
        kind = next((name for name in policy if name not in _OF_ALL_POLICIES), "")
        name = str(policy.get("name") or kind)
        number = sum(known == name or known.startswith(f"{name} ") for known in found)
        found[f"{name} {number + 1}" if name in found else name] = policy
    return found


def other_edits(before: Workspace, after: Workspace) -> list[str]:
    """Return the edits that no event can show, as shown to users: policies, faults, write keys and the like."""
    found = policy_edits(before.policies, after.policies)
    named = {*_SECTIONS, *_WHOLE, "policies", "folder"}
    for name in (each.name for each in fields(after) if each.compare and each.init and each.name not in named):
        if reveal(getattr(before, name)) != reveal(getattr(after, name)):
            found.append(f"{name} of the workspace")
    for key in before.sources.keys() & after.sources.keys():
        if reveal(before.sources[key].write_key) != reveal(after.sources[key].write_key):
            found.append(f"write key of source {key}")
    return found


def _edits(before: Workspace, after: Workspace) -> Iterator[Edit]:
    for section, word in _SECTIONS.items():
        old, new = getattr(before, section), getattr(after, section)
        for key in dict.fromkeys([*old, *new]):
            if key in old and key in new:
                yield from _of_item(section, f"{word} {key}", old[key], new[key], before, after)
            else:
                state = "removed" if key in old else "new"
                undo = partial(_put, section, key, old.get(key, _ABSENT))
                of = frozenset[str]()
                if section == "destinations":
                    undo, of = partial(_put_connected, key, before), frozenset({key})
                yield Edit(f"{state} {word} {key}", undo, of)
    for name in _WHOLE:
        if reveal(getattr(before, name)) != reveal(getattr(after, name)):
            yield Edit(f"{name} of the workspace", partial(_set, name, getattr(before, name)))


# Any: an item of a workspace
def _of_item(section: str, title: str, old: Any, new: Any, before: Workspace, after: Workspace) -> Iterator[Edit]:
    of = _destinations(new, after)
    for name in (each.name for each in fields(new) if each.name not in _FREE):
        was, now = getattr(old, name), getattr(new, name)
        if name != "project" and reveal(was) == reveal(now):
            continue
        if name == "config" and isinstance(new, Destination):
            yield from _settings(new.key, reveal(was), reveal(now), old)
        elif name == "connections":
            # Connections of a new or removed destination are a part of that edit.
            yield from _connections(old, new, before.destinations.keys() & after.destinations.keys())
        elif name == "project":
            yield from _rules(old, new)
        elif name == "code" and was and now and old.language == new.language:
            yield _code(section, new, was, now, of)
        else:
            revert = partial(_change, section, new.key, {name: was})
            what = title if name in ("function", "code") else f"{name.replace('_', ' ')} of {title}"
            detached = f" (detached: {was})" if name == "transformation" and was and not now else ""
            yield Edit(what + detached, revert, of)


def _destinations(item: Any, after: Workspace) -> frozenset[str]:
    """Return the keys of the destinations that an item can concern; empty for all."""
    if isinstance(item, Destination):
        return frozenset({item.key})
    if isinstance(item, Transformation):
        return frozenset(key for key, of in after.destinations.items() if of.transformation in (item.key, item.id))
    return frozenset()


def _settings(key: str, was: Mapping[str, Any], now: Mapping[str, Any], old: Destination) -> Iterator[Edit]:
    for name in dict.fromkeys([*was, *now]):
        if was.get(name, _ABSENT) != now.get(name, _ABSENT):
            value = old.config.get(name, _ABSENT)
            yield Edit(f"setting {name}", partial(_configure, key, name, value), frozenset({key}))


def _connections(old: Source, new: Source, destinations: Set[str]) -> Iterator[Edit]:
    was, now = ({each.destination: each for each in source.connections} for source in (old, new))
    for key in dict.fromkeys([*was, *now]):
        if key in destinations and was.get(key) != now.get(key):
            revert = partial(_connect, new.key, key, was.get(key))
            yield Edit(f"connection of {new.key} to {key}", revert, frozenset({key}))


def _rules(old: TrackingPlan, new: TrackingPlan) -> Iterator[Edit]:
    for id, plan in new.project.plans.items():
        before = old.project.plans.get(id)
        if before is None:
            yield Edit(f"plan {id}", partial(_change, "tracking_plans", new.key, {"project": old.project}))
            continue
        was, now = ({(r.title, r.section): r for r in of.rules} for of in (before, plan))
        for title in dict.fromkeys([*was, *now]):
            rule, later = was.get(title), now.get(title)
            if rule is None or later is None or rule.schema != later.schema:
                yield Edit(f"rule {title[0]} of plan {new.key}", partial(_plan, new.key, id, title, rule))
    links = {source: link.settings for source, link in old.project.links.items()}
    if links != {source: link.settings for source, link in new.project.links.items()}:
        yield Edit(f"settings of plan {new.key}", partial(_link, new.key, old))


def _code(section: str, item: Transformation | Library, was: str, now: str, of: frozenset[str]) -> Edit:
    def edit(hunk: Hunk) -> Edit:
        undo = partial(_change, section, item.key, {"code": code.revert(now, hunk)})
        parts = tuple(map(edit, hunk.parts))
        return Edit(f"{item.file_name}:{hunk.where}", undo, of, parts, item.file_name, hunk.start + 1)

    hunks = code.hunks(was, now)
    found = tuple(map(edit, hunks))
    if len(found) == 1:
        return found[0]
    lines = f":{', '.join(hunk.where for hunk in hunks)}" if len(hunks) <= _NAMED else ""
    undo = partial(_change, section, item.key, {"code": was})
    return Edit(f"{item.file_name}{lines}", undo, of, found, item.file_name, hunks[0].start + 1 if hunks else 1)


def _put(section: str, key: str, value: Any, workspace: Workspace) -> None:
    items = {name: item for name, item in getattr(workspace, section).items() if name != key}
    setattr(workspace, section, items if value is _ABSENT else {**items, key: value})


def _put_connected(key: str, before: Workspace, workspace: Workspace) -> None:
    _put("destinations", key, before.destinations.get(key, _ABSENT), workspace)
    for source in workspace.sources.keys() & before.sources.keys():
        was = next((each for each in before.sources[source].connections if each.destination == key), None)
        _connect(source, key, was, workspace)


def _set(name: str, value: Any, workspace: Workspace) -> None:
    setattr(workspace, name, value)


def _change(section: str, key: str, members: Mapping[str, Any], workspace: Workspace) -> None:
    items = getattr(workspace, section)
    if key in items:
        setattr(workspace, section, {**items, key: replace(items[key], **members)})


def _configure(key: str, name: str, value: Any, workspace: Workspace) -> None:
    config = {of: now for of, now in workspace.destinations[key].config.items() if of != name}
    config = config if value is _ABSENT else {**config, name: value}
    _change("destinations", key, {"config": config}, workspace)


def _connect(source: str, key: str, connection: Any, workspace: Workspace) -> None:
    others = [each for each in workspace.sources[source].connections if each.destination != key]
    connections = others if connection is None else [*others, connection]
    _change("sources", source, {"connections": connections}, workspace)


def _plan(key: str, id: str, title: tuple[str, str], rule: Rule | None, workspace: Workspace) -> None:
    project = workspace.tracking_plans[key].project
    plan: Plan = project.plans[id]
    rules = [each for each in plan.rules if (each.title, each.section) != title]
    changed = replace(plan, rules=rules if rule is None else [rule, *rules])
    _change("tracking_plans", key, {"project": project.with_plan(id, changed)}, workspace)


def _link(key: str, old: TrackingPlan, workspace: Workspace) -> None:
    project = workspace.tracking_plans[key].project
    links = {
        source: replace(link, settings=old.project.links[source].settings) if source in old.project.links else link
        for source, link in project.links.items()
    }
    _change("tracking_plans", key, {"project": replace(project, links=links)}, workspace)
