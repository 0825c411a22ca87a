"""Display lineage: fields of the payload next to their sources, and fields of the event that are lost."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shorten, shows
from svctoolkit.results.lineage import Lineage, Origin
from svctoolkit.results.lineage.lights import (
    LineageLights,
    destination_text,
    loss_text,
    settings_text,
    source_text,
    stop_text,
)
from svctoolkit.results.lineage.pictures import flow

_WIDTH = 40


@shows(Lineage, "text")
def text(lineage: Lineage) -> str:
    """Return a line for each field of a payload, then the losses; for an event that stopped, where and why."""
    several = len({origin.payload for origin in lineage.fields}) > 1
    lines = [f"lineage at {lineage.destination}{f': {stop_text(lineage)}' if lineage.stopped_at else ''}"]
    for origin in lineage.fields:
        number = f"{origin.payload}: " if several else ""
        number += "user_transform " if lineage.stopped_at else ""
        held = f" -> {_held(origin)}" if origin.held else ""
        lines.append(f"  {number}{origin.field} <- {source_text(origin)}{held}")
    for stage in ("source", "user_transform", "dest_transform", "held"):
        paths = [
            f"{destiny.path} (by {settings_text(destiny.lost_by)})" if destiny.lost_by else destiny.path
            for destiny in lineage.lost
            if destiny.lost_at == stage
        ]
        if paths:
            lines.append(f"  lost at {stage}: {', '.join(paths)}")
    return "\n".join([*lines, *(f"  {line}" for line in loss_text(lineage))])


def tables(lineage: Lineage) -> tuple[Html, ...]:
    """Return tables of the origin of each payload field and the destination of each event field, without highlights."""
    rows = [[o.payload, o.field, shorten(o.value, _WIDTH), *_comes_and_goes(lineage, o)] for o in lineage.fields]
    went = [[d.path, shorten(d.value, _WIDTH), destination_text(d)] for d in lineage.event]
    return (
        *_losses(lineage),
        display.table(_head(lineage), rows),
        display.more("Where each field of the event went", display.table(["event", "value", "where it went"], went)),
    )


@shows(Lineage)
def page(lineage: Lineage) -> Html:
    """Return the fields of the payloads next to those of the event; related fields are highlighted together."""
    lights = LineageLights(lineage)
    rows = [
        [o.payload, lights.payload_leaf(o, o.field), shorten(o.value, _WIDTH), *_comes_and_goes(lineage, o)]
        for o in lineage.fields
    ]
    went = [[lights.event_leaf(d, d.path), shorten(d.value, _WIDTH), destination_text(d)] for d in lineage.event]
    origins = [display.table(_head(lineage), rows)] if rows else []
    return display.page(
        display.section(f"Where each field comes from: {lineage.destination}"),
        *([display.message(stop_text(lineage), "warning")] if lineage.stopped_at else []),
        *_losses(lineage),
        flow(lineage).html(),
        lights.group(display.columns(display.table(["event", "value", "where it went"], went), *origins)),
    )


def _head(lineage: Lineage) -> list[str]:
    return [_what(lineage), "field", "value", "comes from", *(["held as"] if lineage.level != "answers" else [])]


def _comes_and_goes(lineage: Lineage, origin: Origin) -> list[str]:
    """Return what a field comes from, and with a simulated destination, where its value ended up."""
    return [source_text(origin), *([_held(origin)] if lineage.level != "answers" else [])]


def _held(origin: Origin) -> str:
    return ", ".join(cell.text for cell in origin.held)


def _losses(lineage: Lineage) -> list[Html]:
    return [display.message(line, "warning") for line in loss_text(lineage)]


def _what(lineage: Lineage) -> str:
    return "user_transform" if lineage.stopped_at else "payload"
