"""`explain` says which destinations a call reaches, and why."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit.errors import InvalidCall
from svctoolkit.sdk import ServiceClient

from .gateway import Gateway


def _destination(name: str, **config: Any) -> dict[str, Any]:
    return {"enabled": True, "config": config, "destinationDefinition": {"displayName": name}}


@pytest.mark.parametrize(
    ("integrations", "reached", "reason"),
    [
        (None, {"Webhook": True, "Amplitude": False}, "All in the integrations of initialize"),
        ({"Amplitude": True}, {"Webhook": True, "Amplitude": True}, "the call's integrations, which replace"),
        (
            {"All": False, "Amplitude": {"a": 1}},
            {"Webhook": False, "Amplitude": True},
            "which replace those of initialize",
        ),
    ],
)
def test_the_deciding_option_is_named(make, gateway: Gateway, integrations: Any, reached: dict[str, bool], reason: str):
    """A call's integrations replace those of `initialize` as a whole: All is true again unless the call says no."""
    gateway.config["source"]["destinations"] = [_destination("Webhook"), _destination("Amplitude")]
    client = make(options={"integrations": {"All": False, "Webhook": True}})
    assert client.flush()
    answer = client.explain("track", "Order", integrations=integrations)

    assert {name: is_reached for name, is_reached, _ in answer} == reached
    assert reason in str(answer)
    client.track("Order", integrations=integrations or None)
    client.flush()
    sent = gateway.events[-1]["integrations"]
    assert {name: bool(sent.get(name, sent["All"])) for name in reached} == reached


def test_an_event_filter_is_named(make, gateway: Gateway):
    """The allowlist of a destination decides if the integrations do not."""
    allowed = {"eventFilteringOption": "whitelistedEvents", "whitelistedEvents": [{"eventName": "Order"}]}
    gateway.config["source"]["destinations"] = [_destination("Amplitude", **allowed)]
    client = make()
    assert client.flush()

    assert client.explain("track", "Order")[0].reached
    assert client.explain("track", "Other")[0] == ("Amplitude", False, client.explain("track", "Other")[0].because)
    assert "event filter" in client.explain("track", "Other")[0].because


def test_explain_before_initialize_knows_the_options_alone():
    """Without a source configuration, the named destinations are explained; wrong options raise."""
    client = ServiceClient(enabled=False)
    assert [tuple(reach)[:2] for reach in client.explain(options={"integrations": {"Slack": False}})] == [
        ("Slack", False)
    ]
    with pytest.raises(InvalidCall):
        client.explain(options={"integrations": {"Slack": "no"}})  # type: ignore[dict-item]


def test_a_scope_needs_only_a_user(make, gateway: Gateway):
    """A server that knows the user, but no anonymous ID."""
    client = make()
    with client.scope(user_id="u-1"):
        client.track("in the scope")
    assert client.flush()
    assert gateway.events[0]["userId"] == "u-1"
    assert "anonymousId" not in gateway.events[0]
