"""Tables: a payload drawn as a dict whose leaves say where each value comes from.

>>> from svctoolkit.events import Event
>>> table = Table({"id": first("userId", "anonymousId"), "os": {"name": "context.os.name"}})
>>> table(Event({"anonymousId": "a1", "context": {"os": {"name": "iOS"}}}))
{'id': 'a1', 'os': {'name': 'iOS'}}

A value that is missing leaves its key out. `required(...)` makes that an error instead:

>>> Table({"id": required("userId")})(Event({}))
Traceback (most recent call last):
svctoolkit.errors.MappingError: needs a value at userId
"""

from __future__ import annotations

from svctoolkit.mapping.leaves import Leaf, Source, const, converter, default, epoch_ms, first, number, required
from svctoolkit.mapping.table import Shape, Table, path
from svctoolkit.mapping.values import flattened, json_text, text, xml_text

__all__ = [
    "Leaf",
    "Shape",
    "Source",
    "Table",
    "const",
    "converter",
    "default",
    "epoch_ms",
    "first",
    "flattened",
    "json_text",
    "number",
    "path",
    "required",
    "text",
    "xml_text",
]
