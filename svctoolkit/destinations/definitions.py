"""Facts about every destination type: configuration variables, supported features, API representation.

>>> get("WEBHOOK").default_config
['webhookUrl', 'webhookMethod', 'headers']
>>> check_variables("WEBHOOK", {"webhookUrll": "https://hook.example"})
Traceback (most recent call last):
svctoolkit.errors.InvalidConfig: WEBHOOK has no configuration variable 'webhookUrll'. Did you mean 'webhookUrl'?

The facts are in `definitions.json`, one type per line. Each line is decoded on first use, not at import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from svctoolkit.destinations import CATALOGUE
from svctoolkit.destinations._definition import Definition
from svctoolkit.destinations._own import definition, secret_fields
from svctoolkit.destinations._settings import without_text
from svctoolkit.destinations._variable import Variable
from svctoolkit.errors import InvalidConfig, Problem, UnknownName, Unsupported, did_you_mean
from svctoolkit.events import EVENT_TYPES
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret, is_credential, is_secret_header
from svctoolkit.url_secrets import url_secrets

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "COMMON_VARIABLES",
    "Definition",
    "Variable",
    "all",
    "check_mapped",
    "check_supported",
    "check_variables",
    "device_variables",
    "find",
    "frame",
    "get",
    "is_recorded_only",
    "names",
    "protect",
    "reason_unmapped",
    "reason_unsent",
    "secret_keys",
    "secret_values",
    "suggestion",
    "unknown_variables",
    "variables",
    "with_choices",
]

#: Variables that every type accepts: consent, connection mode, event filtering, and those that RudderStack adds.
COMMON_VARIABLES = (
    "blacklistedEvents",
    "connectionMode",
    "consentManagement",
    "eventDelivery",
    "eventDeliveryTS",
    "eventFilteringOption",
    "ketchConsentPurposes",
    "oneTrustCookieCategories",
    "useNativeSDK",
    "useNativeSDKToSend",
    "whitelistedEvents",
)

_ARTICLED = {"array": "a list", "boolean": "true or false", "object": "an object", "string": "a string"}
#: `{{ event.path || default }}` and `env.NAME` are placeholders that RudderStack fills in later.
_TEMPLATE = re.compile(r"^\{\{.*\}\}$|^env\..+", re.DOTALL)


def names() -> list[str]:
    """Return the names of all types, sorted."""
    return sorted({*_raw_definitions(), *CATALOGUE.names()})


def get(name: str) -> Definition:
    """Return the definition of one type. The definition of a type that users added is derived from its settings.

    Names are upper-case. Raises `UnknownName`, which suggests the type for a display name such as HubSpot.
    """
    found = known(name)
    if found is None:
        raise UnknownName("destination type", name, names(), hint=suggestion(name))
    return found


def known(name: str) -> Definition | None:
    """Return the definition of one type as `get` does; None for an unknown one, without the cost of a suggestion."""
    stored = _decode(name)
    return definition(name, CATALOGUE[name]) if stored is None and name in CATALOGUE else stored


def suggestion(title: str) -> str:
    """Return ` Did you mean 'MP' (Mixpanel)?` for text that is nearly a name or display name; else an empty text.

    Case, spaces and punctuation do not matter, and one word of the name is enough: `facebok`.
    """
    return _suggestion(title, tuple(names()))


@lru_cache(maxsize=256)  # 20 ms, and each event for a destination of an unknown type has this error
def _suggestion(title: str, types_now: tuple[str, ...]) -> str:
    import difflib  # 15 ms, and only mistakes need it

    types: dict[str, dict[str, Definition]] = {}
    for item in map(get, types_now):
        words = re.findall(r"[^\W_]{4,}", f"{item.name} {item.display_name}")
        for text in (item.name, item.display_name, *words):
            types.setdefault(_letters(text), {})[item.name] = item
    sought = _letters(title)
    if sought not in types and (near := did_you_mean(title, types_now)):
        return near
    close = [sought] if sought in types else difflib.get_close_matches(sought, list(types), n=1, cutoff=0.75)
    items = types[close[0]].values() if close else ()
    found = sorted(items, key=lambda item: _letters(item.name) != close[0])[:_MOST_SUGGESTED]
    return f" Did you mean {' or '.join(f'{item.name!r} ({item.display_name})' for item in found)}?" if found else ""


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def all() -> list[Definition]:
    """Return all definitions, sorted by name."""
    return [get(name) for name in names()]


def find(
    words: str = "",
    *,
    takes: Iterable[str] = (),
    category: str = "",
    mode: str = "",
    batches: bool | None = None,
    mapped: bool | None = None,
) -> list[Definition]:
    """Return the types that match all criteria, sorted by name: `find(takes=["group"], batches=True)`.

    - `words`: each word occurs in the type's name or display name, in any case
    - `takes`: event types that the type supports in cloud mode (and that its mapping handles, if it has one)
    - `category`: `warehouse`, or a word of `sent_by_server` (`streaming`)
    - `mode`: `cloud`, `device` or `hybrid`
    - `batches`: whether several events may share a request
    - `mapped`: whether it has a mapping

    Raises `UnknownName` for an unknown event type.
    """
    from svctoolkit.destinations import _search

    return list(_search.find(all(), words, frozenset(takes), category, mode, batches, mapped))


def frame() -> pd.DataFrame:
    """Return all types as a DataFrame with one row each: `name`, `display_name`, `category`, `modes`, `sources`,
    `events`, `mapped`, `shares_requests`, `judges_answers`, `variables`, `required`, `secrets`, `quirks`, `docs`.

    Lists are tuples of strings. `events` are the event types supported in cloud mode (and by the mapping, if any).
    """
    from svctoolkit.destinations import _search

    return _search.frame(all(), secret_keys)


def variables(type: str) -> list[str]:
    """Return the names that `destinationConfig` of this type accepts: `defaultConfig`, then others read by its mapping.

    Raises `UnknownName`.
    """
    return list(dict.fromkeys([*get(type).default_config, *_mapping_variables(type)]))


def unknown_variables(type: str, config: Mapping[str, Json]) -> list[str]:
    """Return the keys of `config` that this type does not have. Raises `UnknownName` for an unknown type."""
    secret = (key.split(".")[0] for key in get(type).secret_keys)
    names = {*variables(type), *COMMON_VARIABLES, *secret}
    unknown = [key for key in config if key not in names]
    in_device_mode = device_variables(type, config) if unknown else ()
    return [key for key in unknown if key not in in_device_mode]


def device_variables(type: str, config: Mapping[str, Json]) -> list[str]:
    """Return the keys of `config` that only SDKs read, in device mode, and that the type's form does not have.

    They are listed by type, or have a value for each kind of source: `{"web": true}`.
    """
    listed, kinds = _device_settings().get(type, ()), {*get(type).supported_source_types}
    names = {*variables(type), *COMMON_VARIABLES}
    return [
        key
        for key, value in config.items()
        if key not in names and (key in listed or (isinstance(value, Mapping) and value and value.keys() <= kinds))
    ]


def with_choices(type: str, config: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return `config` with values that fit in place of those that are not known here.

    One of several texts, true or false, or a list gets its default, or the first option. Values are not known if they
    are `env.NAME`, which RudderStack's server fills in with a variable of its own, or a variable that is not set.
    """
    unknown = [key for key, value in config.items() if _is_unknown(value)]
    if not unknown:
        return config
    stored = _decode(type)
    variables = stored.variables if stored else {}
    filled = {key: _fitting(variables[key]) for key in unknown if key in variables}
    # null is not set: the default of a number
    kept = {key: None for key in unknown if type in CATALOGUE and key in without_text(CATALOGUE[type].settings)}
    return {**config, **kept, **{key: value for key, value in filled.items() if value is not None}}


def _is_unknown(value: Json) -> bool:
    """Whether a value is a variable of RudderStack's server, or nothing but a variable that is not set."""
    if isinstance(value, str):
        return value.startswith("env.")
    return isinstance(value, Secret) and value.reveal() in value.unset.values()


def _fitting(variable: Variable) -> Json:
    """Return a value that a variable may have; None for those that may have any text."""
    if variable.kind == "choice" and variable.options:
        return variable.default or variable.options[0]
    if variable.kind == "boolean":
        return variable.default is True
    if variable.type == "array":
        return []
    return None


@cache
def _device_settings() -> dict[str, list[str]]:
    text = Path(__file__).with_name("device_settings.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[str]])


_MOST_SUGGESTED = 3
_MOST = 50  # unknown variables that are reported one by one


def check_variables(type: str, config: Mapping[str, Json]) -> None:
    """Check names and JSON types of a configuration.

    Raises `InvalidConfig` with one problem for each unknown variable and for each value of a wrong JSON type, and
    `UnknownName` for an unknown type.
    """
    names = [*variables(type), *COMMON_VARIABLES]
    unknown = unknown_variables(type, config)
    problems = [
        Problem(f"{type} has no configuration variable {key!r}.{did_you_mean(key, names)}") for key in unknown[:_MOST]
    ]
    if len(unknown) > _MOST:
        problems.append(Problem(f"{type} does not have {len(unknown) - _MOST} more of the given variables"))
    problems += [
        Problem(f"{key}: {message}", where=f"{get(type).display_name} config")
        for key, message in _misfits(type, config)
    ]
    if problems:
        raise InvalidConfig(problems)


def check_supported(type: str) -> None:
    """Check that test events of this type can run here.

    Raises `Unsupported` for types whose events the data-plane server delivers itself (Test API specification, section
    Unsupported destinations), and `UnknownName` for unknown types.
    """
    if get(type).sent_by_server:
        raise Unsupported(f"{type} cannot be tested: {_reason_unsupported(type)}")


def check_mapped(type: str) -> None:
    """Check that events for this type can be mapped to requests. Raises `Unsupported`, `UnknownName`."""
    if reason := reason_unmapped(type):
        raise Unsupported(f"{type} cannot be tested: {reason}")


def _reason_unsupported(type: str) -> str:
    kind = get(type)
    article = "an" if kind.sent_by_server[0] in "aeiou" else "a"
    sent_by = "the data-plane server itself sends the events of these"
    return f"{kind.display_name} is {article} {kind.sent_by_server} destination, and {sent_by}"


def is_recorded_only(type: str) -> bool:
    """Whether the data-plane server itself delivers the events of this type (streams, warehouses).

    If such a type has a mapping, the mapping shows the recorder what the server would write. False for an unknown type.
    """
    stored = _decode(type)
    return bool(stored and stored.sent_by_server)


def reason_unsent(type: str, config: Mapping[str, Json], mode: str) -> str:
    """Explain why a destination with this type, configuration and delivery mode gets no requests.

    Empty if it gets requests. Raises `UnknownName`.
    """
    if reason := reason_unmapped(type):
        return reason
    if not is_recorded_only(type) or (config and mode == "record"):
        return ""
    return f"{_reason_unsupported(type)}; delivery mode record shows what it would send for a configuration"


def reason_unmapped(type: str) -> str:
    """Explain why events for this type cannot be mapped to requests; empty for a type that has a mapping.

    Raises `UnknownName`.
    """
    if type in CATALOGUE and CATALOGUE[type].handlers:
        return ""
    kind = get(type)
    title = kind.display_name
    if kind.sent_by_server:
        return _reason_unsupported(type)
    if kind.modes and not {"cloud", "hybrid"} & set(kind.modes):
        return f"{title} has device mode only: the client's SDK sends to it"
    takes = (kind.supported_message_types or {}).get("cloud")
    if isinstance(takes, list) and takes and not set(map(str.lower, takes)) & set(EVENT_TYPES):
        return f"{title} does not accept events, only {', '.join(map(str, takes))}"
    return f"{title} has no mapping here yet; another package can add one (see `svctoolkit.destinations`)"


def shares_requests(type: str) -> bool:
    """Whether several events for a destination of this type may share a request.

    That is the case if its mapping declares how, and RudderStack transforms its events at the router. False for an
    unknown type.
    """
    return type in CATALOGUE and CATALOGUE[type].shares and get(type).transform_at == "router"


def secret_values(type: str, config: Mapping[str, Json]) -> list[str]:
    """Return the secret strings in `config`, for masking. Empty for an unknown type."""
    return [text for key in secret_keys(type) for text in _texts(config, key.split("."))]


def secret_keys(type: str) -> list[str]:
    """Return the keys that are secret in a configuration of this type, by its definition and by its mapping's settings.

    Empty for an unknown type. A key may point into rows (`headers.to`).
    """
    stored = _decode(type)
    keys = stored.secret_keys if stored else []
    if type in CATALOGUE:
        keys = [*keys, *secret_fields(CATALOGUE[type].settings)]
    return list(dict.fromkeys(keys))


def protect(type: str, config: Mapping[str, Json]) -> dict[str, Json]:
    """Return a copy of `config` in which secret strings, and URLs that contain a secret, are `Secret` objects.

    A row of headers is secret only if its name or its value looks like a credential.
    """
    paths = [key.split(".") for key in secret_keys(type)]
    return {name: _protect(value, [p[1:] for p in paths if p[0] == name]) for name, value in config.items()}


def _protect(value: Any, below: list[list[str]]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_protect(item, below) for item in value]
    if isinstance(value, Mapping):
        if _is_plain_row(value, below):
            below = []
        # an empty path means that everything below is secret
        inner = {key: [p[1:] if p else p for p in below if not p or p[0] == key] for key in value}
        return {key: _protect(member, inner[key]) for key, member in value.items()}
    is_secret = isinstance(value, str) and value and ([] in below or any(url_secrets(value)))
    return Secret(value) if is_secret else value


def _is_plain_row(value: Mapping[str, Any], below: list[list[str]]) -> bool:
    """Whether this is a header without a credential, such as `X-Team: data`: a row whose right column may be secret."""
    if below != [["to"]] or not isinstance(value.get("to"), str):
        return False
    return not is_secret_header(str(value.get("from", ""))) and not is_credential(value["to"])


@cache
def _raw_definitions() -> dict[str, msgspec.Raw]:
    text = Path(__file__).with_name("definitions.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, msgspec.Raw])


@cache
def _decode(name: str) -> Definition | None:
    written = _raw_definitions().get(name)
    return None if written is None else msgspec.json.decode(written, type=Definition)


def _mapping_variables(type: str) -> tuple[str, ...]:
    return CATALOGUE[type].settings.__struct_encode_fields__ if type in CATALOGUE else ()


def _misfits(type: str, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    stored = _decode(type)
    variables = stored.variables if stored else {}
    for key, value in config.items():
        variable = variables.get(key)
        if variable is None or key in COMMON_VARIABLES or value is None or not variable.type:
            continue
        if isinstance(value, str) and _TEMPLATE.match(value):
            continue
        if not _fits(variable.type, value):
            yield key, f"expected {_ARTICLED[variable.type]}, got {_json_type(value)}"


def _fits(expected: str, value: Any) -> bool:
    if expected == "string":
        return isinstance(value, (str, int, float, Secret)) and not isinstance(value, bool)
    kinds: dict[str, type | tuple[type, ...]] = {"boolean": bool, "array": (list, tuple), "object": Mapping}
    return isinstance(value, kinds[expected])


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, (str, Secret)):
        return "a string"
    return "an object" if isinstance(value, Mapping) else "a list"


def _texts(value: Any, path: list[str]) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item, path)
    elif path:
        if isinstance(value, Mapping) and not _is_plain_row(value, [path]):
            yield from _texts(value.get(path[0]), path[1:])
    elif isinstance(value, Secret):
        yield from value.texts()
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):  # a whole object is secret, or the value is kept by source type
        for item in value.values():
            yield from _texts(item, path)
