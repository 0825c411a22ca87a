"""Check `config` of a destination: unknown keys and types first, then the values, as rudder-cli does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._convert import is_absent, value_at, with_defaults
from svctoolkit.rudder_cli._definitions import (
    CONSENT,
    CURRENT,
    MODES,
    NATIVE,
    Definition,
    Items,
    Key,
    patterns,
    source_types,
)
from svctoolkit.rudder_cli._shapes import go_pattern, is_open, type_name

_Path: TypeAlias = tuple[str | int, ...]
Fault: TypeAlias = tuple[_Path, str]
_PROVIDERS: Final = ("custom", "iubenda", "ketch", "oneTrust")
_TEMPLATE: Final = r"^\{\{.*\|\|.*\}\}$"
_ENV: Final = r"^env[.].+"
_VARIABLE: Final = r"^\{\{\s*\..*\}\}$"
_PYTHON: Final = {"string": (str,), "boolean": (bool,), "integer": (int, float), "list": (list,)}


def faults(config: Mapping[str, Json], definition: Definition) -> list[Fault]:
    """Return what is wrong in `config`, with paths below it."""
    sources = list(_source_types(config, definition))
    decoding = [*_decoding(config, definition.tree(), (), definition), *_per_source(config, definition)]
    if decoding:
        return [*sources, *decoding]
    return [*sources, *_values(config, definition), *_consent_values(config)]


def _source_types(config: Mapping[str, Json], definition: Definition) -> Iterator[Fault]:
    """Yield source types that the type does not support, in the blocks by source type."""
    for block in (CONSENT, MODES, NATIVE):
        for source in config[block] if isinstance(config.get(block), dict) else ():
            if source not in definition.modes:
                supported = ", ".join(definition.sources)
                what = f"{definition.cli_type!r} does not support the source type {source!r}: use {supported}"
                yield (block, source), what


def _decoding(config: Json, tree: Mapping[str, Json], path: _Path, definition: Definition) -> Iterator[Fault]:
    """Yield unknown keys, and values of a wrong type."""
    for key, value in config.items():
        at = (*path, key)
        if not path and (key == CONSENT or (key == MODES and definition.release == CURRENT)):
            continue
        if key not in tree:
            yield at, f"unknown key {key!r} of {definition.cli_type!r}"
        elif isinstance(tree[key], Key):
            yield from _typed(value, tree[key], at)
        elif isinstance(value, dict):
            yield from _decoding(value, tree[key], at, definition)
        elif value is not None and not is_open(value):
            yield at, f"{key!r} must be an object, not {type_name(value)}"


def _typed(value: Json, key: Key, path: _Path) -> Iterator[Fault]:
    if value is None or is_open(value):
        return
    fits = isinstance(value, _PYTHON[key.type]) and (key.type == "boolean" or not isinstance(value, bool))
    if not fits:
        if key.type == "list" and isinstance(value, dict):
            value, path = [value], path  # an object counts as a list with one item
            fits = True
        else:
            yield path, f"{path[-1]!r} must be {_WORDS[key.type]}, not {type_name(value)}"
    if fits and key.items is not None:
        yield from _items(value, key.items, path)


_WORDS: Final = {"string": "text", "boolean": "true or false", "integer": "a number", "list": "a list"}


def _items(values: list[Json], items: Items, path: _Path) -> Iterator[Fault]:
    for i, item in enumerate(values):
        at = (*path, i)
        if item is None or is_open(item):
            continue
        if items.keys is None:
            if not isinstance(item, str):
                yield at, f"an item of {path[-1]!r} must be text, not {type_name(item)}"
        elif not isinstance(item, dict):
            yield at, f"an item of {path[-1]!r} must be an object, not {type_name(item)}"
        else:
            for name, value in item.items():
                if name not in items.keys:
                    yield (*at, name), f"unknown key {name!r}"
                else:
                    yield from _typed(value, items.keys[name], (*at, name))


def _per_source(config: Mapping[str, Json], definition: Definition) -> Iterator[Fault]:
    """Yield wrong shapes of consent and connection modes."""
    if CONSENT in config:
        yield from _consent_shape(config[CONSENT])
    if MODES in config and definition.release == CURRENT:
        yield from _mode_shape(config[MODES], definition)


def _mode_shape(modes: Json, definition: Definition) -> Iterator[Fault]:
    if not isinstance(modes, dict):
        yield (MODES,), f"{MODES!r} must be an object of source types and modes"
        return
    for source, mode in modes.items():
        if source not in definition.modes and source in source_types():
            continue  # reported once, as a source type that this type does not support
        allowed = definition.modes.get(source, [])
        if mode not in allowed and not is_open(mode):
            yield (MODES, source), f"{source!r} must be one of {', '.join(allowed)}"


def _consent_shape(consent: Json) -> Iterator[Fault]:
    if not isinstance(consent, dict):
        yield (CONSENT,), f"{CONSENT!r} must be an object"
        return
    for source, entries in consent.items():
        path: _Path = (CONSENT, source)
        if not isinstance(entries, list):
            yield path, f"{source!r} must be a list"
            continue
        for i, entry in enumerate(entries):
            yield from _consent_entry_shape(entry, (*path, i))


def _consent_entry_shape(entry: Json, path: _Path) -> Iterator[Fault]:
    if entry is None:
        return
    if not isinstance(entry, dict):
        yield path, "an entry must be an object"
        return
    for key, value in entry.items():
        if key not in ("provider", "resolution_strategy", "consents"):
            yield (*path, key), f"unknown key {key!r}"
        elif key == "consents":
            if not isinstance(value, list):
                yield (*path, key), "'consents' must be a list"
            else:
                wrong = (i for i, item in enumerate(value) if not isinstance(item, str))
                yield from (((*path, key, i), "a consent must be text") for i in wrong)
        elif value is not None and not isinstance(value, str):
            yield (*path, key), f"{key!r} must be text, not {type_name(value)}"


def _consent_values(config: Mapping[str, Json]) -> Iterator[Fault]:
    consent = config.get(CONSENT)
    for source, entries in consent.items() if isinstance(consent, dict) else ():
        seen: set[Json] = set()
        for i, entry in enumerate(entries):
            path: _Path = (CONSENT, source, i)
            if entry is None:
                yield path, "an entry must be an object"
                entry = {}
            provider = entry.get("provider")
            if provider not in _PROVIDERS and not is_open(provider):
                yield (*path, "provider"), f"'provider' must be one of {', '.join(_PROVIDERS)}"
            elif provider in seen:
                yield (*path, "provider"), "only one entry can be configured per provider"
            seen.add(provider)
            strategy = entry.get("resolution_strategy")
            if provider == "custom" and not strategy:
                yield (*path, "resolution_strategy"), "'resolution_strategy' is required when 'provider' is custom"
            elif provider == "custom" and strategy not in ("and", "or") and not is_open(strategy):
                yield (*path, "resolution_strategy"), "'resolution_strategy' must be one of and, or"
            for n, text in enumerate(entry.get("consents") or ()):
                if len(text) > 100 and not _is_dynamic(text, env=True):
                    yield (*path, "consents", n), "a consent must have at most 100 characters"


def _values(config: Mapping[str, Json], definition: Definition) -> Iterator[Fault]:
    filled = with_defaults(config, definition)
    for setting in definition.settings:
        key = setting.key
        if key is None:
            continue
        *above, _ = key.path.split(".")
        if above and not isinstance(value_at(filled, ".".join(above)), dict):
            continue  # keys of a block that is absent are not checked
        value = value_at(filled, key.path)
        present = not is_absent(value) and value is not None
        fault = _check(value if present else None, key, filled, definition)
        path = tuple(key.path.split("."))
        if fault:
            yield path, fault
        elif present and isinstance(value, list):
            yield from _item_values(value, key, path)


def _item_values(values: list[Json], key: Key, path: _Path) -> Iterator[Fault]:
    for i, item in enumerate(values):
        if key.items is None or key.items.keys is None:
            own = Key(f"{path[-1]}[{i}]", checks=key.item_checks)
            if fault := _check(item, own, {}, None):
                yield (*path, i), fault
        elif isinstance(item, dict):
            for name, inner in key.items.keys.items():
                value = item.get(name)
                if fault := _check(value, inner, item, None):
                    yield (*path, i, name), fault
                elif isinstance(value, list):
                    yield from _item_values(value, inner, (*path, i, name))


def _check(value: Json, key: Key, config: Mapping[str, Json], definition: Definition | None) -> str:
    """Return the first check of a key that a value fails, in words; empty if it passes."""
    name = key.path.split(".")[-1]
    empty = value in (None, "", [], {}) if key.type != "boolean" else value is None
    missing = value is None if key.pointer or key.type == "list" else empty
    if missing:
        for check in key.checks:
            if fault := _missing(check, name, config, definition):
                return fault
    if is_open(value) or (value is None and (key.optional or key.pointer)):
        return ""
    if empty and key.optional and not key.pointer:
        exclusive = [check for check in key.checks if check[0] == "excluded_with" and value is not None]
        return next((f for check in exclusive if (f := _fails(check, value, name, key, config))), "")
    for check in key.checks:
        if fault := _fails(check, value, name, key, config):
            return fault
    return ""


def _missing(check: tuple[Json, ...], name: str, config: Mapping[str, Json], definition: Definition | None) -> str:
    kind = check[0]
    if kind == "required":
        return f"{name!r} is required"
    if kind == "required_if" and _holds(check[1], config):
        return f"{name!r} is required when {_condition(check[1])}"
    if kind == "required_unless" and not any(_equal(config.get(k), v) for k, v in check[1].items()):
        return f"{name!r} is required unless {_condition(check[1], ' or ')}"
    if kind in BY_MODE and definition is not None and BY_MODE[kind](config):
        return f"{name!r} is required for the connection modes of this destination"
    return ""


def _holds(when: Mapping[str, str], config: Mapping[str, Json]) -> bool:
    return all(_equal(config.get(key), value) for key, value in when.items())


def _equal(value: Json, text: str) -> bool:
    """Whether a value equals one in a condition. An absent boolean counts as false only where it is written so."""
    return ("true" if value else "false") == text if isinstance(value, bool) else value == text


def _condition(when: Mapping[str, str], word: str = " and ") -> str:
    return word.join(f"{key!r} is {value}" for key, value in when.items())


def _fails(check: tuple[Json, ...], value: Json, name: str, key: Key, config: Mapping[str, Json]) -> str:
    kind = check[0]
    if kind == "excluded_with":
        block = value_at(config, key.path.rpartition(".")[0]) if "." in key.path else config
        if isinstance(block, dict) and _both_set(value, [block.get(other) for other in check[1]]):
            return f"{name!r} and {check[1][0]!r} cannot be specified together"
    if not isinstance(value, str):
        return ""
    if kind in ("dynamic_or_pattern", "pattern"):
        dynamic = kind == "dynamic_or_pattern" and _is_dynamic(value)
        return "" if dynamic or matches(check[1], value) else f"{name!r} is not valid: it must match {_shown(check[1])}"
    if kind in ("dynamic_or_oneof", "oneof"):
        dynamic = kind == "dynamic_or_oneof" and (not value or _is_dynamic(value, env=True, variable=True))
        return "" if dynamic or value in check[1] else f"{name!r} must be one of {', '.join(check[1])}"
    if kind == "min" and len(value) < check[1]:
        return f"{name!r} must have at least {check[1]} characters"
    if kind == "max" and len(value) > check[1]:
        return f"{name!r} must have at most {check[1]} characters"
    if kind == "ga4_sdk_base_url_conditional" and _web_gtag(config) and not matches(check[1], value):
        return f"{name!r} is not valid: it must be the URL of a domain, without ngrok"
    return ""


def _both_set(value: Json, others: list[Json]) -> bool:
    """Whether two lists are chosen: an empty list counts."""
    return value is not None and any(other is not None for other in others)


def matches(name: str, value: str) -> bool:
    """Whether a value matches a named pattern."""
    wanted, *unwanted = patterns()[name]
    return bool(go_pattern(wanted).search(value)) and not any(go_pattern(p).search(value) for p in unwanted)


def _shown(name: str) -> str:
    wanted, *unwanted = patterns()[name]
    return " and not ".join([wanted, *unwanted])


def _is_dynamic(value: str, *, env: bool = False, variable: bool = False) -> bool:
    return bool(
        go_pattern(_TEMPLATE).search(value)
        or (env and go_pattern(_ENV).search(value))
        or (variable and go_pattern(_VARIABLE).search(value))
    )


def _modes(config: Mapping[str, Json]) -> Mapping[str, Json]:
    modes = config.get(MODES)
    return modes if isinstance(modes, dict) else {}


def _any_mode(config: Mapping[str, Json], *wanted: str) -> bool:
    return any(mode in wanted for mode in _modes(config).values())


def _braze_key(config: Mapping[str, Json], *, platform: bool, sources: tuple[str, ...]) -> bool:
    own = bool(config.get("use_platform_specific_api_keys"))
    in_device = any(_modes(config).get(source) in ("device", "hybrid") for source in sources)
    return own == platform and in_device


_MOBILE: Final = ("android", "android_kotlin", "ios", "ios_swift")
#: Checks by connection mode that exist for one type each, from 0.25 on.
BY_MODE: Final = {
    "braze_rest_api_key_required": lambda config: _any_mode(config, "cloud", "hybrid"),
    "braze_app_key_required": lambda config: (
        config.get("use_platform_specific_api_keys") is False and _any_mode(config, "device", "hybrid")
    ),
    "braze_android_api_key_required": lambda config: _braze_key(
        config, platform=True, sources=("android", "android_kotlin")
    ),
    "braze_ios_api_key_required": lambda config: _braze_key(config, platform=True, sources=("ios", "ios_swift")),
    "braze_web_api_key_required": lambda config: _braze_key(config, platform=True, sources=("web",)),
    "facebook_pixel_access_token_required": lambda config: _any_mode(config, "cloud"),
    "intercom_app_id_required": lambda config: _any_mode(config, "device"),
    "intercom_api_key_required": lambda config: _any_mode(config, "cloud"),
    "iterable_package_name_required": lambda config: _any_mode(config, "device"),
}


def _web_gtag(config: Mapping[str, Json]) -> bool:
    return config.get("client_type") == "gtag" and _modes(config).get("web") == "device"
