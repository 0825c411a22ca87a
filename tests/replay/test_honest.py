"""A comparison reports every change, ignores what varies between runs, and forms few groups."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from svctoolkit import Workspace
from svctoolkit.replay import compare
from svctoolkit.replay.tally.alignment import align
from svctoolkit.replay.tally.differences import Outcome, difference
from svctoolkit.results.changes import changes
from tests.examples import up_to
from tests.replay.shops import order, orders, shop

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["", "a", "b", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "a", "b.c", "0"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def canonical(value: Any) -> str:
    """Equal texts for values that are equal in JSON: any order of keys, 1 and 1.0."""

    def plain(value: Any) -> Any:
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if isinstance(value, list):
            return [plain(item) for item in value]
        return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value

    return json.dumps(plain(value), sort_keys=True)


@given(JSON, JSON)
def test_two_values_have_changes_if_and_only_if_they_differ(before: Any, after: Any) -> None:
    """No alignment of lists loses a difference: removed, inserted, moved and replaced items are reported."""
    assert bool([*changes(before, after, pairing=align)]) is (canonical(before) != canonical(after))


@given(
    st.lists(JSON, max_size=3),
    st.lists(JSON, max_size=3),
    *[st.sampled_from(["delivered", "dropped", "failed", "filtered", "off", "unmapped"])] * 2,
    *[st.sampled_from(["", "no"])] * 2,
)
def test_different_outcomes_are_never_equal(old: Any, new: Any, was: Any, now: Any, why: str, reason: str) -> None:
    """A different status, reason or payload makes a difference."""
    before, after = Outcome(was, old, why), Outcome(now, new, reason)
    alike = (was, why, canonical(old)) == (now, reason, canonical(new))

    assert (difference(before, after).kind == "same") is alike


#: What a line of a transformation does to the properties of an event.
LINES: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "constant": lambda p: p.update(added=1),
    "text": lambda p: p.update(revenue=str(p.get("revenue"))),
    "gone": lambda p: p.pop("revenue", None),
    "list": lambda p: p.update(products=[{"sku": "a", "n": 1}, {"sku": "b", "n": 2}]),
    "first": lambda p: p.update(products=[{"sku": "c"}, *p.get("products", [])]),
    "turned": lambda p: p.update(products=p.get("products", [])[::-1]),
    "random": lambda p: p.update(eventId=random.random()),
    "random text": lambda p: p.update(eventId=str(random.random())),
    "uuid": lambda p: p.update(eventId=str(uuid.uuid4())),
    "fixed": lambda p: p.update(eventId=0.25),
    "fixed uuid": lambda p: p.update(eventId="3b241101-e2bb-4255-8caf-4136c566a962"),
    "nested": lambda p: p.update(meta={"at": random.random(), "by": "us"}),
    "bare": lambda p: p.update(meta={"by": "us"}),
}


def transformation(lines: tuple[str, ...]) -> Callable[[dict[str, Any]], Any]:
    def transform(event: dict[str, Any]) -> Any:
        for line in lines:
            LINES[line](event["properties"])
        return event

    return transform


def result_of(lines: tuple[str, ...]) -> Any:
    """The result of these lines for an event, with a placeholder for random values."""

    def name(value: Any) -> Any:
        return "random" if isinstance(value, float) and value != 0.25 else value

    properties: dict[str, Any] = {"revenue": 1}
    for line in lines:
        LINES[line](properties)
    if "eventId" in properties and not {"fixed", "fixed uuid"} & {[x for x in lines if x in EVENT_ID][-1]}:
        properties["eventId"] = [line for line in lines if line in EVENT_ID][-1]
    return json.loads(json.dumps(properties), parse_float=lambda text: name(float(text)))


EVENT_ID = ("random", "random text", "uuid", "fixed", "fixed uuid")
CODE = st.lists(st.sampled_from([*LINES]), max_size=5).map(tuple)


@settings(max_examples=up_to(60), deadline=None)
@given(CODE, CODE)
def test_changed_code_is_found(before: tuple[str, ...], after: tuple[str, ...]) -> None:
    """Added, removed and changed lines are a finding if and only if they change the result."""
    result = compare(orders(4), shop(transformation(before)), shop(transformation(after)))
    alike = result_of(before) == result_of(after)

    assert (result.different == 0) is alike
    assert result.different in (0, 4)


SETTINGS = st.fixed_dictionaries({}, optional={
    "webhookUrl": st.sampled_from(["https://a.example/in", "https://b.example/in"]),
    "webhookMethod": st.sampled_from(["POST", "PUT", "GET"]),
    "headers": st.lists(
        st.sampled_from([{"from": "x-a", "to": "1"}, {"from": "x-b", "to": "2"}]), max_size=2, unique_by=str
    ),
})  # fmt: skip


@settings(max_examples=up_to(40), deadline=None)
@given(SETTINGS, SETTINGS)
def test_a_changed_setting_is_found_if_it_matters(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Settings that change a request are a finding, others are not."""

    def hook(config: dict[str, Any]) -> Workspace:
        made = Workspace("shop")
        made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in", **config})
        return made

    def request(config: dict[str, Any]) -> Any:
        headers = {row["from"]: row["to"] for row in config.get("headers", [])}
        return config.get("webhookUrl", "https://hook.example/in"), config.get("webhookMethod", "POST"), headers

    assume(one != other)
    result = compare([order(1)], hook(one), hook(other))

    assert bool(result.different) is (request(one) != request(other))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("random",), (), "number -> nothing"),
        (("random",), ("random text",), "number -> text"),
        (("uuid",), ("random text",), "text changed"),
        (("uuid",), ("fixed uuid",), "varying text -> fixed text"),
        (("random",), ("fixed",), "varying number -> fixed number"),
        (("nested",), ("bare",), "meta.at: number -> nothing"),
    ],
)
def test_varying_values_are_compared_by_type_and_shape(before: Any, after: Any, said: str) -> None:
    """A removed id, another kind of id and an id that no longer varies are changes."""
    result = compare(orders(200), shop(transformation(before)), shop(transformation(after)))

    assert result.kinds["changed"] == 200
    assert [group.count for group in result.groups] == [200]
    assert said in repr(result)


def test_one_inserted_product_is_one_group() -> None:
    """Lists are aligned: only the new element is reported, and a new order as such."""

    def cart(event: dict[str, Any]) -> Any:
        event["properties"]["products"] = [{"sku": s, "n": 1, "price": 2.5} for s in "abcd"]
        return event

    def first(event: dict[str, Any]) -> Any:
        products = cart(event)["properties"]["products"]
        products.insert(0, {"sku": "x", "n": 1, "price": 2.5})
        return event

    def turned(event: dict[str, Any]) -> Any:
        cart(event)["properties"]["products"].reverse()
        return event

    inserted, moved = (compare(orders(3), shop(cart), shop(after)) for after in (first, turned))

    assert [(g.path, g.before, g.after, g.count) for g in inserted.groups] == [
        ("body.JSON.properties.products.*", "nothing", "object", 3)
    ]
    assert "body.JSON.properties.products: order changed in 3 events of Order Completed" in repr(moved)


def test_an_additional_payload_is_reported() -> None:
    """An event that now makes two requests; the first is compared with the earlier one."""

    def twice(event: dict[str, Any]) -> Any:
        return [event, {"type": "track", "event": "Copy", "userId": "u"}]

    result = compare(orders(2), shop(lambda e: e), shop(twice))

    assert [(g.path, g.count) for g in result.groups] == [("payload", 2)]
    assert "additional payload in 2 events of Order Completed" in repr(result)


def test_one_rule_is_one_group_for_all_event_names() -> None:
    """One changed setting over 400 names is one group, which counts by name."""
    named = [{**order(n), "event": f"Event {n % 400}"} for n in range(800)]
    (group,) = compare(named, shop(lambda e: e), shop(lambda e: e, url="https://new.example/in")).groups

    assert (group.path, group.count, len(group.events), group.events["Event 7"]) == ("endpoint", 800, 400, 2)
    assert group.event == "400 names"


def test_changed_numbers_have_a_distribution() -> None:
    """Extremes, mean, and the number of events by relative change."""

    def tax(event: dict[str, Any]) -> Any:
        revenue = event["properties"]["revenue"]
        event["properties"]["revenue"] = revenue * 1.19 if revenue < 90 else revenue * 3
        return event

    result = compare([order(n) for n in range(1, 101)], shop(lambda e: e), shop(tax))
    numbers = result.groups[0].numbers

    assert numbers is not None
    assert (numbers.before, numbers.relative) == ([1.0, 5050.0, 100.0], {"100%": 89, "more": 11})
    assert "revenue: number changed (+0.19 to +200, " in repr(result)
