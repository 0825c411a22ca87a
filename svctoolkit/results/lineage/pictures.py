"""The picture of a lineage: the fields of the event, those of its payloads, and what is lost."""

from __future__ import annotations

from svctoolkit.pictures import End, Key, Wire, Wires
from svctoolkit.results.lineage import Destiny, Lineage, Origin
from svctoolkit.results.lineage.lights import settings_text

_KEYS = (Key("goes into", "info"), Key("decides about", "dim"), Key("lost", "bad"), Key("not from the event", "warn"))


def flow(lineage: Lineage) -> Wires:
    """Return the picture. Values that decide about a field without being in it have gray lines."""
    several = len({origin.payload for origin in lineage.fields}) > 1
    what = "user_transform" if lineage.stopped_at else "payload"
    places = {destiny.path: place for place, destiny in enumerate(lineage.event)}
    wires = [
        Wire(places[path], number, tone)
        for number, origin in enumerate(lineage.fields)
        for tone, paths in (("info", origin.events), ("dim", origin.conditions))
        for path in paths
        if path in places
    ]
    left = [End(d.path, _destiny(lineage, d), "bad" if _is_lost(lineage, d) else "info") for d in lineage.event]
    right = [
        End(f"{o.payload}: {o.field}" if several else o.field, _origin(o), "info" if o.events else "warn")
        for o in lineage.fields
    ]
    return Wires(f"Lineage at {lineage.destination}", ("event", what), left, right, wires, _KEYS)


def _is_lost(lineage: Lineage, destiny: Destiny) -> bool:
    """Return whether the field is lost on its way, and not together with the whole event."""
    return bool(destiny.lost_at) and destiny.lost_at != lineage.stopped_at


def _destiny(lineage: Lineage, destiny: Destiny) -> str:
    if destiny.stops:
        return "stops the event"
    if not _is_lost(lineage, destiny):
        return ""
    by = f" by {settings_text(destiny.lost_by)}" if destiny.lost_by else ""
    return f"lost at {destiny.lost_at}{by}"


def _origin(origin: Origin) -> str:
    if origin.events:
        return ""
    names = [*origin.settings, *origin.defaults]
    return f"{origin.kind} {names[0]}" if names and origin.kind in ("setting", "default") else origin.kind
