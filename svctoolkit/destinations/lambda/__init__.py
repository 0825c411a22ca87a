"""AWS Lambda: a function is called with every event.

Decisions. With `enableBatchInput` it is called with one event, too: no case shows the form of several.
"""

from __future__ import annotations

import msgspec

from svctoolkit.destinations import DestinationType, Payload, Settings
from svctoolkit.destinations._families.streams import ANSWERS
from svctoolkit.events import Event
from svctoolkit.mapping import in_url


class LambdaSettings(Settings, frozen=True, kw_only=True):
    region: str
    function: str = msgspec.field(name="lambda")
    client_context: str = ""


destination = DestinationType(
    "AWS Lambda",
    LambdaSettings,
    docs="https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html",
    answers=ANSWERS,
    quirks=["The client context is shown as it is configured; on the wire it is in Base64."],
)


@destination.on()
def call_function(event: Event, settings: LambdaSettings) -> Payload:
    headers = {"Content-Type": "application/json", "X-Amz-Invocation-Type": "Event"}
    if settings.client_context:
        headers["X-Amz-Client-Context"] = settings.client_context
    place = f"https://lambda.{settings.region}.amazonaws.com/2015-03-31/functions/{in_url(settings.function)}"
    return Payload(endpoint=f"{place}/invocations", headers=headers, json=event.raw)
