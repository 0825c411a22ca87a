"""The warehouse providers and how they differ, one per line. The names are those of the definitions.

>>> provider("SNOWFLAKE").upper_case, provider("postgres").name_length
(True, 63)
>>> provider("oracle")
Traceback (most recent call last):
svctoolkit.errors.UnknownName: unknown warehouse 'oracle'. Did you mean 's3_datalake'?
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec

from svctoolkit.errors import UnknownName

_OTHERS_LENGTH = 127


class Provider(msgspec.Struct, frozen=True):
    """A kind of warehouse. `name` is the definition's in lower case, as RudderStack writes it.

    - `column_types`: warehouse-neutral type -> the column type that the loader creates
    - `json_type`: the neutral type of values at JSON paths; `event_type`: that of `rudder_event`
    - `merges`: whether a row replaces an older one with the same id, unless `preferAppend` says otherwise
    - `text_limit`: maximum length of a text column, longer strings are cut; 0 for no limit
    - `letters`: its marks in `reserved_words.txt`
    """

    name: str
    label: str
    column_types: Mapping[str, str]
    letters: str
    json_type: str = "string"
    event_type: str = "string"
    merges: bool = True
    upper_case: bool = False
    is_datalake: bool = False
    has_users: bool = True
    paths_in_config: bool = False
    resolves_ids: bool = False
    has_long_text: bool = False
    name_length: int = _OTHERS_LENGTH
    text_limit: int = 0
    most_columns: int = 0

    @property
    def definition(self) -> str:
        """The name of the provider's destination type."""
        return self.name.upper()

    @property
    def reserved_words(self) -> frozenset[str]:
        """Names that no table or column may have, in lower case."""
        return _reserved_words(self.letters)


def _types(line: str) -> Mapping[str, str]:
    names = ("int", "float", "string", "datetime", "boolean", "json", "text")
    kinds = [kind.strip() for kind in line.split("|")]
    kinds += [kinds[2]] * (len(names) - len(kinds))  # without json or text types: string
    return MappingProxyType(dict(zip(names, kinds, strict=True)))


_POSTGRES = _types("bigint | numeric | text | timestamptz | boolean | jsonb")
_SNOWFLAKE = _types("number | double precision | varchar | timestamp_tz | boolean | variant")
_REDSHIFT = _types(
    "bigint | double precision | varchar(65535) | timestamp | boolean | super | varchar(65535)"  # last: the wider text
)
_BIGQUERY = _types("INTEGER | FLOAT | STRING | TIMESTAMP | BOOLEAN")
_DELTA = _types("BIGINT | DOUBLE | STRING | TIMESTAMP | BOOLEAN")
_MSSQL = _types("bigint | decimal(28,10) | nvarchar(512) | datetimeoffset | bit | jsonb")
_SYNAPSE = _types("bigint | decimal(28,10) | varchar(512) | datetimeoffset | bit | jsonb")
_CLICKHOUSE = _types("Int64 | Float64 | String | DateTime | UInt8")
_GLUE = _types("bigint | double | varchar | timestamp | boolean")

_ALL = (
    Provider(
        "rs", "Redshift", _REDSHIFT, "r", json_type="json", event_type="text", paths_in_config=True,
        has_long_text=True, most_columns=1600,
    ),
    Provider("bq", "BigQuery", _BIGQUERY, "b", merges=False, paths_in_config=True, resolves_ids=True,
             most_columns=10_000),
    Provider("postgres", "PostgreSQL", _POSTGRES, "p", json_type="json", event_type="json", paths_in_config=True,
             name_length=63, most_columns=1600),
    Provider("snowflake", "Snowflake", _SNOWFLAKE, "s", json_type="json", event_type="json", upper_case=True,
             paths_in_config=True, resolves_ids=True),
    Provider("snowpipe_streaming", "Snowpipe Streaming", _SNOWFLAKE, "s", json_type="json", event_type="json",
             merges=False, upper_case=True, has_users=False, paths_in_config=True),
    Provider("mssql", "SQL Server", _MSSQL, "m", event_type="json", text_limit=512, most_columns=1024),
    Provider("azure_synapse", "Azure Synapse", _SYNAPSE, "m", event_type="json", text_limit=512, most_columns=1024),
    Provider("clickhouse", "ClickHouse", _CLICKHOUSE, "", most_columns=1000),
    Provider("deltalake", "Databricks", _DELTA, "d"),
    Provider("s3_datalake", "S3 data lake", _GLUE, "3", merges=False, is_datalake=True, name_length=0,
             most_columns=10_000),
    Provider("gcs_datalake", "GCS data lake", _GLUE, "b", merges=False, is_datalake=True, name_length=0),
    Provider("azure_datalake", "Azure data lake", _GLUE, "m", merges=False, is_datalake=True, name_length=0),
    Provider("bqstream_all_events", "BigQuery stream", _BIGQUERY, "b", merges=False, paths_in_config=True,
             has_users=False, most_columns=10_000),
)  # fmt: skip

#: name -> provider
PROVIDERS: Mapping[str, Provider] = MappingProxyType({one.name: one for one in _ALL})


def provider(name: str) -> Provider:
    """Return the provider with that name, case-insensitive. Raises `UnknownName`."""
    kind = PROVIDERS.get(str(name).lower())
    if kind is None:
        raise UnknownName("warehouse", str(name), PROVIDERS)
    return kind


def is_warehouse(type: str) -> bool:
    """Whether a destination type is a warehouse."""
    return type.lower() in PROVIDERS


@cache
def _reserved_words(letters: str) -> frozenset[str]:
    """Return the words whose line has one of the letters: each line names its providers."""
    lines = Path(__file__).with_name("reserved_words.txt").read_text(encoding="utf-8").splitlines()
    marked = (line.split(":", 1) for line in lines if line.strip())
    return frozenset(word for marks, words in marked if set(marks) & set(letters) for word in words.split())
