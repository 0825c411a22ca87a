"""Google Cloud Function: sends each event unchanged to an HTTP function."""

from __future__ import annotations

from svctoolkit.destinations import JSON, Answer, DestinationType, Endpoint, Payload, Settings
from svctoolkit.events import Event
from svctoolkit.secrets import Secret


class GoogleCloudFunctionSettings(Settings, frozen=True, kw_only=True):
    google_cloud_function_url: str
    require_authentication: bool = True
    credentials: Secret = Secret("")

    def __post_init__(self) -> None:
        if self.require_authentication and not self.credentials.reveal():
            raise ValueError("credentials: is required, because requireAuthentication is on")


destination = DestinationType(
    "Google Cloud Function",
    GoogleCloudFunctionSettings,
    docs="https://cloud.google.com/functions/docs/calling/http",
    answers=[
        Answer("success", 200, ""),
        Answer("bad key", 403, "Your client does not have permission to get this URL from this server."),
        Answer("rate limit", 429, "Rate exceeded."),
        Answer("invalid field", 400, ""),
    ],
    quirks=["A function that requires authentication refuses live requests from here, because they have no token."],
    differences=[
        "RudderStack creates the identity token of a function that requires authentication when it sends the "
        "request: requests here do not have it.",
        "With `enableBatchInput` events are still sent one by one, because the format of several events is unknown.",
    ],
)

API = Endpoint("{google_cloud_function_url}", JSON)


@destination.on()
def send_event(event: Event, settings: GoogleCloudFunctionSettings) -> Payload:
    return API.post(settings, body=event.raw)
