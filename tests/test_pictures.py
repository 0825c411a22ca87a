"""Pictures: alternative text, the numbers as a table, escaping, limits, contrast, labels that do not overlap."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from svctoolkit import Pipeline, Workspace, display
from svctoolkit.errors import ConfigError, InvalidWorkspace
from svctoolkit.pictures import (
    Attempt,
    Bin,
    Cell,
    Days,
    End,
    HeatMap,
    Histogram,
    Key,
    Sankey,
    Span,
    Spans,
    TimeLine,
    Values,
    Wire,
    Wires,
    bins,
    day_of,
    svg_file,
)
from svctoolkit.pictures._canvas import fit, ticks, width_of
from svctoolkit.plans import cover, of_service
from svctoolkit.plans.pictures import coverage_map
from svctoolkit.replay import compare, replay
from svctoolkit.replay.results.pictures import change_of_values
from svctoolkit.replay.tally.tally import Group, Sum
from svctoolkit.results.lineage.pictures import flow
from svctoolkit.widgets import CompareExplorer, DestinationExplorer, ReplayExplorer
from tests import pictures
from tests.examples import some_by_default
from tests.notebooks.controls import shown

HOSTILE = "</svg><script>alert(1)</script>\x07\u202e'\""


def texts(html: str) -> list[tuple[str, float, float, float]]:
    """The texts of a picture: words, left, right, baseline."""
    found = []
    for of in drawing(html).iter("text"):
        words = "".join(part for node in of.iter() if node.tag != "title" for part in own_text(node))
        x, wide = float(of.attrib["x"]), width_of(words)
        left = x - {"start": 0.0, "middle": wide / 2, "end": wide}[of.attrib.get("text-anchor", "start")]
        found.append((words, left, left + wide, float(of.attrib["y"])))
    return found


def own_text(node: ET.Element) -> Iterator[str]:
    yield node.text or ""
    yield from (child.tail or "" for child in node)


def drawing(html: str) -> ET.Element:
    """The SVG, which is well-formed XML."""
    return ET.fromstring(html[html.index('<svg class="picture') : html.rindex("</svg>") + 6])


def days(groups: int, releases: dict[str, str] | None = None) -> Days:
    counts = {
        f"group {n} {HOSTILE}": {f"2026-05-{day:02}": n + day for day in range(1, 21)} for n in range(1, groups + 1)
    }
    return Days("Failures by day", counts, releases or {})


def sankey(names: int) -> Sankey:
    flows = {}
    for n in range(names):
        for at in ("ga4", "hook"):
            flows[("web", f"Event {n} {HOSTILE}", "delivered", at), "ok"] = 10_000 - n
            flows[("ios", f"Event {n} {HOSTILE}", "failed: dest_transform", at), "bad"] = 1
    keys = [Key("delivered", "ok"), Key("failed", "bad"), Key("dropped", "warn")]
    return Sankey("Where events end", ("source", "event", "stage", "destination"), flows, keys)


RELEASES = {"app 4.1.0": "2026-05-02", "app 4.2.0": "2026-05-17", "app 4.2.1": "2026-05-17", "app 5": "2026-05-18"}


def wires(rows: int) -> Wires:
    left = [
        End(
            f"properties.{n}.{HOSTILE}", "lost at dest_transform" if n % 7 == 3 else "", "bad" if n % 7 == 3 else "info"
        )
        for n in range(rows)
    ]
    right = [End(f"body.JSON.{n}", "" if n % 3 else "constant") for n in range(rows)]
    return Wires("Lineage at ga4", ("event", "payload"), left, right, [Wire(n, n) for n in range(rows) if n % 3])


def time_line() -> TimeLine:
    rows = [(f"crm {n} {HOSTILE}", [Attempt(10.0**k, 5, "503", "bad") for k in range(7)]) for n in range(40)]
    return TimeLine("Attempts", rows, [(rows[0][0], 4e6)])


def spans() -> Spans:
    rows = [Span(f"crm {n} {HOSTILE}", stage, 9, 0.1 * n, 30.0 * n, 4000.0) for n in range(20) for stage in "abc"]
    return Spans("Latency by stage", rows)


def heat(rows: int) -> HeatMap:
    names, columns = [f"Event {n} {HOSTILE}" for n in range(rows)], [f"properties {n}" for n in range(9)]
    cells = {
        (name, column): Cell(k % (n % 7 + 1), n % 7) for n, name in enumerate(names) for k, column in enumerate(columns)
    }
    return HeatMap("Coverage of the tracking plan", names, columns, cells)


PICTURES = {
    "heat map": heat(12).html(),
    "many rows": heat(300).html(),
    "time line": time_line().html(),
    "spans": spans().html(),
    "wires": wires(30).html(),
    "many wires": wires(5000).html(),
    "histogram": Histogram("x", [Bin(10.0**n, 10.0 ** (n + 1), n * 900, 9000 - n) for n in range(-5, 12)]).html(),
    "many bins": Histogram("x", [Bin(n, n + 1, n % 9, 4) for n in range(-20, 20)]).html(),
    "values": Values("x", {HOSTILE: 9, "eur": 3, "": 1}, {f"value {n}": n * 1000 for n in range(50)}).html(),
    "days": days(12, RELEASES).html(),
    "sankey": sankey(3).html(),
    "many names": sankey(5000).html(),
}


PLOTS = {
    "days": days(12, RELEASES),
    "no days": Days("t", {}),
    "sankey": sankey(30),
    "histogram": Histogram("x", [Bin(n, n + 1, n, 9 - n) for n in range(9)]),
    "values": Values("x", {"eur": 3}, {"$x^{": 4}),
    "heat map": heat(5),
    "spans": spans(),
    "no spans": Spans("x", []),
}


@pytest.fixture
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """matplotlib without a window."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    yield plt
    plt.close("all")


@pytest.mark.parametrize("name", some_by_default(PLOTS, 2))
def test_a_picture_is_also_matplotlib_axes(name: str, pyplot: Any) -> None:
    """New ones, or those of the caller; they can be drawn."""
    plt = pyplot
    ax = PLOTS[name].plot()
    given = plt.figure().add_subplot()

    assert PLOTS[name].plot(given) is given
    ax.figure.canvas.draw()


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    with pytest.raises(ConfigError, match=r"pip install 'svctoolkit\[plot\]'"):
        days(2).plot()


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_an_alternative_text_and_its_numbers(name: str) -> None:
    """Without a script, and with everything escaped."""
    html = PICTURES[name]
    svg = drawing(html)

    assert svg.attrib["role"] == "img"
    assert svg.attrib["aria-label"] == (svg.findtext("title") or "")
    assert "The numbers as a table" in html
    assert "<table" in html
    assert "<script" not in html
    assert not re.search(r"\x07|\u202e", html)
    assert not re.search(r"[^\"'<>]\bon\w+=", html)


@pytest.mark.parametrize("name", PICTURES)
def test_the_labels_of_a_picture_do_not_overlap(name: str) -> None:
    """Nor do they leave it."""
    svg, found = drawing(PICTURES[name]), texts(PICTURES[name])
    _, _, width, height = map(float, svg.attrib["viewBox"].split())

    assert [words for words, left, right, y in found if left < 0 or right > width or y > height or y < 9] == []
    assert [
        (one[0], other[0])
        for one, other in combinations(found, 2)
        if min(one[2], other[2]) - max(one[1], other[1]) > 1 and abs(one[3] - other[3]) < 12
    ] == []


def test_a_picture_is_bounded() -> None:
    """The names after the largest are counted together."""
    html = PICTURES["many names"]

    assert len(html) < 120_000
    assert len(PICTURES["many wires"]) < 120_000
    assert "4,960 more in event" in PICTURES["many wires"]
    assert "4,991 others" in html
    assert "6 others" in PICTURES["days"]
    assert sum(sankey(5000).merged().values()) == sum(sankey(5000).flows.values())


def test_releases_are_marked() -> None:
    """Also in the alternative text; two on one day have one mark."""
    label = drawing(PICTURES["days"]).attrib["aria-label"]

    assert "releases: app 4.1.0 on 2026-05-02, app 4.2.0, app 4.2.1 on 2026-05-17, app 5 on 2026-05-18" in label
    assert "4,080 events by day from 2026-05-01 to 2026-05-20, at most 318, on 2026-05-20" in label


def test_nothing_to_draw_is_no_picture() -> None:
    """Neither without counts, nor without days, nor for a single day."""
    assert Sankey("t", ("a", "b"), {}).html() == ""
    assert Days("t", {"a": {"2026-13-45": 3}}).html() == ""
    assert Days("t", {"a": {"2026-05-01": 3}}).html() == ""


@pytest.mark.parametrize(
    ("last", "unit"), [("2026-03-03", "day"), ("2026-03-04", "week"), ("2030-01-01", "four weeks")]
)
def test_long_times_have_longer_periods(last: str, unit: str) -> None:
    first, end = day_of("2026-01-01"), day_of(last)
    assert first
    assert end
    periods = bins(first, end)

    assert periods.unit == unit
    assert len(periods.starts) <= 62
    assert periods.index(end) == len(periods.starts) - 1


def test_texts_fit() -> None:
    """Wide characters count as wide."""
    assert fit("Order", 100) == "Order"
    assert fit("Order Completed", 60).endswith("…")
    assert width_of(fit("日本語のイベント", 60)) <= 60
    assert ticks(3) == [0, 1, 2, 3]
    assert ticks(940)[-1] >= 940


def luminance(color: str) -> float:
    parts = [int(color[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def mixed(color: str, other: str, share: float) -> str:
    pairs = [(int(color[n : n + 2], 16), int(other[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


# Background and text of the built-in themes, and of JupyterLab's.
@pytest.mark.parametrize(("back", "text"), [("#ffffff", "#1f2328"), ("#15181c", "#e6e8eb"), ("#111111", "#e0e0e0")])
def test_the_colors_of_shapes_have_contrast(back: str, text: str) -> None:
    """At least 3 to 1, as WCAG requires of shapes, with the colors of this project and of JupyterLab."""
    tones = re.findall(r"\.picture \.c\d\{--t:(#\w{6})\}", display.PICTURE_STYLE)
    share = int(re.findall(r"fill:color-mix\(in srgb,var\(--t\) (\d+)%", display.PICTURE_STYLE)[0]) / 100
    tones += ["#4caf50", "#ff9800", "#f44336"]  # JupyterLab's success, warning and error
    assert len(tones) == 11
    for tone in tones:
        bright, dark = sorted((luminance(mixed(tone, text, share)), luminance(back)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 3, tone


def boom(event: dict[str, Any]) -> dict[str, Any] | None:
    """Fail without a price, and drop tests."""
    if event["properties"].get("test"):
        return None
    event["properties"]["total"] *= 2
    return event


def fixed(event: dict[str, Any]) -> dict[str, Any] | None:
    event["properties"]["total"] = event["properties"].get("total", 0) * 3
    return None if event["properties"].get("test") else event


def shop(code: Any) -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("clean", code)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://a.example/"}, transformation="clean")
    workspace.destination("other", "WEBHOOK", config={"webhookUrl": "https://b.example/"})
    workspace.source("web", destinations=["hook", "other"])
    return workspace


def orders() -> list[dict[str, Any]]:
    """From version 2.0.0 on, half of them have no total."""
    return [
        {
            "type": "track", "event": f"Order {n % 3}", "messageId": f"m{n}", "anonymousId": "a",
            "timestamp": f"2026-05-{1 + n // 10:02}T10:00:00Z",
            "context": {"app": {"version": "2.0.0" if n >= 60 else "1.0.0"}},
            "properties": {"test": n % 10 == 9} | ({} if n >= 60 and n % 2 else {"total": n}),
        }
        for n in range(100)
    ]  # fmt: skip


def test_a_replay_shows_where_its_events_end() -> None:
    """The flows are those of the rows; failures by day have the app versions as releases."""
    result = replay(orders(), shop(boom))
    frame = result.frame()
    failed = frame[frame.status == "failed"]

    assert sum(of.events for of in result.tally.flows) == 200
    assert {of.source for of in result.tally.flows} == {"web"}
    by_name = {of.event: of.events for of in result.tally.flows if of.fate == "failed"}
    assert by_name == failed.groupby("event_name").size().to_dict()
    assert result.flows().groupby("fate").events.sum().to_dict() == {"delivered": 174, "dropped": 10, "failed": 16}
    assert result.to_dict()["releases"] == {"1.0.0": "2026-05-01", "2.0.0": "2026-05-07"}
    for html in (result.to_html(), result._repr_mimebundle_()["text/html"]):
        assert "Where events end: 200 events by source, event, stage, destination; 174 delivered, 16 failed" in html
        assert "releases: app 2.0.0 on 2026-05-07" in html


def test_results_have_plots(pyplot: Any) -> None:
    """Of a replay, a comparison, a field that changed, and a plan."""
    result, compared = replay(orders(), shop(boom)), compare(orders(), shop(valued), shop(revalued))
    ids = Group("hook", "changed", "body.JSON.id", "text", "text", count=9)

    assert result.plot().get_title() == "Failures by day"
    assert len(result.plot("fates").patches) > 10
    assert len(result.plot(releases={"deployed": "2026-05-03"}).lines) == 1
    assert compared.plot().get_title() == "Differences by day"
    assert compared.plot(compared.groups[0]).get_title() == f"hook: {compared.groups[0].path}"
    with pytest.raises(ConfigError, match=r"body\.JSON\.id have no distribution"):
        compared.plot(ids)


def test_given_releases_are_marked_instead_of_app_versions(pyplot: Any) -> None:
    """In displays and plots: those of the replay, or else those of the workspace; of a comparison, the later one."""
    workspace, renamed = shop(boom), shop(fixed)
    workspace.releases = {"2.4.0": "2026-05-08"}
    renamed.releases = {"3.0": "2026-05-09"}
    given = replay(orders(), workspace, releases={"hotfix": "2026-05-09"})
    compared = compare(orders(), workspace, renamed)

    assert "releases: 2.4.0 on 2026-05-08" in drawn(replay(orders(), workspace).to_html(), "Failures by day")
    assert "releases: hotfix on 2026-05-09" in drawn(given.to_html(), "Failures by day")
    assert "app 2.0.0" not in given.to_html()
    assert [line.get_xdata()[0].day for line in given.plot().lines] == [9]
    assert (given.releases, compared.releases) == ({"hotfix": "2026-05-09"}, {"3.0": "2026-05-09"})
    assert "releases: 3.0 on 2026-05-09" in drawn(compared._repr_mimebundle_()["text/html"], "Differences by day")


def drawn(html: str, title: str) -> str:
    """The alternative text of a picture."""
    (text,) = re.findall(rf'aria-label="({title}: [^"]*)"', html)
    return str(text)


@pytest.mark.parametrize("day", ["2026-02-30", "17 May", "20260517", ""])
def test_a_release_on_a_day_that_does_not_exist_is_an_error(day: str) -> None:
    """Of a replay, a plot, and a workspace file, there with its place."""
    with pytest.raises(ConfigError, match=rf"release 2\.4\.0: '{day}' is not a day such as 2026-05-17"):
        replay(orders(), shop(boom), releases={"2.4.0": day})
    with pytest.raises(ConfigError, match="is not a day"):
        replay(orders(), shop(boom)).plot(releases={"2.4.0": day})
    with pytest.raises(InvalidWorkspace, match=r"2:10: release 2\.4\.0: "):
        Workspace.loads(f"releases:\n  2.4.0: '{day}'\n")


def test_releases_of_a_workspace_are_saved() -> None:
    text = Workspace("shop", releases={"2.4.0": "2026-05-17"}).dumps()

    assert Workspace.loads(text).releases == {"2.4.0": "2026-05-17"}


def test_a_comparison_shows_how_fates_change(pyplot: Any) -> None:
    """From the fate before to the fate after; what is the same is only counted. Also as a frame and as axes."""
    result = compare(orders(), shop(boom), shop(fixed))
    flows, kinds = result.flows(), {kind: n for kind, n in result.kinds.items() if n}
    html = result.to_html()

    assert flows.groupby("kind").events.sum().to_dict() == kinds
    assert flows[flows.kind == "no longer failing"][
        ["before", "before_stage", "after"]
    ].drop_duplicates().values.tolist() == [["failed", "user_transform", "delivered"]]
    assert "What changes: 89 events by event, destination, before, after; 16 newly delivered, or no longer " in html
    assert "73 changed" in drawn(html, "What changes")
    assert "111 with the same output are not drawn" in html
    assert "delivered, changed" in html
    assert len(result.plot("fates").patches) > 3
    assert "What changes" not in compare(orders(), shop(fixed), shop(fixed)).to_html()


def test_two_existing_outputs_have_the_same_picture() -> None:
    """Their stages are not known."""
    before, after = replay(orders(), shop(boom)), replay(orders(), shop(fixed))

    assert "failed" in set(compare(before, after, releases={"2.4.0": "2026-05-08"}).flows().before)


def test_parts_of_a_comparison_add_up_to_the_same_picture() -> None:
    whole = compare(orders(), shop(boom), shop(fixed)).tally
    total = Sum()
    for part in (orders()[:50], orders()[50:]):
        total.add(compare(part, shop(boom), shop(fixed)).tally)

    assert sorted(map(str, total.finish().shifts)) == sorted(map(str, whole.shifts))


def test_parts_of_a_replay_add_up_to_the_same_picture() -> None:
    """With one process and one chunk, or with many parts."""
    whole = replay(orders(), shop(boom)).tally
    total = Sum()
    for part in (orders()[:50], orders()[50:]):
        total.add(replay(part, shop(boom)).tally)
    tally = total.finish()

    assert sorted(map(str, tally.flows)) == sorted(map(str, whole.flows))
    assert tally.releases == whole.releases


def test_a_comparison_shows_differences_by_day() -> None:
    html = compare(orders(), shop(boom), shop(fixed)).to_html()

    assert "Differences by day: " in html
    assert "app 2.0.0" in html


def revalued(event: dict[str, Any]) -> dict[str, Any]:
    """Double the total, and write the currency in capitals."""
    return event | {"properties": {"total": event["properties"].get("total", 1) * 2, "currency": "EUR"}}


def valued(event: dict[str, Any]) -> dict[str, Any]:
    return event | {"properties": {"total": event["properties"].get("total", 1), "currency": "eur"}}


def test_a_changed_field_shows_its_values_before_and_after() -> None:
    """Numbers as a histogram, others as pairs of bars; the counts are those of the events."""
    result = compare(orders(), shop(valued), shop(revalued))
    of = {group.path: change_of_values(group) for group in result.groups}
    total, currency = of["body.JSON.properties.total"], of["body.JSON.properties.currency"]

    assert isinstance(total, Histogram)
    assert [sum(x) for x in zip(*((b.before, b.after) for b in total.bins), strict=True)] == [99, 99]
    assert total.bins[-1].low < 2 * 98 < total.bins[-1].high
    assert isinstance(currency, Values)
    assert (currency.before, currency.after) == ({"eur": 100}, {"EUR": 100})
    assert "before 99 events between" in result.to_html()


def test_a_field_without_frequent_values_has_no_picture() -> None:
    """Of ids, it would show nothing."""

    def renamed(event: dict[str, Any]) -> dict[str, Any]:
        return event | {"properties": {"id": f"x{event['messageId']}"}}

    def kept(event: dict[str, Any]) -> dict[str, Any]:
        return event | {"properties": {"id": event["messageId"]}}

    (group,) = compare(orders(), shop(kept), shop(renamed)).groups

    assert change_of_values(group) is None


def test_lineage_is_a_flow_with_losses_in_red() -> None:
    lineage = Pipeline(shop(valued)).lineage("hook", orders()[0] | {"context": {"ip": "1.2.3.4"}})
    picture = flow(lineage)

    assert [end.name for end in picture.left if end.tone == "bad"] == [destiny.path for destiny in lineage.lost]
    assert len(picture.wires) == sum(len({*o.events}) + len({*o.conditions}) for o in lineage.fields)
    assert 'class="lost"' in lineage._repr_mimebundle_()["text/html"]


RULES = {
    "Paid": {"total": {"type": "number"}, "currency": {"type": "string", "enum": ["EUR", "USD"]}},
    "Paid: later": {"days": {"type": "integer"}},
}


def test_the_coverage_of_a_plan_is_a_heat_map(pyplot: Any) -> None:
    """Events down, groups across; also as a frame and as text. An event may be called like part of another item."""
    events = [
        {"name": name, "eventType": "track", "rules": {"properties": {"properties": {"properties": of}}}}
        for name, of in RULES.items()
    ]
    plan = of_service({"id": "tp", "events": events})
    found = cover(plan, [{"type": "track", "event": "Paid", "properties": {"total": 2, "currency": "EUR"}}])
    cells = coverage_map(found.covered, found.missing).cells

    assert cells["Paid", "event"] == (1, 1)
    assert cells["Paid", "properties"] == (2, 2)
    assert cells["Paid", "values"] == (1, 2)
    assert cells["Paid: later", "properties"] == (0, 1)
    assert found.plot().get_title() == "Coverage of the tracking plan"
    assert found.frame().covered.sum() == len(found.covered) == 4
    assert "values: 1 of 2; missing: Paid: currency = USD" in repr(found)
    assert "nothing of Paid: left out" in found._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_the_documentation_has_the_current_pictures(name: str) -> None:
    """Run `python -m tests.pictures` after a change. Each is in the page, and is well-formed."""
    text = (pictures.FOLDER / f"{name}.svg").read_text("utf-8")
    svg = ET.fromstring(text)

    assert text == svg_file(pictures.PICTURES[name]())
    assert svg.attrib["aria-label"]
    assert f"](pictures/{name}.svg)" in (pictures.FOLDER.parent / "pictures.md").read_text("utf-8")


def test_nothing_is_no_file() -> None:
    assert svg_file(Days("t", {}).html()) == ""


def test_explorers_have_the_pictures_of_their_results() -> None:
    """In the widget and in its static view: of all events, of the selected group, and of the event that is shown."""
    events = [event | {"userId": "u", "context": {"ip": "1.2.3.4"}} for event in orders()]
    replayed = ReplayExplorer(events, shop(boom), releases={"2.4.0": "2026-05-08"})
    compared = CompareExplorer(events, shop(valued), shop(revalued))
    tried = DestinationExplorer(shop(valued), "hook", event=events[0])
    for explorer in (replayed, compared, tried):
        explorer.wait()

    for page in (replayed.static(), shown(replayed)):
        assert "Where events end: 200 events by source" in page
        assert "releases: 2.4.0 on 2026-05-08" in page
        assert 'aria-label="Lineage at hook: ' in page
    for page in (compared.static(), shown(compared)):
        assert "What changes: 100 events by event" in page
        assert "Differences by day: " in page
        assert 'aria-label="hook: body.JSON.properties.' in page
    for page in (tried.static(), shown(tried)):
        assert "; lost: properties.test" in page


def test_a_lineage_of_short_names_fits_a_phone() -> None:
    """Its drawing is as wide as its names need."""
    short = Wires("Lineage", ("event", "payload"), [End("event")], [End("body.name")], [Wire(0, 0)]).html()

    assert drawing(short).attrib["viewBox"].startswith("0 0 400 ")
    assert drawing(PICTURES["wires"]).attrib["viewBox"].startswith("0 0 760 ")
    assert 'class="picture narrow"' in short
