"""Read YAML that people write: plain values, with the place of every value at hand for errors.

>>> document = load("workspace: shop\\ncountry: NO", name="shop.yaml")
>>> document.data, document.where(["country"])
({'workspace': 'shop', 'country': 'NO'}, 'shop.yaml:2:10')
"""

from __future__ import annotations

from svctoolkit.yamlfile._build import scalar
from svctoolkit.yamlfile._check import Misfit, check, misfits
from svctoolkit.yamlfile._document import MAX_PROBLEMS, Document, capped, without_collector
from svctoolkit.yamlfile._load import load, read_text, shown_name
from svctoolkit.yamlfile._schema import schema

__all__ = [
    "MAX_PROBLEMS",
    "Document",
    "Misfit",
    "capped",
    "check",
    "load",
    "misfits",
    "read_text",
    "scalar",
    "schema",
    "shown_name",
    "without_collector",
]
