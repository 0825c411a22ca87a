"""Generated events conform, near misses break one rule, and no destination type crashes on either."""

from __future__ import annotations

import contextlib
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit import Pipeline, Workspace, plans, warehouse
from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import InvalidConfig, ToolkitError
from svctoolkit.pipeline import Stages
from svctoolkit.plans import Plan, of_service, strategies
from svctoolkit.plans.generate import NoEvent, conforming, conforming_events, near_misses
from svctoolkit.results import error_of
from tests.catalogue import examples
from tests.examples import up_to
from tests.plans.test_check import plan_of
from tests.plans.test_formats import PROJECT, write

BODY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "email": {"type": "string", "format": "email"},
        "revenue": {"type": "number", "minimum": 0, "multipleOf": 0.01},
        "currency": {"enum": ["EUR", "NOK"]},
        "order_id": {"type": "string", "pattern": "^o-[0-9]{3,5}$"},
        "at": {"type": "string", "format": "date-time"},
        "products": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "sku": {"type": "string", "minLength": 2},
                    "quantity": {"type": "integer", "minimum": 1},
                },
                "required": ["sku"],
            },
        },
        "tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "maxItems": 3},
        "note": {"type": ["string", "null"]},
    },
    "required": ["revenue", "currency"],
    "allOf": [
        {
            "if": {"properties": {"currency": {"enum": ["NOK"]}}, "required": ["currency"]},
            "then": {"properties": {"rate": {"type": "number", "exclusiveMinimum": 0}}, "required": ["rate"]},
        }
    ],
    "unevaluatedProperties": False,
}
SHOP = plan_of(BODY)
LIMITS = [
    {"type": "string", "minLength": 5, "maxLength": 5},
    {"type": "integer", "exclusiveMinimum": 2, "exclusiveMaximum": 4},
    {"type": "number", "multipleOf": 7, "minimum": 20, "maximum": 22},
    {"type": "integer", "maximum": -5},
    {"type": "string", "pattern": "^(a|bc)\\d{2}[x-z]+$"},
    {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "boolean"}]},
    {"oneOf": [{"const": 1}, {"const": "x"}]},
    {"type": "object", "properties": {"a": {"$ref": "#/properties/properties/properties/v"}}, "maxProperties": 1},
    *({"type": "string", "format": name} for name in ("date", "time", "ipv4", "ipv6", "hostname", "uri", "uuid")),
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_generated_events_meet_all_limits(limits: dict[str, Any]) -> None:
    """Lengths, ranges, steps, patterns, formats, alternatives, recursive types."""
    plan = plan_of({"type": "object", "properties": {"v": limits}, "required": ["v"]})
    events = [conforming(plan, plan.rules[0], Random(seed)) for seed in range(30)]

    assert [event for event in events if plan.check(event).violations] == []
    assert all("v" in event["properties"] for event in events)


def test_an_impossible_rule_is_an_error() -> None:
    """It ends with a message, not in an endless search."""
    plan = plan_of({"properties": {"v": {"type": "string", "minLength": 3, "maxLength": 2}}, "required": ["v"]})

    with pytest.raises(NoEvent, match="no conforming event"):
        conforming(plan, plan.rules[0], Random(1))


@given(strategies.conforming(SHOP))
def test_all_events_of_the_strategy_conform(event: dict[str, Any]) -> None:
    """Checked with the plan that they are generated from."""
    assert list(SHOP.check(event).violations) == []


def test_events_differ_and_reach_every_variant() -> None:
    """Both values of the enum, optional properties present and absent; the same seed gives the same events."""
    events = conforming_events(SHOP, 100)
    currencies = Counter(event["properties"]["currency"] for event in events)
    notes = Counter("note" in event["properties"] for event in events)

    assert events == conforming_events(SHOP, 100)
    assert min(currencies.values()) > 20
    assert min(notes.values()) > 20
    assert all("rate" in e["properties"] for e in events if e["properties"]["currency"] == "NOK")


def test_near_misses_break_one_rule(tmp_path: Path) -> None:
    """Of every kind in the plan: missing, unexpected, another type, a limit; everything else conforms."""
    plan = plans.load(write(tmp_path, PROJECT)).plan()
    for source in (plan, SHOP):
        misses = [miss for seed in range(5) for rule in source for miss in near_misses(source, rule, Random(seed))]
        for miss in misses:
            others = [v for v in source.check(miss.event).violations if not v.schema_path.endswith("/if")]
            assert others == [miss.violation]

        kinds = {miss.violation.type for miss in misses}
        assert kinds == {"Required-Missing", "Additional-Properties", "Datatype-Mismatch", "Advance-Rules-Violation"}


@given(strategies.near_misses(SHOP))
def test_near_misses_are_available_as_a_strategy(miss: Any) -> None:
    """Each with its violation."""
    assert miss.violation in SHOP.check(miss.event).violations


RULES = [
    {"name": "Order Completed", "eventType": "track", "rules": {"properties": {"properties": BODY}}},
    {
        "name": "",
        "eventType": "page",
        "rules": {"properties": {"properties": {"properties": {"path": {"type": "string"}}}}},
    },
    {
        "name": "",
        "eventType": "identify",
        "rules": {"properties": {"traits": {"properties": {"email": {"type": "string", "format": "email"}}}}},
    },
]
PLAN: Plan = of_service({"id": "all", "events": RULES})


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_no_destination_type_crashes_on_generated_events(name: str) -> None:
    """Each returns payloads or names what it needs, for planned events and near misses."""
    config = next((example.config for example in examples(name)), {})
    for event in planned_events(seed=len(name) % 4):
        try:
            payloads = list(CATALOGUE[name].payloads(event, config, lookup=_no_lookup))
        except ToolkitError as error:
            payloads = []
            assert_no_crash(str(error))
        assert isinstance(payloads, list)


@cache
def planned_events(seed: int) -> list[dict[str, Any]]:
    misses = [miss.event for rule in PLAN for miss in near_misses(PLAN, rule, Random(3))[:4]]
    return conforming_events(PLAN, 6, seed=seed) + misses


def assert_no_crash(text: str) -> None:
    """Check that a mapping returns payloads or rejects the event with a message."""
    assert text
    assert "failed on this event" not in text


def _no_lookup(_request: Any) -> tuple[int, Any]:
    return 404, {}


def shop_of_all_types() -> Workspace:
    """A destination of every type, warehouses included, connected to one source with a plan."""
    shop = Workspace("shop")
    shop.tracking_plan("all", PLAN)
    for name in CATALOGUE.names():
        with contextlib.suppress(InvalidConfig):  # only if its first example has an invalid one
            config = next((example.config for example in examples(name) if not example.error), {})
            shop.destination(name.lower(), name, config=config)
    for provider in warehouse.PROVIDERS.values():
        shop.destination(f"wh-{provider.name}", provider.definition, config={})
    shop.source("web", destinations=list(shop.destinations)).tracking_plan = "all"
    return shop


@pytest.mark.slow
def test_every_stage_of_every_type_accepts_or_rejects_planned_events() -> None:
    """Each answer or refusal has a message; nothing crashes."""
    pipeline = Pipeline(shop_of_all_types())

    @settings(max_examples=up_to(40), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(strategies.conforming(PLAN), strategies.near_misses(PLAN).map(lambda miss: miss.event)))
    def check(event: dict[str, Any]) -> None:
        results = pipeline.test_source("web", event, stages=Stages(send_to_destination=True))
        assert len(results) == len(pipeline.workspace.destinations)
        for result in results:
            for item in result.data:
                said = [result.error or "", error_of(item.dest_transformed_payload) or ""]
                assert not [text for text in said if "failed on this event" in text], (
                    result.destination_id,
                    said,
                    event,
                )

    check()
