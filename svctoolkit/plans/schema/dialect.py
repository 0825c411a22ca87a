"""Which drafts of JSON Schema the service knows, and which keywords each of them has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from svctoolkit.json_types import Json

DRAFT_4: Final = "draft-04"

#: what the service takes as `$schema`, beside everything that has draft-04 in it
_KNOWN: Final = frozenset(
    {
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/schema",
    }
)

_COMMON_TEXT: Final = """
    $schema $id $defs $vocabulary $comment $async definitions $ref maximum minimum exclusiveMaximum exclusiveMinimum
    multipleOf maxLength minLength pattern maxProperties minProperties required maxItems minItems uniqueItems type
    nullable const enum not anyOf oneOf allOf if then else propertyNames additionalProperties dependencies
    properties patternProperties additionalItems items contains format title description default deprecated readOnly
    writeOnly examples contentMediaType contentEncoding contentSchema formatMaximum formatMinimum
    formatExclusiveMaximum formatExclusiveMinimum
"""
_COMMON: Final = frozenset(_COMMON_TEXT.split())
_NEWER_TEXT: Final = """
    $anchor $recursiveAnchor $recursiveRef $dynamicAnchor $dynamicRef dependentRequired dependentSchemas maxContains
    minContains unevaluatedItems unevaluatedProperties
"""
_NEWER: Final = frozenset(_NEWER_TEXT.split())

#: keywords that say nothing about an event: a schema with only these takes everything
_SILENT_TEXT: Final = """
    $schema $id id $defs $vocabulary $comment $async definitions $anchor $recursiveAnchor $dynamicAnchor nullable
    title description default deprecated readOnly writeOnly examples contentMediaType contentEncoding contentSchema
    then else
"""
_SILENT: Final = frozenset(_SILENT_TEXT.split())


@dataclass(frozen=True, slots=True)
class Options:
    """`ajvOptions` of the service, as far as they change what becomes of an event. The defaults are the service's."""

    all_errors: bool = True
    strict: bool = True
    strict_required: bool = True
    formats: bool = True
    coerce: bool = False
    defaults: bool = False
    remove_additional: bool | str = False

    @classmethod
    def of(cls, options: Mapping[str, Json]) -> Options:
        """From the names that the service gives them; others change nothing here."""
        strict = options.get("strict", True) is not False
        return cls(
            options.get("allErrors", True) is not False,
            strict and options.get("strictSchema", True) is not False,
            options.get("strictRequired", True) is not False,
            options.get("validateFormats", True) is not False,
            bool(options.get("coerceTypes")),
            bool(options.get("useDefaults")),
            options.get("removeAdditional") or False,
        )

    @property
    def alters(self) -> bool:
        """Whether events are changed on their way."""
        return bool(self.coerce or self.defaults or self.remove_additional)


#: what the service does unless it is told otherwise
DEFAULT_OPTIONS: Final = Options()


def is_draft_4(schema: Json) -> bool:
    return isinstance(schema, dict) and DRAFT_4 in str(schema.get("$schema", ""))


def is_known(address: str) -> bool:
    """Whether the service knows a `$schema`."""
    if DRAFT_4 in address:
        return address.removesuffix("#") == "http://json-schema.org/draft-04/schema"
    return address.removesuffix("#") in _KNOWN


def keywords(*, draft_4: bool) -> frozenset[str]:
    """The keywords that the service takes."""
    return _COMMON | {"id"} if draft_4 else _COMMON | _NEWER


def has_rules(schema: Json) -> bool:
    """Whether there is anything in a schema that an event could break, as the service sees it."""
    return schema is False or (isinstance(schema, dict) and not schema.keys() <= _SILENT)
