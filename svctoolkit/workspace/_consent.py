"""Consent settings that can never apply: no event would be kept from a destination because of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.workspace._model import Workspace
from svctoolkit.workspace._platforms import PLATFORMS

_Places: TypeAlias = Iterator[tuple[tuple[str | int, ...], str]]
_PROVIDERS = ("oneTrust", "ketch", "iubenda", "custom")
_STRATEGIES = ("and", "or", "")
#: The members of an entry, and the one with the id of a consent.
_MEMBERS = {
    "consentManagement": ("provider", "consents", "resolutionStrategy"),
    "oneTrustCookieCategories": ("oneTrustCookieCategory",),
    "ketchConsentPurposes": ("purpose",),
}


def consent_problems(workspace: Workspace) -> _Places:
    """Yield path and text of each consent setting of a workspace that can never apply, as it is written."""
    for key, destination in workspace.destinations.items():
        kinds = {
            source.platform
            for source in workspace.sources.values()
            if any(c.enabled and workspace.destination(c.destination).key == key for c in source.connections)
        }
        for name in _MEMBERS:
            if (value := destination.config.get(name)) not in (None, [], {}, ""):
                for path, text in _setting(name, value, kinds):
                    yield ("destinations", key, "config", name, *path), text


def _setting(name: str, value: Json, kinds: set[str]) -> _Places:
    if not isinstance(value, Mapping):
        yield from _entries(name, value)
        return
    for kind, entries in value.items():
        if kind not in PLATFORMS and kind not in kinds:
            same_letters = next((known for known in PLATFORMS if known.lower() == str(kind).lower()), "")
            near = f" Write {same_letters}." if same_letters else did_you_mean(str(kind), PLATFORMS)
            yield (kind,), f"no source is of the kind {kind!r}, so these consents never apply.{near}"
        for path, text in _entries(name, entries):
            yield (kind, *path), text
    used = [kind for kind in value if value[kind] and kind in kinds]
    if kinds and not used and any(kind in PLATFORMS and value[kind] for kind in value):
        text = (
            f"the sources of this destination are of the kind {', '.join(sorted(kinds))}, and these consents are for "
        )
        yield (), f"{text}{', '.join(map(str, value))}, so they never apply: add {min(kinds)}"


def _entries(name: str, entries: Json) -> _Places:
    if not isinstance(entries, list):
        if entries not in (None, "", {}):
            yield (), "must be a list of entries, or it never applies"
        return
    for index, entry in enumerate(entries):
        for path, text in _entry(name, entry):
            yield (index, *path), text


# Any: settings as a file has them
def _entry(name: str, entry: Any) -> _Places:
    if not isinstance(entry, Mapping):
        yield (), f"must be an object with {', '.join(_MEMBERS[name])}, or it never applies"
        return
    for member in [member for member in entry if member not in _MEMBERS[name]]:
        near = did_you_mean(str(member), _MEMBERS[name]) or f" It has {', '.join(_MEMBERS[name])}."
        yield (member,), f"an entry of {name} has no member {member!r}, so it never applies.{near}"
    if name != "consentManagement":
        if not entry.get(_MEMBERS[name][0]):
            yield (), f"{_MEMBERS[name][0]!r} is missing, so this never applies"
        return
    yield from _generic(entry)


def _generic(entry: Mapping[str, Any]) -> _Places:
    """Yield what is wrong with an entry of `consentManagement`."""
    provider, strategy = entry.get("provider"), entry.get("resolutionStrategy", "")
    if provider not in _PROVIDERS and not _is_template(provider):
        same = next((known for known in _PROVIDERS if known.lower() == str(provider).lower()), "")
        near = f" Write {same}." if same else did_you_mean(str(provider), _PROVIDERS)
        has = "'provider' is missing" if provider is None else f"unknown provider {provider!r}"
        yield (
            ("provider",) if "provider" in entry else (),
            f"{has}, so this never applies: {', '.join(_PROVIDERS)}.{near}",
        )
    if strategy not in _STRATEGIES and strategy is not None and not _is_template(strategy):
        yield (
            ("resolutionStrategy",),
            f"unknown strategy {strategy!r}: 'and' (any denied consent) or 'or' (all of them)",
        )
    consents = entry.get("consents")
    rows = consents if isinstance(consents, list) else []
    if "consents" not in entry or (consents is not None and not isinstance(consents, list)):
        yield (("consents",) if "consents" in entry else ()), "'consents' must be a list of {consent: ...}"
    if consents == []:
        yield ("consents",), "has no consent, so this never applies: add {consent: ID}"
    for index, row in enumerate(rows):
        if isinstance(row, Mapping) and (id := row.get("consent")) is not None and (not id or id != str(id).strip()):
            yield ("consents", index, "consent"), f"no consent has the id {id!r}, so it never applies"
        if not isinstance(row, Mapping) or "consent" not in row:
            has = f": it has {', '.join(map(str, row))}" if isinstance(row, Mapping) else ""
            yield ("consents", index), f"must be {{consent: ID}}, or it never applies{has}"


def _is_template(value: Json) -> bool:
    return isinstance(value, str) and ("{{" in value or "$(" in value or value.startswith("env."))
