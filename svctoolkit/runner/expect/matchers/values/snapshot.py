"""`$snapshot: true`: exactly what the snapshot file for this place has. `$snapshot: NAME` names the file.

`svctoolkit run --update` writes it (`--update=new` only where there is none). Ignored paths are in no snapshot, and
secrets are masked.

>>> from svctoolkit.runner import differences
>>> for found in differences({"delivered": {"$snapshot": True}}, {"delivered": []}): print(found)
delivered: expected a snapshot, got no place to look for one
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from svctoolkit.runner.expect.compare import Comparison
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if comparison.snapshots is None:
        yield comparison.difference("a snapshot", actual, got="no place to look for one")
    else:
        name = operand if isinstance(operand, str) else ".".join(map(str, comparison.path))
        yield from comparison.snapshots.differences(name, actual, comparison)


def _problem(operand: Any) -> str:
    named = isinstance(operand, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", operand)
    return "" if operand is True or named else "takes true, or a name of letters, digits, _ . and -"


matcher = Matcher(_differences, _problem)
