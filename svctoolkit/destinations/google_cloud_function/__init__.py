"""Google Cloud Function: every event, as it is, to an HTTP function.

Decisions. The identity token of a function that requires authentication is made where the request is sent, by the
service: requests here have none. With `enableBatchInput` events go one by one, too: no case shows the form of several.
"""

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
    quirks=["A function that requires authentication refuses what is sent from here live: requests have no token."],
)

API = Endpoint("{google_cloud_function_url}", JSON)


@destination.on()
def send_event(event: Event, settings: GoogleCloudFunctionSettings) -> Payload:
    return API.post(settings, body=event.raw)
