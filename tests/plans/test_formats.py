"""Every file format of plans means the same, and all mistakes in a file are reported together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import plans
from svctoolkit.errors import InvalidPlan
from svctoolkit.plans import FORMATS, Plan

NEW = """\
version: rudder/v1
kind: {kind}
metadata: {{name: shop}}
spec:
"""
OLD = NEW.replace("rudder/v1", "rudder/0.1")
PROJECT = {
    "events.yaml": NEW.format(kind="events")
    + "  events:\n    - {id: paid, name: Order Paid, event_type: track}\n    - {id: who, event_type: identify}\n",
    "properties.yaml": NEW.format(kind="properties")
    + """\
  properties:
    - {id: total, name: total, types: [number, "null"], config: {minimum: 0}}
    - {id: method, name: method, type: string, config: {enum: [card, cash]}}
    - {id: card, name: card, type: string, config: {pattern: "^[0-9]{4}$"}}
    - {id: who, name: who, type: "#custom-type:person"}
    - {id: mail, name: mail, type: "#custom-type:mail"}
    - {id: lines, name: lines, type: array, item_type: object}
    - {id: sku, name: sku, type: string}
""",
    "types.yaml": NEW.format(kind="custom-types")
    + """\
  types:
    - {id: mail, name: Mail, type: string, config: {format: email}}
    - {id: person, name: Person, type: object, properties: [{property: "#property:mail", required: true}]}
""",
    "plan.yaml": NEW.format(kind="tracking-plan")
    + """\
  id: shop
  display_name: Shop
  rules:
    - type: event_rule
      id: r1
      event: "#event:paid"
      properties:
        - {property: "#property:total", required: true}
        - {property: "#property:method"}
        - {property: "#property:lines", additional_properties: false, properties: [{property: "#property:sku"}]}
      variants:
        - type: discriminator
          discriminator: "#property:method"
          cases:
            - {display_name: By card, match: [card], properties: [{property: "#property:card", required: true}]}
    - type: event_rule
      id: r2
      event: "#event:who"
      identity_section: context.traits
      additional_properties: true
      properties: [{property: "#property:who"}]
""",
    "web.yaml": NEW.format(kind="event-stream-source")
    + """\
  id: web
  name: Web
  type: javascript
  governance:
    validations:
      tracking_plan: "#tracking-plan:shop"
      config:
        track: {drop_unplanned_events: true, drop_other_violations: false}
""",
}


def write(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def problems(folder: Path) -> list[str]:
    with pytest.raises(InvalidPlan) as error:
        plans.load(folder)
    return [str(problem).removeprefix(f"{folder}/") for problem in error.value.problems]


def messages(plan: Plan, event: dict[str, Any]) -> list[str]:
    return sorted(violation.message for violation in plan.check(event).violations)


def paid(**properties: Any) -> dict[str, Any]:
    return {"type": "track", "event": "Order Paid", "properties": properties}


def test_an_existing_project_is_used_unchanged(tmp_path: Path) -> None:
    """Types, custom types, variants, nested properties, sections; and the sources with their settings."""
    project = plans.load(write(tmp_path, PROJECT))
    plan = project.plan()

    assert messages(plan, paid(total=1, method="card", card="1234", lines=[{"sku": "a"}])) == []
    assert messages(plan, paid(total=-1, method="card", card="x", lines=[{"skuu": "a"}], more=1)) == [
        "must NOT have additional properties 'skuu'",
        "must NOT have unevaluated properties 'card'",
        "must NOT have unevaluated properties 'more'",
        "must be >= 0",
        'must match "then" schema',
        'must match pattern "^[0-9]{4}$"',
    ]
    who = {"type": "identify", "context": {"traits": {"who": {"mail": "x"}, "more": 1}}}
    assert messages(plan, who) == ['must match format "email"']
    assert project.links["web"].plan is plan
    assert project.links["web"].settings.by_type == {
        "track": {"allowUnplannedEvents": "false", "anyOtherViolation": "forward"}
    }


def test_the_old_spelling_means_the_same(tmp_path: Path) -> None:
    """`tp`, `$ref`, `propConfig`, types in one text."""
    files = {
        "all.yaml": OLD.format(kind="properties")
        + '  properties:\n    - {id: total, name: total, type: "number,null", propConfig: {minimum: 0}}\n',
        "events.yaml": OLD.format(kind="events")
        + '  events:\n    - {id: paid, name: Order Paid, event_type: track, category: "#/categories/shop/money"}\n',
        "categories.yaml": OLD.format(kind="categories") + "  categories:\n    - {id: money, name: Money}\n",
        "plan.yaml": OLD.format(kind="tp")
        + """\
  id: shop
  display_name: Shop
  rules:
    - type: event_rule
      id: r
      event: {$ref: "#/events/shop/paid", allow_unplanned: true}
      properties: [{$ref: "#/properties/shop/total", required: true}]
""",
    }
    (rule,) = plans.load(write(tmp_path, files)).plan()

    assert rule.body == {
        "type": "object",
        "properties": {"total": {"minimum": 0, "type": ["null", "number"]}},
        "required": ["total"],
        "unevaluatedProperties": True,
    }


def test_violations_name_the_line_of_their_rule(tmp_path: Path) -> None:
    """A missing property: its entry in the plan; a limit: the property's declaration."""
    plan = plans.load(write(tmp_path, PROJECT)).plan()
    verdict = plan.check(paid(method="card"))
    assert verdict.rule
    places = {v.message: verdict.rule.place_of(v).removeprefix(f"{tmp_path}/") for v in verdict.violations}

    assert places == {
        "must have required property 'total'": "plan.yaml:12:11",
        "must have required property 'card'": "plan.yaml:19:67",
        'must match "then" schema': "plan.yaml:19:15",
    }


BROKEN: list[tuple[str, str, str, list[str]]] = [
    (
        "properties.yaml",
        "types: [number",
        "type: number, types: [number",
        ["properties.yaml:6:46: 'type' and 'types' cannot be combined"],
    ),
    (
        "properties.yaml",
        "minimum: 0",
        "min_length: 1",
        ["properties.yaml:6:66: 'min_length' does not apply to null or number"],
    ),
    (
        "properties.yaml",
        "minimum: 0",
        "minimun: 0",
        ["properties.yaml:6:66: unknown key 'minimun'. Did you mean 'minimum'"],
    ),
    (
        "properties.yaml",
        "#custom-type:person",
        "#custom-type:persn",
        ["no custom type has the id 'persn'. Did you mean 'person'?"],
    ),
    ("properties.yaml", "name: sku, type: string", "name: sku, type: text", ["unknown type 'text'."]),
    (
        "plan.yaml",
        "#property:total",
        "#property:totl",
        ["plan.yaml:12:22: no property has the id 'totl'. Did you mean 'total'?"],
    ),
    (
        "plan.yaml",
        "#event:paid",
        "#/events/shop/paid",
        ["plan.yaml:10:14: a reference to a event must be written #event:<id>"],
    ),
    ("plan.yaml", "id: r2", "id: r1", ["plan.yaml:21:11: the rule 'r1' is already defined in this plan"]),
    ("plan.yaml", "#event:who", "#event:paid", ["plan.yaml:22:14: the event 'paid' already has a rule in this plan"]),
    (
        "plan.yaml",
        "#property:lines",
        "#property:method",
        ["'method' is already in this list", "nested properties require an object"],
    ),
    ("plan.yaml", "context.traits", "traitz", ["'identity_section' must be one of"]),
    (
        "plan.yaml",
        "kind: tracking-plan",
        "kind: tp",
        ["plan.yaml:2:7: kind 'tp' belongs to rudder/v0.1", "no tracking plan has the id 'shop'"],
    ),
    ("plan.yaml", "required: true}\n", "required: yes}\n", ["'required' must be true or false"]),
    ("events.yaml", "name: Order Paid, ", "", ["a track event's name must have 1 to 64 characters"]),
    ("events.yaml", "id: who, ", "id: who, name: W, ", ["only track events have names"]),
    ("types.yaml", "#property:mail", "#property:who", ["the custom type 'Person' contains itself: person > who"]),
    ("types.yaml", "name: Mail", "name: mail", ["a custom type's name must be a capital letter"]),
    (
        "web.yaml",
        "tracking-plan:shop",
        "tracking-plan:shp",
        ["no tracking plan has the id 'shp'. Did you mean 'shop'?"],
    ),
    (
        "web.yaml",
        "drop_other_violations",
        "drop_others",
        ["unknown key 'drop_others'. Did you mean 'drop_other_violations'?"],
    ),
    ("web.yaml", "spec:", "specs:", ["unknown key 'specs'. Did you mean 'spec'?", "'spec' must be an object"]),
    ("web.yaml", "rudder/v1", "rudder/v9", ["'rudder/v9' is not a supported version"]),
    ("events.yaml", "events:\n", "events: {{\n", ["events.yaml"]),
]


@pytest.mark.parametrize(("file", "text", "instead", "expected"), BROKEN, ids=lambda value: str(value)[:30])
def test_mistakes_in_a_project_have_their_position(
    tmp_path: Path, file: str, text: str, instead: str, expected: list[str]
) -> None:
    """Each is reported where it is, with the nearest id."""
    assert text in PROJECT[file]
    said = problems(write(tmp_path, {**PROJECT, file: PROJECT[file].replace(text, instead, 1)}))

    assert [line for line in expected if not any(line in problem for problem in said)] == []


def test_all_problems_are_reported(tmp_path: Path) -> None:
    """In the order of files and lines, not only the first."""
    broken = {
        **PROJECT,
        "events.yaml": PROJECT["events.yaml"].replace("name: Order Paid, ", ""),
        "properties.yaml": PROJECT["properties.yaml"]
        .replace("minimum: 0", "colour: red")
        .replace("[card, cash]", "[]"),
        "plan.yaml": PROJECT["plan.yaml"].replace("#property:total", "#property:ghost"),
    }

    assert [problem.partition(":")[0] for problem in problems(write(tmp_path, broken))] == [
        "events.yaml",
        "plan.yaml",
        "properties.yaml",
        "properties.yaml",
    ]


def test_variables_are_filled_in(tmp_path: Path) -> None:
    """From the environment, or files that are given; a variable without a value is a mistake."""
    files = {**PROJECT, "plan.yaml": PROJECT["plan.yaml"].replace("display_name: Shop", "display_name: {{ .NAME }}")}
    write(tmp_path, {**files, "test.vars.yaml": "NAME: My shop\n"})

    assert problems(tmp_path)[0] == (
        "plan.yaml:6:17: undefined variable 'NAME': set RUDDER_NAME, or give a file with --var-file "
        "(--var-file test.vars.yaml)"
    )
    assert plans.load(tmp_path, variables={"NAME": "My shop"}).plan().name == "My shop"


def test_a_variable_without_a_value_is_one_mistake(tmp_path: Path) -> None:
    """Wherever it is used; nothing that refers to the files is reported in addition."""
    missing = {
        "events.yaml": PROJECT["events.yaml"] + "# a comment\n",
        "plan.yaml": PROJECT["plan.yaml"].replace("display_name: Shop", "display_name: '{{ .NAME }} {{ .NAME }}'"),
        "properties.yaml": PROJECT["properties.yaml"].replace("id: total", "id: {{ .NAME }}"),
    }
    found = problems(write(tmp_path, {**PROJECT, **missing}))

    (only,) = found
    assert only.startswith("plan.yaml:6:18: undefined variable 'NAME': set RUDDER_NAME")
    assert "(also used at " in only
    assert only.endswith("plan.yaml:6:30 and 1 more place)")


TOTAL = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}
SEGMENT = {
    "trackingPlan": {"id": "tp_1", "name": "Shop", "type": "LIVE"},
    "rules": [
        {
            "type": "TRACK",
            "key": "Order Paid",
            "version": version,
            "jsonSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "labels": {"a": "b"},
                "properties": {"context": {}, "traits": {}, "properties": TOTAL if version == 2 else {}},
                "required": ["properties"],
            },
        }
        for version in (2, 1)
    ]
    + [
        {
            "type": "COMMON",
            "key": None,
            "version": 1,
            "jsonSchema": {"required": ["userId"], "properties": {"userId": {}}},
        }
    ],
}
AVO = {
    "name": "Shop",
    "events": [
        {
            "id": "x",
            "name": "Order Paid",
            "rules": {
                "$schema": "http://json-schema.org/draft-06/schema#",
                "properties": {
                    "properties": {
                        **TOTAL,
                        "properties": {"total": {"id": "p", "type": "number", "nameMapping": {"a": "b"}}},
                    }
                },
            },
        }
    ],
}
IGLU = {
    "$schema": "http://iglucentral.com/schemas/com.snowplowanalytics.self-desc/schema/jsonschema/1-0-0#",
    "self": {"vendor": "io.shop", "name": "Order Paid", "format": "jsonschema", "version": "1-0-1"},
    **TOTAL,
}
MPARTICLE = {
    "data_plan_id": "shop",
    "version_document": {
        "data_points": [
            {
                "match": {"type": "custom_event", "criteria": {"event_name": "Order Paid"}},
                "validator": {
                    "type": "json_schema",
                    "definition": {"properties": {"data": {"properties": {"custom_attributes": TOTAL}}}},
                },
            },
            {
                "match": {"type": "screen_view", "criteria": {"screen_name": "Home"}},
                "validator": {"definition": {"properties": {"data": {"properties": {"custom_attributes": TOTAL}}}}},
            },
            {"match": {"type": "session_start"}},
        ]
    },
}
SERVICE = {
    "id": "tp_1",
    "name": "Shop",
    "version": 3,
    "events": [{"name": "Order Paid", "eventType": "track", "rules": {"properties": {"properties": TOTAL}}}],
}
DRAFT_2020 = {"$schema": "https://json-schema.org/draft/2020-12/schema", **TOTAL}


@pytest.mark.parametrize(
    ("format", "files"),
    [
        ("service", {"plan.json": SERVICE}),
        (
            "service",
            {
                "plan.json": {
                    "name": "Shop",
                    "rules": {
                        "events": [{"name": "Order Paid", "version": "1-0-0", "rules": SERVICE["events"][0]["rules"]}]
                    },
                }
            },
        ),  # type: ignore[index]
        ("segment", {"plan.json": SEGMENT}),
        (
            "segment",
            {
                "plan.json": {
                    "display_name": "Shop",
                    "rules": {
                        "events": [{"name": "Order Paid", "rules": {"labels": {}, "properties": {"properties": TOTAL}}}]
                    },
                }
            },
        ),
        ("avo", {"plan.json": AVO}),
        (
            "iglu",
            {
                "io.shop/order/jsonschema/1-0-1": IGLU,
                "io.shop/order/jsonschema/1-0-0": {
                    **IGLU,
                    "required": [],
                    "self": {**IGLU["self"], "version": "1-0-0"},
                },
            },
        ),  # type: ignore[dict-item]
        ("iglu", {"plan.json": IGLU}),
        ("mparticle", {"plan.json": MPARTICLE}),
        ("folder", {"schemas/track/Order Paid.json": TOTAL}),
        ("folder", {"schemas/track/paid.yaml": {**DRAFT_2020, "title": "Order Paid"}}),
        ("folder", {"schemas/track/paid.json": {"title": "Order Paid", "properties": {"properties": TOTAL}}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_format_means_the_same(tmp_path: Path, format: str, files: dict[str, Any]) -> None:
    """The format is detected; a missing property and a wrong type are the same in every format."""
    write(tmp_path, files)
    path = (
        tmp_path / "plan.json"
        if (tmp_path / "plan.json").exists()
        else tmp_path / ("schemas" if (tmp_path / "schemas").exists() else "")
    )
    plan = plans.load(path).plan()
    named = plans.load(path, format=format).plan()

    for loaded in (plan, named):
        event = {"type": "track", "event": "Order Paid", "userId": "u", "properties": {}}
        assert messages(loaded, {**event, "properties": {"total": 1}}) == []
        assert messages(loaded, event) == ["must have required property 'total'"]
        assert messages(loaded, {**event, "properties": {"total": "1"}}) == ["must be number"]
        assert str(tmp_path) in loaded.rules[0].where


def test_common_rules_apply_to_all_events(tmp_path: Path) -> None:
    """Segment's COMMON."""
    plan = plans.load(write(tmp_path, {"plan.json": SEGMENT}) / "plan.json").plan()

    assert messages(plan, paid(total=1)) == ["must have required property 'userId'"]


def test_screen_rules_are_merged(tmp_path: Path) -> None:
    """mParticle plans screens one by one, here they share one rule."""
    plan = plans.load(write(tmp_path, {"plan.json": MPARTICLE}) / "plan.json").plan()

    assert messages(plan, {"type": "screen", "name": "Home", "properties": {}})
    assert messages(plan, {"type": "screen", "name": "Other", "properties": {}}) == []


def test_a_rejected_schema_is_reported_with_its_position(tmp_path: Path) -> None:
    """RudderStack would let the event pass unchecked: file, line and column of the keyword."""
    text = '{"properties": {\n  "total": {"type": "number",\n    "tpye": 1}}}'
    write(tmp_path, {"track/Order Paid.json": text})

    assert problems(tmp_path) == [
        "track/Order Paid.json:3:5: track 'Order Paid': unknown keyword 'tpye'. Did you mean 'type'?"
    ]
    assert plans.load(tmp_path, strict=False).plan().check(paid()).unchecked


NONSENSE = [
    "",
    "{",
    "[]",
    "null",
    '{"events": 7}',
    '{"rules": [1]}',
    '{"rules": {"events": [1]}}',
    '{"events": [1, {"rules": 1, "eventType": "track"}]}',
    '{"self": {"vendor": 1}}',
    '{"data_points": [1]}',
    "version: rudder/v1\nkind: events\nspec: {events: [1, {id: 7}]}",
    "version: rudder/v1\nkind: tracking-plan\nspec: {rules: [{event: 1, properties: [1], variants: 3}]}",
    "version: rudder/v1\nkind: {a: b}\nspec: {}",
    '{"data_points": [{"match": {"type": ["a"]}}, {"match": {"type": "custom_event"}, "validator": ["a"]}]}',
    json.dumps({**IGLU, "properties": {"a": {"$ref": 1}}}),
    "\x00",
]


@pytest.mark.parametrize("name", FORMATS.names())
@pytest.mark.parametrize("content", NONSENSE)
def test_any_content_gives_a_plan_or_an_error(tmp_path: Path, name: str, content: str) -> None:
    """Every reader returns a plan or raises `InvalidPlan`, whatever is in the file."""
    path = write(tmp_path, {"track/x.json": content, "x.yaml": content}) / "x.yaml"
    for place in (path, tmp_path):
        try:
            rules = len(plans.load(place, format=name).plan().rules)
        except InvalidPlan as error:
            rules = len(str(error)) and 0
        assert rules == 0


def test_missing_plans_are_errors(tmp_path: Path) -> None:
    """A missing file, and a folder without plans."""
    with pytest.raises(InvalidPlan, match="no such file"):
        plans.load(tmp_path / "no.json")
    with pytest.raises(InvalidPlan, match="unknown tracking plan format; set its format"):
        plans.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"rules": [', r"plan.json:1:12: .* bracket is never closed"),
        ('{"rules": []}'.encode("utf-16"), r"plan.json:1:1: not UTF-8: byte 0xff"),
        (b'{"other": 1}', "unknown tracking plan format; set its format"),
    ],
)
def test_a_file_that_cannot_be_parsed_has_its_mistakes_reported(tmp_path: Path, content: bytes, says: str) -> None:
    """Not only that its format is unknown, which is a consequence."""
    (tmp_path / "plan.json").write_bytes(content)

    with pytest.raises(InvalidPlan, match=says):
        plans.load(tmp_path / "plan.json")
