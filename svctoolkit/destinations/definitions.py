"""What is known of every destination type: its configuration variables, what it supports, what the API answers.

>>> get("WEBHOOK").default_config
['webhookUrl', 'webhookMethod', 'headers']
>>> check_variables("WEBHOOK", {"webhookUrll": "https://hook.example"})
Traceback (most recent call last):
svctoolkit.errors.InvalidConfig: WEBHOOK has no configuration variable 'webhookUrll'. Did you mean 'webhookUrl'?

The facts stand in `definitions.json`, one type a line. They are read at the first use, not at import.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import InvalidConfig, Problem, UnknownName, Unsupported, did_you_mean
from svctoolkit.secrets import Secret

__all__ = [
    "COMMON_VARIABLES",
    "Definition",
    "Variable",
    "all",
    "check_supported",
    "check_variables",
    "get",
    "names",
    "secret_values",
    "unknown_variables",
    "variables",
]

Kind: TypeAlias = Literal[
    "account", "any", "boolean", "choice", "choices", "pairs", "rows", "tags", "text", "time", "timerange"
]

#: Variables that every type takes: consent, connection mode, event filtering, and what the service adds by itself.
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

_JSON_TYPES: Mapping[str, str] = {
    "boolean": "boolean",
    "choices": "array",
    "pairs": "array",
    "rows": "array",
    "tags": "array",
    "timerange": "object",
    "any": "",
}
_ARTICLED = {"array": "a list", "boolean": "true or false", "object": "an object", "string": "a text"}
#: `{{ event.path || default }}` and `env.NAME` stand for a value that the service fills in later.
_TEMPLATE = re.compile(r"^\{\{.*\}\}$|^env\..+", re.DOTALL)
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Variable(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One configuration variable, as the destination's form shows it.

    `kind` is the kind of form field: `pairs` are rows of `key_left` and `key_right`, `tags` rows of `tag_key` alone,
    `rows` rows of several members, `choices` a list of options, `account` the id of a connected account, `time` a text
    `HH:MM` in UTC; of `any` nothing is known. `options` are the values of a choice.
    """

    kind: Kind
    label: str = ""
    required: bool = False
    secret: bool = False
    default: Any = None
    options: list[str] = []
    key_left: str = ""
    key_right: str = ""
    tag_key: str = ""

    @property
    def type(self) -> str:
        """The JSON type of the value (`string`, `boolean`, `array`, `object`), or an empty text where any will do.

        Numbers are stored as text (`"2"`).
        """
        return _JSON_TYPES.get(self.kind, "string")


class Definition(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One destination type as users know it.

    `category` is `warehouse` or None. `modes` are `cloud`, `device` and `hybrid`. `supported_message_types` has the
    event types by mode, or is None where all six are taken. `secret_keys` may point into rows (`headers.to`).
    `sent_by_server` is the kind of a type whose events the data-plane server sends by itself, so that no test can run:
    `streaming or message-queue`, `object-storage`, `warehouse` and so on; else it is empty. `hidden` types are not
    offered to new users: True, or the feature flag that shows them.
    """

    name: str
    display_name: str
    category: str | None = None
    modes: list[str]
    supported_source_types: list[str]
    supported_message_types: dict[str, Any] | None = None
    secret_keys: list[str] = []
    variables: dict[str, Variable]
    is_beta: bool = False
    deprecated: bool = False
    hidden: bool | dict[str, Any] = False
    sent_by_server: str = ""

    @property
    def default_config(self) -> list[str]:
        """The names of the variables, in the order of the form."""
        return list(self.variables)

    def to_dict(self) -> dict[str, Any]:
        """This definition as `GET /destination-definitions` answers it.

        `id`, `createdAt` and `updatedAt` are ours: the id is derived from the name (27 characters, as the service's),
        the times are fixed. `transformAtV1` is `processor`, which is where this package transforms every event.
        `configSchema` and `responseRules` are null. Left out, because they are not known for each type: `uiConfig`,
        and in `config` the members `excludeKeys`, `includeKeys`, `saveDestinationResponse` and
        `supportedConnectionModes`.
        """
        config: dict[str, Any] = {
            "destConfig": {"defaultConfig": self.default_config},
            "secretKeys": list(self.secret_keys),
            "transformAtV1": "processor",
            "supportedSourceTypes": list(self.supported_source_types),
        }
        if self.supported_message_types is not None:
            config["supportedMessageTypes"] = self.supported_message_types
        options = {"isBeta": self.is_beta, "deprecated": self.deprecated, "hidden": self.hidden}
        return {
            "config": config,
            "configSchema": None,
            "responseRules": None,
            "options": {key: value for key, value in options.items() if value} or None,
            "id": _id(self.name),
            "name": self.name,
            "displayName": self.display_name,
            "category": self.category,
            "createdAt": "2020-01-01T00:00:00.000Z",
            "updatedAt": "2020-01-01T00:00:00.000Z",
        }


def names() -> list[str]:
    """The names of all types that have a definition, sorted."""
    return sorted(_definitions())


def get(name: str) -> Definition:
    """The definition of one type. Raises `UnknownName`; names are upper-case."""
    found = _definitions().get(name)
    if found is None:
        raise UnknownName("destination type", name, {*_definitions(), *CATALOGUE.names()})
    return found


def all() -> list[Definition]:
    """All definitions, by name."""
    return [_definitions()[name] for name in names()]


def variables(type: str) -> list[str]:
    """The names that `destinationConfig` of this type takes: `defaultConfig`, then what its mapping reads beside it.

    Raises `UnknownName`.
    """
    defined = get(type).default_config if type in _definitions() or type not in CATALOGUE else []
    return list(dict.fromkeys([*defined, *_read_by_mapping(type)]))


def unknown_variables(type: str, config: Mapping[str, Any]) -> list[str]:
    """The keys of `config` that this type does not have. Raises `UnknownName` for the type."""
    known = {*variables(type), *COMMON_VARIABLES}
    if type in _definitions():
        known.update(key.split(".")[0] for key in get(type).secret_keys)
    return [key for key in config if key not in known]


_MOST = 50  # unknown variables that are told one by one


def check_variables(type: str, config: Mapping[str, Any]) -> None:
    """Check names and JSON types of a configuration.

    Raises `InvalidConfig` with one problem for each variable that the type does not have, and for each value whose JSON
    type cannot be right; `UnknownName` for the type.
    """
    known = [*variables(type), *COMMON_VARIABLES]
    unknown = unknown_variables(type, config)
    problems = [
        Problem(f"{type} has no configuration variable {key!r}.{did_you_mean(key, known)}") for key in unknown[:_MOST]
    ]
    if len(unknown) > _MOST:
        problems.append(Problem(f"{type} does not have {len(unknown) - _MOST} more of these variables"))
    title = get(type).display_name if type in _definitions() else CATALOGUE[type].title
    problems += [Problem(f"{key}: {said}", where=f"{title} config") for key, said in _misfits(type, config)]
    if problems:
        raise InvalidConfig(problems)


def check_supported(type: str) -> None:
    """Check that test events of this type can run here.

    Raises `Unsupported` for the kinds that the data-plane server sends by itself (Test API specification, section
    Unsupported destinations) and for types that have no mapping yet, `UnknownName` for types that nobody knows.
    """
    if type not in _definitions():
        if type not in CATALOGUE:
            get(type)
        return
    found = get(type)
    if found.sent_by_server:
        raise Unsupported(
            f"{type} ({found.display_name}) cannot be tested: it is a {found.sent_by_server} destination, and the "
            f"data-plane server itself sends the events of these"
        )
    if type not in CATALOGUE:
        raise Unsupported(
            f"{type} ({found.display_name}) has no mapping yet, so its test events cannot run. "
            f"These types have one: {', '.join(CATALOGUE.names())}"
        )


def secret_values(type: str, config: Mapping[str, Any]) -> list[str]:
    """The texts in `config` that the definition marks secret, for masking. Empty for a type without a definition."""
    found = _definitions().get(type)
    if found is None:
        return []
    return [text for key in found.secret_keys for text in _texts(config, key.split("."))]


@cache
def _definitions() -> dict[str, Definition]:
    text = (files("svctoolkit.destinations") / "definitions.json").read_bytes()
    return {found.name: found for found in msgspec.json.decode(text, type=list[Definition])}


def _read_by_mapping(type: str) -> tuple[str, ...]:
    return CATALOGUE[type].settings.__struct_encode_fields__ if type in CATALOGUE else ()


def _misfits(type: str, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    known = _definitions()[type].variables if type in _definitions() else {}
    for key, value in config.items():
        variable = known.get(key)
        if variable is None or key in COMMON_VARIABLES or value is None or not variable.type:
            continue
        if isinstance(value, str) and _TEMPLATE.match(value):
            continue
        if not _fits(variable.type, value):
            yield key, f"expected {_ARTICLED[variable.type]}, got {_described(value)}"


def _fits(expected: str, value: Any) -> bool:
    if expected == "string":
        return isinstance(value, str | int | float | Secret) and not isinstance(value, bool)
    kinds: dict[str, type | tuple[type, ...]] = {"boolean": bool, "array": (list, tuple), "object": Mapping}
    return isinstance(value, kinds[expected])


def _described(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str | Secret):
        return "a text"
    return "an object" if isinstance(value, Mapping) else "a list"


def _texts(value: Any, path: list[str]) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, path)
    elif path:
        if isinstance(value, Mapping):
            yield from _texts(value.get(path[0]), path[1:])
    elif isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):  # a whole object is secret, or the value is kept by source type
        for item in value.values():
            yield from _texts(item, path)


def _id(name: str) -> str:
    number = int.from_bytes(hashlib.sha256(name.encode()).digest()[:20], "big")
    digits = []
    for _ in range(27):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
