"""AWS Lambda: calls a function with every event."""

from __future__ import annotations

import msgspec

from svctoolkit.destinations import JSON, DestinationType, Endpoint, Header, Payload, Settings
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
    quirks=["The client context is shown as configured; it is actually transmitted in Base64."],
    differences=[
        "With `enableBatchInput`, the function is also called with one event: no example shows the form of several."
    ],
)

API = Endpoint(
    "https://lambda.{region}.amazonaws.com/2015-03-31/functions", JSON, Header("X-Amz-Invocation-Type", "Event")
)


@destination.on()
def call_function(event: Event, settings: LambdaSettings) -> Payload:
    headers = {"X-Amz-Client-Context": settings.client_context} if settings.client_context else {}
    return API.post(settings, f"{in_url(settings.function)}/invocations", event.raw, headers=headers)
