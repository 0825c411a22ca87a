"""Odd values in properties have documented outcomes; none loses the event or raises."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import itertools
import json
import os
import pathlib
import time
import types
import uuid
from collections.abc import Mapping

import attr
import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit.sdk.base.settings import new_id
from svctoolkit.sdk.base.values import event_json

from .gateway import Gateway


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Money:
    amount: decimal.Decimal
    currency: str


@attr.define
class Point:
    x: int
    color: Color


class Place(msgspec.Struct):
    city: str
    at: dt.datetime | None = None


UTC = dt.UTC
CASES = [
    (dt.datetime(2026, 1, 2, 3, 4, 5, 678_900, UTC), "2026-01-02T03:04:05.678Z"),
    (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2026-01-02T01:04:05.000Z"),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (dt.time(3, 4), "03:04:00"),
    (dt.timedelta(minutes=1.5), 90.0),
    (decimal.Decimal("19.99"), 19.99),
    (decimal.Decimal("NaN"), "NaN"),
    (decimal.Decimal("sNaN"), "NaN"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Color.RED, "red"),
    (Level.HIGH, 3),
    (Money(decimal.Decimal("1.5"), "EUR"), {"amount": 1.5, "currency": "EUR"}),
    (np.int64(5), 5),
    (np.float64(1.5), 1.5),
    (np.float32("nan"), "NaN"),
    (np.bool_(True), True),
    (np.str_("x"), "x"),
    (np.datetime64("2026-01-02T03:04:05.123456789"), "2026-01-02T03:04:05.123Z"),
    (np.datetime64("NaT", "s"), None),
    (np.timedelta64(1500, "ms"), 1.5),
    (pd.Timestamp("2026-01-02T03:04:05.5Z"), "2026-01-02T03:04:05.500Z"),
    (pd.NaT, None),
    (pd.NA, None),
    (pd.Timedelta("1min"), 60.0),
    (pd.Period("2026-01"), "2026-01"),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (float("-inf"), "-Infinity"),
    ("a\ud800b", "a\ufffdb"),
    ("😀", "😀"),
    ((1, 2), [1, 2]),
    ({5}, [5]),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (10**30, 10**30),
    (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
    (np.array(["2026-01-02"], "datetime64[D]"), ["2026-01-02T00:00:00.000Z"]),
    (np.array([np.bool_(False)]), [False]),
    (pd.Series([1, 2], index=["a", "b"]), [1, 2]),
    (pd.Index(["a"]), ["a"]),
    (pd.array([1, None]), [1, None]),
    (collections.deque([1, "a"]), [1, "a"]),
    (range(3), [0, 1, 2]),
    ({"a": 1}.keys(), ["a"]),
    (pathlib.PurePosixPath("/tmp/x"), "/tmp/x"),
    (Point(1, Color.RED), {"x": 1, "color": "red"}),
    (Place("Paris"), {"city": "Paris", "at": None}),
]


@pytest.mark.parametrize(("value", "outcome"), CASES, ids=lambda v: type(v).__name__)
def test_a_convertible_value_arrives(make, gateway: Gateway, value: object, outcome: object):
    """Each kind of value arrives as documented, alone and inside lists and objects."""
    client = make()
    client.track("one", {"value": value, "list": [value], "object": {"deep": value}})
    assert client.flush()

    assert gateway.events[0]["properties"] == {"value": outcome, "list": [outcome], "object": {"deep": outcome}}
    assert client.stats().refused_fields == 0


def test_pydantic_models_are_objects():
    """Their fields are converted like all other values."""
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Price", amount=(decimal.Decimal, ...), file=(pathlib.PurePosixPath, "/x"))
    text = event_json({"price": model(amount="2.5")}, "properties", pytest.fail)

    assert json.loads(text) == {"price": {"amount": 2.5, "file": "/x"}}


def test_numpy_booleans_are_booleans():
    """numpy's True is JSON's true, alone and as an element."""
    assert event_json([np.bool_(True), np.array([True])], "properties", pytest.fail) == "[true,[true]]"


def test_generators_are_read_once_up_to_a_limit(make, gateway: Gateway):
    """A generator arrives as an array; an endless one is left out, and the log names its field."""
    client = make()
    client.track("one", {"squares": (n * n for n in range(3)), "endless": itertools.count()})
    assert client.flush()

    assert gateway.events[0]["properties"] == {"squares": [0, 1, 4]}
    assert "properties.endless: more than 10000 elements" in client.stats().last_error


def test_an_omitted_field_is_logged_once(make, caplog: pytest.LogCaptureFixture):
    """At the default log level, and not again for each event."""
    client = make()
    for _ in range(3):
        client.track("one", {"user": {"avatar": b"..."}})

    (record,) = caplog.records
    assert "properties.user.avatar: a value of type bytes cannot be sent" in record.getMessage()


def test_a_naive_datetime_is_local_time(monkeypatch: pytest.MonkeyPatch):
    """Without a zone, a datetime is in the machine's local time."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        text = event_json({"at": dt.datetime(2026, 1, 2, 3, 4, 5)}, "properties", pytest.fail)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert json.loads(text) == {"at": "2026-01-02T08:04:05.000Z"}


@pytest.mark.parametrize(
    "value",
    [object(), b"bytes", lambda: 1, pd.DataFrame(), 1j, dict, pytest, 10**5000],
    ids=lambda v: type(v).__name__,
)
def test_an_unsupported_value_is_reported_with_its_field(make, gateway: Gateway, value: object):
    """The event arrives without the field; `on_error` and the counters name it; nothing raises."""
    errors = []
    client = make(on_error=errors.append)
    client.track("one", {"good": 1, "user": {"avatar": value}, "list": [1, value]})
    assert client.flush()

    assert gateway.events[0]["properties"] == {"good": 1, "user": {}, "list": [1, None]}
    assert [error.field for error in errors] == ["properties.user.avatar", "properties.list[1]"]
    assert "a value of type " in str(errors[0])
    assert f"{type(value).__name__} cannot be sent" in str(errors[0])
    assert client.stats().refused_fields == 2


def test_a_cycle_is_cut(make, gateway: Gateway):
    """A value that contains itself is left out where the cycle closes; a repeated value is not a cycle."""
    client = make()
    cycle: dict = {"n": 1, "twice": [[], []]}
    cycle["self"] = cycle
    shared = [1]
    client.track("one", {"cycle": cycle, "a": shared, "b": shared})
    assert client.flush()

    assert gateway.events[0]["properties"] == {"cycle": {"n": 1, "twice": [[], []]}, "a": [1], "b": [1]}


def test_very_deep_values_are_cut(make, gateway: Gateway):
    """A value nested thousands of levels deep neither raises nor blocks."""
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    client = make()
    client.track("deep", {"deep": deep, "good": 1})
    assert client.flush()

    assert gateway.events[0]["properties"]["good"] == 1


def test_keys_become_text(make, gateway: Gateway):
    """Numbers, booleans, None, UUIDs and enums become their text; another key is omitted with its value."""
    client = make()
    client.track("one", {2: "a", None: "b", True: "c", uuid.UUID(int=1): "d", Color.RED: "e", (1, 2): "f", 1.5: "g"})
    assert client.flush()

    assert gateway.events[0]["properties"] == {
        "2": "a", "null": "b", "true": "c", "1.5": "g", "red": "e", "00000000-0000-0000-0000-000000000001": "d",
    }  # fmt: skip
    assert client.stats().refused_fields == 1


def test_lone_surrogates_in_names_are_replaced(make, gateway: Gateway):
    """In an event name or an ID, invalid Unicode becomes U+FFFD."""
    client = make()
    client.identify("u\ud800")
    client.track("n\udfff")
    assert client.flush()

    assert (gateway.events[1]["event"], gateway.events[1]["userId"]) == ("n\ufffd", "u\ufffd")


class _FailingModel:
    def model_dump(self) -> None:
        raise RuntimeError("host bug")


class _FailingIterable:
    def __iter__(self):
        raise RuntimeError("host bug")


class _FailingMapping(Mapping):
    def __getitem__(self, key: object) -> object:
        raise KeyError(key)

    def __iter__(self):
        raise RuntimeError("host bug")

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("kind", [_FailingModel, _FailingIterable, _FailingMapping])
def test_an_unreadable_field_is_omitted(make, gateway: Gateway, kind: type):
    """The event is sent without it, and the warning names the field and the exception."""
    errors: list[Exception] = []
    client = make(on_error=errors.append)
    client.track("e", {"good": 1, "bad": kind(), "list": [kind(), 2]})
    assert client.flush()

    assert gateway.events[0]["properties"] == {"good": 1, "list": [None, 2]}
    assert [str(error).partition(": ")[0] for error in errors] == ["properties.bad", "properties.list[0]"]
    assert all("failed with RuntimeError" in str(error) for error in errors)
    assert (client.stats().dropped, client.stats().refused_fields) == ({}, 2)


@pytest.mark.parametrize("call", ["track", "identify", "group", "page"])
def test_unreadable_properties_are_omitted_together(make, gateway: Gateway, call: str):
    """If they cannot be listed, the event is sent without properties."""
    client = make()
    getattr(client, call)("e", _FailingMapping())
    assert client.flush()

    assert [event["type"] for event in gateway.events] == [call]
    assert gateway.events[0].get("properties", {}) == {}
    assert client.stats().refused_fields == 1


def test_unmergeable_properties_drop_the_event_and_are_reported(make, gateway: Gateway):
    """Registered properties need the call's own to be readable; the drop is counted and does not raise."""
    client = make()
    client.register({"a": 1})
    assert client.track("bad", _FailingMapping()) == ""
    client.track("good")
    assert client.flush()

    assert gateway.names == ["good"]
    assert client.stats().dropped == {"unreadable": 1}


_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), st.binary(max_size=3),
    st.decimals(), st.dates(), st.datetimes(), st.times(), st.timedeltas(), st.uuids(), st.complex_numbers(),
)  # fmt: skip
_KEYS = st.one_of(st.text(st.characters()), st.integers(), st.none(), st.booleans(), st.floats(), st.binary(max_size=2))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)


@given(_VALUES)
def test_any_value_becomes_valid_json(value: object):
    """Any value gives JSON text in valid UTF-8, and every omitted field is reported."""
    refused = []
    text = event_json({"value": value}, "properties", refused.append)

    json.loads(text.encode(), parse_constant=lambda name: pytest.fail(name))
    assert all(error.field.startswith("properties") for error in refused)


def test_the_local_time_zone_is_in_the_context():
    """The zone in `context.timezone` is a name such as Europe/Berlin, from TZ if it is set."""
    from svctoolkit.sdk.events.context import _timezone

    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    try:
        assert _timezone() == "Europe/Berlin"
    finally:
        os.environ.pop("TZ") if before is None else os.environ.update(TZ=before)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_ids_are_different_in_forked_children():
    """IDs are drawn in blocks; a child does not continue with those of its parent."""
    new_id()
    reader, writer = os.pipe()
    for _ in range(2):
        if os.fork() == 0:
            os.write(writer, "".join(f"{new_id()}\n" for _ in range(50)).encode())
            os._exit(0)
        os.wait()
    os.close(writer)
    with open(reader) as lines:
        ids = [*lines.read().split(), *(new_id() for _ in range(100))]

    assert len(set(ids)) == 200
    assert all(uuid.UUID(id).version == 4 and uuid.UUID(id).variant == uuid.RFC_4122 for id in ids)
