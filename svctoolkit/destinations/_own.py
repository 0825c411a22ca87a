"""Definitions derived from settings classes, for types of other packages and of notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import msgspec
from msgspec import inspect

from svctoolkit.destinations._define import DestinationType
from svctoolkit.destinations._definition import Definition
from svctoolkit.destinations._settings import Rows, Tags
from svctoolkit.destinations._variable import Kind, Variable
from svctoolkit.secrets import Secret

_SOURCES = ["android", "ios", "web", "unity", "amp", "cloud", "reactnative", "flutter", "shopify", "warehouse"]


def definition(name: str, mapping: DestinationType) -> Definition:
    """Return the definition derived from a type's settings class: its variables, and which of them are secret."""
    variables = {field.encode_name: _variable(field) for field in msgspec.structs.fields(mapping.settings)}
    return Definition(
        name=name,
        display_name=mapping.title,
        modes=["cloud"],
        supported_source_types=_SOURCES,
        supported_message_types={"cloud": list(mapping.handlers)},
        transform_at="router" if mapping.sharing else "processor",
        secret_keys=[key for key, variable in variables.items() if variable.secret],
        variables=variables,
    )


@cache
def secret_fields(settings: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the secret variables of a settings class, including those in rows: `apiKey`, `headers.to`."""
    return tuple(_secret_fields(settings, ""))


def _secret_fields(struct: type[msgspec.Struct], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        for inner in _types(field.type):
            if inner is Secret:
                yield f"{prefix}{field.encode_name}"
            elif isinstance(inner, type) and issubclass(inner, msgspec.Struct):
                yield from _secret_fields(inner, f"{prefix}{field.encode_name}.")


def _types(annotation: Any) -> Iterator[Any]:
    """Yield a type and the types inside it: members of a union, items of a list, the type inside `Annotated`."""
    inner = get_args(annotation)
    if not inner:
        yield annotation
    for part in inner:
        yield from _types(part)


def _variable(field: msgspec.structs.FieldInfo) -> Variable:
    kind, options, secret = _kind(inspect.type_info(field.type))
    default = None if field.default is msgspec.NODEFAULT or isinstance(field.default, Secret) else field.default
    pairs = {"key_left": "from", "key_right": "to"} if kind == "pairs" else {}
    return Variable(
        kind=kind,
        label=field.name.replace("_", " ").capitalize(),
        required=field.required,
        secret=secret,
        default=default if isinstance(default, (str, bool, int, float)) else None,
        options=options,
        **pairs,
    )


def _kind(inner_type: inspect.Type) -> tuple[Kind, list[str], bool]:
    """Return the kind of form field for a type, its options, and whether its value is a secret."""
    if isinstance(inner_type, inspect.UnionType):
        inner_types = [inner for inner in inner_type.types if not isinstance(inner, inspect.NoneType)]
        return _kind(inner_types[0]) if len(inner_types) == 1 else ("any", [], False)
    if isinstance(inner_type, inspect.CustomType):
        return ("tags", [], False) if inner_type.cls is Tags else ("text", [], inner_type.cls is Secret)
    if isinstance(inner_type, inspect.BoolType):
        return "boolean", [], False
    if isinstance(inner_type, inspect.LiteralType):
        return "choice", [str(value) for value in inner_type.values], False
    if isinstance(inner_type, (inspect.StrType, inspect.IntType, inspect.FloatType)):
        return "text", [], False
    if isinstance(inner_type, (inspect.ListType, inspect.VarTupleType)):
        return _kind_of_list(inner_type.item_type)
    return "any", [], False


def _kind_of_list(item: inspect.Type) -> tuple[Kind, list[str], bool]:
    if isinstance(item, inspect.StructType):
        return ("pairs" if item.cls is Rows else "rows"), [], False
    if isinstance(item, inspect.LiteralType):
        return "choices", [str(value) for value in item.values], False
    return "any", [], False
