# ruff: noqa: N802 - the names are RudderStack's
"""Type hints for Python transformations. Keep this file next to yours and import it for the editor only:

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformation_types import *

def transformEvent(event: "Event", metadata: "Metadata") -> "Returned":
    log("seen", event["type"])
    return event
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

EventType: TypeAlias = Literal["identify", "track", "page", "screen", "group", "alias"]

class Event(TypedDict, total=False):
    """A customer event."""

    type: EventType
    messageId: str
    userId: str
    anonymousId: str
    event: str
    name: str
    properties: dict[str, Any]
    traits: dict[str, Any]
    context: dict[str, Any]
    integrations: dict[str, Any]
    originalTimestamp: str
    timestamp: str
    sentAt: str

class EventMetadata(TypedDict):
    """Metadata of an event, in addition to its content. Unknown values are None."""

    sourceId: str | None
    sourceName: str | None
    workspaceId: str | None
    sourceType: str | None
    sourceCategory: str | None
    destinationId: str | None
    destinationType: str | None
    destinationName: str | None
    namespace: str | None
    originalSourceId: str | None
    trackingPlanId: str | None
    trackingPlanVersion: int | None
    sourceTpConfig: Any
    mergedTpConfig: Any
    jobId: int | None
    sourceJobId: str | None
    sourceJobRunId: str | None
    sourceTaskRunId: str | None
    recordId: Any
    messageId: str | None
    messageIds: list[str] | None
    rudderId: str | None
    receivedAt: str | None
    eventName: str | None
    eventType: str | None
    sourceDefinitionId: str | None
    destinationDefinitionId: str | None
    transformationId: str | None
    transformationVersionId: str | None

class FetchOptions(TypedDict, total=False):
    method: str
    headers: dict[str, str]
    body: str

class FetchResult(TypedDict):
    url: str
    status: int
    headers: dict[str, str]
    body: Any

Metadata: TypeAlias = Callable[[Event], EventMetadata]
Returned: TypeAlias = Event | list[Event] | None

def log(*values: Any) -> None:
    """Log a line that is shown with the event, as `print` does."""

def fetch(url: str, options: FetchOptions | None = None) -> Any:
    """Return the parsed JSON response, or the text "ERROR" for any failure. A plain call, without await."""

def fetchV2(url: str, options: FetchOptions | None = None) -> FetchResult:
    """Return the whole response, whatever its status. Raises RuntimeError without a response."""

def geolocation(ip: str) -> Any:
    """Return the location of an IP address."""

def getCredential(key: str) -> str | None:
    """Return a credential of the workspace, or None."""
