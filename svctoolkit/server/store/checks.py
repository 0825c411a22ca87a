"""How tracking plans have changed events."""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit.json_types import Json
from svctoolkit.server.store.blob import unpack
from svctoolkit.server.store.database import Store

_OF = "select mark from checks where seq = ? and mark is not null"


def stored_change(store: Store, seq: int) -> Mapping[str, Json] | None:
    """Return how the plan of its source has changed an event, for `change_event`; None if it has not."""
    found = store.read(_OF, (seq,))
    return unpack(found[0][0]) if found else None
