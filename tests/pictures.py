"""The pictures of the documentation, from fixed data: `python -m tests.pictures` writes them."""

from __future__ import annotations

from pathlib import Path

from svctoolkit.display import Html
from svctoolkit.pictures import (
    Attempt,
    Bin,
    Cell,
    Days,
    End,
    Flow,
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
    svg_file,
)

FOLDER = Path(__file__).parent.parent / "svctoolkit" / "docs" / "pictures"


def _fates() -> Html:
    keys = [Key("delivered", "ok"), Key("failed", "bad"), Key("dropped", "warn")]
    flows = {}
    for source, event, good, failed, dropped in (
        ("web", "Order Completed", 1400, 198, 64),
        ("web", "Product Viewed", 2600, 25, 14),
        ("ios", "Order Completed", 560, 12, 9),
        ("ios", "Signed Up", 830, 30, 0),
    ):
        for destination in ("ga4", "hook"):
            flows[(source, event, "delivered", destination), "ok"] = good
        flows[(source, event, "failed: dest_transform", "ga4"), "bad"] = 2 * failed
        flows[(source, event, "failed: user_transform", "hook"), "bad"] = failed
        flows[(source, event, "dropped: user_transform", "hook"), "warn"] = dropped
    return Sankey("Where events end", ("source", "event", "stage", "destination"), flows, keys).html()


def _shifts() -> Html:
    keys = [Key("newly dropped", "warn"), Key("newly delivered, or no longer failing", "ok"), Key("changed", "info")]
    flows: dict[Flow, int] = {
        (("Order Completed", "hook", "failed: user_transform", "delivered"), "ok"): 198,
        (("Order Completed", "ga4", "failed: dest_transform", "delivered"), "ok"): 96,
        (("Order Completed", "ga4", "delivered", "delivered, changed"), "info"): 410,
        (("Signed Up", "hook", "delivered", "dropped: user_transform"), "warn"): 64,
    }
    note = "An event counts once for each destination. 11,232 with the same output are not drawn."
    return Sankey("What changes", ("event", "destination", "before", "after"), flows, keys, note=note).html()


def _days() -> Html:
    span = [f"2026-05-{day:02}" for day in range(1, 23)]
    groups = {
        "ga4: needs a value at properties.order_id": {day: 80 + 7 * n % 20 for n, day in enumerate(span)},
        "hook: reading 'price'": {day: 34 + 5 * n % 9 for n, day in enumerate(span[16:])},
        "hook: reading 'toFixed'": {day: 28 + 3 * n % 11 for n, day in enumerate(span[16:])},
    }
    return Days("Failures by day", groups, {"app 4.2.0": "2026-05-17"}).html()


def _lineage() -> Html:
    left = [
        End("event", "", "info"),
        End("anonymousId", "", "info"),
        End("context.ip", "lost at dest_transform", "bad"),
        End("properties.total", "", "info"),
        End("properties.coupon", "lost at user_transform", "bad"),
    ]
    right = [
        End("params.api_secret", "setting apiSecret", "warn"),
        End("body.JSON.client_id", "", "info"),
        End("body.JSON.events.0.name", "", "info"),
        End("body.JSON.events.0.params.value", "", "info"),
    ]
    wires = [Wire(0, 2), Wire(1, 1), Wire(3, 3), Wire(0, 3, "dim")]
    return Wires("Lineage at ga4", ("event", "payload"), left, right, wires).html()


def _coverage() -> Html:
    rows = {"Order Completed": (1, 6, 3, 2), "Product Viewed": (1, 4, 0, 1), "Refund Requested": (0, 0, 0, 0)}
    totals = dict(zip(("event", "properties", "values", "left out"), (1, 6, 4, 2), strict=True))
    cells = {
        (row, column): Cell(part, total)
        for row, parts in rows.items()
        for part, (column, total) in zip(parts, totals.items(), strict=True)
    }
    return HeatMap("Coverage of the tracking plan", list(rows), list(totals), cells).html()


def _attempts() -> Html:
    crm = [Attempt(start, 12, "503", "bad") for start in (40, 10_400, 31_000)] + [Attempt(72_000, 18, "200", "ok")]
    rows = [("hook", [Attempt(38, 9, "200", "ok")]), ("crm", crm), ("ga4", [Attempt(41, 7, "500", "bad")])]
    return TimeLine("Attempts", rows, [("ga4", 10_041)]).html()


def _latency() -> Html:
    stages = {
        "until the first request": (4.0, 19, 74),
        "request": (38, 120, 900),
        "pause before a retry": (1e4, 2e4, 3e4),
    }
    spans = [
        Span(name, stage, 2000, *(k * time for time in times))
        for k, name in enumerate(("crm", "ga4", "hook"), 1)
        for stage, times in stages.items()
    ]
    return Spans("Latency by stage", spans).html()


PICTURES = {
    "fates": _fates,
    "shifts": _shifts,
    "days": _days,
    "lineage": _lineage,
    "numbers": lambda: Histogram(
        "ga4: value", [Bin(10.0 * n, 10.0 * n + 10, 400 // (n + 1), 300 // (abs(n - 7) + 1)) for n in range(20)]
    ).html(),
    "values": lambda: Values("ga4: currency", {"eur": 1631, "USD": 879}, {"EUR": 1631, "USD": 879}).html(),
    "coverage": _coverage,
    "attempts": _attempts,
    "latency": _latency,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(svg_file(picture()), encoding="utf-8")


if __name__ == "__main__":
    main()
