"""Mapping tables, their leaves, and value conversions for destinations."""

from __future__ import annotations

import doctest
import json
import math
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit.errors import ConfigError, MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    ANY_ID,
    EMAIL,
    ExternalId,
    Table,
    WrongValue,
    agent,
    boolean,
    check_age,
    const,
    converter,
    default,
    digits,
    dynamic,
    each,
    each_text,
    epoch_ms,
    epoch_s,
    epoch_us,
    event_key,
    event_name,
    external_ids,
    fill_from,
    first,
    flatten,
    full_name,
    hash_digits,
    hash_initial,
    hash_lower,
    hash_phone,
    hash_text,
    hash_trimmed,
    in_url,
    is_sha256,
    iso_ms,
    json_text,
    md5,
    moment,
    not_null,
    number,
    path,
    platform,
    products,
    require_name,
    required,
    seconds,
    sha256,
    string,
    text,
    time,
    trait,
    value_of,
    verbatim,
    warehouse_id,
    warehouse_row,
    xml_text,
)
from svctoolkit.mapping.table import getter

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "module",
    [
        "mapping",
        "mapping.agents",
        "mapping.dynamic",
        "mapping.templates",
        "mapping.times",
        "mapping.values",
        "destinations",
        "destinations.definitions",
        "destinations._problems",
    ],
)
def test_the_examples_in_docstrings_are_true(module: str) -> None:
    """Users can copy them as they are."""
    result = doctest.testmod(import_module(f"svctoolkit.{module}"))

    assert result.attempted > 0
    assert result.failed == 0


def test_a_table_describes_the_payload() -> None:
    """A string leaf is a path, a dict is an object of the payload."""
    table = Table({"id": "userId", "device": {"os": "context.os.name"}, "source": const("web")})

    built = table(Event({"userId": "u1", "context": {"os": {"name": "iOS"}}}))

    assert built == {"id": "u1", "device": {"os": "iOS"}, "source": "web"}


def test_only_missing_values_are_left_out() -> None:
    """Null and empty texts are missing; 0, False and empty objects are values; an object without any is left out."""
    table = Table({"a": "properties.a", "b": "properties.b", "drawn": {"x": "properties.x"}, "own": "traits"})

    assert table(Event({"properties": {"a": 0, "b": False}, "traits": {}})) == {"a": 0, "b": False, "own": {}}
    assert table(Event({"properties": {"a": None, "b": ""}})) == {}
    assert table(Event({})) == {}


def test_the_first_value_is_used_or_a_default() -> None:
    """`first` skips missing values; `default` also works after `first`."""
    table = Table({"id": default(first("userId", "anonymousId"), "nobody")})

    assert table(Event({"userId": None, "anonymousId": "a1"})) == {"id": "a1"}
    assert table(Event({})) == {"id": "nobody"}


def test_a_missing_required_value_names_all_its_paths() -> None:
    """The refusal says where a value was searched, and `field` has it too."""
    with pytest.raises(MappingError, match="needs a value at userId or anonymousId") as caught:
        Table({"id": required(first("userId", "anonymousId"))})(Event({}))

    assert caught.value.field == "userId or anonymousId"


def test_an_unsuitable_value_is_reported_with_its_path() -> None:
    """A converter's refusal follows the path of the value."""
    with pytest.raises(MappingError, match=r"properties\.revenue: expected a number, got 'much'") as caught:
        Table({"revenue": number("properties.revenue")})(Event({"properties": {"revenue": "much"}}))

    assert caught.value.field == "properties.revenue"


def test_a_misspelt_root_is_an_error_on_import() -> None:
    """A path that no event can have gets the nearest root as a suggestion."""
    with pytest.raises(
        ConfigError, match=r"no event has a field 'propertis' \(propertis.a\). Did you mean 'properties'"
    ):
        Table({"deep": {"a": "propertis.a"}})


def test_a_table_lists_its_rows() -> None:
    """Iterating gives the dotted keys with their sources."""
    table = Table({"a": "userId", "b": {"c": epoch_ms("timestamp", "sentAt")}})

    assert [(key, source.paths) for key, source in table] == [("a", ("userId",)), ("b.c", ("timestamp", "sentAt"))]


@pytest.mark.parametrize(
    ("dotted", "found"),
    [
        ("a", {"b": [{"c": 1}, 5]}),
        ("a.b.0.c", 1),
        ("a.b.1", 5),
        ("a.b.2", None),
        ("a.b.x", None),
        ("a.b.1.c", None),
        ("a.x", None),
        ("x.b.c", None),
    ],
)
def test_a_path_finds_fields_and_list_elements(dotted: str, found: Any) -> None:
    """A number selects an element of a list; a missing one is None, never an error."""
    assert path(dotted)({"a": {"b": [{"c": 1}, 5]}}) == found


@pytest.mark.parametrize("value", [None, 5, "text", [], [None], {"b": 3}])
def test_a_path_through_an_unsuitable_value_is_none(value: Any) -> None:
    """Odd values inside an event do not raise."""
    assert path("a.b.c")({"a": value}) is None
    assert path("a.b.c.d")({"a": value}) is None


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2019-09-01T15:46:51.693229+05:30", 1567333011693),
        ("2026-01-31T12:00:00", 1769860800000),
        ("2026-01-31", 1769817600000),
        ("2009-02-13T23:31:30.001Z", 1234567890001),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_epoch_ms_is_exact(written: str, milliseconds: int) -> None:
    """A time without a zone is UTC; milliseconds are exact."""
    assert Table({"t": epoch_ms("timestamp")})(Event({"timestamp": written})) == {"t": milliseconds}


@pytest.mark.parametrize("value", ["yesterday", 20200101, True, ["2020-01-01"]])
def test_an_invalid_time_is_rejected(value: Any) -> None:
    """Including a number: it could be seconds or milliseconds."""
    with pytest.raises(MappingError, match="timestamp: expected a time such as 2026-01-31T12:00:00Z, got"):
        Table({"t": epoch_ms("timestamp")})(Event({"timestamp": value}))


@pytest.mark.parametrize(("value", "found"), [(3, 3), (1.5, 1.5), ("12", 12), (" -1.50 ", -1.5), ("1e3", 1000.0)])
def test_a_number_may_be_a_text(value: Any, found: float) -> None:
    """A whole number in a text stays whole."""
    got = Table({"n": number("properties.n")})(Event({"properties": {"n": value}}))["n"]

    assert got == found
    assert type(got) is type(found)


@pytest.mark.parametrize("value", [True, "1_000", "nan", "inf", "1e999", "0x10", [], {"a": 1}])
def test_an_invalid_number_is_rejected(value: Any) -> None:
    """Including booleans and spellings that only Python accepts."""
    with pytest.raises(MappingError, match=r"properties\.n: expected a number"):
        Table({"n": number("properties.n")})(Event({"properties": {"n": value}}))


def test_a_custom_converter_accepts_paths() -> None:
    """`converter` turns a function into a leaf that can be required and uses the first path with a value."""

    @converter
    def upper(value: Any) -> str:
        """Capitals."""
        if not isinstance(value, str):
            raise WrongValue("a string", value, case="text")
        return value.upper()

    table = Table({"name": required(upper("event", "name"))})

    assert upper.__doc__ == "Capitals."
    assert table(Event({"name": "home"})) == {"name": "HOME"}
    with pytest.raises(MappingError, match="event: expected a string"):
        table(Event({"event": 5}))


def test_json_text_equals_that_of_javascript() -> None:
    """No spaces, no escapes for non-ASCII characters, whole floats without fraction."""
    assert json_text({"a": [1.0, 1.5, True, None, "ü"], "b": {}}) == '{"a":[1,1.5,true,null,"ü"],"b":{}}'
    assert json_text([math.nan, math.inf, 1e-7]) == "[null,null,1e-7]"
    assert json_text({"large": 1e16, "small": [-0.0], "text": ".0,e16}"}) == (
        '{"large":10000000000000000,"small":[0],"text":".0,e16}"}'
    )
    assert json_text([1e20, "\ud800"]) == '[100000000000000000000,"\ud800"]'


@given(st.recursive(st.floats(-1e20, 1e20) | st.text(".0e16,}", max_size=6), st.lists))
def test_json_text_has_no_whole_number_with_a_fraction(value: Any) -> None:
    """Wherever it is, and whatever texts are around it."""
    text = json_text([value])

    json.loads(text, parse_float=lambda number: pytest.fail(number) if float(number).is_integer() else number)
    assert json.loads(text) == [value]


@given(JSON)
def test_json_text_can_be_read_back(value: Any) -> None:
    """The result is an equal value."""
    assert json.loads(json_text(value)) == value


def test_text_keeps_texts() -> None:
    """A text is not quoted; everything else becomes JSON."""
    values: list[Any] = ["a", 1.0, True, None, {"k": []}]

    assert [text(v) for v in values] == ["a", "1", "true", "null", '{"k":[]}']


def test_flattened_keeps_empty_objects_and_lists() -> None:
    """Keys are joined with dots, elements have their number."""
    assert flatten({"a": {"b": {"c": 1}}, "l": [1, {"m": 2}, [3]], "e": {}, "n": [], "z": None}) == {
        "a.b.c": 1,
        "l[0]": 1,
        "l[1].m": 2,
        "l[2][0]": 3,
        "e": {},
        "n": [],
        "z": None,
    }
    assert flatten({}) == {}


KEYS = st.sampled_from(["a", "b", "c"])
NESTED = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, NESTED))
def test_flattening_loses_no_value(value: dict[str, Any]) -> None:
    """Every value of the result is a scalar or empty, one for each leaf."""

    def leaves(node: Any) -> int:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return sum(map(leaves, inner)) if inner else 1

    flat = flatten(value)

    assert all(not isinstance(leaf, dict | list) or not leaf for leaf in flat.values())
    assert len(flat) == (leaves(value) if value else 0)


def test_xml_text_escapes_and_repeats() -> None:
    """The text of an element is escaped; a list repeats its element, null is empty, a float is as in JSON."""
    document = xml_text("root", {"a": "<&>\"'", "b": [1, {"c": 2.0}], "d": None, "e": True, "f": []})

    assert document == (
        '<?xml version="1.0" encoding="UTF-8"?><root><a>&lt;&amp;&gt;&quot;&apos;</a><b>1</b><b><c>2</c></b>'
        "<d></d><e>true</e></root>"
    )


@pytest.mark.parametrize("name", ["a b", "1a", "", "<a>", "a:", "a&b"])
def test_a_key_that_is_not_an_xml_name_is_rejected(name: str) -> None:
    """An invalid document is never created silently."""
    with pytest.raises(ValueError, match="cannot be the name of an XML element"):
        xml_text("root", {name: 1})


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True), st.text(), max_size=4))
def test_xml_text_is_well_formed_or_rejected(value: dict[str, str]) -> None:
    """The result can be parsed, with the same texts."""
    try:
        document = xml_text("root", value)
    except ValueError:
        return

    read = {element.tag: element.text or "" for element in ET.fromstring(document)}
    assert read == {key: item.replace("\r\n", "\n").replace("\r", "\n") for key, item in value.items()}


def test_traits_are_searched_in_both_places_in_order() -> None:
    """All names in `traits` come before those in `context.traits`; the first name before the second."""
    table = Table({"first": trait("firstName", "first_name")})

    assert table(Event({"traits": {"first_name": "b"}, "context": {"traits": {"firstName": "a"}}})) == {"first": "b"}
    assert table(Event({"context": {"traits": {"first_name": "b", "firstName": "a"}}})) == {"first": "a"}


def test_a_leaf_can_be_combined_with_paths() -> None:
    """Its paths join the others, and a conversion applies to all of them."""
    table = Table({"id": required(string(ANY_ID))})

    assert table(Event({"traits": {"id": 7}, "anonymousId": "a1"})) == {"id": "7"}
    assert table(Event({"userId": "", "anonymousId": "a1"})) == {"id": "a1"}
    assert value_of(Event({"properties": {"email": "m@mail.example"}}), EMAIL) == "m@mail.example"
    assert value_of(Event({}), EMAIL) is None


def test_cached_leaves_give_their_own_values() -> None:
    """Values prepared for one path or leaf are not used for another; `getter` returns the same as `value_of`."""
    event = Event({"userId": "u1", "anonymousId": "a1", "traits": {"email": "m@mail.example"}})
    leaves = {"userId": "u1", "anonymousId": "a1", EMAIL: "m@mail.example", string("traits.age"): None}

    for _ in range(2):
        assert [value_of(event, leaf) for leaf in leaves] == [*leaves.values()]
    for get, value in [(getter(leaf), value) for leaf, value in leaves.items()]:
        assert (get(event.raw), get({}), get(event.raw)) == (value, None, value)


def test_a_verbatim_value_may_be_an_empty_text() -> None:
    """`verbatim` keeps an empty text; null counts as missing, as everywhere."""
    table = Table({"a": verbatim("anonymousId"), "b": "userId", "c": verbatim(first("userId", "event"))})

    assert table(Event({"anonymousId": "", "userId": "", "event": "e"})) == {"a": "", "c": ""}
    assert table(Event({"anonymousId": None, "event": ""})) == {"c": ""}


def test_the_first_that_is_not_null_ends_the_search() -> None:
    """`not_null` tries no later path once one has a value, even an empty text or one that converts to nothing."""
    leaf = not_null(each_text(string)("traits.email", "userId"))
    table = Table({"who": leaf, "at": not_null(first("event", "name"))})

    assert table(Event({"traits": {"email": None}, "userId": "u1", "name": "n"})) == {"who": ["u1"], "at": "n"}
    assert table(Event({"traits": {"email": ""}, "userId": "u1", "event": "", "name": "n"})) == {}
    assert table(Event({"traits": {"email": 42}, "userId": "u1"})) == {}


def test_a_conversion_to_none_tries_the_next_path() -> None:
    """A converter may say that a value counts as missing."""

    @converter
    def even(value: Any) -> int | None:
        return value if value % 2 == 0 else None

    table = Table({"n": default(even("properties.a", "properties.b"), 0)})

    assert table(Event({"properties": {"a": 1, "b": 4}})) == {"n": 4}
    assert table(Event({"properties": {"a": 1}})) == {"n": 0}


@pytest.mark.parametrize(
    "ids", [[{"type": "acme", "id": "7"}], [5, {"type": "b", "id": 1}, {"type": "acme", "id": "7"}]]
)
def test_a_name_in_a_list_selects_the_id_of_that_type(ids: list[Any]) -> None:
    """`context.externalId.acme` finds an external id."""
    assert Table({"id": "context.externalId.acme"})(Event({"context": {"externalId": ids}})) == {"id": "7"}
    assert Table({"id": "context.externalId.nope"})(Event({"context": {"externalId": ids}})) == {}


def test_the_rest_has_the_fields_that_no_row_uses() -> None:
    """A row that uses a part of a field has used the field."""
    table = Table({"city": trait("address.city"), "mail": EMAIL})
    traits = {"address": {"city": "Berlin", "street": "x"}, "email": "m", "plan": "plus"}

    assert table.rest(traits, "traits") == {"plan": "plus"}
    assert table.rest({"traits": traits, "userId": "u1"}) == {"userId": "u1"}


def test_a_table_may_start_inside_an_event() -> None:
    """Its paths have any root, and a refusal names the object."""
    item = Table({"id": required("sku"), "price": number("price")}, of="properties.products")

    assert item({"sku": "s1", "price": "5"}) == {"id": "s1", "price": 5}
    with pytest.raises(MappingError, match=r"needs a value at properties\.products\.sku"):
        item({})


@pytest.mark.parametrize(
    ("value", "iso"),
    [
        ("2020-01-24T11:59:02.403+05:30", "2020-01-24T06:29:02.403Z"),
        ("2022-01-21T14:10:12+0000", "2022-01-21T14:10:12.000Z"),
        ("2022-01-21T14:10:12.007Z", "2022-01-21T14:10:12.007Z"),
        ("2022-W03-5T14:10:12.007Z", "2022-01-21T14:10:12.007Z"),
        ("Thu Mar 24 2016 17:46:45 GMT+0000 (UTC)", "2016-03-24T17:46:45.000Z"),
        (1234567890001, "2009-02-13T23:31:30.001Z"),
        (datetime(2026, 1, 31, tzinfo=UTC), "2026-01-31T00:00:00.000Z"),
        ("The Mar 24", None),
        (True, None),
        (1e300, None),
        (None, None),
    ],
)
def test_times_are_read_in_the_forms_of_events(value: Any, iso: str | None) -> None:
    """ISO 8601, the output of JavaScript, milliseconds; everything else is not a time."""
    found = moment(value)

    assert (iso_ms.of(found) if found else None) == iso


def test_times_become_seconds_milliseconds_or_microseconds() -> None:
    """All are whole numbers, rounded down."""
    event = Event({"timestamp": "2009-02-13T23:31:30.0019Z"})
    table = Table({"s": epoch_s("timestamp"), "ms": epoch_ms("timestamp"), "us": epoch_us("timestamp")})

    assert table(event) == {"s": 1234567890, "ms": 1234567890001, "us": 1234567890001900}


@pytest.mark.parametrize(("value", "found"), [(True, True), ("FALSE", False), ("true", True)])
def test_a_boolean_may_be_a_text(value: Any, found: bool) -> None:
    """Clients send both forms."""
    assert boolean.of(value) is found
    with pytest.raises(ValueError, match="expected true or false, got 'yes'"):
        boolean.of("yes")


@pytest.mark.parametrize(("value", "found"), [("a", "a"), (7, "7"), (4.0, "4"), (1.5, "1.5"), (True, "true")])
def test_a_string_may_be_a_number(value: Any, found: str) -> None:
    """Numbers become text as in JavaScript; objects and lists are rejected."""
    assert string.of(value) == found
    for wrong in (list[Any](), dict[str, Any]()):
        with pytest.raises(ValueError, match="expected a string, got"):
            string.of(wrong)


def test_personal_data_is_normalised_before_hashing() -> None:
    """Advertising platforms compare hashes, so case, spaces and punctuation must not matter."""
    table = Table({"em": hash_lower(EMAIL), "ph": hash_phone("properties.phone"), "id": hash_text("userId")})

    built = table(Event({"userId": 7, "properties": {"email": " M@Mail.Example ", "phone": "+49 (151) 1"}}))

    assert built == {"em": sha256("m@mail.example"), "ph": sha256("491511"), "id": sha256("7")}
    assert digits("+49 (151) 1") == "491511"
    assert is_sha256(built["em"])
    assert not is_sha256("m@mail.example")
    assert md5("a") == "0cc175b9c0f1b6a831c399e269772661"


@pytest.mark.parametrize(
    ("conversion", "value", "plain"),
    [
        (hash_trimmed, " Mira ", "Mira"),
        (hash_initial, " Female", "f"),
        (hash_digits, "+49 (0)151", "490151"),
        (hash_phone, "0049-151", "49151"),
    ],
)
def test_each_kind_of_personal_data_has_its_normal_form(conversion: Any, value: str, plain: str) -> None:
    """The hashed text is the one that advertising platforms require."""
    assert conversion.of(value) == sha256(plain)


def test_each_element_of_a_list_is_converted() -> None:
    """A value alone counts as a list of one."""
    table = Table({"n": each(number)("properties.n")})

    assert table(Event({"properties": {"n": ["1", 2]}})) == {"n": [1, 2]}
    assert table(Event({"properties": {"n": "3"}})) == {"n": [3]}


@pytest.mark.parametrize("value", [1768471200, 1768471200123, "2026-01-15T10:00:00Z", 1768471200.9])
def test_seconds_may_be_milliseconds_too(value: Any) -> None:
    """A number of that size cannot be seconds: it would be thousands of years away."""
    assert seconds.of(value) == 1768471200


@pytest.mark.parametrize("conversion", [seconds, time])
def test_a_rejected_time_shows_an_example(conversion: Any) -> None:
    """The refusal has a valid time and the actual value."""
    for value in ("soon", True, {}):
        with pytest.raises(ValueError, match="expected a time such as 2026-01-31T12:00:00Z, got"):
            conversion.of(value)


@pytest.mark.parametrize(
    ("age", "takes"),
    [
        (timedelta(days=7, seconds=1), "timestamp: expected a time within the last 7 days or the next minute"),
        (timedelta(minutes=-1, seconds=-1), "timestamp: expected a time within the last 7 days or the next minute"),
        (timedelta(days=7), ""),
        (timedelta(minutes=-1), ""),
    ],
)
def test_a_time_outside_the_limits_is_rejected(age: timedelta, takes: str) -> None:
    """The limits are given in words and are inclusive."""
    now, said = datetime(2026, 1, 15, tzinfo=UTC), ""
    try:
        check_age(now - age, now, past=timedelta(days=7), future=timedelta(minutes=1))
    except MappingError as error:
        said = str(error)

    assert said.partition(", got")[0] == takes


def test_future_times_are_accepted_by_default() -> None:
    """Unless a destination sets a limit."""
    now = datetime(2026, 1, 15, tzinfo=UTC)

    check_age(now + timedelta(days=9), now, past=timedelta(hours=12))
    with pytest.raises(MappingError, match="the last 12 hours"):
        check_age(now - timedelta(days=9), now, past=timedelta(hours=12))
    with pytest.raises(MappingError, match=r"the last 0:00:01\.500000"):
        check_age(now - timedelta(days=9), now, past=timedelta(seconds=1.5))


@pytest.mark.parametrize("name", [None, "", "  ", 7, {}])
def test_an_event_needs_a_name(name: Any) -> None:
    """A missing, blank or non-text name is rejected, and the field is named."""
    with pytest.raises(MappingError, match="event") as caught:
        event_name(Event({"type": "track", "event": name}))
    with pytest.raises(MappingError, match="needs the name of the event at name"):
        require_name(None, "name")

    assert caught.value.field == "event"
    assert event_name(Event({"event": " Order Completed"})) == " Order Completed"


@pytest.mark.parametrize(
    ("traits", "name"),
    [
        ({"name": "Mira Berg", "firstName": "M"}, "Mira Berg"),
        ({"first_name": "Mira", "lastname": "Berg"}, "Mira Berg"),
        ({"lastName": "Berg"}, "Berg"),
        ({}, ""),
    ],
)
def test_a_full_name_is_built_from_its_parts(traits: dict[str, str], name: str) -> None:
    """The full name takes precedence, in any spelling, also in `context.traits`."""
    assert full_name(Event({"traits": traits})) == full_name(Event({"context": {"traits": traits}})) == name


def test_a_warehouse_row_is_identified_by_its_external_id() -> None:
    """Type, field and ID of the first external ID, if reverse ETL says that the traits are mapped."""
    listed = [{"type": "Salesforce-Lead", "identifierType": "Email", "id": "a@b.example"}, {"type": "x", "id": 1}, None]
    event = Event({"context": {"mappedToDestination": True, "externalId": listed}})
    plain = Event({"context": {"externalId": listed}})

    assert warehouse_row(event) == ExternalId("salesforce", "Lead", "Email", "a@b.example")
    assert warehouse_id(event) == {"Email": "a@b.example"}
    assert external_ids(plain) == [warehouse_row(event), ExternalId("x", id=1), ExternalId()]
    assert (warehouse_row(plain), warehouse_id(plain, "id")) == (ExternalId(), {})
    assert external_ids(Event({"context": {"externalId": "x"}})) == []


def test_a_row_without_a_field_uses_the_default_one() -> None:
    """Some destinations identify people by one field, which a row need not name."""
    event = Event({"context": {"mappedToDestination": True, "externalId": [{"type": "ACME-users", "id": "u1"}]}})

    assert (warehouse_id(event), warehouse_id(event, "id")) == ({}, {"id": "u1"})


@pytest.mark.parametrize(("entry", "ids"), [({"id": None}, {"id": None}), ({}, {}), (7, {})])
def test_a_row_may_have_no_id(entry: Any, ids: dict[str, Any]) -> None:
    """An ID may be null; a row without an ID, or one that is not an object, gives nothing."""
    event = Event({"context": {"mappedToDestination": True, "externalId": [entry]}})

    assert warehouse_id(event, "id") == ids


def test_operating_systems_and_url_parts() -> None:
    """Apple's systems count as one; a part of a URL is escaped; half of a character has no bytes."""
    assert [platform(name) for name in ("tvOS", "watchos", "Android", "", None, 7)] == ["ios", "ios", "android"] + [
        ""
    ] * 3
    assert in_url("a/b?") == "a%2Fb%3F"
    with pytest.raises(UnicodeEncodeError):
        in_url("a/b?\ud800")


@pytest.mark.parametrize(
    ("user_agent", "model", "vendor"),
    [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5", "iPhone", "Apple"),
        ("Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8 Build/UD1A)", "Pixel 8", ""),
        ("Dalvik/2.1.0 (Linux; U; Android 9; AOSP on IA Emulator Build/PSR1)", "Android 9", "Generic"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", "Mac", ""),
        ("Mozilla/5.0 (Windows NT 10.0)", "", ""),
    ],
)
def test_a_user_agent_tells_the_device(user_agent: str, model: str, vendor: str) -> None:
    """Phones name their model; of computers only a Mac does."""
    assert (agent(user_agent).device_model, agent(user_agent).device_vendor) == (model, vendor)


def test_products_and_shop_event_names() -> None:
    """Any value in `products` gives objects; names are compared without case and spaces."""
    event = Event({"event": " Product  List Viewed", "properties": {"products": [{"sku": "a"}, {}, 5, None]}})

    assert products(event) == [{"sku": "a"}]
    assert products(Event({"properties": {"products": {"sku": "b"}}})) == [{"sku": "b"}]
    assert products(Event({})) == []
    assert event_key(event) == "product_list_viewed"
    assert event_key(Event({"event": 7})) == ""


WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "browser", "os"),
    [
        (f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {WEBKIT} Chrome/126.0 Safari/537.36", "Chrome", "Mac OS X"),
        (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/126.0 Safari/537.36 Edg/126.0", "Edge", "Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile/1 Safari/604.1",
            "Mobile Safari",
            "iOS",
        ),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "Firefox", "Linux"),
        ("Dalvik/2.1.0 (Linux; U; Android 14; Pixel 8)", "", "Android"),
        ("something", "", ""),
        (None, "", ""),
    ],
)
def test_a_user_agent_tells_browser_and_system(user_agent: Any, browser: str, os: str) -> None:
    """Browsers that also name others are recognized; unknown parts are empty."""
    found = agent(user_agent)

    assert (found.browser, found.os) == (browser, os)


def test_a_template_uses_the_first_object_with_a_value() -> None:
    """Missing values are empty, non-text values become JSON text."""
    properties = {"n": 2, "name": "other"}
    event = {"name": "Basket", "properties": properties}

    assert fill_from("{{name}}: {{ n }} {{ properties.n }}{{gone}}", event, properties) == "Basket: 2 2"


@pytest.mark.parametrize(
    ("written", "value", "left"),
    [
        ('{{ event.a.b || "x" }}', "found", {"a": {"c": 1}}),
        ("{{a.b||x}}", "found", {"a": {"c": 1}}),
        ('{{ a.c || "x" }}', "1", {"a": {"b": "found"}}),
        ('{{ a.gone || "x" }}', "x", {"a": {"b": "found", "c": 1}}),
        ('{{ a-b || "x" }}', "x", {"a": {"b": "found", "c": 1}}),
        ("{{ a.b }}", "{{ a.b }}", {"a": {"b": "found", "c": 1}}),
        ("see {{ a.b || x }}", "see {{ a.b || x }}", {"a": {"b": "found", "c": 1}}),
    ],
)
def test_a_dynamic_value_is_removed_from_the_event(written: str, value: str, left: dict[str, Any]) -> None:
    """Only a whole value with a default counts; the caller's event is not changed."""
    event = {"a": {"b": "found", "c": 1}}

    assert dynamic.resolve({"rows": [{"to": written}]}, event) == ({"rows": [{"to": value}]}, left)
    assert dynamic.is_dynamic({"rows": [{"to": written}]}) == ("||" in written and not written.startswith("see"))
    assert event == {"a": {"b": "found", "c": 1}}
