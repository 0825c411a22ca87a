"""What failing events have in common and others lack."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.replay import compare, replay
from svctoolkit.results.contrast import compare_features, contrast
from svctoolkit.results.features import Features
from tests.examples import up_to

CODE = """\
export function transformEvent(event) {
  event.properties.first = event.properties.products[0].price.toFixed(2);
  return event;
}
"""
HOOK = {"webhookUrl": "https://hook.example/in"}
FINE = {"price": 2.5, "sku": "a"}


def shop(code: str = CODE) -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("clean", code=code, language="javascript")
    workspace.destination("hook", "WEBHOOK", config=HOOK, transformation="clean")
    return workspace


def order(number: int, products: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": "track",
        "event": "Order Completed",
        "messageId": f"m{number}",
        "userId": f"u{number}",
        "originalTimestamp": f"2026-05-{1 + number % 28:02}T10:00:00Z",
        "properties": {"products": products, "total": number},
        **more,
    }


def orders() -> list[dict[str, Any]]:
    """Of 300 orders, each tenth lacks a price, has no product, or has a price as text."""
    broken: dict[int, Any] = {1: [{"sku": "a"}], 2: [], 3: [{"price": "12 €", "sku": "a"}]}
    return [order(n, broken.get(n % 10, [FINE])) for n in range(300)]


def test_the_missing_field_is_named() -> None:
    """For each group of a replay, with the numbers on both sides; what only follows from it is left out."""
    result = replay(orders(), shop())
    found = {group.after.partition("(")[2] or group.after: result.contrast(group) for group in result.groups}

    assert {key: [trait.text for trait in traits] for key, traits in found.items()} == {
        "reading 'toFixed')": [
            "properties.products.*.price is missing in 30 of 30 failing, 0 of 210 passing",
        ],
        "reading 'price')": ["properties.products is empty in 30 of 30 failing, 0 of 210 passing"],
        "TypeError: event.properties.products[…].price.toFixed is not a function": [
            "properties.products.*.price is of type text in 30 of 30 failing, 0 of 210 passing",
        ],
    }


def test_all_groups_are_explained_in_reports_and_frames() -> None:
    """In one reading; `contrasts` is a frame and part of the HTML report, which a result without rows lacks."""
    result = replay(orders(), shop())
    frame = result.contrasts().frame()
    page = result.to_html()

    price = "properties.products.*.price"
    assert frame["trait_path"].tolist() == [price, "properties.products", price]
    assert frame["trait_failing"].tolist() == frame["count"].tolist() == [30, 30, 30]
    assert page.count("properties.products.*.price is missing") == 1
    assert [group.key for group, _ in result.contrasts()] == [group.key for group in result.groups]
    assert "is missing" not in replay(orders(), shop(), rows=False).to_html()


def test_any_selection_has_a_contrast(tmp_path: Path) -> None:
    """Places of a frame, also of events that arrive, compared with all others."""
    file = tmp_path / "events.csv"
    rows = [f"track,Order,u{n},{'de' if n % 3 else 'en'},{n}" for n in range(30)]
    file.write_text("type,event,userId,context.locale,properties.total\n" + "\n".join(rows))
    result = replay(str(file), shop("export const transformEvent = (e) => e;"))
    german = [f"{file}:{2 + n}" for n in range(30) if n % 3]

    assert result.contrast(german).lines() == ['context.locale is "de" in 20 of 20 selected, 0 of 10 others']
    assert result.contrast([]).lines() == ["nothing that others lack"]


def test_versions_days_and_values_separate(tmp_path: Path) -> None:
    """A version and the first day of a fault, also in a comparison of files."""
    events = [
        order(n, [FINE] if n < 20 else [{}], originalTimestamp=f"2026-05-{1 + n:02}T10:00:00Z",
              context={"app": {"version": "2.3" if n < 20 else "2.4"}})
        for n in range(28)
    ]  # fmt: skip
    file = tmp_path / "events.ndjson"
    file.write_text("\n".join(map(json.dumps, events)))
    result = compare(str(file), shop("export const transformEvent = (e) => e;"), shop())
    group = next(group for group in result.groups if group.kind == "newly failing")

    assert {(trait.kind, trait.path, trait.value) for trait in result.contrast(group)} >= {
        ("value", "context.app.version", '"2.4"'),
        ("since", "", "2026-05-21"),
    }


def test_it_explains_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--explain` adds lines below each group; secrets and, on request, personal data are masked."""
    (tmp_path / "clean.js").write_text(CODE)
    (tmp_path / "workspace.yaml").write_text(
        "transformations: {clean: {file: clean.js}}\n"
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example}, transformation: clean}}\n"
    )
    (tmp_path / "orders.ndjson").write_text("\n".join(map(json.dumps, orders())))
    asked = ["replay", str(tmp_path / "orders.ndjson"), "--workspace", str(tmp_path / "workspace.yaml")]

    assert main([*asked, "--explain"]) == 0
    assert "properties.products is empty in 30 of 30 failing, 0 of 210 passing" in capsys.readouterr().out
    assert main(asked) == 0
    assert "passing" not in capsys.readouterr().out


def test_values_are_masked() -> None:
    """Personal data in values is replaced on request."""
    workspace = shop("export function transformEvent(e) { if (e.context.email) throw new Error('no'); return e }")
    events = [order(n, [FINE], context={"email": "ada@shop.example"} if n % 2 else {}) for n in range(8)]
    masked = replay(events, workspace, mask_personal=True)

    assert "ada@" not in str(masked.contrast(masked.groups[0]))
    assert masked.contrast(masked.groups[0])[0].path == "context.email"


def test_events_that_are_read_once_have_no_contrast() -> None:
    """The error says what to give instead."""
    result = replay(iter(orders()), shop())

    with pytest.raises(ConfigError, match="give a file, a list or a frame"):
        result.contrast(result.groups[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.lists(st.dictionaries(st.sampled_from("abc"), JSON, max_size=3), max_size=5)


@settings(max_examples=up_to(50), derandomize=True, deadline=None)
@given(EVENTS, EVENTS)
def test_numbers_are_within_their_totals(failing: list[Any], passing: list[Any]) -> None:
    """For any events; the best comes first, and no field is named twice."""
    found = contrast(failing, passing)

    assert all(t.failing * 2 >= t.of_failing == len(failing) and t.passing <= t.of_passing for t in found)
    assert [t.score for t in found] == sorted((t.score for t in found), reverse=True)
    assert len({t.path for t in found}) == len(found)


@given(EVENTS)
@settings(max_examples=20, derandomize=True, deadline=None)
def test_equal_events_have_no_contrast(events: list[Any]) -> None:
    """Neither does a side without events."""
    assert contrast(events, events) == contrast(events, []) == contrast([], events) == ()


def test_groups_share_the_events_that_pass() -> None:
    """Each is explained as if these had been counted for it alone."""
    random = Random(3)

    def made(**members: Any) -> list[dict[str, Any]]:
        letters = "abcdefgh"
        return [
            {"items": [{"sku": random.choice(letters), "n": n % 9}], "plan": random.choice(letters), **members}
            for n in range(50)
        ]

    groups = [made(plan="gold"), made(items=[{"sku": ""}]), made(items=[], extra={"a": [1, "b", None]})]
    passing = made() + made(extra={"a": [2]})
    of_groups = [Features() for _ in groups]
    for features, events in zip(of_groups, groups, strict=True):
        for event in events:
            features.add(event)
    shared = Features(*of_groups)
    for event in passing:
        shared.add(event)

    together = [compare_features(features, shared) for features in of_groups]
    assert together == [contrast(events, passing) for events in groups]
    assert all(together)
