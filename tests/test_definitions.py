"""The definitions of all destination types."""

from __future__ import annotations

import re
from collections import Counter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit.destinations import CATALOGUE, Parsed
from svctoolkit.destinations import definitions as defs
from svctoolkit.errors import InvalidConfig, UnknownName, Unsupported
from svctoolkit.secrets import Secret
from tests.catalogue import examples


def test_all_types_are_defined() -> None:
    """239 types and those added since, each with its own name and display name."""
    everything = defs.all()

    assert len(everything) >= 239
    assert [d.name for d in everything] == defs.names() == sorted(defs.names())
    assert len({d.display_name for d in everything}) == len(everything)
    assert all(defs.get(name).name == name for name in defs.names())


def test_every_definition_is_consistent() -> None:
    """Variables, choices, modes and rows agree with the docstrings."""
    right_column = {f"{d.name}.{n}" for d in defs.all() for n, v in d.variables.items() if v.key_right and v.options}
    for definition in defs.all():
        assert definition.default_config, definition.name
        assert set(definition.modes) <= {"cloud", "device", "hybrid"}, definition.name
        assert definition.category in (None, "warehouse"), definition.name
        assert definition.supported_source_types, definition.name
        for name, variable in definition.variables.items():
            where = f"{definition.name}.{name}"
            assert bool(variable.options) == (variable.kind in ("choice", "choices") or where in right_column), where
            assert bool(variable.key_left and variable.key_right) == (variable.kind == "pairs"), where
            assert bool(variable.tag_key) == (variable.kind == "tags"), where


def test_a_variable_has_its_json_type() -> None:
    """It follows from the kind of form field."""
    hook = defs.get("WEBHOOK").variables

    assert (hook["webhookUrl"].type, hook["webhookMethod"].type, hook["headers"].type) == ("string", "string", "array")
    assert hook["webhookMethod"].options == ["POST", "PUT", "PATCH", "GET", "DELETE"]
    assert hook["webhookMethod"].default == "POST"
    assert defs.get("HTTP").variables["isBatchingEnabled"].type == "boolean"
    assert defs.get("RS").variables["excludeWindow"].type == "object"


def test_an_unknown_type_gets_a_suggestion() -> None:
    """A wrong name is an `UnknownName`, which is a `KeyError`."""
    with pytest.raises(UnknownName, match=r"unknown destination type 'BRAZEE'\. Did you mean 'BRAZE'") as caught:
        defs.get("BRAZEE")

    assert isinstance(caught.value, KeyError)


def test_the_answer_of_the_api_has_the_documented_shape() -> None:
    """`GET /destination-definitions`: the fields of one entry, null for unknown values."""
    entry = defs.get("WEBHOOK").to_dict()

    assert list(entry) == [
        *("config", "configSchema", "responseRules", "options", "id", "name"),
        *("displayName", "category", "createdAt", "updatedAt"),
    ]
    assert entry["config"]["destConfig"]["defaultConfig"] == ["webhookUrl", "webhookMethod", "headers"]
    assert entry["config"]["secretKeys"] == ["headers.to"]
    assert entry["name"] == "WEBHOOK"
    assert (entry["displayName"], entry["category"]) == ("Webhook", None)
    assert (entry["responseRules"], entry["options"]) == (None, None)


@pytest.mark.parametrize(
    ("name", "declared", "transforms"),
    [
        ("BRAZE", "router", "router"),
        ("WEBHOOK", "processor", "processor"),
        ("AIRSHIP", "router", "processor"),
        ("GOOGLE_OPTIMIZE", None, "processor"),
    ],
)
def test_transform_at_v1_is_what_rudderstack_declares(name: str, declared: str | None, transforms: str) -> None:
    """Transformation does not always happen there."""
    assert defs.get(name).to_dict()["config"].get("transformAtV1") == declared
    assert defs.get(name).transform_at == transforms


def test_the_schema_of_a_configuration() -> None:
    """`configSchema` is draft 07: JSON types, options, templates and required fields."""
    schema = defs.get("WEBHOOK").to_dict()["configSchema"]
    validator = jsonschema_rs.validator_for(schema)
    good: dict[str, Any] = {"webhookUrl": "https://hook.example", "webhookMethod": "PUT", "headers": [{"from": "a"}]}

    assert validator.is_valid(good)
    assert validator.is_valid({**good, "webhookMethod": "{{ event.method || POST }}"})
    assert validator.is_valid({**good, "consentManagement": {"web": []}})
    for wrong in ({"webhookMethod": "STEAL"}, {"headers": "x"}, {"webhookUrl": ""}, {"webhookUrl": 1}):
        assert not validator.is_valid({**good, **wrong})
    assert not validator.is_valid({})


#: types whose form requires a text only with another setting, or that use numbers where the form has texts
_OTHERWISE = {"AM", "GOOGLE_ADWORDS_ENHANCED_CONVERSIONS", "KLAVIYO", "REFINER", "SALESFORCE", "USERPILOT", "ZAPIER"}


def test_configurations_of_the_examples_fit_their_schema() -> None:
    """A configuration that a mapping accepts fits the definition."""
    wrong = []
    for name in CATALOGUE.names():
        if name not in _OTHERWISE:
            validator = jsonschema_rs.validator_for(defs.get(name).to_dict()["configSchema"])
            configs = [example.config for example in examples(name) if example.error is None]
            wrong += [f"{name}: {error}" for config in configs for error in validator.iter_errors(config)]

    assert wrong == []


def test_definitions_have_the_data_of_their_type() -> None:
    """Category, options and message types where a type has them."""
    assert defs.get("RS").to_dict()["category"] == "warehouse"
    assert defs.get("ACCOIL_ANALYTICS").to_dict()["options"] == {"isBeta": True}
    assert defs.get("GA").to_dict()["options"] == {"deprecated": True}
    assert defs.get("GLADLY").to_dict()["config"]["supportedMessageTypes"] == {"cloud": ["identify"]}
    assert "supportedMessageTypes" not in defs.get("WEBHOOK").to_dict()["config"]


def test_ids_are_stable_and_unique() -> None:
    """27 characters that depend only on the name, so callers may store them."""
    ids = [d.to_dict()["id"] for d in defs.all()]

    assert len(set(ids)) == len(ids) >= 239
    assert all(re.fullmatch(r"[0-9A-Za-z]{27}", id) for id in ids)
    assert defs.get("WEBHOOK").to_dict()["id"] == "AFv68SSHRtwNyML7zNXWkKVFYhc"


def test_variables_are_the_names_for_destination_config() -> None:
    """The names under `defaultConfig`, each once, even if a mapping reads them."""
    assert defs.variables("WEBHOOK") == ["webhookUrl", "webhookMethod", "headers"]
    assert len(defs.variables("HTTP")) == len(set(defs.variables("HTTP"))) == 20
    with pytest.raises(UnknownName):
        defs.variables("NOPE")


def test_common_variables_are_accepted_for_every_type() -> None:
    """Consent, connection and filter variables belong to no type; RudderStack adds some by itself."""
    config = dict.fromkeys(defs.COMMON_VARIABLES, "x")

    for name in defs.names():
        assert defs.unknown_variables(name, config) == []
        assert defs.unknown_variables(name, {**config, "nonsense": 1}) == ["nonsense"]


def test_a_secret_key_is_a_known_variable() -> None:
    """Some secret keys are in no form; a configuration may have them anyway."""
    assert defs.unknown_variables("GA4_V2", {"apiSecret": "s"}) == []


def test_an_unknown_variable_is_rejected_with_a_suggestion() -> None:
    """Every unknown variable is one problem."""
    with pytest.raises(InvalidConfig) as caught:
        defs.check_variables("WEBHOOK", {"webhookUrll": "x", "webhookMethod": "GET", "zzz": 1})

    assert [str(p) for p in caught.value.problems] == [
        "WEBHOOK has no configuration variable 'webhookUrll'. Did you mean 'webhookUrl'?",
        "WEBHOOK has no configuration variable 'zzz'.",
    ]


@pytest.mark.parametrize(
    ("type", "config", "says"),
    [
        ("WEBHOOK", {"webhookUrl": ["a"]}, "Webhook config: webhookUrl: expected a string, got a list"),
        ("WEBHOOK", {"webhookUrl": True}, "webhookUrl: expected a string, got true"),
        ("WEBHOOK", {"headers": {"a": "b"}}, "headers: expected a list, got an object"),
        ("WEBHOOK", {"headers": Secret("s3cr3t")}, "headers: expected a list, got a string"),
        ("HTTP", {"isBatchingEnabled": 2}, "isBatchingEnabled: expected true or false, got the number 2"),
        ("HTTP", {"isBatchingEnabled": "yes"}, "isBatchingEnabled: expected true or false, got a string"),
        ("RS", {"excludeWindow": "x"}, "excludeWindow: expected an object, got a string"),
    ],
)
def test_a_value_of_the_wrong_json_type_is_rejected(type: str, config: dict[str, Any], says: str) -> None:
    """The refusal names the variable, the expected and the actual type, but never the value of a text."""
    with pytest.raises(InvalidConfig) as caught:
        defs.check_variables(type, config)

    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("type", "config"),
    [
        ("WEBHOOK", {"webhookUrl": "x", "headers": [], "eventDelivery": False, "eventDeliveryTS": 1}),
        ("WEBHOOK", {"webhookUrl": Secret("x"), "headers": None}),
        ("HTTP", {"maxBatchSize": 2, "isBatchingEnabled": "{{ event.batch || true }}"}),
        ("HTTP", {"isBatchingEnabled": "env.BATCH", "connectionMode": {"web": "cloud"}}),
        ("RS", {"underscoreDivideNumbers": True}),
    ],
)
def test_stored_values_are_accepted(type: str, config: dict[str, Any]) -> None:
    """Numbers as texts or numbers, nulls, templates, secrets, and untyped values."""
    defs.check_variables(type, config)

    assert defs.unknown_variables(type, config) == []


@settings(suppress_health_check=[HealthCheck.too_slow])  # drawing any text is slow on a busy machine
@given(
    st.sampled_from(["WEBHOOK", "HTTP", "RS", "BRAZE"]),
    st.dictionaries(
        st.sampled_from(["headers", "apiKey", "host", "x"]) | st.text(), st.none() | st.integers() | st.text()
    ),
)
def test_any_configuration_is_accepted_or_rejected(type: str, config: dict[str, Any]) -> None:
    """Only `InvalidConfig` is raised, and unknown names are always rejected."""
    problems: tuple[object, ...] = ()
    try:
        defs.check_variables(type, config)
    except InvalidConfig as refused:
        problems = refused.problems

    unknown = defs.unknown_variables(type, config)
    assert [p for p in problems if "has no configuration variable" in str(p)] == list(problems)[: len(unknown)]
    assert len(problems) >= len(unknown)


def test_types_without_http_are_unsupported() -> None:
    """The kinds in the Test API specification.

    9 streams and queues, 5 object stores, a spreadsheet, a key-value store, a warehouse stream, and the 12 warehouses.
    """
    kinds = Counter(d.sent_by_server for d in defs.all() if d.sent_by_server)

    assert kinds == {
        "streaming or message-queue": 9,
        "object-storage": 5,
        "spreadsheet": 1,
        "key-value store": 1,
        "warehouse-streaming": 1,
        "warehouse": 12,
    }
    for definition in defs.all():
        if definition.sent_by_server:
            with pytest.raises(Unsupported, match=f"an? {definition.sent_by_server} destination, and the data-plane"):
                defs.check_supported(definition.name)


def test_every_type_has_a_mapping_or_a_reason_why_not() -> None:
    """The reason says why no mapping makes its requests."""
    reasons = {name: defs.reason_unmapped(name) for name in defs.names()}

    assert reasons["WEBHOOK"] == ""
    assert reasons["GTM"] == "Google Tag Manager has device mode only: the client's SDK sends to it"
    assert reasons["BINGADS_AUDIENCE"] == "BingAds Audience does not accept events, only audiencelist"
    assert "streaming or message-queue" in reasons["KINESIS"]
    mapped = {name for name in CATALOGUE.names() if CATALOGUE[name].handlers}
    assert {name for name, reason in reasons.items() if not reason} == mapped
    for name in ("GTM", "BINGADS_AUDIENCE"):
        defs.check_supported(name)


def test_a_search_is_a_part_of_the_frame() -> None:
    """One row for each type; search results are the same rows."""
    table = defs.frame().set_index("name")

    assert list(table.index) == defs.names()
    assert set(table.columns[table.map(lambda value: isinstance(value, list)).any()]) == set()
    for takes, batches in [(("group",), True), (("page", "screen"), False), ((), None)]:
        names = [d.name for d in defs.find(takes=takes, batches=batches)]
        rows = table[[set(takes) <= set(events) for events in table.events]]
        assert names == list((rows if batches is None else rows[rows.shares_requests == batches]).index)
    assert [d.name for d in defs.find("spot hub")] == ["HS"]
    assert {d.category for d in defs.find(category="warehouse")} == {"warehouse"}
    assert all(d.name in CATALOGUE for d in defs.find(mapped=True))
    assert table.loc["AM", "secrets"] == tuple(defs.secret_keys("AM"))


def test_unknown_types_get_a_suggestion() -> None:
    """Names are case-sensitive, and the nearest one is offered."""
    with pytest.raises(UnknownName, match="Did you mean 'WEBHOOK'"):
        defs.check_supported("Webhook")

    defs.check_supported("WEBHOOK")


def test_secret_values_are_found_in_any_form() -> None:
    """`headers.to` points into rows; a value may be a `Secret`, or stored by source type."""
    headers = [{"from": "x-api-key", "to": "one"}, {"from": "x-b", "to": Secret("two")}, {"from": "x-c"}, "odd"]

    assert defs.secret_values("WEBHOOK", {"webhookUrl": "https://a.example", "headers": headers}) == ["one", "two"]
    assert defs.secret_values("HTTP", {"password": "p", "bearerToken": {"web": "b"}, "username": "u"}) == ["p", "b"]
    assert defs.secret_values("HTTP", {"password": None}) == []
    assert defs.secret_values("TOY", {"password": "p"}) == []


JSON_TYPES = {str: "string", int: "string", float: "string", Secret: "string", bool: "boolean", dict: "object"}


def json_type(hint: Any) -> set[str]:
    """The JSON types that a field accepts: texts, also of numbers and choices, booleans, lists, objects."""
    origin = get_origin(hint)
    if origin is Literal:
        return {"string"}
    if origin in (Union, UnionType):
        return {found for kind in get_args(hint) if kind is not NoneType for found in json_type(kind)}
    kind = origin or hint
    if issubclass(kind, Parsed):
        return {"string"}
    return {"array"} if issubclass(kind, tuple | list) else {JSON_TYPES[kind]}


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_the_settings_of_a_type_agree_with_its_definition(name: str) -> None:
    """Every variable read by a mapping is in the definition, with the kind and options of its form field.

    A missing variable does not always count as the form's default, because the form writes the default into the
    configuration: the mapping may have no default, but never a different one.
    """
    kind = CATALOGUE[name]
    hints, fields = get_type_hints(kind.settings), msgspec.structs.fields(kind.settings)
    for variable, field in zip(kind.settings.__struct_encode_fields__, fields, strict=True):
        if variable in kind.earlier or variable in defs.COMMON_VARIABLES:
            continue
        known, hint = defs.get(name).variables[variable], hints[field.name]

        assert not known.type or known.kind == "any" or known.type in json_type(hint), variable
        if known.options and get_origin(hint) is Literal:
            assert set(get_args(hint)) == set(known.options), variable
        if isinstance(known.default, str | bool) and known.default != "" and isinstance(field.default, str | bool):
            assert field.default in (known.default, type(known.default)()), variable
        if field.required and f"{name}.{variable}" not in DEMANDED:
            assert known.required, variable


#: variables without which every event is refused, although the form does not require them
DEMANDED = {
    "ADOBE_ANALYTICS.trackingServerSecureUrl",
    "ALGOLIA.apiKey",
    "ALGOLIA.applicationId",
    "DRIP.apiKey",
    "EVENTBRIDGE.detailType",
    "EVENTBRIDGE.region",
    "FIREHOSE.region",
    "GA360.trackingID",
    "GOOGLESHEETS.sheetId",
    "GOOGLESHEETS.sheetName",
    "NINETAILED.environment",
    "NINETAILED.organisationId",
    "OMETRIA.apiKey",
    "OPTIMIZELY_FULLSTACK.accountId",
    "OPTIMIZELY_FULLSTACK.campaignId",
    "OPTIMIZELY_FULLSTACK.dataFileUrl",
    "OPTIMIZELY_FULLSTACK.experimentId",
    "PARDOT.businessUnitId",
    "PARDOT.campaignId",
    "PROFITWELL.privateApiKey",
    "SENDGRID.apiKey",
    "SFMC.clientId",
    "SFMC.clientSecret",
    "SFMC.subDomain",
    "SPRIG.apiKey",
    "TRENGO.channelId",
    "VERO.authToken",
}
#: variables that the form requires, and without which RudderStack sends anyway
FORGIVEN = {
    "CAMPAIGN_MANAGER.profileId",
    "CLEVERTAP.accountId",
    "CLEVERTAP.passcode",
    "DCM_FLOODLIGHT.advertiserId",
    "FACEBOOK_OFFLINE_CONVERSIONS.eventsToIds",
    "FACEBOOK_OFFLINE_CONVERSIONS.eventsToStandard",
    "MAILJET.apiKey",
    "MAILJET.apiSecret",
    "MAILJET.listId",
    "SALESFORCE.initialAccessToken",
    "VARIANCE.authHeader",
}


def test_required_variables_are_required_by_the_mapping() -> None:
    """If they have no default and the mapping reads them."""
    lenient = []
    for name in CATALOGUE.names():
        variables, kind = defs.get(name).variables, CATALOGUE[name].settings
        required = {key for key, known in variables.items() if known.required and known.default is None}
        fields = zip(kind.__struct_encode_fields__, msgspec.structs.fields(kind), strict=True)
        lenient += [f"{name}.{key}" for key, field in fields if key in required and not field.required]

    assert [variable for variable in lenient if variable not in FORGIVEN] == []


def test_secret_variables_are_secret_settings() -> None:
    """A variable that the form hides never appears in a repr or a log."""
    plain = []
    for name in CATALOGUE.names():
        kind = CATALOGUE[name].settings
        hints = get_type_hints(kind)
        fields = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
        secret = [key for key in defs.get(name).secret_keys if key in fields]
        plain += [f"{name}.{key}" for key in secret if hints[fields[key]] not in (Secret, Secret | None)]

    assert plain == []


@pytest.mark.parametrize(("title", "name"), [("HubSpot", "HS"), ("HUBSPOT", "HS"), ("Customer IO", "CUSTOMERIO")])
def test_a_display_name_is_suggested_as_its_type(title: str, name: str) -> None:
    """Users write HubSpot, not HS."""
    with pytest.raises(UnknownName, match=rf"Did you mean '{name}' \("):
        defs.get(title)
