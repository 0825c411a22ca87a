"""Outcomes of Marketo's answers.

https://experienceleague.adobe.com/en/docs/marketo-developer/marketo/rest/error-codes
"""

from __future__ import annotations

from typing import Any

from svctoolkit.destinations._outcomes import Delivery, Outcome
from svctoolkit.mapping import as_object, objects, text

#: invalid token, timeout, Marketo's internal error
_LATER = frozenset({"601", "602", "604", "611"})
#: quotas, and an API that is temporarily unavailable
_SLOWER = frozenset({"502", "606", "607", "608", "615"})
_TAKEN = frozenset({"created", "updated", "removed", "added"})


def judge(delivery: Delivery) -> Outcome | None:
    """Return the outcome by the first error code (Marketo nearly always answers 200); unknown codes abort.

    Codes are strings; like in RudderStack, a number counts as an unknown code.
    """
    reply = delivery.reply
    if not reply.successful:
        return None
    body = as_object(reply.body)
    if body.get("success"):
        return _outcome_of_records(body.get("result"))
    errors = body.get("errors")
    if not isinstance(errors, list) or not errors:
        return Outcome("retry", f"{reply.status}: the answer reports neither success nor an error")
    error = as_object(errors[0])
    message = f"{text(error.get('code'))}: {text(error.get('message'))}"
    if error.get("code") in _SLOWER:
        return Outcome("throttle", message)
    return Outcome("retry" if error.get("code") in _LATER else "abort", message)


#: a lead that was to be removed is not in the list, which is what was asked for
_NOT_IN_LIST = "1015"


def _outcome_of_records(result: Any) -> Outcome | None:
    """Abort the request if a record was not accepted."""
    for record in map(as_object, result if isinstance(result, list) else []):
        codes = {text(reason.get("code")) for reason in objects(record.get("reasons"))}
        if record.get("status", "updated") not in _TAKEN and codes != {_NOT_IN_LIST}:
            return Outcome("abort", f"{record['status']}: {text(record.get('reasons')) or 'no reason is given'}")
    return None
