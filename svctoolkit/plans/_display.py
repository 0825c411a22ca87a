"""Rich display of plans and verdicts."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.plans.fields import fields
from svctoolkit.plans.model import Plan, Verdict
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.text import limits_text


@shows(Plan)
def plan(item: Plan) -> Html:
    """Show a table of the events, each with its properties below."""
    head = f"{item.name or item.id}, version {item.version}: {display.quantity(len(item.rules), 'event')}"
    return display.page(display.section(head, *(rule(planned) for planned in item.rules)))


def rule(item: Rule) -> Html:
    """Show the properties of one event."""
    rows = []
    for field in fields(item):
        limits = limits_text(field)
        rows.append((field.name, " or ".join(field.types) or "any", "required" if field.required else "", limits))
    return display.table(("property", "type", "required", "values"), rows, caption=f"{item.title} ({item.section})")


@shows(Verdict)
def verdict_page(item: Verdict) -> Html:
    return display.page(verdict(item))


def verdict(item: Verdict) -> Html:
    """Show the violations of an event, each with the position of its rule."""
    if item.unchecked:
        return display.message(f"not checked: {item.unchecked}", "warning")
    if not item.violations:
        return display.message("conforms to the tracking plan", "ok")
    rows = [
        (
            violation.type,
            violation.path,
            violation.message,
            item.rule.place_of(violation) if item.rule else item.plan.where,
        )
        for violation in item.violations
    ]
    fate = "dropped" if item.dropped else "goes on"
    return display.table(("violation", "at", "message", "rule"), rows, caption=f"Tracking plan: the event {fate}")
