"""Read the fields and elements of objects from libraries such as attrs, pydantic, numpy and pandas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from svctoolkit.json_types import Json


def fields_of(value: Json) -> Mapping[str, object] | None:
    """The fields of a dataclass or of an object of attrs, pydantic or msgspec, by name; None for anything else."""
    import dataclasses

    kind = type(value)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if hasattr(kind, "__struct_fields__"):
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    if callable(getattr(kind, "model_dump", None)):  # pydantic
        dump = value.model_dump()
        return dump if isinstance(dump, Mapping) else None
    return None


def elements_of(value: Json, longest: int) -> Sequence[object] | None:
    """Return the elements of an array or of any iterable, at most one more than `longest`.

    None for anything else, for bytes and for tables.
    """
    library = type(value).__module__.partition(".")[0]
    if isinstance(value, (bytes, bytearray, memoryview, type)):
        return None
    if library in ("numpy", "pandas", "polars"):
        if getattr(value, "size", 0) == 0 and not hasattr(value, "__len__"):
            return None
        if getattr(value, "ndim", 1) > 1 and library != "numpy":
            return None  # a table in a field of one event is a mistake
        if getattr(value, "ndim", 1) == 1 and hasattr(value, "__len__"):
            return list(value[: longest + 1])
    if isinstance(value, Iterable):
        return list(islice(value, longest + 1))
    return None
