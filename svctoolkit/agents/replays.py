"""Tools that run files of events through the workspace."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

from svctoolkit.agents.tool import Project
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.policies.tables import QueryError, Sheets, Tables, names_in, tables_of
from svctoolkit.replay import Replayed
from svctoolkit.replay import replay as run
from svctoolkit.workspace import Workspace

_MOST = 200  # rows of an answer
_COLUMNS = ("event_id", "event_type", "event_name", "destination_id", "place", "stage", "status", "output")
_File: TypeAlias = Annotated[str, "events of the project: NDJSON, JSON, CSV, Parquet, a folder or a glob"]
_Sample: TypeAlias = Annotated[float, "run only this share of the events: 0.01 is 1 %"]
_Mask: TypeAlias = Annotated[bool, "hide names, e-mail addresses and other personal data in the answer"]


def replay(
    project: Project,
    file: _File,
    destinations: Annotated[list[str] | None, "keys of destinations (default: all)"] = None,
    sample: _Sample = 1.0,
    mask_personal: _Mask = True,
) -> Json:
    """Run many events through the workspace: outcomes by destination, and groups of failures with examples.

    Each group has a reason, the number of events, and an example with its place in the file.
    """
    result = _replay(project, project.workspace(), file, destinations, sample, mask_personal)
    return {key: value for key, value in result.to_dict().items() if value not in (None, [], {}, ())}


def query_replay(
    project: Project,
    file: _File,
    sql: Annotated[str, "one SELECT of SQLite; tables are keys of destinations"],
    sample: _Sample = 1.0,
    mask_personal: _Mask = True,
) -> Json:
    """Run many events through the workspace and query the requests that destinations get.

    The table of a destination has a row for each payload. Its columns are `event_id`, `event`, `type`, `place` and
    the members of payloads, named by the end of their path, in quotes if it has dots:
    `select event, sum("properties.revenue") from hook group by event`. `payload` is all of it as JSON.
    """
    workspace, reads = project.workspace(), {key: names_in(sql) for key in tables_of(sql)}
    keys = [workspace.destination(key).key for key in reads]
    result = _replay(project, workspace, file, keys, sample, mask_personal)
    sheets, key_of = Sheets(reads), {item.id: key for key, item in workspace.destinations.items()}
    for block in result.blocks(_COLUMNS):
        for id, type, name, to, place, stage, status, output in zip(*(block[c] for c in _COLUMNS), strict=True):
            if stage == "dest_transform" and status == "ok":
                event = {"messageId": id, "type": type, "event": name}
                sheets.add(event, place, key_of[to], [_decoded(output)])
    tables = Tables(reads)
    tables.add(sheets.finish())
    try:
        columns, rows = tables.query(sql)
    except QueryError as error:
        raise ConfigError(f"the query failed: {error}") from None
    return {
        "events": result.events,
        "columns": columns,
        "rows": [list(row) for row in rows[:_MOST]],
        **({"moreRows": len(rows) - _MOST} if len(rows) > _MOST else {}),
    }


def _replay(
    project: Project, workspace: Workspace, file: str, destinations: list[str] | None, sample: float, mask: bool
) -> Replayed:
    path = str(project.path(file))
    return run(path, workspace, destinations=destinations, sample=sample, mask_personal=mask, progress=False)


# Any: JSON
def _decoded(output: Any) -> Any:
    return json.loads(output) if isinstance(output, str) else output
