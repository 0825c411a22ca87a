"""The causes of a failed delivery: their codes, statuses and messages."""

from __future__ import annotations

from svctoolkit.errors import DeliveryError

#: code -> (status that RudderStack reports, its message). Any other code has status 400 and no message.
_KNOWN = {
    "ECONNREFUSED": (500, "Connection refused"),
    "ECONNRESET": (500, "Connection reset by peer"),
    "ETIMEDOUT": (500, "Operation timed out"),
    "ECONNABORTED": (500, "Connection aborted"),
    "EAI_AGAIN": (500, "Temporary failure in name resolution"),
    "ENOTFOUND": (400, "DNS lookup failed"),
}


def failure(code: str, detail: str) -> DeliveryError:
    """Return the error for `code`: RudderStack's message, then `detail`, which names the host and has no secrets."""
    status, words = _KNOWN.get(code, (400, ""))
    text = f"{words}: {detail}" if words else detail
    return DeliveryError(f"[{code}] :: {text}", code=code, status=status)
