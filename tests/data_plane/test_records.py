"""Each record is declared once: tables, items of `/inspect`, their schema and the documentation agree."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import ConfigError
from svctoolkit.server.inspect.queries import KINDS
from svctoolkit.server.store.record import members
from svctoolkit.server.store.schema import VERSION, ddl

#: version of the store -> hash of its tables. A changed table needs a new version and an entry here.
TABLES = {11: "42b704ec8d904ffd"}  # further indexes need no new version: opening a store adds them
VERSION_3 = Path(__file__).parent / "stores" / "version_3.sql"
PAGE = files("svctoolkit") / "docs" / "data-plane.md"


def hook_workspace() -> Workspace:
    made = Workspace()
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    made.source("web", write_key="web-key", destinations=["hook"])
    return made


def store_from(dump: str, file: Path) -> Path:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(dump)
    return file


def test_a_table_changes_only_with_the_version() -> None:
    """A changed table without a new version would break existing stores."""
    assert hashlib.sha256(ddl().encode()).hexdigest()[:16] == TABLES[VERSION]


def test_a_store_of_version_3_is_migrated(tmp_path: Path) -> None:
    """A store that an earlier release wrote can be read and accepts new events."""
    file = store_from(VERSION_3.read_text(), tmp_path / "plane.db")
    with DataPlane(hook_workspace(), listen=False, store=file) as plane:
        plane.send({"type": "track", "event": "New", "userId": "u1", "messageId": "m3"}, source="web")
        plane.drain()

        assert [(fate.name, fate.status, fate.rule) for fate in plane.fates] == [
            ("Refused there", "failed", ""),
            ("Delivered", "delivered", ""),
            ("New", "delivered", ""),
        ]
        assert [delivery.message_id for delivery in plane.delivered] == ["m2", "m3"]
        assert [refusal.reason for refusal in plane.rejected] == ["request neither has anonymousId nor userId"]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (VERSION,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("pragma user_version=2", f"it has version 2, but this svctoolkit uses version {VERSION}"),
        ("alter table fates add column http_status integer", r"the columns of its table fates differ \(http_status\)"),
        ("alter table events drop column anonymous", r"the columns of its table events differ \(anonymous\)"),
    ],
)
def test_a_store_that_cannot_be_migrated_is_refused_at_once(tmp_path: Path, change: str, message: str) -> None:
    """One sentence at startup says what differs and what to do; nothing is retried, and the file is not changed."""
    file = tmp_path / "plane.db"
    DataPlane(hook_workspace(), listen=False, store=file).stop()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(change)
    before = file.read_bytes()

    with pytest.raises(ConfigError, match=f"{message}.*Start with another file"):
        DataPlane(hook_workspace(), listen=False, store=file)
    assert file.read_bytes() == before


@pytest.fixture(scope="module")
def plane() -> Any:
    """A data plane with one record of each kind."""
    workspace = hook_workspace()
    workspace.destination("events", "ADJ", config={"appToken": "t"})
    workspace.source("app", write_key="app-key", destinations=["events"])
    with DataPlane(workspace, listen=False) as made:
        made.script("hook", Answer(400, {"error": "no"}))
        made.send({"type": "track", "event": "Refused there", "userId": "u1"}, source="web")
        made.send({"type": "track", "event": "Refused here", "userId": "u1"}, source="app")
        made.send({"type": "track"}, source="web")
        made.drain()
        yield made


@pytest.mark.parametrize("kind", [*KINDS])
def test_openapi_describes_the_items_of_every_list(plane: DataPlane, kind: str) -> None:
    """The schema names exactly the fields that items have, each with a type."""
    document = plane.ingest("GET", "/openapi.json").json
    schema = _resolve(document, document["paths"][f"/inspect/{kind}"]["get"]["responses"]["200"])
    item = _resolve(document, _resolve(document, schema)["properties"]["items"]["items"])
    for given in plane.ingest("GET", f"/inspect/{kind}").json["items"]:
        assert given.keys() <= item["properties"].keys()
        assert given.keys() >= set(item["required"])
    more = {"lost"} if kind in ("fates", "dead") else set()  # simulated destinations keep it, not the store of fates
    stored = {member.item for member in members(KINDS[kind].kind.record) if member.item}
    assert stored | more == item["properties"].keys()


def _resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    schema = schema.get("content", {}).get("application/json", {}).get("schema", schema)
    if "$ref" in schema:
        return dict(document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    return schema


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "dead"])
def test_the_documentation_names_every_field(kind: str) -> None:
    """A new field of a record is documented in docs/data-plane.md, in the row of its kind."""
    row = re.search(rf"^\| `{kind}` \|.*", PAGE.read_text(), re.MULTILINE)
    assert row is not None, f"docs/data-plane.md has no row for the members of {kind}"
    documented = set(re.findall(r"`(\w+)`", row[0]))
    missing = {member.item for member in members(KINDS[kind].kind.record) if member.item} - documented
    assert not missing, f"docs/data-plane.md: the row of {kind} does not mention {sorted(missing)}"


def test_a_fate_keeps_the_cause_of_a_failure(plane: DataPlane) -> None:
    """Objects, frames, items of `/inspect` and the stream have its rule, field and setting as data."""
    by_mapping = next(fate for fate in plane.fates if fate.destination == "events")
    items = plane.ingest("GET", "/inspect/fates?destination=events").json["items"]
    frame = plane.fates.frame()

    assert by_mapping.rule == items[0]["rule"] == "ADJ.not-configured.customMappings"
    assert by_mapping.cause == items[0]["cause"]
    assert items[0]["cause"]["setting"] == "customMappings"
    assert [*frame["rule"]] == ["WEBHOOK.http-400.no", by_mapping.rule]
    assert [*frame["cause.setting"].dropna()] == ["customMappings"]
