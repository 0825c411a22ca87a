"""`sql`: a query about what was sent returns no rows."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, Whole, WholeCheck
from svctoolkit.policies.tables import EVENT_COLUMNS, QueryError, names_in, tables_of

_LONGEST = 80  # characters of a value


def make(options: Json) -> WholeCheck:
    """Return the check. Raises `ConfigError` for text that is not a query."""
    query: str = options
    tables, names = tables_of(query), names_in(query)

    def check(whole: Whole) -> Iterator[Finding]:
        try:
            columns, rows = whole.tables.query(query)
        except QueryError as error:
            # A column exists once a payload has such a member: of a few events, there need not be one.
            if whole.is_complete or not error.is_missing:
                yield Finding(tables[0], "", f"cannot be checked: {error}")
            return
        for row in rows:
            named = dict(zip(columns, row, strict=True))
            others = [f"{name} = {_text(value)}" for name, value in named.items() if name not in EVENT_COLUMNS]
            event_id, event = (str(named.get(name) or "") for name in ("event_id", "event"))
            of = str(named.get("destination") or "")
            place, name = whole.tables.event(tables, event_id) if event_id else ("", "")
            yield Finding(
                of if of in tables else tables[0],
                "",
                ", ".join(others) or "is in the result",
                event=event or name,
                event_id=event_id,
                place=place,
            )

    return WholeCheck(check, dict.fromkeys(tables, names))


def _text(value: Json) -> str:
    text = repr(value) if isinstance(value, str) else "missing" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


kind = PolicyKind(
    "a query about what was sent, whose rows are breaches",
    {"type": "string", "minLength": 1, "maxLength": 10_000},
    make,
    lambda query: tables_of(query),
)
