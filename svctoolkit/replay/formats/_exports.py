"""Decide which files of a warehouse export to read, so that each event is read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.remote import Place
from svctoolkit.replay.records.warehouse import is_warehouse_table, table_of, table_without_events


def left_out(files: Sequence[tuple[Place, Format]]) -> Mapping[str, str]:
    """Return file -> reason for the files to skip: their rows are not events, or are also in other files in full.

    A track event has a row without properties in `tracks`, and one with properties in the table named after the event.
    If both files are given, the rows of `tracks` would duplicate each event.
    """
    tables = [(path, format) for path, format in files if format.header is not None]
    reasons = {
        str(path): f"skipped: the table {table} has no events"
        for path, format in tables
        if (table := table_without_events(path.name)) and _has_rows_of_ours(_header(path, format))
    }
    tracks = [(path, format) for path, format in tables if table_of(str(path)) == "tracks"]
    others = ((path, format) for path, format in tables if not table_of(str(path)) and str(path) not in reasons)
    if tracks and _is_tracks(_header(*tracks[0])) and any(_is_tracks(_header(*other)) for other in others):
        message = "each of its events is also in the table named after the event, with its properties"
        reasons.update({str(path): f"skipped tracks: {message}" for path, _ in tracks})
    return reasons


def _header(path: Place, format: Format) -> list[str]:
    """Return the columns of a file in lower case, or an empty list if it cannot be read: `split` reports that later."""
    if format.header is None:
        return []
    file = InputFile(path, stream=format.stream)
    try:
        return [name.lower() for name in format.header(file)]
    finally:
        file.close()


def _is_tracks(columns: Sequence[str]) -> bool:
    return "event_text" in columns and is_warehouse_table(columns)


def _has_rows_of_ours(columns: Sequence[str]) -> bool:
    return "received_at" in columns or "merge_property_1_type" in columns or "merge_property_type" in columns
