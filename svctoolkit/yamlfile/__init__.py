"""Load hand-written YAML as plain values that remember their line and column for error messages.

>>> document = load("workspace: shop\\ncountry: NO", name="shop.yaml")
>>> document.data, document.where(["country"])
({'workspace': 'shop', 'country': 'NO'}, 'shop.yaml:2:10')
"""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit.json_types import Json
from svctoolkit.yamlfile._build import scalar
from svctoolkit.yamlfile._check import Misfit, check, misfits
from svctoolkit.yamlfile._document import MAX_PROBLEMS, SHARED, Document, Text, cap, without_collector
from svctoolkit.yamlfile._load import display_name, load, load_text
from svctoolkit.yamlfile._removed import REMOVED
from svctoolkit.yamlfile._schema import fits, schema


def dump(data: Json) -> str:
    """Return plain JSON values as YAML text. `load` reads it back unchanged and in the same order."""
    from svctoolkit.yamlfile._dump import dump  # imported lazily: reading is far more common than writing

    return dump(data)


def edit(text: str, changes: Mapping[tuple[str, ...], Json], *, name: str = "") -> str:
    r"""Return the text of a file with values at paths of keys replaced, added, or removed (`REMOVED`).

    Comments, order and everything else stay. Raises `ConfigError` if a path leads through anything but an object.

    >>> edit("a: 1  # one\nb: {c: 2}\n", {("a",): 5, ("b", "d"): 3})
    'a: 5  # one\nb:\n  c: 2\n  d: 3\n'
    """
    from svctoolkit.yamlfile._edit import edit  # imported lazily: reading is far more common than writing

    return edit(text, changes, name=name)


__all__ = [
    "MAX_PROBLEMS",
    "REMOVED",
    "SHARED",
    "Document",
    "Misfit",
    "Text",
    "cap",
    "check",
    "display_name",
    "dump",
    "edit",
    "fits",
    "load",
    "load_text",
    "misfits",
    "scalar",
    "schema",
    "without_collector",
]
