"""Rows made from events: names, types, options, and losses."""

from __future__ import annotations

import doctest
import json
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest

from svctoolkit.errors import ConfigError, EventError, UnknownName
from svctoolkit.warehouse import PROVIDERS, explain, rows

NOW = "2026-03-04T05:06:07.890Z"


def track(properties: Any = None, **members: Any) -> dict[str, Any]:
    common = {"type": "track", "messageId": "m1", "userId": "u1", "event": "Order Completed"}
    return {**common, "properties": properties or {}, **members}


def tables(event: dict[str, Any], provider: str = "POSTGRES", *args: Any, **options: Any) -> dict[str, Any]:
    return {row["table"]: row for row in rows(event, provider, *args, clock=NOW, **options)}


def users_columns(event: dict[str, Any], provider: str = "POSTGRES", **options: Any) -> dict[str, Any]:
    """The columns of the event's table that come from its properties."""
    row = rows(event, provider, clock=NOW, **options)[-1]
    own = {"id", "user_id", "received_at", "event", "event_text"}
    return {name: value for name, value in row["data"].items() if name.lower() not in own}


@pytest.mark.parametrize("module", ["", ".providers", ".rows.names", ".rows.values"])
def test_doctests_pass(module: str) -> None:
    """The examples in docstrings are correct."""
    result = doctest.testmod(
        import_module(f"svctoolkit.warehouse{module}"), optionflags=doctest.IGNORE_EXCEPTION_DETAIL
    )

    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("track", ["tracks", "order_completed"]),
        ("identify", ["identifies", "users"]),
        ("page", ["pages"]),
        ("screen", ["screens"]),
        ("group", ["groups"]),
        ("alias", ["aliases"]),
        ("extract", ["order_completed"]),
        ("merge", []),
    ],
)
def test_tables_of_each_type(kind: str, expected: list[str]) -> None:
    """Each type of event has its tables, in RudderStack's order; types compare in lower case."""
    event = track(type=kind.upper(), recordId="r1")

    assert [row["table"] for row in rows(event, "POSTGRES")] == expected


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_has_a_column_type_for_every_value(provider: str) -> None:
    """Every type of `data` has one, and the loader's own column exists."""
    event = track({"n": 1, "f": 1.5, "t": "x", "b": True, "at": "2026-01-02", "list": [1], "o": {"k": 1}})
    row = rows(event, provider, clock=NOW)[-1]

    assert row["data"].keys() < row["columns"].keys()
    assert {name.lower() for name in row["columns"]} - {n.lower() for n in row["data"]} <= {"uuid_ts", "loaded_at"}
    assert all(PROVIDERS[provider].column_types[kind] for kind in row["columns"].values())
    json.dumps(row)


@pytest.mark.parametrize(
    ("sent", "column"),
    [
        ("userIDs", "user_i_ds"),
        ("XMLHttpRequest", "xml_http_request"),
        ("a.b mega&", "a_b_mega"),
        ("__Double", "__double"),
        ("___", "___"),
        ("v2", "v2"),
        ("abc123def", "abc123_def"),
        ("1a2B3c", "_1a_2b_3c"),
        ("2ND try", "_2nd_try"),
        ("order", "_order"),
        ("x" * 100, "x" * 63),
    ],
)
def test_names_become_snake_case(sent: str, column: str) -> None:
    """Words of ASCII letters and digits; reserved words and leading digits get an underscore."""
    assert users_columns(track({sent: "v"})) == {column: "v"}


def test_digits_can_be_separate_words() -> None:
    """`underscoreDivideNumbers` separates digits in columns, values of `event` and tables."""
    event = track({"omega v2": 1}, event="Step10 Done")
    row = rows(event, "RS", {"underscoreDivideNumbers": True})[-1]

    assert row["table"] == row["data"]["event"] == "step_10_done"
    assert row["data"]["omega_v_2"] == 1


def test_case_length_and_reserved_words_depend_on_the_provider() -> None:
    """Snowflake is upper case; names have 63, 127 or unlimited characters; reserved words differ."""
    event = track({"y" * 150: 1, "order": 2, "depth": 3})

    assert [len(name) for name in users_columns(event, "POSTGRES") if name[0] == "y"] == [63]
    assert [len(name) for name in users_columns(event, "RS") if name[0] == "y"] == [127]
    assert [len(name) for name in users_columns(event, "S3_DATALAKE") if name[0] == "y"] == [150]
    assert {"_ORDER", "DEPTH"} < users_columns(event, "SNOWFLAKE").keys()
    assert {"_order", "_depth"} < users_columns(event, "MSSQL").keys()
    assert {"order", "depth"} < users_columns(event, "CLICKHOUSE").keys()


def test_event_names_that_collide_with_standard_tables() -> None:
    """`users` and `identifies` are never an event's table; `tracks` is one when reserved words stay unchanged."""
    keep = {"RS": {"options": {"skipReservedKeywordsEscaping": True}}}

    assert rows(track(event="Users"), "RS")[-1]["table"] == "_users"
    assert rows(track(event="Users", integrations=keep), "RS")[-1]["table"] == "_users"
    assert rows(track(event="Tracks"), "RS")[-1]["table"] == "_tracks"
    assert rows(track(event="Tracks", integrations=keep), "RS")[-1]["table"] == "tracks"


@pytest.mark.parametrize("name", ["日本語", "", "!!", None, 5, True, {"a": 1}])
def test_an_event_without_a_usable_name_has_no_table(name: Any) -> None:
    """The row of `tracks` stays, with an empty `event`."""
    only = rows(track(event=name), "SNOWFLAKE")

    assert [row["table"] for row in only] == ["TRACKS"]
    assert only[0]["data"]["EVENT"] == ""


@pytest.mark.parametrize(
    ("value", "kind", "stored"),
    [
        (1.0, "int", 1),
        (12.5, "float", 12.5),
        (10**30, "int", 1e30),
        (2**53 + 1, "int", 2**53),
        (True, "boolean", True),
        ("2026-01-02", "datetime", "2026-01-02T00:00:00.000Z"),
        ("2026-01-02 03:04:05+0530", "datetime", "2026-01-01T21:34:05.000Z"),
        ("2026-02-30", "datetime", "2026-03-02T00:00:00.000Z"),
        ("2026-01-02T03:04:05.123456789Z", "datetime", "2026-01-02T03:04:05.123Z"),
        ("2026-01-02T24:00:00Z", "string", "2026-01-02T24:00:00Z"),
        ("9999-12-31T23:59:59-01:00", "string", "9999-12-31T23:59:59-01:00"),
        ("2026", "string", "2026"),
        ([1, None], "string", [1, None]),
        ([None], "string", [None]),
        (" ", "string", " "),
        (0, "int", 0),
        (float("inf"), "float", float("inf")),
    ],
)
def test_values_get_their_types(value: Any, kind: str, stored: Any) -> None:
    """Whole numbers are int, texts with a time become UTC with milliseconds, lists stay lists."""
    row = rows(track({"p": value}), "POSTGRES")[-1]

    assert (row["columns"]["p"], row["data"]["p"]) == (kind, stored)


@pytest.mark.parametrize("value", [None, "", [], [""], [[]], {}, {"a": None}])
def test_blank_values_make_no_column(value: Any) -> None:
    """Nothing is stored for them."""
    assert users_columns(track({"p": value})) == {}


def test_long_texts_are_text_in_redshift_only() -> None:
    """Texts over 512 UTF-16 units: characters outside the BMP count twice. A list counts by its JSON."""
    event = track({"short": "x" * 512, "long": "x" * 513, "faces": "😀" * 257, "list": ["x" * 510]})
    kinds = {name: rows(event, "RS")[-1]["columns"][name] for name in ("short", "long", "faces", "list")}

    assert kinds == {"short": "string", "long": "text", "faces": "text", "list": "text"}
    assert rows(event, "BQ")[-1]["columns"]["long"] == "string"


def test_objects_of_cloud_sources_are_flattened_four_levels_deep() -> None:
    """Deeper parts stay together as JSON text; other sources are flattened completely."""
    event = track({"a": {"b": {"c": {"d": {"e": 1}}}}})

    assert users_columns(event) == {"a_b_c_d_e": 1}
    cloud = users_columns(event, metadata={"sourceCategory": "cloud"})
    assert cloud == {"a_b_c_d": '{"e":1}'}


def test_json_paths_keep_a_value_together() -> None:
    """Paths match by exact keys and depth, from configuration and event; Redshift's type is json, BigQuery's string."""
    event = track({"address": {"geo": {"lat": 1.0}}, "id2": "o-1"})
    paths = {"jsonPaths": "track.properties.address.geo, id2 ,nothing.here"}
    row = rows(event, "RS", paths)[-1]

    assert (row["data"]["address_geo"], row["columns"]["address_geo"]) == ('{"lat":1}', "json")
    assert row["data"]["id2"] == '"o-1"'
    assert rows(event, "BQ", paths)[-1]["columns"]["address_geo"] == "string"
    assert rows(event, "MSSQL", paths)[-1]["data"]["address_geo_lat"] == 1
    asked = {**event, "integrations": {"RS": {"options": {"jsonPaths": ["track.properties.address"]}}}}
    assert rows(asked, "RS")[-1]["data"]["address"] == '{"geo":{"lat":1}}'


def test_reserved_columns_cannot_be_set_by_users() -> None:
    """A user's field with such a name is dropped, even if the reserved column is empty."""
    event = track({"user_id": "mine", "userId": "mine", "channel": "mine", "name": "mine"})
    data = rows(event, "POSTGRES")[-1]["data"]

    assert data["user_id"] == "u1"
    assert "channel" not in data
    assert data["name"] == "mine"  # a column of pages, not of tracks


def test_the_context_has_source_metadata_and_address() -> None:
    """The address is the context's own, otherwise the request's."""
    metadata = {"sourceId": "src", "sourceType": "Javascript", "destinationId": "dst", "destinationType": "RS"}
    data = rows(track(request_ip="192.0.2.7", context={"ip": ""}), "RS", metadata=metadata)[0]["data"]

    assert data["context_source_id"] == "src"
    assert data["context_destination_type"] == "RS"
    assert (data["context_ip"], "context_passed_ip" in data) == ("192.0.2.7", False)


def test_users_and_identifies_rows() -> None:
    """Traits override the context's; data lakes leave out three times; streams and skipped ones have no users."""
    event = track(type="identify", traits={"plan": "pro"}, context={"traits": {"plan": "free", "age": 41}}, sentAt=NOW)
    got = tables(event, "RS", {"allowUsersContextTraits": True})

    assert (got["users"]["data"]["plan"], got["users"]["data"]["age"]) == ("pro", 41)
    assert got["users"]["data"]["id"] == "u1"
    assert "sent_at" in got["users"]["data"]
    assert "sent_at" not in tables(event, "S3_DATALAKE")["users"]["data"]
    assert tables(event, "RS", {"skipUsersTable": True}).keys() == {"identifies"}
    assert tables(event, "SNOWPIPE_STREAMING").keys() == {"IDENTIFIES"}
    assert tables({**event, "userId": " "}, "RS").keys() == {"identifies"}


def test_only_true_enables_an_option() -> None:
    """Neither the text `true` nor 1 does."""
    assert [r["table"] for r in rows(track(), "RS", {"skipTracksTable": True})] == ["order_completed"]
    assert len(rows(track(), "RS", {"skipTracksTable": "true"})) == 2
    assert len(rows(track(), "RS", {"skipTracksTable": 1})) == 2
    assert len(rows(track(integrations={"RS": {"options": {"skipTracksTable": True}}}), "RS")) == 1
    assert len(rows(track(integrations={"Redshift": {"options": {"skipTracksTable": True}}}), "RS")) == 2


def test_merge_rules_need_id_resolution() -> None:
    """And a warehouse that supports it."""
    event = track(anonymousId="a1")
    rule = rows(event, "SNOWFLAKE", settings={"id_resolution": True})[-1]

    assert rule["table"] == "RUDDER_IDENTITY_MERGE_RULES"
    assert list(rule["data"].values()) == ["anonymous_id", "a1", "user_id", "u1"]
    assert len(rows(event, "SNOWFLAKE")) == len(rows(event, "RS", settings={"id_resolution": True})) == 2


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"type": "record"}, "type"),
        ({}, "type"),
        ({"type": ["track"]}, "type"),
        ({"type": "extract", "event": "contacts"}, "recordId"),
        ({"type": "extract", "recordId": "r1", "event": "😀"}, "event"),
        ({"type": "track", "context": []}, "context"),
    ],
)
def test_rejected_events_name_the_field(event: dict[str, Any], field: str) -> None:
    """The error has the field."""
    with pytest.raises(EventError) as refusal:
        rows(event, "RS", metadata={"sourceId": "s"})

    assert refusal.value.field == field


def test_too_many_columns_are_rejected() -> None:
    """1600, or the operator's limit; data lakes and cloud sources' own channel have no limit."""
    event = track({f"k{i}": i for i in range(300)})

    with pytest.raises(EventError, match="expected at most 200 columns"):
        rows(event, "RS", settings={"max_columns": 200})
    assert rows(event, "S3_DATALAKE", settings={"max_columns": 200})
    assert rows({**event, "channel": "sources"}, "RS", settings={"max_columns": 200})
    assert rows(event, "RS")


def test_unknown_providers_and_settings_are_errors() -> None:
    """With the nearest name."""
    with pytest.raises(UnknownName, match="snowflake"):
        rows(track(), "SNOWFLACKE")
    with pytest.raises(ConfigError, match="max_columns"):
        rows(track(), "RS", settings={"maxcolumns": 3})
    with pytest.raises(ConfigError, match="max_columns"):
        rows(track(), "RS", settings={"max_columns": "many"})


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return {"p": value}


@pytest.mark.parametrize(
    "properties", [nested(100_000), {1: "x", "b": 2}, {"p": {None: 1, 2: 3}}, {"\ud800": "\udfff"}, "text", 5, ["x"]]
)
def test_any_event_gives_rows_or_an_error(properties: Any) -> None:
    """It never crashes."""
    for provider in PROVIDERS:
        with suppress(EventError):
            assert rows(track(properties), provider)


def test_an_event_is_not_changed() -> None:
    """Not even by metadata that is added to its context."""
    event = track({"list": [1, {"b": 2}]}, context={"ip": "1"})
    before = json.dumps(event)
    rows(event, "BQ", {"storeFullEvent": True}, metadata={"sourceId": "s"})

    assert json.dumps(event) == before


def test_columns_have_reasons_and_places() -> None:
    """Each column says which field it comes from and why it has its name."""
    event = track({"order": 1, "address": {"zipCode": "8010"}}, context={"app": {"name": "x"}})
    columns = {(c.table, c.name): c for c in explain(event, "POSTGRES").columns}

    assert columns["order_completed", "_order"].path == "properties.order"
    assert columns["order_completed", "_order"].reasons == ("a reserved word of PostgreSQL: _order",)
    zip_code = columns["order_completed", "address_zip_code"]
    assert zip_code.reasons == ("joined: address_zipCode", "snake case: address_zip_code")
    assert columns["tracks", "context_app_name"].path == "context.app.name"
    assert columns["tracks", "context_app_name"].column_type == "text"
    assert columns["tracks", "user_id"].reasons == ("a RudderStack column",)


@pytest.mark.parametrize(
    ("event", "kind", "path"),
    [
        (track({"user_id": "x"}), "shadowed", "properties.user_id"),
        (track({"😀": 1}), "nameless", "properties.😀"),
        (track({"a b": 1, "a_b": 2}), "collision", "properties.a b"),
        (track({"n": 2**53 + 1}), "rounded", "properties.n"),
        (track({"d": "2026-02-30"}), "rolled over", "properties.d"),
        (track({"d": "2026-02-03T04:05:06.123456Z"}), "cut", "properties.d"),
        (track(["a"]), "shapeless", "properties"),
        (track(event="日本語"), "untabled", "event"),
        (track(type="identify", traits={"id": 5}), "shadowed", "traits.id"),
    ],
)
def test_losses_are_noted_at_their_field(event: dict[str, Any], kind: str, path: str) -> None:
    """Everything that does not arrive as it was sent."""
    assert [(loss.kind, loss.path) for loss in explain(event, "POSTGRES", clock=NOW).losses] == [(kind, path)]


def test_a_plain_event_has_no_losses() -> None:
    """Blank values are not a loss, nor are changed names."""
    event = track({"orderId": "A-1", "note": "", "at": NOW, "items": []}, context={"ip": "1.2.3.4"}, sentAt=NOW)

    assert explain(event, "POSTGRES").losses == []


def test_an_explanation_has_displays() -> None:
    """As a frame, and as HTML in which everything is escaped."""
    explanation = explain(track({"user_id": "x", "note": "<b>"}), "RS")
    shown = explanation._repr_mimebundle_()["text/html"]

    assert explanation.frame().query("column == 'note'").path.tolist() == ["properties.note"]
    assert "properties.user_id" in shown
    assert "<b>&quot;" not in shown
    assert "&lt;b&gt;" in shown
