"""`$literal: VALUE`: that value, in which `$` keys are ordinary keys. For payloads that have keys like `$regex`.

>>> from svctoolkit.runner import differences
>>> differences({"query": {"$literal": {"$regex": "^a"}}}, {"query": {"$regex": "^a"}})
[]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    return comparison.stricter(literal=True).differences(operand, actual)


matcher = Matcher(_differences)
