"""Lineage: where each field of a payload comes from, and where each field of an event went."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import CATALOGUE, Pipeline, Workspace, events
from svctoolkit.destinations import Context, definitions
from svctoolkit.errors import Unsupported
from svctoolkit.pipeline.leaves import leaves
from svctoolkit.replay import replay
from svctoolkit.results.lineage import Lineage, dotted_path
from tests.catalogue import examples
from tests.examples import up_to
from tests.notebooks.lit import lit

JAVASCRIPT = """\
export function transformEvent(event, metadata) {
  event.properties.total = event.properties.revenue * 2;
  event.properties.made = "here";
  delete event.context.ip;
  return event;
}
"""
PYTHON = """\
def transformEvent(event, metadata):
    event["properties"]["total"] = event["properties"]["revenue"] * 2
    event["properties"]["made"] = "here"
    event["context"].pop("ip", None)
    return event
"""
ORDER: dict[str, Any] = {
    "type": "track",
    "event": "Order Completed",
    "userId": "u1",
    "messageId": "m1",
    "properties": {"revenue": 12.5, "total": 20, "currency": "EUR", "products": [{"sku": "a", "price": 2}]},
    "context": {"ip": "203.0.113.4", "locale": "en"},
}


def has_payloads(name: str) -> bool:
    """Whether events become requests of this type, here and in its tests."""
    return not definitions.is_recorded_only(name) and any(example.payloads for example in examples(name))


def workspace() -> Workspace:
    shop = Workspace("shop")
    shop.transformation("js", code=JAVASCRIPT, language="javascript")
    shop.transformation("py", code=PYTHON, language="python")
    shop.transformation("function", lambda event: {**event, "properties": {**event["properties"], "made": "here"}})
    config = {"webhookUrl": "https://hook.example/in", "webhookMethod": "POST"}
    shop.destination("hook", "WEBHOOK", config=config)
    for key in ("js", "py", "function"):
        shop.destination(f"hook-{key}", "WEBHOOK", config=config, transformation=key)
    shop.destination("mp", "MP", config={"token": "t0ken-s3cret", "dataResidency": "us"})
    shop.destination("ga", "GA4", config={"apiSecret": "s3cret-ga", "measurementId": "G-1", "typesOfClient": "gtag"})
    shop.destination("slack", "SLACK", config={"webhookUrl": "https://hooks.slack.example/x"})
    shop.destination("tags", "GTM", config={"containerID": "GTM-1"}, transformation="py")
    return shop


def origin(lineage: Lineage, field: str, payload: int = 1) -> Any:
    return next(o for o in lineage.fields if (o.payload, o.field) == (payload, field))


def test_a_webhook_passes_every_field() -> None:
    """Each leaf of the event goes to its place in the body, and nowhere else; nothing is lost."""
    lineage = Pipeline(workspace()).lineage("hook", ORDER)

    assert {d.path: d.fields for d in lineage.event} == {
        dotted_path(path): (f"body.JSON.{dotted_path(path)}",) for path in leaves(ORDER)
    }
    assert lineage.lost == []
    assert origin(lineage, "endpoint").settings == ("webhookUrl",)
    assert origin(lineage, "method").kind == "setting"
    assert origin(lineage, "version").kind == "constant"


@pytest.mark.parametrize("value", [2**53, -(2**63), 1e17, 1.5e308, {}, []], ids=repr)
@pytest.mark.parametrize("key", ["hook", "hook-js", "hook-py"])
def test_special_values_have_a_lineage(key: str, value: Any) -> None:
    """Numbers beyond double precision, and empty objects and lists, are traced, too."""
    event = {**ORDER, "properties": {"revenue": 1, "value": value}}
    lineage = Pipeline(workspace()).lineage(key, event)

    assert origin(lineage, "body.JSON.properties.value").events == ("properties.value",)


@pytest.mark.parametrize("language", ["js", "py"])
def test_user_code_is_part_of_the_lineage(language: str) -> None:
    """Fields computed by code name their sources, removed ones are lost there, new ones come from the code."""
    lineage = Pipeline(workspace()).lineage(f"hook-{language}", ORDER)

    total = origin(lineage, "body.JSON.properties.total")
    assert (total.events, total.code) == (("properties.revenue",), True)
    assert origin(lineage, "body.JSON.properties.made").kind == "code"
    assert not origin(lineage, "body.JSON.properties.currency").code
    assert {d.path: d.lost_at for d in lineage.lost} == {
        "context.ip": "user_transform",
        "properties.total": "user_transform",
    }


@pytest.mark.parametrize("code", [
    ("javascript", "function transform(events) { return events.map((e) => { e.context.made = 1; return e; }); }"),
    ("python", "def transformBatch(events, metadata):\n  for e in events: e['context']['made'] = 1\n  return events\n"),
])  # fmt: skip
def test_a_batch_function_gets_each_change_of_an_event_alone(code: tuple[str, str]) -> None:
    """All changes have one messageId, by which its results are told apart: together, each result was everybody's."""
    shop = workspace()
    shop.transformation("batch", code=code[1], language=code[0])
    shop.destination("hook-js").transformation = "batch"
    lineage = Pipeline(shop).lineage("hook-js", ORDER)

    assert {each.payload for each in lineage.fields} == {1}
    assert origin(lineage, "body.JSON.properties.currency").events == ("properties.currency",)
    assert origin(lineage, "body.JSON.context.made").kind == "code"


def test_fields_left_out_by_a_mapping_are_lost_there() -> None:
    """GA4 uses the total but not the revenue of an order; the event name decides about the items."""
    lineage = Pipeline(workspace()).lineage("ga", {**events.sample("order completed")})

    assert origin(lineage, "body.JSON.events.0.params.value").events == ("properties.total",)
    assert {d.path: d.lost_at for d in lineage.lost}["properties.revenue"] == "dest_transform"
    assert "event" in origin(lineage, "body.JSON.events.0.params.items.0.item_id").conditions
    assert lineage.sources("body.JSON.user_id") == ("userId",)
    assert "body.JSON.user_id" in lineage.targets("userId")
    with pytest.raises(KeyError):
        lineage.sources("body.JSON.nothing")


def test_secret_settings_are_named_but_not_shown() -> None:
    """A field made from a secret names its setting."""
    pipeline = Pipeline(workspace())
    lineage, other = (pipeline.lineage(key, events.sample("order completed")) for key in ("mp", "ga"))

    assert origin(lineage, "headers.Authorization", 2).settings == ("token",)
    assert origin(other, "params.api_secret").settings == ("apiSecret",)
    assert "s3cret-ga" not in f"{other!r}{other._repr_mimebundle_()}{other.frame().to_csv()}{other.fields}"
    assert "t0ken" not in str(origin(lineage, "headers.Authorization", 2))
    assert "1: body.JSON_ARRAY.batch.0.$append.$transactions.$amount <- properties.revenue" in repr(lineage)


def test_a_missing_payload_does_not_affect_the_others() -> None:
    """Without revenue Mixpanel gets one request less: only that one depends on it."""
    lineage = Pipeline(workspace()).lineage("mp", {**events.sample("order completed")})

    assert "properties.revenue" in origin(lineage, "endpoint", 1).conditions
    assert origin(lineage, "endpoint", 2).conditions == ()


def test_a_field_needed_for_any_payload_is_required() -> None:
    """The lineage says that the event needs it, not that it is lost."""
    lineage = Pipeline(workspace()).lineage("ga", {**events.sample("order completed")})

    required = {d.path for d in lineage.event if d.required}
    assert "type" in required
    assert required.isdisjoint({d.path for d in lineage.lost})


def test_a_result_has_its_lineage() -> None:
    """`result.lineage()` analyses the tested event; pickled and remote results say that they cannot."""
    result = Pipeline(workspace()).test_destination("hook-py", ORDER)

    assert result.lineage().frame().equals(Pipeline(workspace()).lineage("hook-py", ORDER).frame())
    with pytest.raises(Unsupported, match="lineage needs the pipeline that ran the event"):
        pickle.loads(pickle.dumps(result)).lineage()


def test_frames_have_a_row_per_source_and_event_field() -> None:
    """The same columns for every destination; constants have a row, too."""
    lineage = Pipeline(workspace()).lineage("hook-js", ORDER)
    frame, went = lineage.frame(), lineage.event_frame()

    assert set(frame.kind) == {"event", "code", "setting", "condition", "constant"}
    total = frame[frame.field == "body.JSON.properties.total"]
    assert list(zip(total.kind, total.source, strict=True)) == [
        ("event", "properties.revenue"),
        ("code", ""),
        ("condition", "config.webhookMethod"),  # GET has no body
    ]
    assert set(went.path) == {dotted_path(path) for path in leaves(ORDER)}
    assert list(went.columns) == [
        *("path", "fields", "decides", "lost_at", "required", "lost_by", "stops"),
        *("held", "rule", "source"),
    ]


def test_the_responsible_setting_is_named() -> None:
    """The setting that loses a field or refuses an event, set or not: with another value the field would arrive.

    A field that is never used has no such setting, and a missing value is not lost by any.
    """
    shop = workspace()
    config = {"apiSecret": "s3cret", "measurementId": "G-1", "typesOfClient": "gtag"}
    shop.destination("quiet", "GA4", config={**config, "piiPropertiesToIgnore": [{"piiProperty": "email"}]})
    shop.destination("ct", "CLEVERTAP", config={"accountId": "a", "passcode": "p"})
    event = {**ORDER, "event": "Seen", "anonymousId": "a", "properties": {**ORDER["properties"], "nothing": None}}
    event["context"] = {**event["context"], "traits": {"email": "a@shop.example"}}
    pipeline = Pipeline(shop)
    lineage = pipeline.lineage("quiet", event)
    lost_by = {field.path: field.lost_by for field in lineage.lost}

    assert lost_by["context.traits.email"] == ("piiPropertiesToIgnore.0.piiProperty",)
    assert lost_by["properties.nothing"] == ()
    assert "context.traits.email (by setting piiPropertiesToIgnore.0.piiProperty)" in repr(lineage)
    assert lineage.event_frame().set_index("path").lost_by["context.traits.email"].startswith("piiProperties")
    assert pipeline.lineage("ct", {"type": "track", "event": "E", "anonymousId": "a"}).refused_by == ("trackAnonymous",)
    assert pipeline.lineage("quiet", [event, event]).lost == lineage_without_values(lineage)


def lineage_without_values(lineage: Lineage) -> list[Any]:
    return [replace(field, value=None) for field in lineage.lost]


def test_events_share_one_lineage() -> None:
    """It is the union over all; items of lists are one field, and a field is lost only if no payload uses it."""
    many = [
        {**ORDER, "messageId": f"m{n}", "properties": {**ORDER["properties"], "products": [{"sku": "a"}] * (n % 3)}}
        for n in range(50)
    ]
    lineage = Pipeline(workspace()).lineage("hook", many)

    assert origin(lineage, "body.JSON.properties.products.*.sku").events == ("properties.products.*.sku",)
    assert lineage.lost == []


def test_the_lineage_of_a_stopped_event_ends_there() -> None:
    """Of an event that the mapping rejects, the fields are traced up to that point.

    The lineage has the fields of the code's result, the stage at which each of the others is lost, and the event field
    or setting responsible. Values masked in payloads are masked there, too.
    """
    shop = workspace()
    config = {"accountId": "acc-s3cret", "passcode": "p", "trackAnonymous": False}
    code = PYTHON.replace('"here"', '"acc-s3cret"')
    shop.transformation("copies", code=code)
    shop.destination("ct", "CLEVERTAP", config={**config, "passcode": "acc-s3cret"}, transformation="copies")
    anonymous = {**{name: value for name, value in ORDER.items() if name != "userId"}, "anonymousId": "a1"}
    pipeline = Pipeline(shop)
    lineage = pipeline.lineage("ct", anonymous)
    total = origin(lineage, "properties.total")

    assert (lineage.stopped_at, lineage.refused_by) == ("dest_transform", ("trackAnonymous",))
    assert (total.events, total.code) == (("properties.revenue",), True)
    assert not origin(lineage, "properties.currency").code
    lost = {d.path: d.lost_at for d in lineage.lost}
    assert (lost["context.ip"], lost["properties.total"]) == ("user_transform", "user_transform")
    assert (lost["properties.revenue"], lost["anonymousId"]) == ("dest_transform", "dest_transform")
    assert "acc-s3cret" not in f"{lineage.fields}{lineage!r}{lineage._repr_mimebundle_()}"
    assert "the event stops at dest_transform, by setting trackAnonymous" in repr(lineage)
    assert lit(lineage._repr_mimebundle_()["text/html"])["user_transform properties.total"] == {
        "event properties.revenue"
    }
    assert pipeline.test_destination("ct", anonymous).lineage().frame().equals(lineage.frame())


def test_the_field_that_stops_an_event_is_named() -> None:
    """A value that the mapping rejects, one that makes the code drop the event, one that makes it fail."""
    shop = workspace()
    hook = {"webhookUrl": "https://h.example"}
    for key, line in (("drop", "return None if test else event"), ("boom", "return event if not test else 1 // 0")):
        code = f"def transformEvent(event, metadata):\n    test = event['properties'].get('test')\n    {line}\n"
        shop.transformation(key, code=code)
        shop.destination(f"hook-{key}", "WEBHOOK", config=hook, transformation=key)
    event: dict[str, Any] = {**ORDER, "properties": {"test": True}}
    pipeline = Pipeline(shop)

    for key in ("hook-drop", "hook-boom"):
        lineage = pipeline.lineage(key, event)
        assert (lineage.stopped_at, lineage.fields) == ("user_transform", [])
        assert [d.path for d in lineage.event if d.stops] == ["properties.test"]
        assert {d.lost_at for d in lineage.lost} == {"user_transform"}
    ga = pipeline.lineage("ga", {**events.sample("order completed"), "type": "alias"})
    assert [d.path for d in ga.event if d.stops] == []  # another type would not help
    product = {"product_id": "p", "price": "3 EUR"}
    properties = {"order_id": "o", "total": 2, "currency": "EUR", "products": [product]}
    wrong = pipeline.lineage("ga", {**ORDER, "anonymousId": "a", "properties": properties})
    assert wrong.stopped_at == "dest_transform"
    assert "properties.products.0.price" in [d.path for d in wrong.event if d.stops]


def test_stopped_events_lose_only_their_own_fields() -> None:
    """Fields used by another event are not lost, and payloads contain no fields of stopped events."""
    shop = workspace()
    shop.destination("ct", "CLEVERTAP", config={"accountId": "a", "passcode": "p", "trackAnonymous": False})
    anonymous = {"type": "track", "event": "Order Completed", "anonymousId": "a", "properties": {"total": 20, "own": 1}}
    both = Pipeline(shop).lineage("ct", [anonymous, ORDER])
    none = Pipeline(shop).lineage("ct", [anonymous, {**anonymous, "properties": {}}])

    assert (both.stopped_at, none.stopped_at) == ("", "dest_transform")
    assert not {"anonymousId", "properties.own"} & {path for o in both.fields for path in o.events}
    lost = {d.path: d.lost_at for d in both.lost}
    assert "properties.total" not in lost
    assert lost["properties.own"] == "dest_transform"


def test_events_without_payloads_have_a_short_lineage() -> None:
    """A refused event, one that the code drops or fails on, a type without requests: no exception."""
    shop = workspace()
    shop.transformation("drop", code="def transformEvent(event, metadata): return None")
    shop.transformation("boom", code="def transformEvent(event, metadata): raise ValueError('x')")
    shop.destination("dropped", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="drop")
    shop.destination("failed", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="boom")
    pipeline = Pipeline(shop)

    for key in ("dropped", "failed"):
        assert pipeline.lineage(key, ORDER).fields == []
    assert pipeline.lineage("tags", ORDER).stopped_at == "dest_transform"
    assert pipeline.lineage("ga", {"type": "alias", "userId": "u"}).fields == []


def test_the_page_highlights_related_fields() -> None:
    """For one event and for many: a field highlights its sources, whatever characters their names have."""
    pipeline = Pipeline(workspace())
    odd = {**ORDER, "properties": {**ORDER["properties"], "a.b<i>'\"&": "x"}}
    for events_ in (odd, [odd, ORDER]):
        lineage = pipeline.lineage("ga", events_) if events_ is odd else pipeline.lineage("hook-py", events_)
        partners = lit(lineage._repr_mimebundle_()["text/html"])
        for field in lineage.fields:
            assert partners[f"payload {field.field}"] == {f"event {path}" for path in field.events}
        for destiny in lineage.event:
            assert len(partners[f"event {destiny.path}"]) == len(destiny.fields)


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3), max_leaves=8
)


@settings(max_examples=up_to(100), deadline=None)
@given(st.dictionaries(st.text(min_size=1), values, max_size=4))
def test_any_event_has_a_lineage(properties: dict[str, Any]) -> None:
    """For any event, every field passed on by a webhook is traced to its place."""
    event = {"type": "track", "event": "e", "properties": properties}
    before = repr(event)
    lineage = Pipeline(workspace()).lineage("hook", event)

    assert repr(event) == before
    for field in lineage.fields:
        own = field.field.removeprefix("body.JSON.")
        assert own == field.field or not field.events or own in field.events


#: Types that take records only, which no Test API accepts
RECORDS_ONLY = {
    name for name in CATALOGUE.names() if {e.event.get("type") for e in examples(name) if e.payloads} == {"record"}
}


@pytest.mark.parametrize("name", [n for n in CATALOGUE.names() if has_payloads(n) and n not in RECORDS_ONLY])
def test_every_type_has_a_lineage_of_its_example(name: str) -> None:
    """All sources of its payloads are existing fields of the event."""
    example = next((e for e in examples(name) if e.payloads and not e.lookups and not e.metadata), None)
    if example is None:
        example = next(e for e in examples(name) if e.payloads)
    shop = Workspace("shop")
    shop.destination("d", name, config=example.config)
    lineage = Pipeline(shop).lineage("d", example.event)

    assert bool(lineage.fields) or bool(example.lookups or example.metadata or example.now)
    paths = {destiny.path for destiny in lineage.event}
    assert {
        path for o in lineage.fields for path in (*o.events, *o.conditions) if not path.startswith("config.")
    } <= paths


def test_lineage_continues_to_warehouse_columns() -> None:
    """Each column names its field, whatever the column is called; a field shadowed by a reserved column is lost."""
    shop = Workspace("shop")
    config = {"underscoreDivideNumbers": True, "jsonPaths": "track.properties.products"}
    shop.transformation("py", code=PYTHON, language="python")
    shop.destination("wh", "SNOWFLAKE", config=config, transformation="py")
    order = {**ORDER, "properties": {**ORDER["properties"], "size2": "L", "userId": "mine"}}
    lineage = Pipeline(shop).lineage("wh", order)
    result = Pipeline(shop, exploring=True).test_destination("wh", order)

    assert lineage.sources("ORDER_COMPLETED.EVENT_TEXT") == ("event",)
    assert lineage.sources("ORDER_COMPLETED.TOTAL") == ("properties.revenue",)
    assert origin(lineage, "ORDER_COMPLETED.TOTAL").code
    assert lineage.targets("properties.size2") == ("ORDER_COMPLETED.SIZE_2",)
    assert "config.underscoreDivideNumbers" in origin(lineage, "ORDER_COMPLETED.SIZE_2").conditions
    assert "config.jsonPaths" in origin(lineage, "ORDER_COMPLETED.PRODUCTS").conditions
    assert set(lineage.targets("userId")) == {"TRACKS.USER_ID", "ORDER_COMPLETED.USER_ID"}
    assert {d.path: d.lost_at for d in lineage.lost} == {
        "context.ip": "user_transform",
        "properties.total": "user_transform",
        "properties.userId": "dest_transform",
    }
    assert repr(result.lineage()) == repr(lineage)


def test_replay_results_and_lineage_agree_at_the_time_of_the_event() -> None:
    """GA4 takes events of three days. A replay uses the time of the event; so do others with a clock at that time.

    Later, the result and the lineage give the same reason.
    """
    shop, may = Workspace("shop"), datetime(2026, 5, 3, 12, tzinfo=UTC)
    shop.destination("ga4", "GA4", config={"apiSecret": "s", "typesOfClient": "gtag", "measurementId": "G-1"})
    event = {**events.track("Paid", user_id="u1"), "anonymousId": "a1", "timestamp": "2026-05-03T10:00:00Z"}
    then = Pipeline(shop, context=Context(clock=lambda: may))
    later = Pipeline(shop, context=Context(clock=lambda: may + timedelta(days=9)))

    assert replay([event], shop).counts == {"ga4": {"delivered": 1}}
    assert not then.test_destination("ga4", event).failures()
    assert (then.lineage("ga4", event).stopped_at, then.lineage("ga4", event).reason) == ("", "")
    (failure,) = later.test_destination("ga4", event).failures()
    assert "last 3 days" in failure.message
    assert later.lineage("ga4", event).reason == failure.message
    assert failure.message in repr(later.lineage("ga4", event))
