"""Google Sheets: each event becomes a row of a sheet, with the columns that the configuration maps."""

from __future__ import annotations

from svctoolkit.destinations import JSON, DestinationType, Endpoint, Payload, Rows, Settings
from svctoolkit.destinations._families.streams import ANSWERS, value_named
from svctoolkit.events import Event
from svctoolkit.mapping import in_url


class SheetsSettings(Settings, frozen=True, kw_only=True):
    sheet_id: str
    sheet_name: str
    event_key_map: tuple[Rows, ...] = ()


destination = DestinationType(
    "Google Sheets",
    SheetsSettings,
    docs="https://developers.google.com/workspace/sheets/api/reference/rest/v4/spreadsheets.values/append",
    answers=ANSWERS,
    quirks=["A row is shown by column name; in the real request it is a list of values below a row of names."],
)

API = Endpoint("https://sheets.googleapis.com/v4/spreadsheets", JSON)


@destination.on()
def send_row(event: Event, settings: SheetsSettings) -> Payload:
    columns = {row.to: value_named(event, row.from_) for row in settings.event_key_map if row.from_ and row.to}
    values = {"messageId": event.raw.get("messageId"), **columns}
    row = {column: "" if value is None else value for column, value in values.items()}
    place = f"{in_url(settings.sheet_id)}/values/{in_url(settings.sheet_name)}"
    return API.post(settings, f"{place}:append", {"range": settings.sheet_name, "row": row})
