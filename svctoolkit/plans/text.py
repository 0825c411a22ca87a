"""Plans as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.plans.fields import Field, fields
from svctoolkit.plans.rule import Rule
from svctoolkit.plans.schema.javascript import text_of

_MOST_VALUES = 6


def values_text(field: Field) -> str:
    """Return the values of an enum, only the first of them if there are many."""
    values = field.values or ()
    more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
    return ", ".join(text_of(value) for value in values[:_MOST_VALUES]) + more


def limits_text(field: Field) -> str:
    """Return the values, format and variant of a property, as far as it has them."""
    case = f"if {field.case.text}" if field.case else ""
    return ", ".join(filter(None, [values_text(field), field.format, case]))


def rule_lines(rule: Rule) -> Iterator[str]:
    """Yield an event and its properties, one line each."""
    yield f"{rule.title} ({rule.section})  {rule.where}"
    rows = [
        (field.name, " or ".join(field.types) or "any", "required" if field.required else "", limits_text(field))
        for field in fields(rule)
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, [*widths, 0], strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
