"""How lineage shows itself: a field of the payload beside its sources, and what of the event is lost."""

from __future__ import annotations

import json
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.results.lineage import Lineage, Origin

_WIDTH = 40


def text(lineage: Lineage) -> str:
    """A line for each field of a payload, then what is lost."""
    several = len({origin.payload for origin in lineage.fields}) > 1
    lines = [f"lineage at {lineage.destination}"]
    for origin in lineage.fields:
        number = f"{origin.payload}: " if several else ""
        lines.append(f"  {number}{origin.field} <- {sources(origin)}")
    for stage in ("user_transform", "dest_transform"):
        paths = [destiny.path for destiny in lineage.lost if destiny.lost_at == stage]
        if paths:
            lines.append(f"  lost at {stage}: {', '.join(paths)}")
    return "\n".join(lines)


def page(lineage: Lineage) -> Html:
    """Two tables: where each field comes from, where each field of the event went."""
    rows = [[o.payload, o.field, _short(o.value), sources(o)] for o in lineage.fields]
    went = [
        [d.path, _short(d.value), ", ".join(d.fields) or (f"lost at {d.lost_at}" if d.lost_at else "decides only")]
        for d in lineage.event
    ]
    return display.page(
        display.section(f"Where each field comes from: {lineage.destination}"),
        display.table(["payload", "field", "value", "comes from"], rows),
        display.more("Where each field of the event went", display.table(["event", "value", "goes to"], went)),
    )


def sources(origin: Origin) -> str:
    """What a field depends on, in words."""
    words = [*origin.events, *(["the user's code"] if origin.code else [])]
    words += [f"setting {name}" for name in origin.settings]
    if origin.conditions:
        words.append(f"if {', '.join(origin.conditions[:3])}{', ...' if len(origin.conditions) > 3 else ''}")
    return ", ".join(words) or "constant"


def _short(value: Any) -> str:
    line = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
