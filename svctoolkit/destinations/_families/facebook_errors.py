"""Outcomes of Graph API answers (https://developers.facebook.com/docs/graph-api/guides/error-handling/).

An `error` in the body decides, whatever the status is: codes in `_THROTTLED` mean that the rate limit is reached, codes
in `_FINAL` are permanent errors, and all others count as temporary.
"""

from __future__ import annotations

from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.mapping import text

_THROTTLED = frozenset({17, 80003})
_FINAL = frozenset({3, 100, 105, 190, 200, 294, 2650, 2655, 1487301, 1487366})


def judge_graph_answer(delivery: Delivery) -> Outcome | None:
    """Return the outcome by the error in the body. An HTML page is a temporary error of a proxy."""
    body = delivery.reply.body
    if isinstance(body, str) and body.lstrip()[:5].lower() in ("<html", "<!doc"):
        return Outcome("retry", "the destination answered with an HTML page")
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    message = f"{text(error.get('error_user_title') or error.get('message'))} (code {text(code)})"
    if code in _THROTTLED:
        return Outcome("throttle", message)
    return Outcome("abort" if code in _FINAL else "retry", message)
