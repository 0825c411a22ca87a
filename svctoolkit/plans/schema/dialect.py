"""The drafts of JSON Schema that RudderStack supports, and the keywords of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from svctoolkit.json_types import Json

DRAFT_4: Final = "draft-04"

#: the values of `$schema` that RudderStack accepts, in addition to everything that contains draft-04
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

#: keywords that do not restrict an event: a schema with only these accepts everything
_SILENT_TEXT: Final = """
    $schema $id id $defs $vocabulary $comment $async definitions $anchor $recursiveAnchor $dynamicAnchor nullable
    title description default deprecated readOnly writeOnly examples contentMediaType contentEncoding contentSchema
    then else
"""
_SILENT: Final = frozenset(_SILENT_TEXT.split())


class Options(msgspec.Struct, frozen=True):
    """RudderStack's `ajvOptions` that affect what happens to an event. The defaults are RudderStack's."""

    all_errors: bool = True
    strict: bool = True
    strict_required: bool = True
    formats: bool = True
    coerce: bool = False
    defaults: bool = False
    remove_additional: bool | str = False

    @classmethod
    def of(cls, options: Mapping[str, Json]) -> Options:
        """Read the options under RudderStack's names. Others have no effect here."""
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
        """Whether events may be changed during the check."""
        return bool(self.coerce or self.defaults or self.remove_additional)


#: RudderStack's behavior unless configured otherwise
DEFAULT_OPTIONS: Final = Options()


def is_draft_4(schema: Json) -> bool:
    return isinstance(schema, dict) and DRAFT_4 in str(schema.get("$schema", ""))


def is_known(address: str) -> bool:
    """Whether RudderStack supports this `$schema`."""
    if DRAFT_4 in address:
        return address.removesuffix("#") == "http://json-schema.org/draft-04/schema"
    return address.removesuffix("#") in _KNOWN


def keywords(*, draft_4: bool) -> frozenset[str]:
    """Return the keywords that RudderStack accepts."""
    return _COMMON | {"id"} if draft_4 else _COMMON | _NEWER


def has_rules(schema: Json) -> bool:
    """Whether RudderStack finds anything in the schema that an event could violate."""
    return schema is False or (isinstance(schema, dict) and not schema.keys() <= _SILENT)
