"""What events cost at destinations, by prices and limits of the user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.replay import cost
from svctoolkit.replay.cost import _Users
from svctoolkit.replay.review.amounts import Amounts

EVENTS = [
    {
        "type": "track",
        "event": "Viewed",
        "userId": f"u{number % 30}",
        "messageId": f"m{number}",
        "timestamp": f"2026-01-01T10:00:{number // 50:02}Z",
    }
    for number in range(100)
]
WORKSPACE = """
workspace: shop
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
  braze: {type: BRAZE, config: {restApiKey: k-secret-1, dataCenter: EU-01, appKey: a-1}}
"""
PRICES = """
currency: EUR
destinations:
  hook: {events: [{up_to: 50, price: 0}, {price: 0.1}], limits: {requests_per_second: 20}}
  braze: {users: 2, requests: 0.5, limits: {users: 20}}
"""


def prices(tmp_path: Path, text: str = PRICES) -> Path:
    (tmp_path / "prices.yaml").write_text(text)
    return tmp_path / "prices.yaml"


def test_events_users_and_requests_have_prices_and_limits(tmp_path: Path) -> None:
    """Calls of 20 events share requests at Braze; users are distinct; the limit of a rate says when it was exceeded."""
    found = cost(EVENTS, Workspace.loads(WORKSPACE), prices(tmp_path))

    assert repr(found).splitlines() == [
        "cost: 67.50 EUR",
        "  hook: 100 events: 5.00",
        "  hook: 100 requests: 0.00",
        "  braze: 30 users: 60.00",
        "  braze: 5 requests: 2.50",
        "  hook: exceeds requests_per_second 20: 50 from 2026-01-01 10:00:00 on",
        "  braze: exceeds users 20: 30",
    ]
    assert found.total_before is None
    frame = found.frame()
    assert frame["price"].sum() == 67.5
    assert frame["quantity_before"].isna().all()


def test_a_change_is_compared_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Events that are dropped, and a destination that is new."""
    monkeypatch.chdir(tmp_path)
    drop = "export function transformEvent(e) { return e.userId === 'u1' ? null : e }"
    code = f"transformations: {{drop: {{language: javascript, code: {json.dumps(drop)}}}}}\n"
    Path("workspace.yaml").write_text(WORKSPACE.replace("hook: {", "hook: {transformation: drop, ") + code)
    Path("before.yaml").write_text("\n".join(line for line in WORKSPACE.splitlines() if "braze" not in line))
    Path("e.ndjson").write_text("\n".join(map(json.dumps, EVENTS)))
    rest = ["--before", "before.yaml", "--prices", str(prices(tmp_path)), "--trust-code"]

    assert main(["replay", "e.ndjson", *rest]) == 0
    said = capsys.readouterr().out
    assert "cost: 5.00 -> 67.10 EUR" in said
    assert "  hook: 100 -> 96 events: 5.00 -> 4.60" in said
    assert "  braze: 0 -> 30 users: 0.00 -> 60.00" in said
    assert main(["replay", "e.ndjson", *rest, "--json"]) == 0
    costs = json.loads(capsys.readouterr().out)["cost"]
    assert costs["total"] == pytest.approx(67.1)
    assert costs["lines"][0]["quantity_before"] == 100
    assert main(["replay", "-", *rest]) == 4
    assert "--prices reads the events again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("destinations: {hok: {events: 1}}", r"prices.yaml:1:16: .*unknown destination 'hok'. Did you mean 'hook'"),
        (f"destinations: {{hook: {{events: {10**400}}}}}", "prices.yaml:1:"),
        (f"destinations: {{hook: {{limits: {{users: {10**400}}}}}}}", "prices.yaml:1:"),
        ("destinations: {hook: {events: .nan}}", "prices.yaml:1:"),
        ("destinations: {}", "must not be empty"),
        ("destinations: {hook: {}}", "must not be empty"),
        ("destinations: {hook: {events: [{up_to: 9, price: 1}]}}", r"prices.yaml:1:\d+: .*above 9 there is no price"),
        ("destinations: {hook: {events: [{price: 1}, {price: 2}]}}", "only the last tier has no 'up_to'"),
        (
            "destinations: {hook: {users: [{up_to: 9, price: 1}, {up_to: 9, price: 1}, {price: 2}]}}",
            "users of hook: the 'up_to' of tiers must increase",
        ),
        ("destinations: {hook: {event: 1}}", r"prices.yaml:1:23: .*Did you mean 'events'"),
        ("destinations: {hook: {events: -1}}", "prices.yaml:1:"),
        ("destinations: {hook: {limits: {users_per_day: 1}}}", "prices.yaml:1:"),
    ],
)
def test_mistakes_in_prices_are_errors(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        cost([], Workspace.loads(WORKSPACE), prices(tmp_path, text))


def test_prices_can_be_an_object_and_calls_have_a_job() -> None:
    table: dict[str, Any] = {"destinations": {"hook": {"requests": 1}}}
    assert cost(EVENTS[:3], Workspace.loads(WORKSPACE), table).total == 3
    with pytest.raises(ConfigError, match="at least 1"):
        cost([], Workspace.loads(WORKSPACE), table, jobs=0)
    with pytest.raises(ConfigError, match="prices:"):
        cost([], Workspace.loads(WORKSPACE), {})


def test_many_users_are_counted_within_a_percent_in_limited_memory() -> None:
    users = _Users()
    for number in range(120_000):
        users.add(f"u{number}")
        users.add(f"u{number // 2}")
    assert users.count == pytest.approx(120_000, rel=0.015)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("cost>100", ""),
        ("cost>60 and cost<70", "cost is 67.50 EUR and cost is 67.50 EUR"),
        ("over_limit", "2 limits exceeded"),
        ("cost>100 or failed>=0", "failed>=0: about 0"),
    ],
)
def test_a_replay_fails_on_its_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], condition: str, said: str
) -> None:
    """Alone, and together with other conditions."""
    (tmp_path / "events.ndjson").write_text("\n".join(map(json.dumps, EVENTS)))
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    command = ["replay", str(tmp_path / "events.ndjson"), "--workspace", str(tmp_path / "workspace.yaml")]

    code = main([*command, "--prices", str(prices(tmp_path)), "--fail-on", condition, "--sample", "0.5"])

    assert code == (1 if said else 0)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("cost_change>10%", "cost_change>10%: cost changes by +1.25e+03% (5.00 -> 67.50 EUR)"),
        ("cost-change>=62.5", "cost-change>=62.5: cost changes by +62.50 EUR (5.00 -> 67.50 EUR)"),
        ("cost_change>2000%", ""),
        ("cost_change<0", ""),
    ],
)
def test_a_comparison_fails_on_a_change_of_the_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], condition: str, said: str
) -> None:
    (tmp_path / "events.ndjson").write_text("\n".join(map(json.dumps, EVENTS)))
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    (tmp_path / "old.yaml").write_text("\n".join(line for line in WORKSPACE.split("\n") if "BRAZE" not in line))
    sides = ["--workspace", str(tmp_path / "workspace.yaml"), "--before", str(tmp_path / "old.yaml")]
    command = ["replay", str(tmp_path / "events.ndjson"), *sides, "--prices", str(prices(tmp_path))]

    code = main([*command, "--fail-on", condition])

    assert code == (1 if said else 0)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fail-on", "cost>1"], "'cost' needs prices"),
        (["--prices", "prices.yaml", "--fail-on", "cost_change>1%"], "'cost_change' needs prices and an earlier side"),
        (["--prices", "prices.yaml", "--fail-on", "cost>1%"], "'cost' has no share: leave out the %"),
    ],
)
def test_conditions_about_the_cost_that_cannot_be_checked_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    (tmp_path / "events.ndjson").write_text("\n".join(map(json.dumps, EVENTS)))

    assert main(["replay", str(tmp_path / "events.ndjson"), *options]) == 4
    assert said in capsys.readouterr().err


def test_anything_is_more_than_any_share_of_nothing() -> None:
    assert Amounts(5.0, 0.0, 0).amount("cost_change", is_share=True)[0] == float("inf")
    assert Amounts(0.0, 0.0, 0).amount("cost_change", is_share=True)[0] == 0
