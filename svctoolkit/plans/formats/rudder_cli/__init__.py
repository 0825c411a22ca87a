"""Projects of rudder-cli: YAML files of the versions rudder/v0.1 and rudder/v1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svctoolkit.plans.formats._contract import Format, Loader, default_section
from svctoolkit.plans.formats.rudder_cli._catalog import Catalog, declare
from svctoolkit.plans.formats.rudder_cli._files import Item, describes, spec_files
from svctoolkit.plans.formats.rudder_cli._schemas import Schemas, note_cycles
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Link, Project
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.settings import CLI_KEYS, Settings

_SECTIONS = ("properties", "traits", "context.traits")
_PLAN_KEYS = ("id", "display_name", "description", "rules")
_RULE_KEYS = ("type", "id", "event", "properties", "variants", "includes")
_NEW_RULE_KEYS = (*_RULE_KEYS, "identity_section", "additional_properties")


def _load(path: Path, loader: Loader) -> Project:
    files = spec_files(path, loader)
    catalog = declare(files)
    cycles = note_cycles(catalog)
    plans: dict[str, Plan] = {}
    sources: list[Item] = []
    for file in files:
        if file.kind in ("tp", "tracking-plan"):
            plan = _plan(file.spec, catalog, usable=not cycles)
            if plan.id in plans:
                file.spec.note(f"the tracking plan {plan.id!r} is already defined in {plans[plan.id].where}", "id")
            plans.setdefault(plan.id, plan)
        elif file.kind == "event-stream-source":
            sources.append(file.spec)
    return Project(plans, _links(sources, plans))


def _plan(spec: Item, catalog: Catalog, *, usable: bool) -> Plan:
    spec.fits(*_PLAN_KEYS, needs=("id", "display_name"))
    rules: list[Rule] = []
    ids: set[str] = set()
    events: set[str] = set()
    for item in spec.items("rules"):
        rule = _rule(item, catalog, ids, events, usable=usable)
        if rule is not None:
            rules.append(rule)
    return Plan(spec.text("id"), rules, spec.text("display_name"), 1, spec.where)


def _rule(item: Item, catalog: Catalog, ids: set[str], events: set[str], *, usable: bool) -> Rule | None:
    if not item.fits(*(_RULE_KEYS if item.file.old else _NEW_RULE_KEYS), needs=("type", "id", "event")):
        return None
    if item.data.get("type") != "event_rule":
        item.note("the type of a rule must be 'event_rule'", "type")
    if "includes" in item.data:
        item.note("'includes' is no longer supported: list the properties", "includes", key=True)
    if item.text("id") in ids:
        item.note(f"the rule {item.text('id')!r} is already defined in this plan", "id")
    ids.add(item.text("id"))
    head = item
    reference: tuple[str | int, ...] = ("event",)
    if item.file.old:
        if "event" not in item.data or not item.at("event").fits(
            "$ref", "allow_unplanned", "identity_section", needs=("$ref",)
        ):
            return None
        head, reference = item.at("event"), ("$ref",)
    event = catalog.refer(head, "event", head.data.get(reference[0]), *reference)
    if event is None:
        Schemas(catalog).event_schema(item, "properties", additional=False)  # reports further problems
        return None
    if event.id in events:
        head.note(f"the event {event.id!r} already has a rule in this plan", *reference)
    events.add(event.id)
    section = head.text("identity_section", default_section(event.event_type))
    if section not in _SECTIONS:
        head.note(f"'identity_section' must be one of {', '.join(_SECTIONS)}", "identity_section")
    additional = head.flag("allow_unplanned" if item.file.old else "additional_properties")
    if not usable:
        return None
    schemas = Schemas(catalog)
    schema = schemas.event_schema(item, section, additional=additional)
    places, where = schemas.places, item.where

    def locate(steps: tuple[str | int, ...], _key: bool) -> str:
        return next((places[steps[:n]] for n in range(len(steps), 0, -1) if steps[:n] in places), where)

    return Rule(event.event_type, event.name, schema, section, event.description, where, locate)


def _links(sources: list[Item], plans: dict[str, Plan]) -> dict[str, Link]:
    """Return the sources of a project, by id. One without governance has no plan."""
    catalog = Catalog()
    catalog.kinds["tracking-plan"] = {plan.id: plan for plan in plans.values()}  # type: ignore[misc]
    links: dict[str, Link] = {}
    for spec in sources:
        if not spec.fits("id", "name", "type", "enabled", "governance", needs=("id", "name", "type")):
            continue
        if spec.text("id") in links:
            spec.note(f"the source {spec.text('id')!r} is already defined in this project", "id")
        links.setdefault(spec.text("id"), _link(spec, catalog))
    return links


def _link(spec: Item, catalog: Catalog) -> Link:
    nothing = Link(None, Settings())
    if spec.data.get("governance") is None or not spec.at("governance").fits("validations"):
        return nothing
    governance = spec.at("governance")
    if governance.data.get("validations") is None:
        return nothing
    validations = governance.at("validations")
    if not validations.fits("tracking_plan", "config", needs=("tracking_plan",)):
        return nothing
    plan: Any = catalog.refer(validations, "tracking-plan", validations.data.get("tracking_plan"), "tracking_plan")
    settings: dict[str, dict[str, bool]] = {}
    if validations.data.get("config") and validations.at("config").fits("track", "identify", "page", "screen", "group"):
        config = validations.at("config")
        settings = {name: _type_settings(config.at(name), name) for name in config.data}
    return Link(plan, Settings.of_words(settings))


def _type_settings(item: Item, name: str) -> dict[str, bool]:
    known = [key for key in CLI_KEYS if name == "track" or key != "drop_unplanned_events"]
    return {key: item.flag(key) for key in item.data if key in known} if item.fits(*known) else {}


format = Format(describes, _load, folder=True)
