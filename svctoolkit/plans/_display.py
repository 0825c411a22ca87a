"""Rich display of plans and verdicts."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.plans.covering import PlanCoverage
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


@shows(PlanCoverage, "text")
def coverage_text(item: PlanCoverage) -> str:
    """Return how many items of each group are covered, and those that are missing."""
    lines = []
    for group in dict.fromkeys(group for group, _ in item.items):
        missing = [name for of, name in item.missing if of == group]
        total = sum(of == group for of, _ in item.items)
        few = f"; missing: {', '.join(missing[:8])}{', …' if len(missing) > 8 else ''}" if missing else ""
        lines.append(f"{group}: {total - len(missing):,} of {total:,}{few}")
    return "\n".join(lines) or "the plan is empty"


@shows(PlanCoverage)
def coverage_page(item: PlanCoverage) -> Html:
    """Show a heat map of events and groups, and what is missing."""
    missing = display.table(("group", "missing"), item.missing) if item.missing else Html("")
    return display.page(item.picture().html(), missing)
