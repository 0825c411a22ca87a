"""Twelve edits at once: each is found, and each group of differences says which edit it is due to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from svctoolkit import Workspace, events
from svctoolkit.replay import Comparison, compare
from svctoolkit.replay.edits import attribution

BEFORE = r"""
workspace: shop
sources:
  web:
    destinations: [hook, mp, ga4, crm, archive]
    trackingPlan: {plan: shop, settings: {track: {drop_other_violations: true}}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}, transformation: clean}
  crm: {type: WEBHOOK, config: {webhookUrl: "https://crm.example/in", webhookMethod: POST}}
  archive: {type: WEBHOOK, config: {webhookUrl: "https://archive.example/in"}}
  mp: {type: MP, config: {token: token, dataResidency: us}, transformation: clean}
  ga4: {type: GA4, config: {measurementId: G-1, apiSecret: "$(env:GA4_SECRET:-none)", typesOfClient: gtag}}
transformations:
  clean:
    language: javascript
    code: |
      import { upper } from "words";
      export function transformEvent(event) {
        const p = event.properties || {};
        if (event.event === "Search") p.query = mask(p.query);
        if (event.event === "Order Completed") {
          p.total = p.total;
          p.currency = upper(p.currency);
        }
        if (event.event === "Coupon Applied" && p.coupon) p.coupon = p.coupon.trim();
        event.properties = p;
        return event;
      }
      function mask(text) { return String(text).replace(/[^ @]+@[^ ]+/, "x"); }
libraries:
  words: {language: javascript, code: "export function upper(text) { return text.toUpperCase(); }"}
trackingPlans:
  shop: {file: plan.json}
"""
DROP = """
        if (event.event === "Product Viewed") {
          p.seen = true;
          if (p.price < 20) {
            return null;
          }
        }
""".lstrip("\n")
#: Text of the workspace before and after each edit.
EDITS = (
    ("p.query = mask(p.query)", "p.query = String(p.query)"),
    ("p.total = p.total;", "p.total = Math.round(p.total);"),
    ("p.currency = upper(p.currency);", "p.currency = upper(p.currency); p.revenue = `${p.revenue} EUR`;"),
    (" && p.coupon) p.coupon = p.coupon.trim();", ") p.coupon = p.coupon.trim();\n" + DROP.rstrip()),
    ("toUpperCase", "toLowerCase"),
    ("https://hook.example/in", "https://hook.example/v2"),
    ("webhookMethod: POST", "webhookMethod: PUT"),
    ("dataResidency: us", "dataResidency: eu"),
    ("measurementId: G-1", "measurementId: G-2"),
    (", archive]", "]"),
    ("plan.json", "later.json"),
)


EVENTS = [
    events.track("Search", user_id="u1", anonymous_id="a1", properties={"query": "jo@mail.example"}),
    events.track("Search", user_id="u1", anonymous_id="a1", properties={"query": "shoes"}),
    *(
        events.track("Order Completed", user_id="u2", properties={"total": n + 0.4, "revenue": n, "currency": "eur"})
        for n in range(4)
    ),
    events.track("Coupon Applied", user_id="u3", properties={"coupon": None}),
    events.track("Coupon Applied", user_id="u3", properties={"coupon": "X"}),
    *(events.track("Product Viewed", user_id="u4", properties={"price": price}) for price in (5, 15, 25, 35)),
    events.track("Signed Up", user_id="u5"),
    events.page("Home", user_id="u6"),
    events.identify(user_id="u7", traits={"name": "Jo"}),
]


def plan(*required: str) -> str:
    """A tracking plan with one rule."""
    properties = {"type": "object", "properties": {"plan": {"type": "string"}}, "required": [*required]}
    schema = {"type": "object", "properties": {"properties": properties}}
    return json.dumps({"id": "shop", "events": [{"name": "Signed Up", "eventType": "track", "rules": schema}]})


def revision(folder: Path, edits: Sequence[tuple[str, str]] = ()) -> Workspace:
    """The workspace with some edits."""
    text = BEFORE
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return Workspace.loads(text, folder=folder, environ={})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edits")
    (folder / "plan.json").write_text(plan())
    (folder / "later.json").write_text(plan("plan"))
    return folder


@pytest.fixture(scope="module", autouse=True)
def _patience() -> Iterator[None]:
    """The search has as much time as a slow machine needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attribution, "_SECONDS", 3600.0)
        yield


@pytest.fixture(scope="module")
def comparison(folder: Path) -> Comparison:
    return compare(EVENTS, revision(folder), revision(folder, EDITS), rows=False)


def test_a_search_that_ends_early_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As text and as data; nothing is claimed."""
    monkeypatch.setattr(attribution, "_SECONDS", -1.0)
    result = compare([EVENTS[2]], revision(folder), revision(folder, EDITS[1:3]), destinations=["hook"], rows=False)

    assert {group.because and group.because.how for group in result.groups} == {"unknown"}
    assert "no cause found in time" in repr(result)


@pytest.mark.parametrize(
    ("destination", "kind", "path", "edits"),
    [
        ("hook", "changed", "body.JSON.properties.query", ["clean.js:4"]),
        ("hook", "changed", "body.JSON.properties.total", ["clean.js:6"]),
        ("hook", "changed", "body.JSON.properties.revenue", ["clean.js:7"]),
        ("hook", "changed", "body.JSON.properties.currency", ["words.js:1"]),
        ("hook", "newly failing", "", ["clean.js:9"]),
        ("hook", "newly dropped", "", ["clean.js:13"]),
        ("hook", "changed", "body.JSON.properties.seen", ["clean.js:11"]),
        ("hook", "changed", "endpoint", ["setting webhookUrl"]),
        ("mp", "changed", "endpoint", ["setting dataResidency"]),
        ("ga4", "changed", "params.measurement_id", ["setting measurementId"]),
        ("crm", "changed", "method", ["setting webhookMethod"]),
        ("archive", "newly dropped", "", ["connection of web to archive"]),
        ("crm", "newly dropped", "", ["rule track 'Signed Up' of plan shop"]),
    ],
)
def test_each_group_is_due_to_one_edit(
    comparison: Comparison, destination: str, kind: str, path: str, edits: list[str]
) -> None:
    """Also where one edit hides another, and where half of an edit would be broken code."""
    found = [g for g in comparison.groups if (g.destination, g.kind, g.path) == (destination, kind, path)]
    because = [group.because for group in found if group.because is not None and group.because.how == "needed"]

    assert edits in [[edit.what for edit in each.edits] for each in because]


def test_every_group_is_explained_and_nothing_else_is_reported(comparison: Comparison) -> None:
    """No group without an edit; events that no edit concerns are the same."""
    assert [group.key for group in comparison.groups if group.because is None] == []
    assert "because of clean.js:13" in repr(comparison)
    assert comparison.to_dict()["groups"][0]["because"]["how"] == "needed"


@pytest.mark.parametrize(
    ("edits", "text"),
    [
        (
            [("upper(p.currency);", "upper(p.currency).toLowerCase();"), ("toUpperCase", "toLowerCase")],
            "because of clean.js:7 or words.js:1: each is enough",
        ),
        (
            [
                ("const p =", "if (event.event) return null;\n        const p ="),
                (", transformation: clean}\n  crm", "}\n  crm"),
            ],
            "because of transformation of destination hook (detached: clean)",
        ),
    ],
)
def test_edits_that_depend_on_each_other(folder: Path, edits: list[tuple[str, str]], text: str) -> None:
    """Each of two edits may be enough; a line that does not run any more has no effect."""
    result = compare([EVENTS[2]], revision(folder), revision(folder, edits), destinations=["hook"], rows=False)
    group = next(group for group in result.groups if group.path.endswith("currency"))

    assert group.because is not None
    assert group.because.text == text
