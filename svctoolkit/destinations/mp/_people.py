"""Mixpanel's user profiles: how traits, device and browser map to their properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from svctoolkit.destinations import Tags
from svctoolkit.destinations.mp._tables import DEVICE, PERSON
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import Misfit, agent, as_object, is_empty, js_join, nest_dotted, path, platform, without


class Traits(NamedTuple):
    """The traits of an event and those of its context.

    For Mixpanel's own properties the event's traits take precedence; for all others, those of the context.
    """

    own: Mapping[str, Any]
    context: Mapping[str, Any]

    def split(self, names: Tags) -> tuple[dict[str, Json], Traits]:
        """Return the traits at these paths, by the last name of each path, and the others (including null traits)."""
        listed: dict[str, Any] = {}
        for name in names:
            for value in (path(name)(self.context), path(name)(self.own)):
                if not is_empty(value):
                    listed[name.rpartition(".")[2]] = value
        paths = [name for name in names if name.rpartition(".")[2] in listed]
        return listed, Traits(without(self.own, paths), without(self.context, paths)) if paths else self


def person(event: Event, traits: Traits, *, new_names: bool) -> dict[str, Json]:
    """Return the content of `$set`: Mixpanel's own properties, with their new or old names, then all other traits.

    Raises `MappingError` for a location source that Mixpanel does not support.
    """
    out = PERSON(Event({"traits": traits.own, "context": {**event.context, "traits": traits.context}}))
    if out.get("$geo_source", "reverse_geocoding") != "reverse_geocoding":
        where = "context.location.geoSource"
        raise Misfit(where, "null or 'reverse_geocoding'", out["$geo_source"])
    if "$name" not in out and "$first_name" in out and "$last_name" in out:
        out["$name"] = f"{js_join(out['$first_name'])} {js_join(out['$last_name'])}"
    if not new_names:
        for new, old in (("$first_name", "$firstName"), ("$last_name", "$lastName")):
            if new in out:
                out[old] = out.pop(new)
    rest = nest_dotted({**PERSON.rest(traits.own, "traits"), **PERSON.rest(traits.context, "context.traits")})
    return {**out, **rest, **_device(event), **{key: value for key, value in browser(event).items() if value}}


def _device(event: Event) -> dict[str, Any]:
    device = as_object(event.context.get("device"))
    kind = platform(device.get("type"))
    if kind not in DEVICE:
        return {}
    devices = {f"${kind}_devices": [device["token"]]} if device.get("token") else {}
    return {**devices, **DEVICE[kind](event)}


def browser(event: Event) -> dict[str, Json]:
    """Return the browser of a website visitor; empty strings for an unknown user agent."""
    if event.raw.get("channel") != "web" or not event.context.get("userAgent"):
        return {}
    client = agent(event.context["userAgent"])
    return {"$browser": client.browser, "$browser_version": client.browser_version}
