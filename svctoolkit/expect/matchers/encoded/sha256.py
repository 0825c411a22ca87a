"""`$sha256: TEXT`: the SHA-256 of this text, in lower-case hexadecimal.

>>> from svctoolkit.runner import differences
>>> differences({"v": {"$sha256": "a@b.c"}}, {"v": "d648b243a3e817eaa3309e00e183483f2867baadf522099f0c2121770536b25a"})
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
    return encoded_differences("sha256", operand, actual, comparison)


matcher = Matcher(_differences, encoded_problem, about=(str,))
