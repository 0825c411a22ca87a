"""Consent: whether the application's function allows an event to be recorded."""

from __future__ import annotations

from svctoolkit.errors import EventError
from svctoolkit.sdk.base.reporter import Reporter
from svctoolkit.sdk.base.settings import ConsentQuery, Settings
from svctoolkit.sdk.events.event_text import Call
from svctoolkit.sdk.events.identity import Identity

_NAMED = ("track", "screen", "page")


def is_given(call: Call, identity: Identity, settings: Settings, reporter: Reporter) -> bool:
    """Ask `consent` about the call of this user.

    Only True is consent: neither None, nor a coroutine of an async function, nor a failure of the function.
    """
    if settings.consent is None:
        return True
    is_user = call.kind in ("identify", "alias")
    query = ConsentQuery(
        call.kind,
        call.name if call.kind in _NAMED else "",
        call.name if is_user else identity.user_id,
        identity.anonymous_id,
    )
    try:
        answer: object = settings.consent(query)
        problem = "" if isinstance(answer, bool) else f"must return True or False, got {type(answer).__name__}"
    except Exception as error:  # noqa: BLE001 - the application's code; without an answer there is no consent
        answer, problem = False, f"failed: {type(error).__name__}: {error}"
    if problem:
        reporter.error(EventError(f"consent {problem}; the event is dropped"), topic="consent")
    return answer is True
