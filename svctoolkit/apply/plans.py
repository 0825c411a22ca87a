"""Remarks on changes of tracking plans, and of what they consist of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from svctoolkit.apply.change import Change, Detail
from svctoolkit.plans import Plan, Rule
from svctoolkit.workspace import Source, Workspace

_UNPLANNED_EVENT: Final = "drop_unplanned_events"
_UNPLANNED: Final = "drop_unplanned_properties"
_OTHER: Final = "drop_other_violations"


def remarks(change: Change, id_: str, before: Workspace, after: Workspace) -> Iterator[str]:
    """Yield which events a plan plans differently, and whether those that violate it still arrive, by source."""
    if change.action == "delete":
        return
    plan, old = _plan(after, id_), _plan(before, id_)
    if plan is None:
        return
    if old is None:
        yield from _users(after, id_)
        return
    was, now = ({rule.title: rule for rule in each.rules} for each in (old, plan))
    kinds: dict[str, None] = {}
    for title in dict.fromkeys([*was, *now]):
        text, kind = _rule(was.get(title), now.get(title))
        if text:
            yield f"{title}: {text}"
            kinds[kind] = None
    for kind in kinds:
        yield from _fates(after, id_, kind)


def _plan(workspace: Workspace, id_: str) -> Plan | None:
    item = workspace.tracking_plans.get(id_)
    return item.project.plans.get(id_) if item else None


def _users(workspace: Workspace, id_: str) -> Iterator[str]:
    names = [source.key for source in workspace.sources.values() if source.tracking_plan == id_]
    yield f"the events of {', '.join(names)} are checked against it" if names else "no source uses it"


def _rule(old: Rule | None, new: Rule | None) -> tuple[str, str]:
    """Return what differs in a rule, and the kind of violation that more events may have."""
    if new is None:
        return "no longer planned", _UNPLANNED_EVENT
    if old is None:
        return "planned now", ""
    was, now = _members(old), _members(new)
    required = [name for name in now.required if name not in was.required]
    optional = [name for name in was.required if name not in now.required and name in now.properties]
    added = [name for name in now.properties if name not in was.properties and name not in required]
    removed = [name for name in was.properties if name not in now.properties]
    other = [n for n, s in now.properties.items() if n in was.properties and s != was.properties[n]]
    parts = [
        (required, f"{_are(required)} required now: events without {_it(required)} become violations", _OTHER),
        (removed, f"{_are(removed)} not planned any more", _UNPLANNED),
        (other, f"{_are(other)} limited differently", _OTHER),
        (optional, f"{_are(optional)} optional now", ""),
        (added, f"{_are(added)} planned now", ""),
    ]
    found = [(text, kind) for names, text, kind in parts if names]
    if not found and old.schema != new.schema:
        found = [("its conditions differ", _OTHER)]
    return "; ".join(text for text, _ in found), next((kind for _, kind in found if kind), "")


def _are(names: list[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _it(names: list[str]) -> str:
    return "it" if len(names) == 1 else "them"


class _Members:
    """The properties that a rule plans, and which of them are required."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        properties = schema.get("properties")
        self.properties: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        self.required: list[str] = list(schema.get("required") or ())


def _members(rule: Rule) -> _Members:
    schema: Any = rule.schema
    for step in rule.section.split("."):
        schema = (schema.get("properties") or {}).get(step) or {} if isinstance(schema, dict) else {}
    return _Members(schema if isinstance(schema, dict) else {})


def _fates(workspace: Workspace, id_: str, kind: str) -> Iterator[str]:
    """Yield how events with a kind of violation are handled, by source."""
    if not kind:
        return
    fates: dict[str, list[str]] = {}
    for source in workspace.sources.values():
        if source.tracking_plan == id_:
            fates.setdefault(_fate(source, kind), []).append(source.key)
    what = _VIOLATIONS[kind]
    yield from (f"{what} of {' and '.join(names)} {fate}" for fate, names in fates.items())


_VIOLATIONS: Final = {
    _OTHER: "events with such violations",
    _UNPLANNED: "events with unplanned properties",
    _UNPLANNED_EVENT: "such events",
}
_LABELS: Final = {
    _UNPLANNED_EVENT: "unplanned events",
    _UNPLANNED: "unplanned properties",
    _OTHER: "other violations",
}


def _fate(source: Source, kind: str) -> str:
    settings = (source.plan_settings or {}).get("track") or {}
    if settings.get(kind):
        return "are dropped" if kind != _UNPLANNED else "lose them"
    dropped = [label for name, label in _LABELS.items() if settings.get(name)]
    only = f": only {' and '.join(dropped)} are dropped there" if dropped else ", marked as violations"
    return f"still pass{only}"


def setting_text(detail: Detail) -> str:
    """Return what a changed setting of a source's plan means."""
    kind, _, name = detail.path.removeprefix("governance.validations.config.").partition(".")
    label = _LABELS.get(name)
    if label is None:
        return f"{name} of {kind} events is {'on' if detail.after else 'off'}"
    return f"{label} in {kind} events are {'dropped' if detail.after else 'no longer dropped'}"


def use_remarks(change: Change, before: Workspace, after: Workspace) -> Iterator[str]:
    """Yield which planned events a property, custom type or event of the catalog changes."""
    for id_, tracking_plan in after.tracking_plans.items():
        new, old = tracking_plan.project.plans.get(id_), _plan(before, id_)
        if new is None or old is None or change.action == "create":
            continue
        was = {rule.title: rule for rule in old.rules}
        named = [rule.title for rule in new.rules if rule.title in was and rule.schema != was[rule.title].schema]
        if named:
            yield f"it is a part of {', '.join(named[:4])}{' and more' if len(named) > 4 else ''} in the plan {id_}"
            yield from _fates(after, id_, _OTHER)


def rename_remarks(detail: Detail, before: Workspace, after: Workspace) -> Iterator[str]:
    """Yield what a new name of an event means: those with the old name are not planned any more."""
    for id_, tracking_plan in after.tracking_plans.items():
        new, old = tracking_plan.project.plans.get(id_), _plan(before, id_)
        if new is None or old is None:
            continue
        gone = {rule.title for rule in old.rules} - {rule.title for rule in new.rules}
        if any(str(detail.before) in title for title in gone):
            yield f"events that are still named {detail.before!r} are not planned in {id_} any more"
            yield from _fates(after, id_, _UNPLANNED_EVENT)
