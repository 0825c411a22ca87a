"""LiveEvents without a browser: arriving events, filters, fates, details, the plot, and its costs."""

from __future__ import annotations

import gc
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

import svctoolkit.widgets
from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff
from svctoolkit.server.inspect.arrivals import Arrival
from svctoolkit.widgets import LiveEvents
from tests.notebooks.controls import control, grid, html_parts, saved, shown, words
from tests.pace import slowness

NEWEST = "Newest events (UTC); select one for details"


@pytest.fixture
def plane() -> Iterator[DataPlane]:
    """The source `web` sends to `crm` and `mail`, `app` to `ads`; a refused request is retried once."""
    workspace = Workspace("shop")
    for key in ("crm", "mail", "ads"):
        workspace.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example/in"})
    workspace.source("web", destinations=["crm", "mail"])
    workspace.source("app", destinations=["ads"])
    with DataPlane(workspace, listen=False, backoff=Backoff(attempts=2, scale=0)) as made:
        yield made


@pytest.fixture
def live(plane: DataPlane) -> Iterator[LiveEvents]:
    made = LiveEvents(plane)
    yield made
    made.close()


def send(plane: DataPlane, name: str, *, source: str = "web", user: str = "u1") -> None:
    plane.send({"type": "track", "event": name, "userId": user, "properties": {"of": name}}, source=source)


def lines(live: LiveEvents) -> list[str]:
    """The text of the list, with single spaces and without the times and sources."""
    assert live.wait()
    return [" ".join(" ".join(row[2:]).split()) for row in grid(live, NEWEST).page["cells"]]


def text(live: LiveEvents) -> str:
    """Its text, on one line."""
    assert live.wait()
    return words(shown(live))


def pick(live: LiveEvents, place: int) -> None:
    newest = grid(live, NEWEST)
    newest.picked = newest.page["numbers"][place]
    assert live.wait()


def test_an_empty_list_says_so(live: LiveEvents) -> None:
    """Before anything has arrived."""
    assert lines(live) == []
    assert "No events yet." in text(live)
    assert "No event selected." in text(live)


def test_events_appear_with_their_fates(plane: DataPlane, live: LiveEvents) -> None:
    """Newest first, with the fate at each destination; refusals with their reason."""
    plane.script("mail", Answer(400), Answer(200))
    send(plane, "Signed Up")
    send(plane, "App Opened", source="app", user="u2")
    plane.send({"type": "track", "event": "nobody"}, source="web")
    plane.drain()

    assert lines(live) == [
        "✗ refused 400 request neither has anonymousId nor userId",
        "track App Opened u2 ✓ ads",
        "track Signed Up u1 ✓ crm ✗ mail failed",
    ]
    assert "2 received" in text(live)
    assert "1 refused" in text(live)


def test_events_are_counted_by_destination(plane: DataPlane, live: LiveEvents) -> None:
    """A table has the numbers of delivered, failed... events for each destination of the workspace."""
    plane.script("mail", Answer(500), Answer(500), Answer(200))
    send(plane, "A")
    plane.drain()
    send(plane, "B")
    plane.drain()

    assert live.wait()
    assert text(live).count("ads 0 0 crm 2 0 mail 1 1") == 1


@pytest.mark.parametrize(
    ("label", "value", "found"),
    [
        ("Source", "app", ["track Two u2 ✓ ads"]),
        ("Destination", "crm", ["track One u1 ✓ crm ✗ mail failed"]),
        ("Fate", "failed", ["track One u1 ✓ crm ✗ mail failed"]),
        ("Fate", "rejected", ["✗ refused 400 request neither has anonymousId nor userId"]),
        ("Type", "track", ["track Two u2 ✓ ads", "track One u1 ✓ crm ✗ mail failed"]),
        ("Type", "screen", []),
        ("Search", "tw", ["track Two u2 ✓ ads"]),
    ],
)
def test_each_filter_selects_its_events(
    plane: DataPlane, live: LiveEvents, label: str, value: str, found: list[str]
) -> None:
    """Without matches it says so. Removing the filter shows all events again."""
    plane.script("mail", Answer(400))
    send(plane, "One")
    send(plane, "Two", source="app", user="u2")
    plane.send({"type": "track", "event": "nobody"}, source="web")
    plane.drain()
    assert live.wait()

    control(live, label).value = value

    assert lines(live) == found
    assert ("No events match the filters." in text(live)) == (not found)
    control(live, label).value = ""
    assert len(lines(live)) == 3


def test_a_paused_list_stays_unchanged(plane: DataPlane, live: LiveEvents) -> None:
    """The counts continue; afterwards the list catches up."""
    send(plane, "One")
    plane.drain()
    assert lines(live) == ["track One u1 ✓ crm ✓ mail"]

    control(live, "Pause the list").value = True
    send(plane, "Two")
    plane.drain()

    assert lines(live) == ["track One u1 ✓ crm ✓ mail"]
    assert "2 received" in text(live)
    assert "1 since the pause" in text(live)
    control(live, "Pause the list").value = False
    assert lines(live)[0].startswith("track Two")


def test_details_of_an_event(plane: DataPlane, live: LiveEvents) -> None:
    """Its fates with reasons, the event, and each request with its answer."""
    plane.script("mail", Answer(400, body={"error": "no such list"}))
    send(plane, "Signed Up")
    plane.drain()
    assert live.wait()

    pick(live, 0)

    said = text(live)
    assert "mail ✗ failed in send_to_destination 1 the destination answered 400: no such list" in said
    assert 'properties : { 1 key } of : "Signed Up"' in said
    assert "crm, attempt 1 ✓ 200" in said
    assert "POST https://mail.example/in" in said


def test_details_follow_the_fate(plane: DataPlane, live: LiveEvents) -> None:
    """The details of the chosen event change when its fate does."""
    plane.script("mail", Answer(400), Answer(200))
    send(plane, "Signed Up")
    plane.drain()
    assert live.wait()
    pick(live, 0)
    assert "failed in" in text(live)

    plane.replay("mail", status="failed")
    plane.drain()

    assert live.wait()
    assert "failed in" not in text(live)
    assert lines(live) == ["track Signed Up u1 ✓ crm ✓ mail"]


LOSES = """
export function transformEvent(event) {
  event.properties.cents = Number(event.properties.price) * 100;
  return event;
}
"""


def test_delivered_events_that_lost_values_are_marked() -> None:
    """In the list, in its static view, and with the values in the details: by user code, or by a simulated vendor."""
    workspace = Workspace("shop")
    workspace.transformation("cents", code=LOSES, language="javascript")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://a.example/"}, transformation="cents")
    workspace.destination("mp", "MP", config={"token": "t", "strictMode": True}, simulate="simulated")
    workspace.source("web", destinations=["hook", "mp"])
    with DataPlane(workspace, listen=False) as plane:
        for price in ("12", "12,50 €"):
            event = {"type": "track", "event": "Paid", "userId": "u1", "properties": {"price": price}}
            plane.send(event, source="web")
        plane.send({"type": "track", "event": "Left", "userId": "u1", "properties": {"note": "n" * 300}}, source="web")
        plane.drain()
        with_losses = LiveEvents(plane)
        rows, table = lines(with_losses), with_losses.static()
        arrival = next(each for each in plane.newest(10) if each.name == "Paid" and each.lost)
        with_losses.state.pick(arrival.seq)
        details = text(with_losses)
        with_losses.close()
        lossy = {each.name: tuple(each.lost) for each in plane.newest(10) if each.lost}

    assert lossy == {"Paid": ("hook",), "Left": ("hook", "mp")}
    assert sorted("⚠ lost values" in row for row in rows) == [False, True, True]
    assert "hook: delivered, lost values" in table
    assert "hook: properties.cents: the user code returns NaN, which becomes null" in details


def test_a_batch_names_its_events() -> None:
    """A request of several events lists them in order, at each of them."""
    workspace = Workspace("shop")
    workspace.destination("crm", "MP", config={"token": "t", "apiSecret": "s", "dataResidency": "us"})
    workspace.source("web", destinations=["crm"])
    with DataPlane(workspace, listen=False) as plane:
        live = LiveEvents(plane)
        body = {"type": "track", "event": "E", "userId": "u"}
        plane.send([{**body, "messageId": f"m{number}"} for number in range(3)], source="web")
        plane.drain()
        assert live.wait()
        pick(live, 1)
        said = text(live)
        live.close()

    assert "3 events m0, m1, m2" in said


def test_details_of_a_refusal(plane: DataPlane, live: LiveEvents) -> None:
    """A refused request shows the reason and its content."""
    plane.send({"type": "track", "event": "nobody"}, source="web")
    assert live.wait()

    pick(live, 0)

    assert "Refused with 400: request neither has anonymousId nor userId" in text(live)
    assert '"nobody"' in text(live)


def test_the_chosen_event_stays_in_the_list(plane: DataPlane, live: LiveEvents) -> None:
    """Even when newer events would push it out; the view stays where it is."""
    send(plane, "First")
    plane.drain()
    assert live.wait()
    pick(live, 0)
    for _ in range(6):
        plane.send([{"type": "track", "event": f"E{i}", "userId": "u"} for i in range(100)], source="app")
    plane.drain()
    assert live.wait()
    newest = grid(live, NEWEST)
    newest.window = [470, 540]

    assert newest.counts["all"] == 501
    assert lines(live)[-1].startswith("track First")
    assert (newest.picked, newest.counts["place"]) == (newest.page["numbers"][-1], 500)
    send(plane, "Another")
    plane.drain()
    assert lines(live)[-1].startswith("track First")
    assert (newest.window, newest.counts["keep"]) == ([470, 540], True)
    assert '"First"' in text(live)


def test_secrets_stay_masked(plane: DataPlane) -> None:
    """No secret of a destination is shown, or saved with the notebook."""
    headers = [{"from": "X-Key", "to": "s3cr3t-k3y"}]
    plane.workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example/", "headers": headers})
    plane.workspace.source("leaky", destinations=["hook"])
    live = LiveEvents(plane)
    plane.send({"type": "track", "event": "with s3cr3t-k3y", "userId": "u"}, source="leaky")
    plane.drain()
    assert live.wait()
    pick(live, 0)

    kept = saved(live)
    live.close()

    assert "hook, attempt 1" in words(kept)
    assert "with ••••" in kept
    assert "s3cr3t" not in kept


def test_markup_in_an_event_is_escaped(plane: DataPlane, live: LiveEvents) -> None:
    """HTML in names and values is shown as text."""
    plane.send({"type": "track", "event": "<img src=x onerror=alert(1)>", "userId": "<b>u</b>"}, source="web")
    plane.drain()
    assert live.wait()
    pick(live, 0)

    assert "<img" not in shown(live) + live.static()
    assert "&lt;img" in shown(live)


def test_the_plot_has_a_step_per_second() -> None:
    """It covers the last minute, describes itself in words, and moves on with time."""
    now = [1000.5]
    with DataPlane(_quiet(), listen=False) as plane:
        live = LiveEvents(plane, clock=lambda: now[0])
        plane.send([{"type": "track", "event": "E", "userId": "u"}] * 7, source="web")
        plane.drain()
        now[0] = 1001.5
        send(plane, "later")
        plane.drain()
        now[0] = 1002.0
        live.state.choose("text", "")
        assert live.wait()

        values = shown(live)
        live.close()

    assert 'aria-label="Events per second over the last 60 seconds: now 1, maximum 7, total 8"' in values
    assert "V0.0H59V17.1H60V20Z" in values


def _quiet() -> Workspace:
    workspace = Workspace("quiet")
    workspace.source("web", destinations=[])
    return workspace


@pytest.mark.slow
def test_a_flood_costs_little(plane: DataPlane) -> None:
    """At over 1,000 events a second of a quiet core it repaints at most 5 times a second, and keeps its selection."""
    others = {id(one) for one in _arrivals()}  # garbage of other tests in this process
    live = LiveEvents(plane)
    assert live.wait()
    counts = next(part for part in html_parts(live) if "received" in part.value)
    repaints: list[object] = []
    counts.observe(repaints.append, "value")

    pace, started, worked = slowness(), time.monotonic(), time.process_time()
    _flood(plane, batches=60)
    seconds, work = time.monotonic() - started, time.process_time() - worked
    assert live.wait()
    shown = [one for one in _arrivals() if id(one) not in others]
    live.close()

    assert 6000 / work > 1000 / pace
    assert 2 <= len(repaints) <= 5 * seconds + 2
    assert len(shown) <= 2 * 500  # of 6,000: those shown, and those of the paint before it


def _arrivals() -> list[Arrival]:
    gc.collect()
    return [thing for thing in gc.get_objects() if type(thing) is Arrival]


@pytest.mark.slow
def test_memory_use_is_constant(plane: DataPlane) -> None:
    """The size of the widgets does not grow with the number of events."""
    live = LiveEvents(plane)
    tracemalloc.start()
    kept = []
    for _ in range(3):
        _flood(plane, batches=5)
        assert live.wait()
        gc.collect()
        kept.append(_held())
    tracemalloc.stop()
    live.close()

    assert kept[-1] < kept[0] + 50_000


def _flood(plane: DataPlane, *, batches: int) -> None:
    for batch in range(batches):
        events = [
            {"type": "track", "event": f"E{i}", "userId": f"u{i}", "properties": {"x": "y" * 300}} for i in range(100)
        ]
        plane.send(events, source="web" if batch % 2 else "app")
    plane.drain()


def _held() -> int:
    """The bytes that the widgets' code has allocated and not released."""
    ours = tracemalloc.Filter(True, f"{Path(svctoolkit.widgets.__file__).parent}/*")
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([ours]).traces)


def test_new_destinations_and_sources_can_be_filtered(plane: DataPlane, live: LiveEvents) -> None:
    """New entries of the workspace appear in the filters, and the selection stays."""
    assert live.wait()
    control(live, "Source").value = "web"
    plane.workspace.source("shop", destinations=["crm"])
    send(plane, "One")
    plane.drain()
    assert live.wait()

    assert [key for _, key in control(live, "Source").options] == ["", "app", "shop", "web"]
    assert control(live, "Source").value == "web"


@pytest.mark.parametrize("store", [None, "store"])
def test_a_stopped_data_plane_can_still_be_inspected(plane: DataPlane, tmp_path: Path, store: str | None) -> None:
    """It says that the data plane has stopped, and shows what was received."""
    with DataPlane(plane.workspace, listen=False, store=tmp_path / store if store else None) as stopping:
        live = LiveEvents(stopping)
        send(stopping, "One")
        send(stopping, "Two")
        stopping.drain()

    control(live, "Search").value = "one"
    assert lines(live) == ["track One u1 ✓ crm ✓ mail"]
    pick(live, 0)
    said = text(live)
    live.close()

    assert "The data plane has stopped." in said
    assert "crm, attempt 1 ✓ 200" in said


def test_a_data_plane_that_stopped_earlier_can_be_shown(plane: DataPlane) -> None:
    """It has no events."""
    plane.stop()
    live = LiveEvents(plane)
    said = text(live)
    live.close()

    assert "The data plane has stopped." in said


def test_other_displays_of_live_events(plane: DataPlane, live: LiveEvents) -> None:
    """A saved notebook shows the counts and a table of events, a terminal a line; never JSON."""
    send(plane, "Signed Up")
    plane.drain()

    bundle = live._repr_mimebundle_()

    assert set(bundle) == {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "Signed Up u1 ✓ crm: delivered ✓ mail: delivered" in words(bundle["text/html"])
    assert bundle["text/plain"] == "<LiveEvents: 1 received, 0 refused>"


def test_closing_stops_everything(plane: DataPlane) -> None:
    """A closed explorer has no threads and does not listen any more."""
    before = set(threading.enumerate())
    live = LiveEvents(plane)
    send(plane, "One")
    plane.drain()
    assert live.wait()
    live.close()
    send(plane, "Two")
    plane.drain()

    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert {name for name in left if "painter" in name or "Timer" in name} == set()
    assert live.state.sight.totals.received == 1
