"""What Marketo's answers mean.

https://experienceleague.adobe.com/en/docs/marketo-developer/marketo/rest/error-codes
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.mapping import as_object, text

#: the token, a time-out, a fault of Marketo's own
_LATER = frozenset({"601", "602", "604", "611"})
#: quotas, and an API that is switched off for a while
_SLOWER = frozenset({"502", "606", "607", "608", "615"})
_TAKEN = frozenset({"created", "updated", "added"})


def judge(delivery: Delivery) -> Outcome | None:
    """Marketo answers 200 to nearly everything: the code of the first error decides, all unknown ones abort.

    Codes are texts; the service takes a number for an unknown code.
    """
    reply = delivery.reply
    if not reply.successful:
        return None
    body = as_object(reply.body)
    if body.get("success"):
        return _outcome_of_records(body.get("result"))
    errors = body.get("errors")
    if not isinstance(errors, list) or not errors:
        return Outcome("retry", f"{reply.status}: the answer says neither success nor what is wrong")
    error = as_object(errors[0])
    message = f"{text(error.get('code'))}: {text(error.get('message'))}"
    if error.get("code") in _SLOWER:
        return Outcome("throttle", message)
    return Outcome("retry" if error.get("code") in _LATER else "abort", message)


def _outcome_of_records(result: Any) -> Outcome | None:
    """A record that was not taken aborts the request."""
    for record in map(as_object, result if isinstance(result, list) else []):
        if record.get("status", "updated") not in _TAKEN:
            return Outcome("abort", f"{record['status']}: {text(record.get('reasons')) or 'no reason is given'}")
    return None
