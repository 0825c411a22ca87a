"""Tables, their leaves, and the values that destinations expect."""

from __future__ import annotations

import doctest
import json
import math
from importlib import import_module
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit.errors import ConfigError, MappingError
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Table,
    const,
    converter,
    default,
    epoch_ms,
    first,
    flattened,
    json_text,
    number,
    path,
    required,
    text,
    xml_text,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    "module", ["mapping", "mapping.values", "destinations", "destinations.definitions", "destinations._problems"]
)
def test_the_examples_in_docstrings_are_true(module: str) -> None:
    """Who copies an example gets what it shows."""
    result = doctest.testmod(import_module(f"svctoolkit.{module}"))

    assert result.attempted > 0
    assert result.failed == 0


def test_a_table_draws_the_payload() -> None:
    """A string leaf is a path, a dict is an object of the payload."""
    table = Table({"id": "userId", "device": {"os": "context.os.name"}, "source": const("web")})

    built = table(Event({"userId": "u1", "context": {"os": {"name": "iOS"}}}))

    assert built == {"id": "u1", "device": {"os": "iOS"}, "source": "web"}


def test_what_is_missing_or_null_is_left_out_and_everything_else_stays() -> None:
    """0, False, empty texts and empty objects of the event are values; an object that the table draws may vanish."""
    table = Table({"a": "properties.a", "b": "properties.b", "drawn": {"x": "properties.x"}, "own": "traits"})

    assert table(Event({"properties": {"a": 0, "b": False}, "traits": {}})) == {"a": 0, "b": False, "own": {}}
    assert table(Event({"properties": {"a": None, "b": ""}})) == {"b": ""}
    assert table(Event({})) == {}


def test_the_first_value_counts_and_a_default_stands_in() -> None:
    """`first` skips what is missing; `default` also stands behind `first`."""
    table = Table({"id": default(first("userId", "anonymousId"), "nobody")})

    assert table(Event({"userId": None, "anonymousId": "a1"})) == {"id": "a1"}
    assert table(Event({})) == {"id": "nobody"}


def test_a_required_value_that_is_missing_names_all_its_paths() -> None:
    """The refusal says where a value was looked for, and `field` has it too."""
    with pytest.raises(MappingError, match="needs a value at userId or anonymousId") as caught:
        Table({"id": required(first("userId", "anonymousId"))})(Event({}))

    assert caught.value.field == "userId or anonymousId"


def test_a_value_that_does_not_fit_is_named() -> None:
    """A converter's refusal stands behind the path of the value."""
    with pytest.raises(MappingError, match=r"properties\.revenue: expected a number, got 'much'") as caught:
        Table({"revenue": number("properties.revenue")})(Event({"properties": {"revenue": "much"}}))

    assert caught.value.field == "properties.revenue"


def test_a_misspelt_root_fails_when_the_table_is_built() -> None:
    """A path that no event can have is found at import, with the nearest root."""
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
def test_a_path_finds_members_and_elements(dotted: str, found: Any) -> None:
    """A number takes an element of a list; whatever is not there is None, never an error."""
    assert path(dotted)({"a": {"b": [{"c": 1}, 5]}}) == found


@pytest.mark.parametrize("value", [None, 5, "text", [], [None], {"b": 3}])
def test_a_path_through_the_wrong_kind_of_value_is_none(value: Any) -> None:
    """An event that is odd inside does not break a path."""
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
    """A time without zone is UTC; milliseconds are never off by one."""
    assert Table({"t": epoch_ms("timestamp")})(Event({"timestamp": written})) == {"t": milliseconds}


@pytest.mark.parametrize("value", ["yesterday", "", 20200101, True, ["2020-01-01"]])
def test_what_is_no_time_is_refused(value: Any) -> None:
    """A number is no time: it could be seconds or milliseconds."""
    with pytest.raises(MappingError, match="timestamp: expected a time such as 2026-01-31T12:00:00Z, got"):
        Table({"t": epoch_ms("timestamp")})(Event({"timestamp": value}))


@pytest.mark.parametrize(("value", "found"), [(3, 3), (1.5, 1.5), ("12", 12), (" -1.50 ", -1.5), ("1e3", 1000.0)])
def test_a_number_may_stand_as_text(value: Any, found: float) -> None:
    """A whole number in a text stays whole."""
    got = Table({"n": number("properties.n")})(Event({"properties": {"n": value}}))["n"]

    assert got == found
    assert type(got) is type(found)


@pytest.mark.parametrize("value", [True, "", "1_000", "nan", "inf", "1e999", "0x10", [], {"a": 1}])
def test_what_is_no_number_is_refused(value: Any) -> None:
    """Booleans and what only Python takes for a number are no numbers."""
    with pytest.raises(MappingError, match=r"properties\.n: expected a number"):
        Table({"n": number("properties.n")})(Event({"properties": {"n": value}}))


def test_a_converter_of_ones_own_takes_paths() -> None:
    """`converter` turns a function into a leaf that can be required and takes the first path with a value."""

    @converter
    def upper(value: Any) -> str:
        """Capitals."""
        if not isinstance(value, str):
            raise TypeError("expected a text")
        return value.upper()

    table = Table({"name": required(upper("event", "name"))})

    assert upper.__doc__ == "Capitals."
    assert table(Event({"name": "home"})) == {"name": "HOME"}
    with pytest.raises(MappingError, match="event: expected a text"):
        table(Event({"event": 5}))


def test_json_text_is_that_of_javascript() -> None:
    """No spaces, no escapes for what is no ASCII, whole floats without fraction."""
    assert json_text({"a": [1.0, 1.5, True, None, "ü"], "b": {}}) == '{"a":[1,1.5,true,null,"ü"],"b":{}}'
    assert json_text([math.nan, math.inf, 1e21]) == "[null,null,1e+21]"


@given(JSON)
def test_json_text_loses_nothing(value: Any) -> None:
    """Reading the text gives an equal value."""
    assert json.loads(json_text(value)) == value


def test_text_leaves_texts_alone() -> None:
    """A text is not quoted; everything else is JSON."""
    values: list[Any] = ["a", 1.0, True, None, {"k": []}]

    assert [text(v) for v in values] == ["a", "1", "true", "null", '{"k":[]}']


def test_flattened_keeps_empty_objects_and_lists() -> None:
    """Members are joined with dots, elements have their number."""
    assert flattened({"a": {"b": {"c": 1}}, "l": [1, {"m": 2}, [3]], "e": {}, "n": [], "z": None}) == {
        "a.b.c": 1,
        "l[0]": 1,
        "l[1].m": 2,
        "l[2][0]": 3,
        "e": {},
        "n": [],
        "z": None,
    }
    assert flattened({}) == {}


KEYS = st.sampled_from(["a", "b", "c"])
NESTED = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, NESTED))
def test_flattened_is_flat_and_loses_no_value(value: dict[str, Any]) -> None:
    """Every value of the result is a scalar or empty, and there are as many as there are leaves."""

    def leaves(node: Any) -> int:
        inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        return sum(map(leaves, inner)) if inner else 1

    flat = flattened(value)

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
def test_a_key_that_is_no_xml_name_is_refused(name: str) -> None:
    """A broken document is never made silently."""
    with pytest.raises(ValueError, match="cannot be the name of an XML element"):
        xml_text("root", {name: 1})


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True), st.text(), max_size=4))
def test_xml_text_is_well_formed_or_refused(value: dict[str, str]) -> None:
    """What comes out can be read again, with the same texts."""
    try:
        document = xml_text("root", value)
    except ValueError:
        return

    read = {element.tag: element.text or "" for element in ET.fromstring(document)}
    assert read == {key: item.replace("\r\n", "\n").replace("\r", "\n") for key, item in value.items()}
