"""Tables: a payload drawn as a dict whose leaves say where each value comes from.

>>> from svctoolkit.events import Event
>>> table = Table({"id": first("userId", "anonymousId"), "os": {"name": "context.os.name"}})
>>> table(Event({"anonymousId": "a1", "context": {"os": {"name": "iOS"}}}))
{'id': 'a1', 'os': {'name': 'iOS'}}

A value that is missing, null or an empty text leaves its key out. `required(...)` makes that an error instead:

>>> Table({"id": required("userId")})(Event({}))
Traceback (most recent call last):
svctoolkit.errors.MappingError: needs a value at userId
"""

from __future__ import annotations

from svctoolkit.mapping.agents import Agent, agent, platform
from svctoolkit.mapping.leaves import (
    ANY_ID,
    CLIENT_TIME,
    EMAIL,
    IP,
    PHONE,
    TIME,
    USER_ID,
    Converter,
    Leaf,
    Source,
    as_it_is,
    boolean,
    const,
    converter,
    default,
    each,
    each_text,
    epoch_ms,
    epoch_s,
    epoch_us,
    first,
    iso_ms,
    number,
    required,
    seconds,
    string,
    time,
    trait,
)
from svctoolkit.mapping.names import event_key, event_name, full_name, name_key, require_name
from svctoolkit.mapping.people import (
    CITY,
    COUNTRY,
    FIRST_NAME,
    LAST_NAME,
    POSTAL_CODE,
    STATE,
    digits,
    hash_digits,
    hash_initial,
    hash_lower,
    hash_phone,
    hash_text,
    hash_trimmed,
    is_sha256,
    md5,
    sha256,
)
from svctoolkit.mapping.shop import products
from svctoolkit.mapping.table import Shape, Table, path, value_of
from svctoolkit.mapping.templates import fill, fill_from
from svctoolkit.mapping.times import check_age, moment
from svctoolkit.mapping.values import (
    as_object,
    basic_auth,
    compact,
    flatten,
    in_url,
    is_empty,
    json_text,
    pick,
    text,
    without,
    xml_text,
)
from svctoolkit.mapping.warehouse import ExternalId, external_ids, warehouse_id, warehouse_row

__all__ = [
    "ANY_ID",
    "CITY",
    "CLIENT_TIME",
    "COUNTRY",
    "EMAIL",
    "FIRST_NAME",
    "IP",
    "LAST_NAME",
    "PHONE",
    "POSTAL_CODE",
    "STATE",
    "TIME",
    "USER_ID",
    "Agent",
    "Converter",
    "ExternalId",
    "Leaf",
    "Shape",
    "Source",
    "Table",
    "agent",
    "as_it_is",
    "as_object",
    "basic_auth",
    "boolean",
    "check_age",
    "compact",
    "const",
    "converter",
    "default",
    "digits",
    "each",
    "each_text",
    "epoch_ms",
    "epoch_s",
    "epoch_us",
    "event_key",
    "event_name",
    "external_ids",
    "fill",
    "fill_from",
    "first",
    "flatten",
    "full_name",
    "hash_digits",
    "hash_initial",
    "hash_lower",
    "hash_phone",
    "hash_text",
    "hash_trimmed",
    "in_url",
    "is_empty",
    "is_sha256",
    "iso_ms",
    "json_text",
    "md5",
    "moment",
    "name_key",
    "number",
    "path",
    "pick",
    "platform",
    "products",
    "require_name",
    "required",
    "seconds",
    "sha256",
    "string",
    "text",
    "time",
    "trait",
    "value_of",
    "warehouse_id",
    "warehouse_row",
    "without",
    "xml_text",
]
