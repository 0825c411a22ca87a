"""Convert `config` of a destination to the settings of the service, as rudder-cli does when it applies."""

from __future__ import annotations

import re
from collections.abc import Mapping

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import CONSENT, CURRENT, MODES, SOURCE_TYPES, Definition, Setting

_ABSENT = object()


def settings_of(config: Mapping[str, Json], definition: Definition) -> dict[str, Json]:
    """Return the settings of the service. Call it with a configuration that passes the checks."""
    settings: dict[str, Json] = {}
    filled = with_defaults(config, definition)
    for setting in definition.settings:
        value = _converted(setting, filled, definition)
        if value is not _ABSENT:
            _put(settings, setting.path, value)
    consent = filled.get(CONSENT)
    if isinstance(consent, dict):
        for source, entries in consent.items():
            _put(settings, f"consentManagement.{SOURCE_TYPES.get(source, source)}", _consent(entries))
    modes = filled.get(MODES)
    if definition.release == CURRENT and isinstance(modes, dict):
        for source, mode in modes.items():
            _put(settings, f"connectionMode.{SOURCE_TYPES.get(source, source)}", mode)
    return settings


def keys_of(definition: Definition) -> dict[str, str]:
    """Return the first part of the key in YAML for the first part of each setting."""
    known = {"connectionMode": MODES, "consentManagement": CONSENT}
    for setting in definition.settings:
        path = setting.key.path if setting.key else next(iter(setting.values), setting.path)
        known.setdefault(setting.path.split(".")[0], path.split(".")[0])
    return known


def by_rule(config: Mapping[str, Json]) -> dict[str, Json]:
    """Return settings for a type without a definition: names in camelCase, source types as the service spells them."""
    settings: dict[str, Json] = {}
    for key, value in config.items():
        if key == "event_filtering" and isinstance(value, dict):
            for name in ("whitelist", "blacklist"):
                if isinstance(value.get(name), list):
                    settings["eventFilteringOption"] = f"{name}edEvents"
                    settings[f"{name}edEvents"] = [{"eventName": item} for item in value[name]]
        elif key == CONSENT and isinstance(value, dict):
            settings["consentManagement"] = {SOURCE_TYPES.get(s, s): _consent(entries) for s, entries in value.items()}
        elif value is not None:
            settings[camel(key)] = _renamed(value)
    return settings


def camel(name: str) -> str:
    """Return a name in camelCase, with the abbreviations that the service writes in capitals."""
    special = {"use_native_sdk": "useNativeSDK", "use_native_sdk_to_send": "useNativeSDKToSend"}
    return special.get(name) or re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def _renamed(value: Json) -> Json:
    if isinstance(value, dict):
        return {SOURCE_TYPES.get(key) or camel(key): _renamed(inner) for key, inner in value.items()}
    return [_renamed(item) for item in value] if isinstance(value, list) else value


def with_defaults(config: Mapping[str, Json], definition: Definition) -> dict[str, Json]:
    """Return a copy with the defaults of the definition, which exist from 0.25 on."""
    filled = dict(config)
    for setting in definition.settings if definition.release == CURRENT else ():
        if setting.default is None or setting.key is None or value_at(filled, setting.key.path) is not _ABSENT:
            continue
        block, _, name = setting.key.path.rpartition(".")
        if not block:
            filled[name] = setting.default
        elif isinstance(filled.get(block, {}), dict):
            filled[block] = {**filled.get(block, {}), name: setting.default}
    return filled


def value_at(config: Mapping[str, Json], path: str) -> Json:
    """Return the value at a dotted path, or a mark that it is absent."""
    at: Json = config
    for step in path.split("."):
        if not isinstance(at, dict) or step not in at:
            return _ABSENT
        at = at[step]
    return at


def is_absent(value: Json) -> bool:
    """Whether `value_at` found nothing."""
    return value is _ABSENT


def _converted(setting: Setting, config: Mapping[str, Json], definition: Definition) -> Json:
    if setting.convert == "choice":
        return _choice(setting, config, definition)
    if setting.key is None:
        return _ABSENT
    value = value_at(config, setting.key.path)
    if value is None:
        return "" if setting.key.path in definition.secrets and setting.key.type == "string" else _ABSENT
    if value is _ABSENT:
        return _ABSENT
    if setting.convert == "texts":
        return [{setting.item_key: item} for item in value] or _ABSENT if isinstance(value, list) else value
    if setting.convert == "objects":
        return _objects(setting, value) if isinstance(value, list) else value
    return value


def _objects(setting: Setting, items: list[Json]) -> list[dict[str, Json]]:
    rewritten = []
    for item in items:
        if not isinstance(item, dict):
            continue
        pairs = ((name, item.get(key, _ABSENT)) for name, key in setting.rename.items())
        kept = {name: value for name, value in pairs if value is not _ABSENT and value is not None}
        if kept:
            rewritten.append(kept)
    return rewritten


def _choice(setting: Setting, config: Mapping[str, Json], definition: Definition) -> Json:
    """Return the value for the list that is set. 0.24 counts null as set and an empty list as not set."""
    values = {chosen: value_at(config, path) for path, chosen in sorted(setting.values.items(), reverse=True)}
    unset: tuple[Json, ...] = ("",) if definition.release == CURRENT else ("", [])
    found = [chosen for chosen, value in values.items() if value is not _ABSENT and value not in (None, *unset)]
    if not found and definition.release != CURRENT:
        found = [chosen for chosen, value in values.items() if value is None]
    return found[0] if found else _ABSENT


def _consent(entries: Json) -> Json:
    if not isinstance(entries, list):
        return entries
    return [_consent_entry(entry) if isinstance(entry, dict) else entry for entry in entries]


def _consent_entry(entry: Mapping[str, Json]) -> dict[str, Json]:
    converted: dict[str, Json] = {}
    if entry.get("provider") is not None:
        converted["provider"] = entry["provider"]
    if entry.get("resolution_strategy") is not None:
        converted["resolutionStrategy"] = entry["resolution_strategy"]
    if isinstance(entry.get("consents"), list):
        converted["consents"] = [{"consent": consent} for consent in entry["consents"]]
    return converted


def _put(settings: dict[str, Json], path: str, value: Json) -> None:
    *above, last = path.split(".")
    at = settings
    for step in above:
        at = at.setdefault(step, {})
    at[last] = value
