"""`$absent: true`: the key must be missing. `$absent: false`: it must exist, with any value.

>>> from svctoolkit.runner import differences
>>> for found in differences({"email": {"$absent": True}}, {"email": None}): print(found)
email: expected nothing, got null
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import MISSING, Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if (actual is MISSING) is not operand:
        yield comparison.difference("nothing" if operand else "any value", actual)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, bool) else "must be true or false"


matcher = Matcher(_differences, _problem)
