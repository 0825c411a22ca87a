"""Load hand-written YAML as plain values that remember their line and column for error messages.

>>> document = load("workspace: shop\\ncountry: NO", name="shop.yaml")
>>> document.data, document.where(["country"])
({'workspace': 'shop', 'country': 'NO'}, 'shop.yaml:2:10')
"""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.yamlfile._build import scalar
from svctoolkit.yamlfile._check import Misfit, check, misfits
from svctoolkit.yamlfile._document import MAX_PROBLEMS, Document, cap, without_collector
from svctoolkit.yamlfile._load import display_name, load, load_text
from svctoolkit.yamlfile._schema import schema


def dump(data: Json) -> str:
    """Return plain JSON values as YAML text. `load` reads it back unchanged and in the same order."""
    from svctoolkit.yamlfile._dump import dump  # imported lazily: reading is far more common than writing

    return dump(data)


__all__ = [
    "MAX_PROBLEMS",
    "Document",
    "Misfit",
    "cap",
    "check",
    "display_name",
    "dump",
    "load",
    "load_text",
    "misfits",
    "scalar",
    "schema",
    "without_collector",
]
