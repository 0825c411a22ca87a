"""Which destinations receive an event, and why others do not: the rules of RudderStack's processor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.events import EVENT_TYPES, RECORD
from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Destination, Source

#: Event types that are sent from the server even in hybrid mode: destination type -> source type -> event types.
HYBRID_EVENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "ACTIVE_CAMPAIGN": {"web": ("track", "screen", "identify")},
    "BRAZE": {"web": ("identify", "track", "page")},
    "GA4": {"web": ("track", "group")},
    "GA4_V2": {"web": ("track", "group")},
    "LEANPLUM": dict.fromkeys(("android", "ios", "flutter"), ("identify", "page", "screen", "track", "group")),
    "ROCKERBOX": {"web": ("track",)},
}


#: Settings for which a rule reads more of an event than its type, name and integrations.
_CONSENT = ("consentManagement", "oneTrustCookieCategories", "ketchConsentPurposes")


def needs_all(destination: Destination) -> bool:
    """Whether `exclusion` needs the whole event; otherwise type, event and integrations are enough."""
    return any(destination.config.get(name) for name in _CONSENT)


def blocked(event: Mapping[str, Json], source: Source, blocking: Mapping[str, Collection[str]]) -> str:
    """Return why the workspace blocks the event at the gateway (RudderStack's `settings.eventBlocking`), or "".

    Names are compared exactly. Only sources of the event stream are affected, which have no category.
    """
    if not blocking or source.category:
        return ""
    kind, name = event.get("type"), event.get("event")
    if isinstance(kind, str) and isinstance(name, str) and name in blocking.get(kind.strip().lower(), ()):
        return f"the workspace blocks {kind.strip().lower()} events named {name!r} (eventBlocking)"
    return ""


def exclusion(event: Mapping[str, Json], source: Source, destination: Destination) -> str:
    """Return why the destination does not receive the event, or an empty string."""
    if not destination.enabled:
        return "the destination is disabled"
    definition = definitions.known(destination.type)
    if definition is None:  # the stages report it
        return _by_integrations(event.get("integrations"), destination.type)
    config = destination.config
    kind = event.get("type")
    event_type = kind.strip().lower() if isinstance(kind, str) else ""
    return (
        _by_integrations(event.get("integrations"), definition.display_name)
        or _by_type(event_type, definition, config)
        or _by_mode(event_type, source.platform, definition, config)
        or _by_consent(event, source.platform, config)
        or (_by_conversions(event, config) if event_type == "track" else "")
    )


def _by_integrations(integrations: Any, title: str) -> str:
    """Apply `integrations`: keys are case-sensitive display names. Booleans decide, objects mean true, else `All`."""
    if integrations is None:
        return ""
    if not isinstance(integrations, Mapping):
        return "the event's integrations are not an object, so it goes to no destination"
    own = integrations.get(title)
    if isinstance(own, bool):
        return "" if own else f"the event's integrations disable {title}"
    everyone = integrations.get("All", True)
    if not isinstance(everyone, bool):
        return "the event's integrations.All is neither true nor false, so it goes to no destination"
    if everyone or isinstance(own, Mapping):
        return ""
    return f"the event's integrations disable all destinations and do not enable {title}"


def _by_type(event_type: str, definition: definitions.Definition, config: Mapping[str, Any]) -> str:
    if event_type not in EVENT_TYPES:
        return ""  # not specific to the destination: the stages reject it
    listed = (definition.supported_message_types or {}).get("cloud")
    if isinstance(listed, list):
        takes = [str(name).strip().lower() for name in listed]
        if config.get("enableServerSideIdentify") is False:
            takes = [name for name in takes if name != "identify"]
        if event_type not in takes:
            return f"Message type not supported: {definition.display_name} does not accept {event_type} events (298)"
    return ""


def _by_mode(event_type: str, source_type: str, definition: definitions.Definition, config: Mapping[str, Any]) -> str:
    if definition.modes and not {"cloud", "hybrid"} & set(definition.modes):
        return f"{definition.display_name} has device mode only: the client's SDK sends to it"
    mode = connection_mode(config, source_type)
    if mode == "device":
        return "the destination is in device mode: the client's SDK sends to it"
    if mode == "hybrid":
        takes = HYBRID_EVENTS.get(definition.name, {}).get(source_type)
        if takes is not None and event_type not in takes:
            return f"the destination is in hybrid mode: the client's SDK sends its {event_type} events"
    return ""


def connection_mode(config: Mapping[str, Json], source_type: str) -> Json:
    """Return the connection mode that a destination has for sources of this type; None if its settings name none."""
    mode = _of_source(config.get("connectionMode"), source_type)
    return "device" if mode is None and _of_source(config.get("useNativeSDK"), source_type) is True else mode


def _of_source(value: Any, source_type: str) -> Any:
    """Return a setting that may differ by source type, such as `{"web": [...], "android": [...]}`."""
    return value.get(source_type) if isinstance(value, Mapping) else value


def _by_consent(event: Mapping[str, Any], source_type: str, config: Mapping[str, Any]) -> str:
    context = event.get("context")
    consent = context.get("consentManagement") if isinstance(context, Mapping) else None
    if not isinstance(consent, Mapping) or not isinstance(consent.get("deniedConsentIds"), list):
        return ""
    denied = {text.strip() for text in consent["deniedConsentIds"] if isinstance(text, str) and text.strip()}
    provider = consent.get("provider") or ""
    own = {name: _of_source(config.get(name), source_type) for name in _CONSENT}
    if denied and _without_consent(denied, provider, consent, own):
        return f"the user denied consents that the destination requires: {', '.join(sorted(denied))}"
    return ""


def _without_consent(denied: set[str], provider: Any, consent: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    for entry in _rows(config.get("consentManagement")):
        needed = _names(_rows(entry.get("consents")), "consent")
        if entry.get("provider") == provider and needed:
            strategy = (entry if provider == "custom" else consent).get("resolutionStrategy")
            return needed <= denied if strategy == "or" else bool(needed & denied)
    if provider in ("", "oneTrust"):
        needed = _names(_rows(config.get("oneTrustCookieCategories")), "oneTrustCookieCategory")
        if needed:
            return bool(needed & denied)
    if provider in ("", "ketch"):
        needed = _names(_rows(config.get("ketchConsentPurposes")), "purpose")
        return bool(needed) and needed <= denied
    return False


def required_consents(destination: Destination, source_type: str) -> list[tuple[str, str]]:
    """Return the consents that a destination requires of events of this source type, each as provider and id."""
    own = {name: _of_source(destination.config.get(name), source_type) for name in _CONSENT}
    generic = [
        (str(entry.get("provider") or ""), name)
        for entry in _rows(own["consentManagement"])
        for name in sorted(_names(_rows(entry.get("consents")), "consent"))
    ]
    older = (
        ("oneTrust", "oneTrustCookieCategories", "oneTrustCookieCategory"),
        ("ketch", "ketchConsentPurposes", "purpose"),
    )
    return generic + [
        (provider, name) for provider, setting, member in older for name in sorted(_names(_rows(own[setting]), member))
    ]


def _by_conversions(event: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Apply `listOfConversions`, which restricts the names of track events."""
    rows = config.get("listOfConversions")
    listed = _names(_rows(rows), "conversions") if rows else ()
    name = event.get("event")
    if listed and not (isinstance(name, str) and name in listed):
        return f"the destination does not accept events named {name!r}: it is not in listOfConversions"
    return ""


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in reveal(value) if isinstance(row, Mapping)] if isinstance(value, list) else []


def _names(rows: Iterable[Mapping[str, Any]], member: str) -> set[str]:
    texts = (row.get(member) for row in rows)
    return {text.strip() for text in texts if isinstance(text, str) and text.strip()}


def takes_type(event_type: str, destination: Destination | None) -> bool:
    """Whether events of this type exist for a destination: one of the six, or records if its type maps them."""
    if event_type != RECORD:
        return event_type in EVENT_TYPES
    return destination is not None and destination.type in CATALOGUE and RECORD in CATALOGUE[destination.type].handlers
