"""`$exact: VALUE`: VALUE without any additional members, at every depth. Matchers inside it still work.

>>> from svctoolkit.runner import differences
>>> for found in differences({"$exact": {"city": "Berlin"}}, {"city": "Berlin", "zip": "10969"}): print(found)
zip: expected nothing, got "10969"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    return comparison.stricter(exact=True).differences(operand, actual)


matcher = Matcher(_differences, nested=True)
