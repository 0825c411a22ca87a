"""`$snapshot: true`: exactly the value in the snapshot file for this place. `$snapshot: NAME` names the file.

`svctoolkit run --update` writes it (`--update=new` only if it is missing). Ignored paths are left out of the snapshot,
and secrets are replaced by `{{secret:NAME}}`, which stands for any value.

>>> from svctoolkit.runner import differences
>>> for found in differences({"delivered": {"$snapshot": True}}, {"delivered": []}): print(found)
delivered: expected a snapshot, got no folder for snapshots
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.matchers import Matcher


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    if comparison.snapshots is None:
        yield comparison.difference("a snapshot", actual, got="no folder for snapshots")
    else:
        name = operand if isinstance(operand, str) else ".".join(map(str, comparison.path))
        yield from comparison.snapshots.differences(name, actual, comparison)


def _problem(operand: Any) -> str:
    named = isinstance(operand, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", operand)
    return "" if operand is True or named else "must be true, or a name of letters, digits, _ . and -"


matcher = Matcher(_differences, _problem)
