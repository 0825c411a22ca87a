"""Programs written for the trackers of PostHog, Mixpanel, Amplitude and Snowplow run after changing the import."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit.errors import InvalidCall
from svctoolkit.sdk.compat import amplitude, mixpanel, posthog, snowplow

from .gateway import KEY, Gateway

#: What an event should contain; members of objects may be more.
Expected = dict[str, Any]


@pytest.fixture(autouse=True)
def data_plane(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment names the data plane, as it would in an application."""
    monkeypatch.setenv("SVCTOOLKIT_DATA_PLANE_URL", gateway.url)
    return gateway.url


def arrived(gateway: Gateway, *expected: Expected) -> None:
    """Fail unless exactly these events have arrived, in this order."""
    assert [_only(event, like) for event, like in zip(gateway.events, expected, strict=True)] == list(expected)


def _only(value: Any, like: Any) -> Any:
    if isinstance(like, dict) and isinstance(value, dict):
        return {name: _only(value.get(name), member) for name, member in like.items()}
    return value


@pytest.fixture
def hog(gateway: Gateway) -> Iterator[posthog.Posthog]:
    client = posthog.Posthog(KEY, host=gateway.url + "/")
    yield client
    client.service.shutdown(0.2)


def test_posthog_capture_is_a_track_of_its_user(hog: posthog.Posthog, gateway: Gateway):
    """With properties, groups, time and ID; page views and screens are pages and screens."""
    id = hog.capture(
        "movie played",
        distinct_id="u-1",
        properties={"movie_id": "m-7"},
        groups={"company": "c-1"},
        timestamp=dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        uuid="m-1",
    )
    hog.capture("$pageview", distinct_id=7, properties={"$current_url": "https://shop.example/a"})
    hog.capture("$screen", distinct_id="u-1", properties={"$screen_name": "Basket"})
    hog.capture("anonymous")
    hog.flush()

    assert id == "m-1"
    properties = {"movie_id": "m-7", "$groups": {"company": "c-1"}}
    time = "2026-01-02T00:00:00.000Z"
    arrived(
        gateway,
        {"type": "track", "event": "movie played", "userId": "u-1", "properties": properties, "messageId": "m-1",
         "originalTimestamp": time},
        {"type": "page", "userId": "7", "properties": {"url": "https://shop.example/a"}},
        {"type": "screen", "userId": "u-1", "event": "Basket"},
        {"type": "track", "event": "anonymous"},
    )  # fmt: skip
    assert "userId" not in gateway.events[3]
    assert len(gateway.events[3]["anonymousId"]) == 36


def test_posthog_persons_and_groups(hog: posthog.Posthog, gateway: Gateway):
    """`set` is an identify; `set_once` one with the trait `$set_once`; alias and groups have the names of the wire."""
    hog.set(distinct_id="u-1", properties={"plan": "pro"})
    hog.set_once(distinct_id="u-1", properties={"source": "ad"})
    hog.alias("a-1", "u-1")
    hog.group_identify("company", "c-1", {"name": "Acme"})
    hog.flush()

    arrived(
        gateway,
        {"type": "identify", "userId": "u-1", "context": {"traits": {"plan": "pro"}}},
        {"type": "identify", "userId": "u-1", "context": {"traits": {"$set_once": {"source": "ad"}}}},
        {"type": "alias", "previousId": "a-1", "userId": "u-1"},
        {"type": "group", "groupId": "c-1", "anonymousId": "$company_c-1", "traits": {"name": "Acme"}},
    )
    assert hog.set(properties={"of": "nobody"}) is None


def test_posthog_as_a_module(gateway: Gateway, monkeypatch: pytest.MonkeyPatch):
    """Settings as variables; contexts give their user and tags to events, and capture exceptions."""
    monkeypatch.setattr(posthog, "default_client", None)
    monkeypatch.setattr(posthog, "host", None)  # the example of the documentation, in this process, names another one
    monkeypatch.setattr(posthog, "api_key", KEY)
    monkeypatch.setattr(posthog, "super_properties", {"region": "eu"})

    @posthog.scoped()
    def view() -> None:
        posthog.tag("page", "checkout")
        posthog.capture("inside")

    with posthog.new_context():
        posthog.identify_context("u-1")
        view()
        with pytest.raises(ValueError, match="out of stock"), posthog.new_context(capture_exceptions=True):
            raise ValueError("out of stock")
    posthog.identify("u-2", {"plan": "pro"})
    posthog.shutdown()

    error = {"$exception_type": "ValueError", "$exception_message": "out of stock"}
    arrived(
        gateway,
        {"event": "inside", "userId": "u-1", "properties": {"page": "checkout", "region": "eu"}},
        {"event": "$exception", "userId": "u-1", "properties": error},
        {"type": "identify", "userId": "u-2"},
    )
    assert "page" not in gateway.events[1]["properties"]


def test_mixpanel(gateway: Gateway):
    """Events with their time and ID; `people_set` is an identify; other updates keep Mixpanel's names."""
    buffered = mixpanel.BufferedConsumer(10, api_host=gateway.url)
    client = mixpanel.Mixpanel(KEY, consumer=buffered)
    client.track("u-1", "button clicked", {"color": "blue", "time": 1767312000, "$insert_id": "m-1"})
    client.import_data("key", "u-1", "imported", 1767312000, {"old": True})
    client.people_set("u-1", {"$email": "ada@example.com"}, meta={"$ignore_time": True})
    client.people_increment("u-1", {"visits": 1})
    client.people_track_charge("u-1", 50, {"sku": "a"})
    client.alias("u-2", "u-1")
    client.merge("key", "u-1", "u-3")
    client.group_set("company", "c-1", {"name": "Acme"})
    client.group_union("company", "c-1", {"tags": ["b2b"]})
    buffered.flush()
    client.service.shutdown(0.2)

    time = "2026-01-02T00:00:00.000Z"
    arrived(
        gateway,
        {"type": "track", "event": "button clicked", "userId": "u-1", "originalTimestamp": time, "messageId": "m-1"},
        {"event": "imported", "originalTimestamp": time, "properties": {"old": True}},
        {"type": "identify", "userId": "u-1", "context": {"traits": {"$email": "ada@example.com"}}},
        {"type": "identify", "context": {"traits": {"$add": {"visits": 1}}}},
        {"type": "identify", "context": {"traits": {"$append": {"$transactions": {"sku": "a", "$amount": 50}}}}},
        {"type": "alias", "previousId": "u-1", "userId": "u-2"},
        {"type": "alias", "previousId": "u-1", "userId": "u-3"},
        {"type": "group", "groupId": "c-1", "traits": {"groupType": "company", "name": "Acme"}},
        {"type": "group", "groupId": "c-1", "traits": {"$union": {"tags": ["b2b"]}}},
    )
    assert gateway.events[0]["properties"] == {"color": "blue"}


def test_amplitude(gateway: Gateway):
    """Events with their device, product and user properties; identify, groups and revenue."""
    client = amplitude.Amplitude(KEY, amplitude.Config(server_url=gateway.url, flush_queue_size=20))
    client.track(
        amplitude.BaseEvent(
            "Button Clicked",
            user_id="u-1",
            device_id="d-1",
            time=1767312000000,
            ip="203.0.113.9",
            os_name="iOS",
            price=4.5,
            insert_id="m-1",
            event_properties={"hover": True},
            user_properties={"plan": "pro"},
            groups={"company": "c-1"},
        )
    )
    options = amplitude.EventOptions(user_id="u-1")
    client.identify(amplitude.Identify().set("location", "LAX").add("visits", 1), options)
    client.set_group("company", ["c-1", "c-2"], options)
    client.group_identify("company", "c-1", amplitude.Identify().set("size", 7))
    client.revenue(amplitude.Revenue(3.99, 3, "com.company.product").set_receipt("r", "s"), options)
    client.configuration.opt_out = True
    client.track(amplitude.BaseEvent("nobody sees this", user_id="u-1"))
    client.shutdown()

    context = {"ip": "203.0.113.9", "os": {"name": "iOS"}, "groups": {"company": "c-1"}, "traits": {"plan": "pro"}}
    sold = {"revenue": 3.99 * 3, "price": 3.99, "quantity": 3, "product_id": "com.company.product", "receipt": "r"}
    arrived(
        gateway,
        {"event": "Button Clicked", "userId": "u-1", "anonymousId": "d-1", "context": context, "messageId": "m-1",
         "originalTimestamp": "2026-01-02T00:00:00.000Z", "properties": {"hover": True, "price": 4.5}},
        {"type": "identify", "userId": "u-1", "context": {"traits": {"location": "LAX", "$add": {"visits": 1}}}},
        {"type": "group", "userId": "u-1", "groupId": "c-1", "traits": {"groupType": "company"}},
        {"type": "group", "userId": "u-1", "groupId": "c-2"},
        {"type": "group", "groupId": "c-1", "traits": {"groupType": "company", "size": 7}},
        {"event": "revenue_amount", "userId": "u-1", "properties": sold},
    )  # fmt: skip


def test_snowplow(gateway: Gateway):
    """Every kind of event, with the tracker's subject or its own, entities and time."""
    subject = snowplow.Subject().set_user_id("u-1").set_domain_user_id("d-1").set_ip_address("203.0.113.9")
    tracker = snowplow.Snowplow.create_tracker("ns", endpoint=gateway.url, app_id=KEY, subject=subject)
    assert snowplow.Snowplow.get_tracker("ns") is tracker
    click = snowplow.SelfDescribingJson("iglu:com.acme/button_click/jsonschema/1-0-0", {"button": "buy"})
    entity = snowplow.SelfDescribingJson("iglu:com.acme/cart/jsonschema/1-0-0", {"items": 2})
    tracker.track(snowplow.PageView("https://shop.example/a", "Home", true_timestamp=1767312000000))
    tracker.track(snowplow.SelfDescribing(click, context=[entity]))
    tracker.track(snowplow.StructuredEvent("shop", "add-to-basket", "pc", "quantity", 2))
    tracker.track(snowplow.ScreenView("s-1", "Basket", event_subject=snowplow.Subject()))
    tracker.track_page_view("https://shop.example/b").track_struct_event("shop", "pay", tstamp=1767312000000)
    tracker.track_self_describing_event(click).track_screen_view("Pay").flush()
    with pytest.raises(InvalidCall):
        tracker.track(snowplow.Event())
    snowplow.Snowplow.reset()
    tracker.service.shutdown(0.2)

    entities = [{"schema": "iglu:com.acme/cart/jsonschema/1-0-0", "data": {"items": 2}}]
    arrived(
        gateway,
        {"type": "page", "name": "Home", "userId": "u-1", "anonymousId": "d-1", "context": {"ip": "203.0.113.9"},
         "originalTimestamp": "2026-01-02T00:00:00.000Z", "properties": {"url": "https://shop.example/a"}},
        {"event": "button_click", "properties": {"button": "buy"}, "context": {"snowplow": {"entities": entities}}},
        {"event": "add-to-basket", "properties": {"category": "shop", "label": "pc", "value": 2}},
        {"type": "screen", "event": "Basket", "anonymousId": KEY},
        {"type": "page", "properties": {"url": "https://shop.example/b"}},
        {"event": "pay", "originalTimestamp": "2026-01-02T00:00:00.000Z"},
        {"event": "button_click"},
        {"type": "screen", "event": "Pay", "userId": "u-1"},
    )  # fmt: skip


def test_wrong_arguments_are_logged_and_not_raised(gateway: Gateway):
    """Like in the originals: a fault of tracking must not end the application."""
    client = mixpanel.Mixpanel(KEY, mixpanel.Consumer(api_host=gateway.url))
    client.track("u-1", 7)  # type: ignore[arg-type]
    client.track("u-1", "right")
    client.service.flush()
    client.service.shutdown(0.2)

    assert gateway.names == ["right"]
