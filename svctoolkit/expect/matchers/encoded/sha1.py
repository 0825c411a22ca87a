"""`$sha1: TEXT`: the SHA-1 of this text, in lower-case hexadecimal.

>>> from svctoolkit.runner import differences
>>> differences({"v": {"$sha1": "mira@b.c"}}, {"v": "309fc3f52fd764361bb7a66807932ee37ebcff4f"})
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
    return encoded_differences("sha1", operand, actual, comparison)


matcher = Matcher(_differences, encoded_problem, about=(str,))
