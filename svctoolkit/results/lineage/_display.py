"""How lineage shows itself: a field of the payload beside its sources, and what of the event is lost."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shorten, shows
from svctoolkit.results.lineage import Lineage
from svctoolkit.results.lineage.lights import (
    LineageLights,
    destination_text,
    settings_text,
    source_text,
    stop_text,
)

_WIDTH = 40


@shows(Lineage, "text")
def text(lineage: Lineage) -> str:
    """A line for each field of a payload, then what is lost; of an event that stops on the way, where and by what."""
    several = len({origin.payload for origin in lineage.fields}) > 1
    lines = [f"lineage at {lineage.destination}{f': {stop_text(lineage)}' if lineage.stopped_at else ''}"]
    for origin in lineage.fields:
        number = f"{origin.payload}: " if several else ""
        number += "user_transform " if lineage.stopped_at else ""
        lines.append(f"  {number}{origin.field} <- {source_text(origin)}")
    for stage in ("user_transform", "dest_transform"):
        paths = [
            f"{destiny.path} (by {settings_text(destiny.lost_by)})" if destiny.lost_by else destiny.path
            for destiny in lineage.lost
            if destiny.lost_at == stage
        ]
        if paths:
            lines.append(f"  lost at {stage}: {', '.join(paths)}")
    return "\n".join(lines)


def tables(lineage: Lineage) -> tuple[Html, Html]:
    """Where each field of the payloads comes from, and where each field of the event went, without lights."""
    rows = [[o.payload, o.field, shorten(o.value, _WIDTH), source_text(o)] for o in lineage.fields]
    went = [[d.path, shorten(d.value, _WIDTH), destination_text(d)] for d in lineage.event]
    return (
        display.table([_what(lineage), "field", "value", "comes from"], rows),
        display.more("Where each field of the event went", display.table(["event", "value", "where it went"], went)),
    )


@shows(Lineage)
def page(lineage: Lineage) -> Html:
    """The fields of the payloads beside those of the event; what belongs together lights up."""
    lights = LineageLights(lineage)
    rows = [
        [o.payload, lights.payload_leaf(o, o.field), shorten(o.value, _WIDTH), source_text(o)] for o in lineage.fields
    ]
    went = [[lights.event_leaf(d, d.path), shorten(d.value, _WIDTH), destination_text(d)] for d in lineage.event]
    origins = [display.table([_what(lineage), "field", "value", "comes from"], rows)] if rows else []
    return display.page(
        display.section(f"Where each field comes from: {lineage.destination}"),
        *([display.message(stop_text(lineage), "warning")] if lineage.stopped_at else []),
        lights.group(display.columns(display.table(["event", "value", "where it went"], went), *origins)),
    )


def _what(lineage: Lineage) -> str:
    return "user_transform" if lineage.stopped_at else "payload"
