"""Events checked against rules: the violations, their wording, and the fate of the event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit.errors import InvalidPlan
from svctoolkit.plans import Plan, Settings, Violation, of_service
from svctoolkit.plans.generate import conforming_events, near_misses
from tests.pace import within

DROP = {"allowUnplannedEvents": "false", "unplannedProperties": "drop", "anyOtherViolation": "drop"}
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def plan_of(body: Mapping[str, Any], *, strict: bool = True, draft: str = DRAFT_2019, **more: Any) -> Plan:
    """A plan with one track event `E`, whose properties have this schema."""
    rules = {"$schema": draft, "type": "object", "properties": {"properties": body}, **more}
    events = [{"name": "E", "eventType": "track", "rules": rules}]
    return of_service({"id": "tp", "version": 3, "events": events}, strict=strict)


def track(properties: Any) -> dict[str, Any]:
    return {"type": "track", "event": "E", "userId": "u", "properties": properties}


def violations(body: Mapping[str, Any], properties: Any, **more: Any) -> list[tuple[str, str, str]]:
    """Type, message and place (relative to the properties) of each violation, sorted."""
    found = plan_of(body, **more).check(track(properties)).violations
    return sorted((v.type, v.message, v.path.removeprefix("/properties")) for v in found)


MISSING, TYPE, EXTRA = "Required-Missing", "Datatype-Mismatch", "Additional-Properties"
ADVANCE, UNKNOWN = "Advance-Rules-Violation", "Unknown-Violation"
V = {"v": {}}
CASES: list[tuple[dict[str, Any], Any, list[tuple[str, str, str]]]] = [
    ({"required": ["a"], "properties": {"a": {}}}, {}, [(MISSING, "must have required property 'a'", "")]),
    ({"required": ["toString"], "properties": {"toString": {}}}, {}, []),
    (
        {"additionalProperties": False, "properties": V},
        {"": 1},
        [(EXTRA, "must NOT have additional properties 'undefined'", "")],
    ),
    (
        {"patternProperties": {"^x-": {}}, "additionalProperties": False},
        {"x-1": 1, "y": 2},
        [(EXTRA, "must NOT have additional properties 'y'", "")],
    ),
    (
        {"unevaluatedProperties": False, "properties": V},
        {"w": 1},
        [(EXTRA, "must NOT have unevaluated properties 'w'", "")],
    ),
    ({"unevaluatedProperties": {"type": "string"}}, {"w": 1}, [(TYPE, "must be string", "/w")]),
    (
        {"anyOf": [{"properties": V, "required": ["v"]}, {"properties": {"w": {}}}], "unevaluatedProperties": False},
        {"v": 1, "w": 2},
        [],
    ),
    (
        {
            "anyOf": [{"properties": V, "required": ["v"]}, {"properties": {"w": {"type": "null"}}}],
            "unevaluatedProperties": False,
        },
        {"v": 1, "w": 2},
        [(EXTRA, "must NOT have unevaluated properties 'w'", "")],
    ),
    (
        {"if": {"properties": {"w": {"const": 1}}}, "then": {"properties": V}, "unevaluatedProperties": False},
        {"w": 2},
        [],
    ),
    (
        {
            "if": {"properties": {"w": {"const": 1}}},
            "then": {"properties": V},
            "else": {"required": ["z"], "properties": {"z": {}}},
        },
        {"w": 2},
        [(ADVANCE, 'must match "else" schema', ""), (MISSING, "must have required property 'z'", "")],
    ),
    (
        {"properties": {"v": {"oneOf": [{"type": "string"}, {"minimum": 1}, {"minimum": 2}, {"type": "null"}]}}},
        {"v": 3},
        [(TYPE, "must be string", "/v"), (UNKNOWN, "must match exactly one schema in oneOf", "/v")],
    ),
    ({"properties": {"v": {"not": {"type": "object"}}}}, {"v": {}}, [(UNKNOWN, "must NOT be valid", "/v")]),
    (
        {"properties": {"v": {"contains": {"type": "string"}, "minContains": 2}}},
        {"v": ["a", 1]},
        [(TYPE, "must be string", "/v/1"), (UNKNOWN, "must contain at least 2 valid item(s)", "/v")],
    ),
    (
        {"properties": {"v": {"contains": {"type": "string"}, "maxContains": 1}}},
        {"v": ["a", "b"]},
        [(UNKNOWN, "must contain at least 1 and no more than 1 valid item(s)", "/v")],
    ),
    (
        {"properties": {"v": {"items": [{}, {}], "additionalItems": False}}},
        {"v": [1, 2, 3]},
        [(UNKNOWN, "must NOT have more than 2 items", "/v")],
    ),
    (
        {"properties": {"v": {"items": [{}], "unevaluatedItems": False}}},
        {"v": [1, 2]},
        [(UNKNOWN, "must NOT have more than 1 items", "/v")],
    ),
    (
        {"properties": {"v": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}},
        {"v": [1, 2, 1]},
        [(ADVANCE, "must NOT have duplicate items (items ## 2 and 0 are identical)", "/v")],
    ),
    (
        {"properties": {"v": {"uniqueItems": True}}},
        {"v": [{"a": 1}, {"a": 1.0}]},
        [(ADVANCE, "must NOT have duplicate items (items ## 0 and 1 are identical)", "/v")],
    ),
    (
        {"dependentRequired": {"a": ["b", "c"]}},
        {"a": 1, "b": 1},
        [(UNKNOWN, "must have properties b, c when property a is present", "")],
    ),
    (
        {"dependentSchemas": {"a": {"maxProperties": 1}}},
        {"a": 1, "b": 1},
        [(UNKNOWN, "must NOT have more than 1 properties", "")],
    ),
    ({"properties": {"v": {"multipleOf": 0.01}}}, {"v": 19.99}, [(ADVANCE, "must be multiple of 0.01", "/v")]),
    ({"properties": {"v": {"minimum": 1e21}}}, {"v": 1}, [(ADVANCE, "must be >= 1e+21", "/v")]),
    ({"properties": {"v": {"type": "integer"}}}, {"v": True}, [(TYPE, "must be integer", "/v")]),
    ({"properties": {"v": {"type": "string", "nullable": True}}}, {"v": None}, []),
    ({"properties": {"v": {"type": ["string", "null"]}}}, {"v": 1}, [(TYPE, "must be string,null", "/v")]),
    (
        {"properties": {"v": {"enum": [0, "x", None, [1]]}}},
        {"v": False},
        [(ADVANCE, "must be equal to one of the allowed values", "/v")],
    ),
    ({"properties": {"v": {"enum": [0, "x", None, [1]]}}}, {"v": [1.0]}, []),
    ({"properties": {"v": {"const": {"a": 1, "b": 2}}}}, {"v": {"b": 2, "a": 1}}, []),
    ({"properties": {"a/b~": {"type": "null"}}}, {"a/b~": 1}, [(TYPE, "must be null", "/a~1b~0")]),
    (
        {"properties": {"v": {"pattern": "^\\w\\d$"}}},
        {"v": "a\u0663"},
        [(ADVANCE, 'must match pattern "^\\w\\d$"', "/v")],
    ),
    ({"properties": {"v": {"pattern": "^."}}}, {"v": "\ud83d"}, [(ADVANCE, 'must match pattern "^."', "/v")]),
]


@pytest.mark.parametrize(("body", "properties", "expected"), CASES, ids=lambda value: json.dumps(value)[:60])
def test_every_keyword_works_as_in_rudderstack(
    body: dict[str, Any], properties: Any, expected: list[tuple[str, str, str]]
) -> None:
    """Values that violate it, and values that do not."""
    assert violations(body, properties) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date-time", ["2024-01-31t10:00:00z", "2024-01-31 10:00:00.5+0100"], ["2024-01-31", "2024-01-31T24:00:00Z"]),
        ("date", ["2000-02-29"], ["1900-02-29", "2024-1-1", "2024-00-10"]),
        ("time", ["23:59:60", "10:00:00+01"], ["10:00", "22:59:60Z"]),
        ("email", ["a.b+c@x-y.io"], ["a@b", ".a@b.io", "a..b@c.io", "a@-b.io"]),
        ("uuid", ["URN:UUID:6D3A5F1E-9B1C-4E0C-8D52-0A6B7E6F9F10"], ["6d3a5f1e9b1c4e0c8d520a6b7e6f9f10"]),
        ("hostname", ["localhost", "a.example."], ["a..b", "-a", "a-", "x" * 64]),
        ("ipv4", ["1.2.3.04"], ["1.2.3", "1.2.3.256"]),
        (
            "ipv6",
            ["::", "1::2", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8"],
            ["1:2:3", ":1", "1:::2", "::01.2.3.4", "::1.2.3.256"],
        ),
        ("uri", ["urn:a:b", "https://[::1]:80/a?b#c", "mailto:a@b"], ["//a.io", "http://a b", "http://a/%zz", "a:"]),
        ("uri-reference", ["", "/a", "#x"], ["a b", "%z"]),
        ("duration", ["P1DT2H", "P3W"], ["P", "1D", "PT", "p1d"]),
        ("json-pointer", ["", "/a~1b"], ["a", "/~2"]),
        ("regex", ["a+", "\\-"], ["("]),
        ("byte", ["YWJj"], ["YWJ"]),
    ],
)
def test_formats_are_those_of_ajv_formats(name: str, good: list[str], bad: list[str]) -> None:
    """Everything that `ajv-formats` accepts is accepted, however odd."""
    plan = plan_of({"properties": {"v": {"format": name}}})

    assert [text for text in good if plan.check(track({"v": text})).violations] == []
    assert [text for text in bad if not plan.check(track({"v": text})).violations] == []


@pytest.mark.parametrize(
    ("schema", "good", "bad", "message"),
    [
        ({"format": "date", "formatMinimum": "2026-02-01"}, ["2026-02-01", 7], "2026-01-31", "should be >= 2026-02-01"),
        (
            {"format": "date", "formatExclusiveMinimum": "2026-02-01"},
            ["2026-02-02"],
            "2026-02-01",
            "should be > 2026-02-01",
        ),
        ({"format": "time", "formatMaximum": "10:00:00Z"}, ["10:00:00+05:00"], "10:00:00.5Z", "should be <= 10:00:00Z"),
        (
            {"format": "date-time", "formatExclusiveMaximum": "2026-02-01T10:00:00Z"},
            ["2026-02-01T09:59:59Z", "2026-01-31 23:00:00Z"],
            "2026-02-01t10:00:00Z",
            "should be < 2026-02-01T10:00:00Z",
        ),
    ],
)
def test_formats_can_have_limits(schema: dict[str, Any], good: list[Any], bad: str, message: str) -> None:
    """`formatMinimum` and similar keywords compare dates and times as RudderStack does: as texts, in any time zone."""
    body = {"properties": {"v": schema}, "additionalProperties": False}
    plan = plan_of(body)

    assert [value for value in good if plan.check(track({"v": value})).violations] == []
    assert violations(body, {"v": bad}) == [("Unknown-Violation", message, "/v")]
    assert not plan.check(conforming_events(plan, 1)[0]).violations
    assert message in {miss.violation.message for miss in near_misses(plan, plan.rules[0], Random(1))}


@pytest.mark.parametrize(
    "schema",
    [
        {"formatMinimum": "2026-02-01"},
        {"format": "email", "formatMinimum": "a"},
        {"format": "date", "formatMinimum": 7},
    ],
)
def test_limits_on_formats_without_an_order_are_rejected(schema: dict[str, Any]) -> None:
    """RudderStack rejects such a schema, and lets every event pass unchecked."""
    with pytest.raises(InvalidPlan, match=r"formatMinimum|cannot be compared"):
        plan_of({"properties": {"v": schema}})


def test_violations_name_the_definition_that_was_broken() -> None:
    """A dangling reference is named at its place; a valid one starts a new path."""
    definitions = {
        "Mail": {"type": "string", "format": "email"},
        "Person": {
            "properties": {"mail": {"$ref": "#/$defs/Mail"}, "boss": {"$ref": "#/$defs/Person"}},
            "required": ["mail"],
        },
    }
    plan = plan_of({"properties": {"who": {"$ref": "#/$defs/Person"}}}, **{"$defs": definitions})

    found = plan.check(track({"who": {"mail": "x", "boss": {}}})).violations

    assert {(v.path, v.schema_path) for v in found} == {
        ("/properties/who/mail", "#/$defs/Mail/format"),
        ("/properties/who/boss", "#/required"),
    }


def test_draft_4_has_boolean_exclusive_limits() -> None:
    """`exclusiveMinimum: true` modifies `minimum`, and `id` is allowed."""
    body = {"id": "x", "properties": {"v": {"minimum": 0, "exclusiveMinimum": True}}}

    assert violations(body, {"v": 0}, draft=DRAFT_4) == [(ADVANCE, "must be > 0", "/v")]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"properties": {"v": {"tpye": "string"}}}, "unknown keyword 'tpye'. Did you mean 'type'?"),
        ({"properties": {"v": {"id": "x"}}}, "'id' belongs to draft 4"),
        ({"properties": {"v": {"format": "emial"}}}, "unknown format 'emial'. Did you mean 'email'?"),
        (
            {"properties": {"total": {}}, "required": ["totl"]},
            "is not among the 'properties' of the same schema. Did you mean 'total'?",
        ),
        ({"properties": {"a": {}}, "allOf": [{"required": ["a"]}]}, "required property 'a' is not among"),
        ({"properties": {"v": {"pattern": "("}}}, "does not compile"),
        ({"properties": {"v": {"pattern": "\\-"}}}, "'\\\\-' is not a valid escape"),
        ({"properties": {"v": {"$ref": "#/$defs/No"}}}, "'#/$defs/No' is not in this schema"),
        ({"properties": {"v": {"type": "text"}}}, "not what JSON Schema allows"),
        ({"properties": {"v": {"exclusiveMinimum": True}}}, "not what JSON Schema allows"),
        ({"then": {}}, "'then' without 'if'"),
        ({"if": {}}, "'if' without 'then' and 'else'"),
        ({"properties": {"v": {"nullable": True, "enum": [1]}}}, "'nullable' requires a 'type'"),
        ({"properties": {"ab": {}}, "patternProperties": {"^a": {}}}, "also matches the pattern '^a'"),
        ({"properties": {"v": {"minContains": 1}}}, "'minContains' without 'contains'"),
    ],
)
def test_schemas_that_rudderstack_skips_are_rejected_in_strict_mode(body: dict[str, Any], said: str) -> None:
    """Otherwise their events pass unchecked, and the verdict says so."""
    with pytest.raises(InvalidPlan) as error:
        plan_of(body)
    verdict = plan_of(body, strict=False).check(track({"v": object.__name__}), Settings({"global": DROP}))

    assert said in str(error.value)
    assert verdict.unchecked
    assert (list(verdict.violations), verdict.dropped, verdict.mark is not None) == ([], False, True)


@pytest.mark.parametrize("draft", ["https://json-schema.org/draft/2020-12/schema", "https://example.org/x", 7])
def test_other_drafts_are_rejected(draft: Any) -> None:
    """RudderStack supports drafts 4, 6, 7 and 2019-09."""
    with pytest.raises(InvalidPlan, match="RudderStack does not support"):
        plan_of({}, draft=draft)


def test_settings_decide_what_is_dropped() -> None:
    """By kind of violation; those of the event type override the global ones, in any letter case."""
    plan = plan_of({"properties": {"v": {"type": "string"}}, "additionalProperties": False})
    unplanned, extra, wrong = {"type": "track", "event": "F"}, track({"w": 1}), track({"v": 1})

    def fates(**settings: Any) -> list[bool]:
        return [plan.check(event, Settings(settings)).dropped for event in (unplanned, extra, wrong)]

    assert fates(**{"global": {"allowUnplannedEvents": False}}) == [True, False, False]
    assert fates(**{"global": {"unplannedProperties": "DROP"}}) == [False, True, False]
    assert fates(track={"anyOtherViolation": "drop"}) == [False, False, True]
    assert fates(**{"global": DROP, "track": {"anyOtherViolation": "forward"}}) == [True, True, False]
    assert fates(identify=DROP) == [False, False, False]


def test_without_settings_nothing_is_checked() -> None:
    """As in RudderStack: a source without settings is not validated, but marked."""
    verdict = plan_of({"required": ["a"], "properties": {"a": {}}}).check(track({}), Settings())

    assert list(verdict.violations) == []
    assert verdict.event["context"] == {"trackingPlanId": "tp", "trackingPlanVersion": 3, "violationErrors": []}


def test_marks_are_byte_for_byte_those_of_rudderstack() -> None:
    """With keys in the same order, and always with `property`; the event itself is not changed."""
    event = {**track({}), "context": {"ip": "1.2.3.4"}}
    marked = plan_of({"required": ["a"], "properties": {"a": {}}}).check(event).event

    assert json.dumps(marked["context"]) == (
        '{"ip": "1.2.3.4", "trackingPlanId": "tp", "trackingPlanVersion": 3, "violationErrors": [{"type": '
        '"Required-Missing", "message": "must have required property \'a\'", "meta": {"instancePath": "/properties", '
        '"schemaPath": "#/properties/properties/required"}, "property": "a"}]}'
    )
    assert event["context"] == {"ip": "1.2.3.4"}


@pytest.mark.parametrize(("context", "marks"), [(None, True), ("x", False), ([], False)])
def test_a_context_that_is_not_an_object_is_unchanged(context: Any, marks: bool) -> None:
    """A missing or empty one is created."""
    event = plan_of({}).check({**track({}), "context": context}).event

    assert (event["context"] != context) is marks


def test_only_the_text_false_disables_marks() -> None:
    """And it does not change the fate."""
    plan = plan_of({"required": ["a"], "properties": {"a": {}}})
    quiet = plan.check(track({}), Settings({"global": {**DROP, "propagateValidationErrors": "false"}}))
    loud = plan.check(track({}), Settings({"global": {**DROP, "propagateValidationErrors": False}}))

    assert (quiet.mark, quiet.dropped, loud.mark is not None) == (None, True, True)


def test_a_generated_client_may_name_a_plan_version() -> None:
    """It has to exist in this plan."""
    first, second = plan_of({"properties": {"v": {"type": "string"}}}), plan_of({})
    plan = Plan("tp", second.rules, version=2, versions={1: first, 2: second})
    event = {**track({"v": 1}), "context": {"ruddertyper": {"trackingPlanId": "tp", "trackingPlanVersion": 1}}}
    other = {**track({"v": 1}), "context": {"ruddertyper": {"trackingPlanId": "other", "trackingPlanVersion": 1}}}

    assert [len(plan.check(e).violations) for e in (event, other, track({"v": 1}))] == [1, 0, 0]


@pytest.mark.parametrize(
    "event", [{"type": "alias"}, {"type": "Track", "event": "F"}, {"event": "F"}, {"type": ["track"]}, {"type": "page"}]
)
def test_unplanned_events_are_not_checked(event: dict[str, Any]) -> None:
    """Types without rules, unknown types, no type at all."""
    assert list(plan_of({}).check(event, Settings({"global": DROP})).violations) == []


@pytest.mark.parametrize(
    ("event", "name"),
    [({}, "undefined"), ({"event": None}, "null"), ({"event": 5.0}, "5"), ({"event": {}}, "[object Object]")],
)
def test_unplanned_names_are_written_as_in_javascript(event: dict[str, Any], name: str) -> None:
    """A name that is not a string has no rule."""
    (found,) = plan_of({}).check({"type": "track", **event}).violations

    assert found == Violation("Unplanned-Event", f"no schema for event: {name}")
    assert found.meta() == {}


def test_a_pattern_takes_bounded_time() -> None:
    """A pattern that would take a backtracking engine forever is answered at once."""
    plan = plan_of(
        {"properties": {"v": {"pattern": "^(?=(a+)+$)(a|aa)+$"}, "w": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}}}
    )
    with within(5):
        plan.check(track({"v": "a" * 5000 + "!", "w": "a" * 5000}))


def test_a_recursive_schema_is_bounded() -> None:
    """A cycle is rejected; exponential recursion ends with a verdict that says so, not in a hang."""
    with pytest.raises(InvalidPlan, match="leads back to itself"):
        plan_of({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}})
    twice = {"properties": {"a": {"$ref": "#/$defs/t"}}}
    plan = plan_of({"$ref": "#/$defs/t"}, **{"$defs": {"t": {"allOf": [twice, twice]}}})
    event: Any = {}
    for _ in range(40):
        event = {"a": event}

    assert "references" in plan.check(track(event)).unchecked


def test_exponential_references_are_rejected() -> None:
    """A few lines can mean billions of subschemas."""
    definitions: dict[str, Any] = {"n0": {"type": "object"}}
    for n in range(1, 30):
        definitions[f"n{n}"] = {"allOf": [{"$ref": f"#/$defs/n{n - 1}"}, {"$ref": f"#/$defs/n{n - 1}"}]}
    plan_of({"$ref": "#/$defs/n3"}, **{"$defs": definitions})
    verdict = plan_of({"$ref": "#/$defs/n29"}, strict=False, **{"$defs": definitions}).check(track({}))

    assert verdict.unchecked


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYWORDS = (
    "type properties required additionalProperties unevaluatedProperties items enum const pattern format "
    "minimum maximum multipleOf minLength maxItems uniqueItems anyOf oneOf allOf not if then else $ref $defs "
    "contains propertyNames patternProperties dependencies nullable additionalItems minContains $id $schema"
)
schemas = st.recursive(
    st.booleans() | json_values,
    lambda inner: st.dictionaries(
        st.sampled_from(KEYWORDS.split()),
        inner
        | st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abv"), inner, max_size=3)
        | st.sampled_from(["#", "object", "string", "integer", "^a", "email", "#/$defs/a"]),
        max_size=4,
    ),
    max_leaves=12,
)


@given(schemas, json_values)
def test_any_schema_and_any_event_give_a_verdict(schema: Any, properties: Any) -> None:
    """Invalid schemas are rejected with a message, others give violations: nothing else is raised."""
    plan = plan_of(schema, strict=False)
    verdict = plan.check(track(properties))

    assert all(isinstance(violation, Violation) for violation in verdict.violations)
    assert json.dumps(verdict.mark)


def test_a_rejected_pattern_is_quoted_briefly() -> None:
    """Messages stay short, however long the pattern is."""
    with pytest.raises(InvalidPlan) as error:
        plan_of({"properties": {"v": {"pattern": "(" * 5000}}})

    assert len(str(error.value)) < 400


@pytest.mark.parametrize("kind", ["enum", "properties", "deep", "repeats"])
def test_large_schemas_are_bounded(kind: str) -> None:
    """Huge enums, thousands of properties, deep nesting, nested repeats: a verdict within seconds."""
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(80):
        deep = {"properties": {"a": deep}}
    body: dict[str, Any] = {
        "enum": {"properties": {"v": {"enum": [f"x{n}" for n in range(50_000)]}}},
        "properties": {"properties": {f"p{n}": {"type": "string"} for n in range(2_000)}},
        "deep": deep,
        "repeats": {"properties": {"v": {"pattern": "(a{1,1000}){1,1000}"}}},
    }[kind]
    with within(20):
        verdict = plan_of(body, strict=False).check(track({"v": "no", **{f"p{n}": n for n in range(2_000)}}))

    assert bool(verdict.unchecked) is (kind in ("deep", "repeats"))
