"""Marketo Bulk Upload: leads, imported by RudderStack from files."""

from __future__ import annotations

from functools import cached_property

from svctoolkit.destinations import Answer, DestinationType, Payload, Rows, Settings
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import as_object


class MarketoBulkUploadSettings(Settings, frozen=True, kw_only=True):
    """The settings for the account are used only when files are imported."""

    column_fields_mapping: tuple[Rows, ...] = ()

    @cached_property
    def columns(self) -> list[tuple[str, str]]:
        """Traits with the Marketo fields that receive them."""
        return [(row.from_, row.to) for row in self.column_fields_mapping]


_ESCAPED = str.maketrans({"\\": "\\\\", ",": "\\,", "\n": "\\n"})

destination = DestinationType(
    "Marketo Lead Import",
    MarketoBulkUploadSettings,
    docs="https://developers.marketo.com/rest-api/bulk-import/bulk-lead-import/",
    quirks=[
        "Backslashes, commas and line breaks of a text are escaped with backslashes, as the lines of a file.",
        "Leads are imported in bulk: payloads have the path of the upload instead of a URL.",
        "Only traits that the settings map to Marketo fields are sent.",
    ],
    answers=[
        Answer("success", 200, {"success": True, "result": [{"batchId": 3404, "status": "Queued"}]}),
        Answer("bad key", 200, {"success": False, "errors": [{"code": "601", "message": "Access token invalid"}]}),
        Answer("rate limit", 200, {"success": False, "errors": [{"code": "606", "message": "Max rate limit"}]}),
        Answer("invalid field", 200, {"success": False, "errors": [{"code": "1003", "message": "Invalid field"}]}),
    ],
)


@destination.on("identify")
def send_lead(event: Event, settings: MarketoBulkUploadSettings) -> Payload:
    """Return one lead of a file: its traits under the names of Marketo's fields."""
    traits = as_object(event.raw.get("traits") or event.context.get("traits"))
    lead = {field: _escape(traits[name]) for name, field in settings.columns if name in traits}
    return Payload(endpoint="/fileUpload", json=lead)


def _escape(value: Json) -> Json:
    if not isinstance(value, str) or not ("," in value or "\\" in value or "\n" in value):  # faster than a set
        return value
    return value.translate(_ESCAPED)
