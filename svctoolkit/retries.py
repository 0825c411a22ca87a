"""Read `Retry-After` headers."""

from __future__ import annotations


def retry_after(value: str, now: float) -> float | None:
    """The seconds to wait according to a `Retry-After` header (RFC 9110); None for an invalid value.

    The value is a whole number or an HTTP date, converted relative to `now` (seconds since 1970); without a zone it is
    UTC.

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 15.0), retry_after("soon", 0.0)
    (120.0, 45.0, None)
    """
    text = value.strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text[:12])
    from datetime import UTC
    from email.utils import parsedate_to_datetime  # 10 ms to import, and few servers send dates

    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None
