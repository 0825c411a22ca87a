"""`$md5: TEXT`: the MD5 of this text, in lower-case hexadecimal.

>>> from svctoolkit.runner import differences
>>> differences({"v": {"$md5": "mira@b.c"}}, {"v": "2780413896c181208ea4cb7134c41019"})
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
    return encoded_differences("md5", operand, actual, comparison)


matcher = Matcher(_differences, encoded_problem, about=(str,))
