"""Compile a table to a function: Python source, generated once from its rows.

A row such as `"id": first("userId", "context.id")` becomes

    while True:
        v = raw.get('userId')
        if v is not None and v != '':
            break
        v = n1.get('id')
        ...
    if v is not None and v != '':
        out['id'] = v

which is twice as fast as closures that walk the rows. All names and values of a table are written by `repr`, or passed
in as variables, so that none can be executed as code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.mapping.leaves import Leaf, Source, source
from svctoolkit.mapping.refusals import HalfCharacter, Misfit, Missing, WrongValue

Getter: TypeAlias = Callable[[Mapping[str, Any]], Any]
Shape: TypeAlias = "Mapping[str, Leaf | Shape]"
_NOTHING: Mapping[str, Any] = {}
_MISFITS = "(TypeError, ValueError, OverflowError)"


def compile_table(shape: Shape, of: str) -> Getter:
    """A function that returns the payload of a raw event. `of` is the path of the objects that it is called with."""
    code = _Code(of)
    code.write_object(shape, "out")
    return code.function("out")


def compile_leaf(leaf: Leaf) -> Getter:
    """A function that returns the value of one leaf for the raw event, or None."""
    code, src = _Code(""), source(leaf)
    code.write_value(src)
    return code.function("v if v != '' else None" if src.is_plain and not src.empty else "v")


def object_of(node: Json) -> Mapping[str, Json]:
    """The object that paths look into: an object itself, and an empty one for a scalar. A list becomes an object with
    its
    elements by number, and the `id` of each element by its `type` (as in `context.externalId`)."""
    return node if isinstance(node, dict) else _elements(node) if isinstance(node, list) else _NOTHING


def _elements(node: list[Any]) -> Mapping[str, Any]:
    typed = {item["type"]: item.get("id") for item in reversed(node) if isinstance(item, dict) and _is_typed(item)}
    return typed | {str(number): item for number, item in enumerate(node)}


def _is_typed(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("type"), str)


class _Code:
    """The source of one function: first the objects on its paths, each once, then the rows."""

    def __init__(self, of: str) -> None:
        self._of = f"{of}." if of else ""
        self._nodes = {"": "raw"}
        self._objects: list[str] = []
        self._lines: list[str] = []
        self._answers: dict[int, str] = {}
        self._values: dict[str, Any] = {
            "object_of": object_of,
            "nothing": _NOTHING,
            "refuse": _refuse,
            "demand": _demand,
        }

    def function(self, result: str) -> Getter:
        lines = ["def get(raw):", *self._objects, *self._lines, f" return {result}"]
        code = compile("\n".join(lines), "<table>", "exec")
        exec(code, self._values)  # noqa: S102  # generated from a mapping's rows, as in dataclasses
        return self._values["get"]  # type: ignore[no-any-return]

    def write_object(self, shape: Shape, name: str) -> None:
        """Write the rows of an object, which is left out of the payload if it is empty."""
        self._lines.append(f" {name} = {{}}")
        for key, leaf in shape.items():
            if isinstance(leaf, Mapping):
                inner = f"{name}_{len(self._lines)}"
                self.write_object(leaf, inner)
                self._lines += [f" if {inner}:", f"  {name}[{key!r}] = {inner}"]
            else:
                src = source(leaf)
                self._write_once(src)
                condition = "v is not None" if src.empty else "v is not None and v != ''"
                self._lines += [f" if {condition}:", f"  {name}[{key!r}] = v"]

    def _write_once(self, src: Source) -> None:
        """Like `write_value`, but a source used in several rows is searched and converted only once."""
        answer = self._answers.get(id(src))
        if answer is not None:
            self._lines.append(f" v = {answer}")
            return
        self.write_value(src)
        if not src.is_plain:
            self._answers[id(src)] = f"v{len(self._answers)}"
            self._lines.append(f" {self._answers[id(src)]} = v")

    def write_value(self, src: Source) -> None:
        """Write code that sets `v` to the value of a row."""
        if src.is_plain:
            self._lines.append(f" v = {self._at(src.paths[0])}")
            return
        self._lines += [" while True:", *self._search(src), "  v = None", "  break"]
        if src.required:
            self._lines += [" if v is None:", f"  demand({tuple(self._of + path for path in src.paths)!r})"]
        elif src.default is not None:
            self._lines += [" if v is None:", f"  v = {self._value(src.default)}"]

    def _search(self, src: Source) -> Iterator[str]:
        condition = "v is not None" if src.empty or src.ends else "v is not None and v != ''"
        convert = "" if src.convert is None else self._value(src.convert)
        for path in src.paths:
            yield f"  v = {self._at(path)}"
            yield f"  if {condition}:"
            if src.ends:
                yield from ("   if v == '':", "    v = None", "    break")
            if src.convert is not None:
                yield from ("   try:", f"    w = {convert}(v)", f"   except {_MISFITS} as error:")
                yield from (f"    refuse({self._of + path!r}, v, error)", "   v = w")
            if src.convert is None or src.ends:
                yield "   break"
            else:
                yield from ("   if v is not None:", "    break")

    def _at(self, path: str) -> str:
        above, _, last = path.rpartition(".")
        return f"{self._node(above)}.get({last!r})"

    def _node(self, place: str) -> str:
        """The name of the variable that holds the object at this place."""
        if place not in self._nodes:
            value = self._at(place)
            name = self._nodes[place] = f"n{len(self._nodes)}"
            # missing objects are frequent, and a call for each would take as long as the rest of the row
            self._objects += [f" {name} = {value}", f" if {name} is None:", f"  {name} = nothing"]
            self._objects += [f" elif type({name}) is not dict:", f"  {name} = object_of({name})"]
        return self._nodes[place]

    def _value(self, value: Any) -> str:
        name = f"x{len(self._values)}"
        self._values[name] = value
        return name


def _refuse(field: str, value: Json, error: Exception) -> NoReturn:
    if isinstance(error, WrongValue):
        raise Misfit(field, error.expected, value, case=error.case) from error
    if isinstance(error, UnicodeEncodeError):
        raise Misfit(field, HalfCharacter.expected, value, case="surrogate") from error
    # Python itself rejects the value, as `int` does for infinity.
    raise Misfit(field, "a value that can be converted", value, why=str(error), case="conversion") from error


def _demand(fields: tuple[str, ...]) -> NoReturn:
    raise Missing(*fields)
