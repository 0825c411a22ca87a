"""`$base64: TEXT`: this text in Base64.

>>> from svctoolkit.runner import differences
>>> differences({"v": {"$base64": "mira@b.c"}}, {"v": "bWlyYUBiLmM="})
[]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher
from svctoolkit.expect.matchers.encoded._encoded import encoded_differences, encoded_problem


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    return encoded_differences("base64", operand, actual, comparison)


matcher = Matcher(_differences, encoded_problem, about=(str,))
