"""Checks of numbers, strings and single values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from svctoolkit.plans.schema import patterns
from svctoolkit.plans.schema.formats import FORMAT_LIMITS, FORMATS, NUMBER_FORMATS, ORDERED_FORMATS, within
from svctoolkit.plans.schema.javascript import identity, number_text, text_of
from svctoolkit.plans.schema.node import CLASSES, NUMBERS, Check, classes_of, demand, refusal
from svctoolkit.plans.violation import Violation, type_of

Schema: TypeAlias = Mapping[str, Any]
#: a check with the classes of values that it applies to
Checks: TypeAlias = Iterator[tuple[tuple[type, ...], Check]]

_TEXT = (str,)


def types_of(schema: Schema) -> list[str]:
    """Return the types that a schema allows, including `nullable`."""
    named = schema.get("type", [])
    types = [named] if isinstance(named, str) else list(named)
    if schema.get("nullable") is True and types and "null" not in types:
        types.append("null")
    return types


def type_checks(schema: Schema, where: str) -> Checks:
    """Check types by class. Only for a float that should be an integer is the value checked, too."""
    types = types_of(schema)
    if not types:
        return
    message, fitting = f"must be {text_of(schema['type'])}", classes_of(types)
    if "integer" in types and "number" not in types:
        yield (float,), demand("type", message, f"{where}/type", float.is_integer)
        fitting |= {float}
    yield tuple(kind for kind in CLASSES if kind not in fitting), refusal("type", message, f"{where}/type")


def number_checks(schema: Schema, where: str) -> Checks:
    """Check `minimum` and similar; draft 4 has a flag for exclusive limits. `multipleOf` divides like JavaScript."""
    for keyword, flag, sign, strict in (
        ("minimum", "exclusiveMinimum", ">=", ">"),
        ("maximum", "exclusiveMaximum", "<=", "<"),
    ):
        if keyword in schema:
            exclusive = schema.get(flag) is True
            yield NUMBERS, _limit(keyword, strict if exclusive else sign, schema[keyword], f"{where}/{keyword}")
        if flag in schema and not isinstance(schema[flag], bool):
            yield NUMBERS, _limit(flag, strict, schema[flag], f"{where}/{flag}")
    if "multipleOf" in schema:
        yield NUMBERS, _multiple(schema["multipleOf"], f"{where}/multipleOf")


def _limit(keyword: str, sign: str, limit: float, schema_path: str) -> Check:
    holds = {">=": limit.__le__, "<=": limit.__ge__, ">": limit.__lt__, "<": limit.__gt__}[sign]
    if isinstance(limit, int):  # comparing an int with a float returns NotImplemented
        as_float = {
            ">=": lambda v: v >= limit,
            "<=": lambda v: v <= limit,
            ">": lambda v: v > limit,
            "<": lambda v: v < limit,
        }
        holds = as_float[sign]
    return demand(keyword, f"must be {sign} {number_text(limit)}", schema_path, holds)


def _multiple(divisor: float, schema_path: str) -> Check:
    def holds(value: float) -> bool:
        try:
            quotient = float(value) / float(divisor)
            return quotient == int(quotient) and abs(quotient) < 1e21  # JavaScript reads 1e21 as 1
        except (OverflowError, ZeroDivisionError, ValueError):
            return False

    return demand("multipleOf", f"must be multiple of {number_text(divisor)}", schema_path, holds)


def text_checks(schema: Schema, where: str) -> Checks:
    """Check lengths in characters, and patterns."""
    if "maxLength" in schema:
        most = schema["maxLength"]
        message = f"must NOT have more than {number_text(most)} characters"
        yield _TEXT, demand("maxLength", message, f"{where}/maxLength", lambda text: len(text) <= most)
    if "minLength" in schema:
        least = schema["minLength"]
        message = f"must NOT have fewer than {number_text(least)} characters"
        yield _TEXT, demand("minLength", message, f"{where}/minLength", lambda text: len(text) >= least)
    if "pattern" in schema:
        message = f'must match pattern "{schema["pattern"]}"'
        yield _TEXT, demand("pattern", message, f"{where}/pattern", patterns.search(schema["pattern"]))


def format_checks(schema: Schema, where: str) -> Checks:
    """Check formats. A string format does not apply to numbers, and vice versa."""
    name = str(schema.get("format"))
    if name in FORMATS:
        yield _TEXT, demand("format", f'must match format "{name}"', f"{where}/format", FORMATS[name])
    if name in NUMBER_FORMATS:
        yield NUMBERS, demand("format", f'must match format "{name}"', f"{where}/format", NUMBER_FORMATS[name])
    for keyword, (sign, _) in FORMAT_LIMITS.items():
        if keyword in schema and name in ORDERED_FORMATS:
            message = f"should be {sign} {schema[keyword]}"
            yield _TEXT, demand(keyword, message, f"{where}/{keyword}", within(keyword, schema[keyword], name))


def value_checks(schema: Schema, where: str) -> Checks:
    """Check `const` and `enum`, for values of every class."""
    if "const" in schema:
        constant = identity(schema["const"])
        message = "must be equal to constant"
        yield CLASSES, demand("const", message, f"{where}/const", lambda value: identity(value) == constant)
    if "enum" in schema:
        yield from _enum(schema["enum"], f"{where}/enum")


def _enum(values: list[Any], schema_path: str) -> Checks:
    texts = frozenset(value for value in values if isinstance(value, str))
    others = frozenset(identity(value) for value in values if not isinstance(value, str))
    kind, message = type_of("enum"), "must be equal to one of the allowed values"

    def check_text(value: Any, path: str, errors: list[Violation], _trace: Any) -> None:
        if value not in texts:
            errors.append(Violation(kind, message, "", path, schema_path))

    yield _TEXT, check_text
    rest = tuple(kind for kind in CLASSES if kind is not str)
    yield rest, demand("enum", message, schema_path, lambda value: identity(value) in others)
