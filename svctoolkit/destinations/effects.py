"""Which configuration variables have an effect on the events that RudderStack sends from its servers.

Others belong to device mode, where the client's SDK sends: event filters, names of cookies, sampling.

>>> sorted(variables_without_effect("GA4"))[:2]
['blacklistedEvents', 'eventDelivery']
>>> idle_settings("GA4", {"apiSecret": "s", "blacklistedEvents": [{"eventName": "A"}], "whitelistedEvents": []})
['blacklistedEvents']
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal

#: Variables that the rules of the data plane read, whatever the mapping does.
OF_RULES = frozenset(
    {
        "connectionMode",
        "consentManagement",
        "enableServerSideIdentify",
        "ketchConsentPurposes",
        "listOfConversions",
        "oneTrustCookieCategories",
        "useNativeSDK",
    }
)
#: What RudderStack itself stores, and no user expects an effect of here.
_OF_RUDDERSTACK = {"eventDelivery", "eventDeliveryTS", "useNativeSDKToSend"}
_EMPTY: tuple[Any, ...] = (None, "", [], {}, False)


@cache
def variables_without_effect(type: str) -> frozenset[str]:
    """Return the variables of a type that neither its mapping nor a rule reads; none for a type without a mapping.

    Raises `UnknownName`.
    """
    if definitions.reason_unmapped(type):
        return frozenset()
    names = {*definitions.get(type).variables, *definitions.COMMON_VARIABLES}
    return frozenset(names - set(_names(msgspec.inspect.type_info(CATALOGUE[type].settings))) - OF_RULES)


def unread_variables(type: str, names: Collection[str]) -> frozenset[str]:
    """Return those of the names that neither the mapping nor a rule of a type reads, also unknown ones.

    Empty for a type without a mapping. Raises `UnknownName`.
    """
    definitions.get(type)
    if definitions.reason_unmapped(type):
        return frozenset()
    read = set(_names(msgspec.inspect.type_info(CATALOGUE[type].settings)))
    return frozenset(names) - read - OF_RULES


def idle_settings(type: str, config: Mapping[str, Json]) -> list[str]:
    """Return the settings of a configuration without effect, except those that are empty or have the default value."""
    variables = definitions.get(type).variables
    defaults = {name: variable.default for name, variable in variables.items()}
    values = reveal(dict(config))
    idle = variables_without_effect(type).union(definitions.device_variables(type, config))
    return [
        name
        for name, value in values.items()
        if name in idle - _OF_RUDDERSTACK and not _is_empty(value) and value not in (defaults.get(name), "disable")
    ]


def _is_empty(value: Any) -> bool:
    """Return whether a value sets nothing; forms store empty rows, such as `[{"eventName": ""}]`."""
    if isinstance(value, list):
        return all(map(_is_empty, value))
    return all(map(_is_empty, value.values())) if isinstance(value, dict) else value in _EMPTY


def _names(kind: msgspec.inspect.Type) -> Iterator[str]:
    """Yield the names of the members of a type, also of the rows in it."""
    if isinstance(kind, msgspec.inspect.StructType):
        for field in kind.fields:
            yield field.encode_name
            yield from _names(field.type)
    elif isinstance(kind, msgspec.inspect.UnionType):
        for inner in kind.types:
            yield from _names(inner)
    elif isinstance(kind, msgspec.inspect.VarTupleType | msgspec.inspect.ListType):
        yield from _names(kind.item_type)
    elif isinstance(kind, msgspec.inspect.DictType):
        yield from _names(kind.value_type)
