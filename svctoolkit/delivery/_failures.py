"""The causes of a failed delivery: their codes, statuses and texts."""

from __future__ import annotations

from svctoolkit.errors import DeliveryError

#: code -> (status that the service reports, its words). Any other code has status 400 and no words.
_KNOWN = {
    "ECONNREFUSED": (500, "Connection refused"),
    "ECONNRESET": (500, "Connection reset by peer"),
    "ETIMEDOUT": (500, "Operation timed out"),
    "ECONNABORTED": (500, "Connection aborted"),
    "EAI_AGAIN": (500, "Temporary failure in name resolution"),
    "ENOTFOUND": (400, "DNS lookup failed"),
}


def failure(code: str, detail: str) -> DeliveryError:
    """The error for `code`, with `detail` (which names the host, and holds no secret) after the service's own words."""
    status, words = _KNOWN.get(code, (400, ""))
    text = f"{words}: {detail}" if words else detail
    return DeliveryError(f"[{code}] :: {text}", code=code, status=status)
