"""Profiles show what events look like before anything runs, and what destinations need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import svctoolkit.accessor
from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.pipeline.leaves import leaves
from svctoolkit.profile import Profile, profile
from svctoolkit.results.lineage import dotted_path

assert svctoolkit.accessor


PRODUCTS = [{"name": "n", "product_id": "p", "price": 2}]


def order(number: int, **properties: Any) -> dict[str, Any]:
    return {
        "type": "track",
        "event": "Order Completed",
        "anonymousId": "a1",
        "userId": "u1",
        "originalTimestamp": f"2026-01-{1 + number:02d}T10:00:00Z",
        "properties": {"order_id": f"o{number}", "revenue": 1, "products": PRODUCTS, **properties},
    }


#: currency is missing in two of ten, the total is a text in one, `coupon` appears on the eighth
EVENTS = [
    order(
        n,
        total="12 EUR" if n == 3 else 12.5,
        **({} if n < 2 else {"currency": "EUR"}),
        **({"coupon": "X"} if n > 6 else {}),
    )
    for n in range(10)
] + [{"type": "alias", "userId": "u", "previousId": "p", "timestamp": "2026-01-01"}]


@pytest.fixture
def shop() -> Workspace:
    workspace = Workspace("shop")
    workspace.destination("ga", "GA4", config={"apiSecret": "s3", "measurementId": "G-1", "typesOfClient": "gtag"})
    workspace.destination("braze", "BRAZE", config={"restApiKey": "k-1", "dataCenter": "US-01"})
    workspace.destination("off", "GA4", config={"apiSecret": "s3", "measurementId": "G-1"}, enabled=False)
    return workspace


def row(table: pd.DataFrame, field: str) -> Any:
    return table[table.field == field].iloc[0]


def test_fields_have_shares_types_and_a_first_day() -> None:
    """The share of missing values, values of two types, and fields that are new since a date."""
    table = profile(EVENTS, since="2026-01-05").frame()

    currency, total, coupon = (row(table, f"properties.{name}") for name in ("currency", "total", "coupon"))
    assert (currency.events, currency.present, round(currency.missing, 3)) == (10, 8, 0.2)
    assert (total.types, total.mixed) == ("number 9, text 1", True)
    assert (coupon.new_types, str(coupon.first_seen)) == ("text", "2026-01-08 10:00:00+00:00")
    assert row(table, "properties.order_id").new_types == ""
    assert row(table, "properties.products.*.name").present == 10
    assert row(table, "previousId").event_type == "alias"


def test_volumes_are_given_by_name_and_day() -> None:
    """Each day counts its events; the plot and the page have all names."""
    report = profile(EVENTS)

    assert list(report.volumes().events) == [1] * 11
    assert str(report.volumes().day.dtype).startswith("datetime64")
    html = report._repr_mimebundle_()["text/html"]
    assert "2026-01-01 to 2026-01-10, at most 1 a day" in html
    assert "<script" not in report.to_html()


def test_destinations_report_what_they_need(shop: Workspace) -> None:
    """Events refused for a field, filtered by type, and lost fields, with counts, before anything is sent."""
    report = profile(iter(EVENTS), shop)
    needs = {(need.destination, need.what, need.event, need.field): need for need in report.needs}

    assert needs["ga", "refuses", "Order Completed", "properties.total"].events == 1
    currency = "properties.currency or properties.products.currency"
    assert needs["braze", "refuses", "Order Completed", currency].events == 2
    assert needs["ga", "filters", "alias", ""].events == 1
    assert needs["ga", "loses", "Order Completed", "properties.revenue"].events == 10
    assert not any(need.what == "refuses" for need in report.needs if need.destination == "off")
    assert "2 Order Completed: braze (BRAZE) refuses them" in repr(report)
    assert set(report.needs_frame().what) >= {"refuses", "filters"}


def test_the_responsible_setting_is_named(shop: Workspace) -> None:
    """The one that refuses events or loses a field; none if no setting would help."""
    shop.destination("ct", "CLEVERTAP", config={"accountId": "a", "passcode": "s3", "trackAnonymous": False})
    ignored = [{"piiProperty": "email"}]
    quiet = {"apiSecret": "s3", "measurementId": "G-1", "typesOfClient": "gtag", "piiPropertiesToIgnore": ignored}
    shop.destination("quiet", "GA4", config=quiet)
    paid = order(1, total=2, currency="EUR")
    del paid["userId"]
    paid["context"] = {"traits": {"email": "a@shop.example"}}
    report = profile([paid], shop)
    table = report.needs_frame()

    refused = table[(table.destination == "ct") & (table.what == "refuses")].iloc[0]
    assert (refused.stage, refused.decides) == ("dest_transform", "trackAnonymous")
    lost = table[(table.destination == "quiet") & (table.what == "loses")].set_index("field")
    assert lost.decides["context.traits.email"] == "piiPropertiesToIgnore.0.piiProperty"
    assert lost.decides["properties.revenue"] == ""
    for text in (repr(report), report.to_html()):
        assert "trackAnonymous" in text
        assert "context.traits.email (by setting piiPropertiesToIgnore.0.piiProperty)" in text


def test_a_frame_can_be_profiled(shop: Workspace) -> None:
    """Flat columns are events; empty cells are missing values."""
    frame = pd.DataFrame({"type": ["track"] * 2, "event": ["Paid"] * 2, "properties.total": [1.5, None]})

    table = frame.svc.profile(workspace=shop).frame()
    assert row(table, "properties.total").missing == 0.5


def test_all_frames_can_be_written_to_parquet(tmp_path: Path, shop: Workspace) -> None:
    """Including empty ones."""
    for report in (profile(EVENTS, shop, since="2026-01-05"), profile([])):
        for table in (report.frame(), report.volumes(), report.needs_frame()):
            table.to_parquet(tmp_path / "t.parquet")
            assert len(pd.read_parquet(tmp_path / "t.parquet")) == len(table)


def test_the_command_prints_writes_and_rejects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, JSON and a page; invalid events are named, an invalid date is rejected, no events are exit code 4."""
    file, page = tmp_path / "e.ndjson", tmp_path / "p.html"
    file.write_text("\n".join([*map(json.dumps, EVENTS), "{}", "no json", ""]), encoding="utf-8")
    assert main(["profile", str(file), "--since", "2026-01-05", "--html", str(page)]) == 0
    told = capsys.readouterr().out
    assert "properties.total  number (9) or text (1), mixed types" in told.replace("   ", " ").replace("   ", " ")
    assert "2 rejected" in told
    assert "Order Completed" in page.read_text(encoding="utf-8")
    assert main(["profile", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"][0]["fields"]["properties.total"]["mixed"]
    assert main(["profile", str(file), "--since", "soon"]) != 0
    assert "since must be a date such as 2026-01-31" in capsys.readouterr().err
    file.write_text("", encoding="utf-8")
    assert main(["profile", str(file)]) not in (0, 1)
    with pytest.raises(ConfigError):
        profile(EVENTS, since="31.1.2026")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda v: st.lists(v, max_size=2) | st.dictionaries(st.text(max_size=3), v, max_size=2),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=4))
def test_every_leaf_of_every_event_is_counted(all_properties: list[dict[str, Any]]) -> None:
    """For any keys and values: a field outside lists has the number of events that contain it."""
    given_events = [{"type": "track", "event": "e", "properties": properties} for properties in all_properties]
    report: Profile = profile(given_events)
    fields = report.shapes[0].fields if report.shapes else {}

    paths = [{path for path in leaves(event) if not any(isinstance(s, int) for s in path)} for event in given_events]
    for path in set().union(*paths):
        there = sum(path in of for of in paths)
        assert fields[dotted_path(path)].present >= there
    assert all(0 < field.present <= len(given_events) for field in fields.values())
    assert isinstance(report._repr_mimebundle_()["text/html"], str)


DAYS = [f"2026-05-{day:02}" for day in range(1, 29)]


def day_of(day: str, *, currency: str = "", whole: bool = False, names: tuple[str, ...] = ("Order",)) -> list[Any]:
    """40 events of each name: half of the prices 5 and half 10.5, half of the currencies EUR and half NOK."""
    return [
        {
            "type": "track", "event": name, "userId": f"u{n}", "messageId": f"{name}-{day}-{n}",
            "originalTimestamp": f"{day}T10:00:00Z",
            "properties": {
                "currency": currency or ("EUR", "NOK")[n % 2], "price": (5, 10.5)[n % 2],
                "total": n if whole else n + 0.25 * (n % 3),
            },
        }
        for name in names
        for n in range(40)
    ]  # fmt: skip


SERIES = [event for day in DAYS for event in day_of(day)]


@pytest.mark.parametrize(
    ("today", "said"),
    [
        (day_of("2026-05-29"), []),
        (day_of("2026-05-29", currency="EUR"), ["moved Order: properties.currency 2 distinct values -> one value"]),
        (day_of("2026-05-29", whole=True), ["changed type Order: properties.total number -> integer"]),
        (
            day_of("2025-05-29"),
            ["moved all events days 2026-05-01 to 2026-05-28 -> days 2025-05-29"],
        ),
    ],
)
def test_constants_lost_decimals_and_other_years_are_changes(today: list[Any], said: list[str]) -> None:
    """Of a series that is long enough for bands; a median of two values is none."""
    result = profile(today, against=SERIES)

    assert result.basis == "bands from 28 days"
    assert [" ".join(str(change).split()) for change in result.changes or ()] == said


def test_a_recording_is_compared_plainly() -> None:
    """An event that a refactoring has removed; a few events are enough, and times do not matter."""
    before = day_of("2026-05-01", names=("Signed Up", "Order"))
    after = day_of("2026-05-02")
    few = [{"type": "track", "event": name, "userId": "u", "properties": {"a": 1, "b": 1}} for name in ("A", "B")]
    without = [{"type": "track", "event": "A", "userId": "u", "properties": {"b": 1}}]

    for old, new, lines in (
        (before, after, ["vanished Signed Up 40 events -> 0"]),
        (after, before, ["appeared Signed Up no events -> 40 events"]),
        (few, without, ["vanished B 1 event -> 0", "vanished A: properties.a 100.0% -> 0.0% of events"]),
        (few, few, []),
    ):
        result = profile(new, against=old)
        assert result.basis.startswith("plain difference: the baseline has ")
        assert sorted(" ".join(str(change).split()) for change in result.changes or ()) == sorted(lines)


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("profile after.ndjson --against before.ndjson --fail-on vanished>0", 1, "vanished>0: 1 vanished"),
        ("profile after.ndjson --against before.ndjson --fail-on changed-type>0", 0, ""),
        ("profile before.ndjson --against after.ndjson --fail-on vanished", 0, ""),
        ("profile after.ndjson --fail-on vanished>0", 4, "'vanished' needs --against"),
        ("profile after.ndjson --against before.ndjson --fail-on vanishd", 4, "Did you mean 'vanished'?"),
        ("trend series.ndjson --fail-on vanished>0", 1, "vanished>0: 1 vanished"),
        ("trend series.ndjson --fail-on doubled>0", 0, ""),
        ("trend after.ndjson --fail-on vanished", 1, "too few days"),
        ("plan check after.ndjson --plan plan.yaml --fail-on never-sent", 1, "never-sent: 1 never sent"),
        ("plan check after.ndjson --plan plan.yaml --fail-on violations>0", 0, ""),
        ("plan check after.ndjson --plan plan.yaml --fail-on missing", 4, "unknown word 'missing'"),
    ],
)
def test_removed_events_fail_a_check(
    command: str, code: int, said: str, recordings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(recordings)

    assert main(command.split()) == code
    assert said in capsys.readouterr().err


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings, the first with an event more; a series that loses it in the last week; a plan with both."""
    folder = tmp_path_factory.mktemp("recordings")
    both = ("Signed Up", "Order")
    series = [event for n, day in enumerate(DAYS) for event in day_of(day, names=both if n < 20 else both[1:])]
    for name, events in (
        ("before", day_of("2026-05-01", names=both)),
        ("after", day_of("2026-05-02")),
        ("series", series),
    ):
        (folder / f"{name}.ndjson").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    assert main(["plan", "infer", str(folder / "before.ndjson"), "-o", str(folder / "plan.yaml")]) == 0
    return folder
