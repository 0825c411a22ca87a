"""The queue as a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from svctoolkit.errors import ConfigError
from svctoolkit.lexical import storable_all
from svctoolkit.sdk.base.values import stored_object

if TYPE_CHECKING:
    import pandas as pd

_STORED = ["id", "stored_at", "state", "status", "reason"]
_EVENT = ["message_id", "type", "event", "user_id", "anonymous_id", "bytes", "payload"]


def frame(listing: Sequence[tuple[int, float, str, int, str, bytes]]) -> pd.DataFrame:
    """Return one row per event of `Queue.listing`, with the columns that `ServiceClient.frame` documents."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ConfigError("frame() needs pandas: pip install pandas") from error
    rows = []
    for id, at, state, status, reason, body in listing:
        event = stored_object(body)
        names = (storable_all(event.get(key)) for key in ("messageId", "type", "event", "userId", "anonymousId"))
        rows.append((id, at, state, status, reason, *names, len(body), event))
    table = pd.DataFrame(rows, columns=[*_STORED, *_EVENT])
    table["stored_at"] = pd.to_datetime(table["stored_at"].astype(float), unit="s", utc=True)
    return table
