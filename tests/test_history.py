"""Histories add up, forget values, count nothing twice, and say what changed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.history import History, collect
from svctoolkit.history.sketches import buckets, distinct, distinct_count, quantile
from svctoolkit.profile import profile, read_history
from svctoolkit.replay import replay
from tests.examples import up_to

MONDAY = date(2026, 1, 5)
Event = dict[str, Any]


def event(day: date, number: int, app: str = "2.3.0", channel: str = "web", **properties: object) -> Event:
    return {
        "type": "track", "event": "Order Completed", "messageId": f"{day}-{channel}-{app}-{number}",
        "timestamp": f"{day}T10:00:00Z", "channel": channel, "userId": f"u{number}",
        "context": {"app": {"version": app}}, "properties": properties or {"product_id": f"p{number}", "total": 20.5},
    }  # fmt: skip


def weeks(count: int, weekday: int = 60, weekend: int = 20) -> Iterator[Event]:
    for number in range(7 * count):
        day = MONDAY + timedelta(days=number)
        for n in range(weekend if day.weekday() >= 5 else weekday):
            yield event(day, n, channel=("web", "mobile")[n % 2])


@pytest.fixture(scope="module")
def month() -> History:
    return collect(weeks(4))


def lines(history: History, against: History) -> list[str]:
    return [str(change) for change in history.changes(against)]


values = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["", "a", "1.5"])
events = st.lists(
    st.builds(
        lambda day, name, properties: {"type": "track", "event": name, "timestamp": day, "properties": properties},
        st.sampled_from(["2026-01-05", "2026-01-06"]),
        st.sampled_from(["A", "B"]),
        st.dictionaries(st.sampled_from("xyz"), values | st.lists(st.dictionaries(st.just("i"), values), max_size=3)),
    ),
    min_size=1,
    max_size=8,
)


def contents(history: History) -> dict[object, object]:
    return {cell.key: cell for cell in history.cells()}


@given(events, events)
@settings(max_examples=up_to(50), deadline=None)
def test_two_histories_merged_are_the_history_of_both(one: list[Event], other: list[Event]) -> None:
    """Counts and sketches, whatever the values."""
    one[0]["messageId"], other[0]["messageId"] = "first", "second"  # two inputs
    merged = collect(one).merge(collect(other))

    assert contents(merged) == contents(collect([*one, *other]))


@given(st.sets(st.text(max_size=8), max_size=3000))
@settings(max_examples=20, deadline=None)
def test_distinct_values_are_estimated(texts: set[str]) -> None:
    assert abs(distinct_count(distinct(texts)) - len(texts)) <= max(2, 0.3 * len(texts))


def test_sequential_ids_are_distinct_values() -> None:
    for prefix in ("", "user-", "00000000-0000-"):
        estimate = distinct_count(distinct(f"{prefix}{number}" for number in range(50_000)))
        assert 40_000 < estimate < 60_000


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=50), st.sampled_from([0.05, 0.5, 0.95]))
@settings(max_examples=up_to(50), deadline=None)
def test_a_quantile_is_within_a_few_percent(numbers: list[float], share: float) -> None:
    exact = sorted(numbers)[int(share * (len(numbers) - 1))]

    assert quantile(buckets(dict.fromkeys(numbers, 1) | {n: numbers.count(n) for n in numbers}), share) == (
        pytest.approx(exact, rel=0.03)
    )


def test_a_weekend_is_not_news(month: History) -> None:
    """The next week has a quiet weekend as all before, and nothing has changed."""
    assert lines(collect(e for e in weeks(5) if e["timestamp"] >= "2026-02-02"), month) == []


def test_half_of_the_events_is_news(month: History) -> None:
    day = MONDAY + timedelta(days=28)
    now = collect(event(day, number, channel=("web", "mobile")[number % 2]) for number in range(28))

    assert lines(now, month) == ["halved  Order Completed  60 events expected -> 28"]


def week_without(*gaps: tuple[int, str], days: int = 7) -> History:
    """Return the week after the month, without the events of these days; with a name, those of the name."""
    wanted = [e for e in weeks(6) if "2026-02-02" <= e["timestamp"] < str(MONDAY + timedelta(days=28 + days))]
    removed = {(str(MONDAY + timedelta(days=28 + day)), name) for day, name in gaps}
    return collect(e for e in wanted if not {(e["timestamp"][:10], e["event"]), (e["timestamp"][:10], "")} & removed)


def test_a_missing_day_is_news(month: History) -> None:
    """The sum of the week hides it. The first and the last day may not be complete."""
    assert lines(week_without((2, "")), month) == ["vanished  all events  60 events expected -> 0 (on 2026-02-04)"]
    two_days = ["vanished  all events  120 events expected -> 0 (on 2 days from 2026-02-04 to 2026-02-05)"]
    assert lines(week_without((2, ""), (3, "")), month)[:1] == two_days
    assert lines(week_without((0, ""), (6, "")), month) == []


def test_a_day_without_the_events_of_a_name_is_news() -> None:
    def both(history: list[Event]) -> list[Event]:
        others = [{**e, "event": "Search", "messageId": f"s{e['messageId']}"} for e in history]
        return [*history, *others]

    everything = both(list(weeks(5)))
    before = collect(e for e in everything if e["timestamp"] < "2026-02-02")
    after = [e for e in everything if e["timestamp"] >= "2026-02-02"]
    missing = [e for e in after if (e["event"], e["timestamp"][:10]) != ("Search", "2026-02-04")]
    fewer = [
        e for n, e in enumerate(after) if n % 4 == 0 or (e["event"], e["timestamp"][:10]) != ("Search", "2026-02-04")
    ]

    assert lines(collect(missing), before) == ["vanished  Search  60 events expected -> 0 (on 2026-02-04)"]
    assert lines(collect(fewer), before) == ["halved  Search  60 events expected -> 15 (on 2026-02-04)"]


def mixed(day: date, number: int, names: str = "ABC") -> list[Event]:
    return [
        {**event(day, n, channel=("web", "mobile")[n % 2]), "event": name, "messageId": f"{day}-{name}-{n}"}
        for name in names
        for n in range(number)
    ]


def noisy(count: int, names: str = "ABC") -> list[Event]:
    """Days of 16 to 24 events of each name: the spread of the same weekday in three weeks is small or large by luck."""
    sizes = [16, 24, 20, 22, 18, 24, 16, 20, 17, 23, 21]
    days = [MONDAY + timedelta(days=number) for number in range(count)]
    return [
        e
        for number, day in enumerate(days)
        for place, name in enumerate(names)
        for e in mixed(day, sizes[(number + 4 * place) % len(sizes)], name)
    ]


def test_what_happens_to_all_channels_is_not_said_of_one() -> None:
    """Of a channel with few events, chance could explain that there are none."""
    before = [*weeks(3), *weeks(3, weekday=8, weekend=8)]
    before = collect([{**e, "messageId": f"{n}"} for n, e in enumerate(before)])
    other = [{**event(MONDAY + timedelta(days=21), n), "event": "Search"} for n in range(20)]

    assert [line for line in lines(collect(other), before) if "Order" in line] == [
        "vanished  Order Completed  68 events expected -> 0"
    ]


def test_events_that_are_fewer_together_are_news() -> None:
    """The number of each name alone may be chance."""
    before, day = collect(noisy(21)), MONDAY + timedelta(days=21)

    assert lines(collect(mixed(day, 20)), before) == []
    assert lines(collect(mixed(day, 9)), before) == ["halved  all events  54 events expected -> 27"]
    with_new = collect([*mixed(day, 9), *mixed(day, 9, "D")])
    assert "halved  all other events  54 events expected -> 27" in lines(with_new, before)


def test_the_spread_of_a_day_is_that_of_all_weekdays() -> None:
    """Three Mondays that are alike by luck do not make a fourth one news; three that are not do not hide an outage."""
    alike = collect(
        [e for e in noisy(21, "A") if e["timestamp"][:10] not in ("2026-01-05", "2026-01-12", "2026-01-19")]
    )
    mondays = [e for week in range(3) for e in mixed(MONDAY + timedelta(days=7 * week), 20, "A")]
    differ = [e for week, size in enumerate((12, 20, 28)) for e in mixed(MONDAY + timedelta(days=7 * week), size, "A")]
    next_monday = MONDAY + timedelta(days=21)

    assert lines(collect(mixed(next_monday, 29, "A")), alike.merge(collect(mondays))) == []
    assert lines(collect(mixed(next_monday, 2, "A")), alike.merge(collect(differ))) != []


def test_a_type_that_was_rare_and_is_usual_now_is_news(month: History) -> None:
    """A few dirty values in the past do not hide that all values are dirty today."""
    dirty = month.merge(collect([event(MONDAY, 999, total="n/a")]))
    now = [event(MONDAY + timedelta(days=28), n, product_id=f"p{n}", total="20 EUR") for n in range(60)]

    assert any(
        line.startswith("changed type  Order Completed: properties.total  number 99.9% or text 0.1% -> text")
        for line in lines(collect(now), dirty)
    )


def test_a_median_of_few_numbers_moves_beyond_chance(month: History) -> None:
    """Amounts in cents, on a day with 26 orders; 12 numbers of many sizes say nothing."""
    day = MONDAY + timedelta(days=28)
    cents = [event(day, n, product_id=f"p{n}", total=2050) for n in range(26)]
    assert any("properties.total  median 20.6 -> 2" in line for line in lines(collect(cents), month))

    wide = collect([event(MONDAY, n, total=2.0**n) for n in range(30)])
    some = collect([event(day, n, total=2.0 ** (2 * n + 8)) for n in range(8)] + [event(day, 9, total="")] * 20)
    assert [line for line in lines(some, wide) if "median" in line] == []


def test_late_events_and_wrong_clocks_are_not_days_to_compare(month: History) -> None:
    """Some events of a day are of the days before, of 1970 or of 2099."""
    days = [MONDAY + timedelta(days=number) for number in range(22, 29)]
    today = [event(days[-1], n, channel=("web", "mobile")[n % 2]) for n in range(60)]
    late = [event(day, n + 500) for day in days[:-1] for n in range(2)]
    wrong = [event(date(1970, 1, 1), 1), event(date(2099, 1, 1), 1)]

    assert lines(collect([*today, *late]), month) == []
    assert lines(collect([*today, *wrong]), month) == []
    assert lines(collect(today), month.merge(collect(wrong))) == []
    assert lines(collect([]), month) == []
    half = [event(MONDAY + timedelta(days=n), i) for n in range(22, 28) for i in range(10)]
    month = collect([*(e for e in weeks(3)), *half, *wrong])
    assert "halved" in " ".join(map(str, month.changes()))


def test_a_wrong_clock_that_has_more_events_than_any_day_is_left_out(month: History) -> None:
    """Of a history of more than a year, its day has few of all events, and many times those of a usual day."""
    first = date(2026, 3, 2)
    days = [first + timedelta(days=number) for number in range(420)]
    year = collect([event(day, number) for number, day in enumerate(days + [date(2028, 1, 1)] * 22)])

    assert not any("2028" in line for line in lines(year, month))


def test_a_channel_whose_versions_have_few_events_is_compared(month: History) -> None:
    """The other channel has the field: its events are spread over versions, each with too few to be compared."""
    day = MONDAY + timedelta(days=28)
    now = [event(day, n, f"2.{n % 3}.0", channel="mobile") for n in range(30)]
    now += [event(day, n, "2.4.0", productId=f"p{n}") for n in range(30)]

    assert lines(collect(now), month)[0].endswith("product_id  100.0% -> 0.0% of events (since app 2.4.0, web only)")


def test_a_field_vanishes_since_a_version_on_the_web(month: History) -> None:
    """The change names its version and channel, although most events of the day are as before."""
    day = MONDAY + timedelta(days=28)
    now = [event(day, number, channel="mobile") for number in range(30)]
    now += [event(day, number, "2.4.0", productId=f"p{number}", total="20 EUR") for number in range(30)]

    assert lines(collect(now), month) == [
        "vanished  Order Completed: properties.product_id  100.0% -> 0.0% of events (since app 2.4.0, web only)",
        "changed type  Order Completed: properties.total  number -> text (since app 2.4.0, web only)",
        "appeared  Order Completed: properties.productId  0.0% -> 100.0% of events (since app 2.4.0, web only)",
    ]


def test_the_page_of_a_history_can_be_a_file(month: History, tmp_path: Path) -> None:
    """Like the pages of other results: missing folders are created."""
    page = month.to_html(tmp_path / "pages" / "month.html")

    assert "Order Completed" in page
    assert (tmp_path / "pages" / "month.html").read_text("utf-8") == page
    with pytest.raises(ConfigError, match="cannot be written"):
        month.to_html(tmp_path)


def test_the_last_week_is_compared_with_the_days_before() -> None:
    history = collect([*weeks(3), *(event(MONDAY + timedelta(days=20), n, total=99) for n in range(60))])

    assert "doubled" not in str(history.only(channel="mobile"))
    assert any(
        line.startswith("    moved  Order Completed: properties.product_id") for line in str(history).split("\n")
    )


def test_a_run_waits_for_another_one_that_writes_the_history(tmp_path: Path) -> None:
    """DuckDB opens a file for one process at a time."""
    file, ready = tmp_path / "history.duckdb", tmp_path / "ready"
    code = (
        f"import duckdb, pathlib, time; database = duckdb.connect({str(file)!r}); "
        f"pathlib.Path({str(ready)!r}).touch(); time.sleep(2); database.close()"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as other:
        while not ready.exists() and other.poll() is None:
            time.sleep(0.01)
        collect([event(MONDAY, 1)]).write(file)

    assert History.load(file).events == 1


def test_a_file_is_counted_once(tmp_path: Path) -> None:
    """Replayed twice, and again when it has grown; another file adds to it. Outcomes are counted by destination."""
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    database, file, other = tmp_path / "history.duckdb", tmp_path / "a.ndjson", tmp_path / "b.ndjson"
    stored = [json.dumps(event(MONDAY, number)) for number in range(30)]
    other.write_text(json.dumps(event(MONDAY, 99)))
    for count, total in ((10, 10), (10, 10), (30, 30)):
        file.write_text("\n".join(stored[:count]))
        replay(file, workspace, rows=False, history=database)
        assert History.load(database).events == total
    replay(other, workspace, rows=False, history=database)
    profile(other, history=database)  # has no outcomes, and keeps those that are known

    history = History.load(database)
    assert history.events == 31
    assert history.outcomes()[["destination", "status", "events"]].values.tolist() == [["hook", "delivered", 31]]
    assert contents(history) == contents(read_history([file, other]).merge(history))


def test_events_that_stay_text_are_counted_like_decoded_ones(tmp_path: Path) -> None:
    """Code in a sandbox gets the text of an event. Rows of a replay need all events decoded."""
    workspace = Workspace("shop")
    workspace.transformation("same", language="javascript", code="export function transformEvent(e) { return e }")
    for key, url in (("hook", "https://hook.example/"), ("other", "https://other.example/")):
        workspace.destination(key, "WEBHOOK", config={"webhookUrl": url}, transformation="same")
    odd: list[Event] = [
        {"type": "page", "name": "Home", "sentAt": "2026-01-05T10:00:00Z", "context": {"channel": "server"}},
        {"type": "identify", "receivedAt": "2026-01-06T10:00:00+05:00", "context": {"library": {"name": "web"}}},
        {"type": "track", "event": "A", "context": {"library": {"name": "web", "version": "1.2"}, "app": "x"}},
        {"type": "track", "event": "A", "context": [1], "channel": 7, "properties": {"big": 12345678901234567890}},
        {"type": " Track ", "event": "A", "properties": {"a": {"b": [{"c": None}]}}},
    ]
    file = tmp_path / "events.ndjson"
    file.write_text("\n".join(map(json.dumps, [*weeks(1), *odd])))
    for rows in (False, True):
        replay(file, workspace, rows=rows, history=tmp_path / f"{rows}.duckdb", progress=False)

    text, decoded = (History.load(tmp_path / f"{rows}.duckdb") for rows in (False, True))
    assert contents(text) == contents(decoded)
    assert text.outcomes().values.tolist() == decoded.outcomes().values.tolist()


def test_two_workers_count_like_one(tmp_path: Path) -> None:
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    events = [*weeks(1)] * 8  # two chunks
    for workers in (1, 2):
        replay(events, workspace, rows=False, workers=workers, history=tmp_path / f"{workers}.duckdb")

    one, two = (contents(History.load(tmp_path / f"{workers}.duckdb")) for workers in (1, 2))
    assert one == two


def test_no_value_is_stored(tmp_path: Path) -> None:
    database = tmp_path / "history.duckdb"
    secret = event(MONDAY, 1, email="ada@shop.example", note="ssn 078-05-1120", card=4111111111111111)
    collect([{**secret, "event": "Mail to bob@shop.example"}]).write(database)

    data = database.read_bytes() + repr(History.load(database).parts).encode()
    assert b"Mail to" in data
    assert [text for text in (b"ada@", b"bob@", b"078-05", b"4111111") if text in data] == []


def test_files_that_are_not_histories(tmp_path: Path) -> None:
    (tmp_path / "broken.duckdb").write_text("text")
    for name in ("missing.duckdb", "broken.duckdb"):
        with pytest.raises(ConfigError, match=name):
            read_history(tmp_path / name)
    with pytest.raises(ConfigError, match="a history counts all events"):
        replay([event(MONDAY, 1)], Workspace("shop"), sample=0.5, history=tmp_path / "history.duckdb")


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, database = tmp_path / "a.ndjson", str(tmp_path / "history.duckdb")
    file.write_text("\n".join(json.dumps(each) for each in weeks(2)))
    assert main(["profile", str(file), "--history", database]) == 0
    file.write_text("\n".join(json.dumps(event(MONDAY + timedelta(days=14), n, total="9 EUR")) for n in range(60)))
    assert main(["profile", str(file), "--against", database]) == 0
    assert "changed type  Order Completed: properties.total  number -> text" in capsys.readouterr().out

    assert main(["trend", database, "--event", "Order Completed"]) == 0
    shown = capsys.readouterr().out
    assert "680 events, 1 name, 2026-01-05 to 2026-01-18" in shown
    assert "properties.product_id" in shown
    assert main(["trend", database, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["names"]["Order Completed"]["2026-01-10"] == 20
    assert main(["trend", database, "--format", "html"]) == 0
    assert "<h1" in capsys.readouterr().out
    capsys.readouterr()
    for option, name, said in (
        ("--event", "Nothing", "unknown event 'Nothing'.\n"),
        ("--event", "Order Complted", "unknown event 'Order Complted'. Did you mean 'Order Completed'?"),
        ("--channel", "wb", "unknown channel 'wb'. Did you mean 'web'?"),
        ("--app", "1.0.1", "unknown app version '1.0.1'"),
        ("--destination", "ga4", "unknown destination 'ga4'.\n"),
    ):
        assert main(["trend", database, option, name]) == 5
        assert said in capsys.readouterr().err
