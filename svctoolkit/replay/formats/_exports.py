"""Files that are the tables of one warehouse: which of them have events of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.replay.formats._contract import Format
from svctoolkit.replay.records.files import InputFile
from svctoolkit.replay.records.remote import Place
from svctoolkit.replay.records.warehouse import is_warehouse_table, table_of, table_without_events


def left_out(files: Sequence[tuple[Place, Format]]) -> Mapping[str, str]:
    """File -> why it is not read: its rows are no events, or they stand with their properties in other files, too.

    A track event has a row in `tracks`, without properties, and one in the table of its name. Where files of both are
    given, those of `tracks` would bring each event a second time.
    """
    tables = [(path, format) for path, format in files if format.header is not None]
    reasons = {
        str(path): f"{table} has no events: it is left out"
        for path, format in tables
        if (table := table_without_events(path.name)) and _has_rows_of_ours(_header(path, format))
    }
    tracks = [(path, format) for path, format in tables if table_of(str(path)) == "tracks"]
    others = ((path, format) for path, format in tables if not table_of(str(path)) and str(path) not in reasons)
    if tracks and _is_tracks(_header(*tracks[0])) and any(_is_tracks(_header(*other)) for other in others):
        said = "each of its events stands with its properties in its own table, which is here, too: it is left out"
        reasons.update({str(path): f"tracks: {said}" for path, _ in tracks})
    return reasons


def _header(path: Place, format: Format) -> list[str]:
    """The columns of a file, in lower case; none where it cannot be read, which is told when it is its turn."""
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
