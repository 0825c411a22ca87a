"""The word for JSON in signatures.

Events, payloads, settings and answers are whatever users and services send: any JSON value. A recursive union says no
more to a reader, and would make a cast of every access, so `Json` is `Any`. A plain `Any` in a public signature has its
reason beside it.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Json: TypeAlias = Any
#: The types of values with nothing inside. Who walks through JSON looks here first: asking each text whether it is a
#: `Mapping` takes longer than the rest of the walk.
LEAVES: Final = frozenset({str, int, float, bool, type(None)})
