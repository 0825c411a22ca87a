"""Generated events have the shape of a sample, and are shrunk to the smallest one that fails."""

from __future__ import annotations

from hypothesis import given, settings

import svctoolkit
from svctoolkit import Workspace, events, runner

WORKSPACE = """
transformations:
  picky:
    language: python
    code: |
      def transformEvent(event, metadata):
          for product in event.get("properties", {}).get("products", []):
              if product.get("price", 0) > 1000:
                  raise ValueError("too dear")
          return event
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  shop: {type: WEBHOOK, transformation: picky, config: {webhookUrl: https://shop.example/in}}
sources: {web: {destinations: [hook]}, shop: {destinations: [shop]}}
"""
LIKE = "{type: track, event: Order, userId: u, properties: {coupon: X, products: [{sku: A, price: 5, name: N}]}}"


def attempt(scenario: str, head: str = "") -> runner.Outcome:
    suite = runner.loads(f"{head}\nscenarios:\n  - {{name: a, {scenario}}}\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        return runner.attempt(suite.scenarios[0], planes)


@settings(max_examples=20, deadline=None)
@given(svctoolkit.events.strategies.track())
def test_generated_events_are_valid(event: dict[str, object]) -> None:
    """They have the type of their sample and a user."""
    assert events.check(event) is event
    assert event["type"] == "track"
    assert event["userId"]


def test_a_scenario_sends_the_given_number_of_events() -> None:
    """Without its own expectation it requires that none of them fails."""
    outcome = attempt(f"source: web, generate: {{like: {LIKE}, runs: 10}}")

    assert outcome.ok, runner.explanation(outcome)
    assert attempt("source: web, generate: {like: identify, runs: 3}, expect: {delivered: [{}]}").ok


def test_a_failure_shows_the_smallest_event() -> None:
    """One product with the first price that is too high, nothing else, and the cause."""
    outcome = attempt(f"source: shop, generate: {{like: {LIKE}, runs: 200}}")
    (step,) = outcome.steps

    assert outcome.status == "failed"
    assert "shop: failed in user_transform: ValueError: too dear" in runner.explanation(outcome)
    assert step.step.spec.send["properties"] == {"products": [{"price": 1001}]}
    assert "generated: {" in runner.explanation(outcome)
    assert '"properties":{"products":[{"price":1001}]}' in runner.explanation(outcome)


def test_a_timeout_is_not_blamed_on_an_event() -> None:
    """No smallest event is reported when time has run out."""
    outcome = attempt(f"source: web, generate: {{like: {LIKE}, runs: 50}}, limit: 1ms")

    assert "it took longer than its limit of 0.001 s" in runner.explanation(outcome)
    assert "made-up events" not in runner.explanation(outcome)


def test_invariants_hold_for_generated_events() -> None:
    """Fields that must never leave do not leave in any shape of event."""
    outcome = attempt(f"source: web, generate: {{like: {LIKE}, runs: 100}}", "never: [{key: coupon}]")
    (step,) = outcome.steps

    assert 'never: {"key":"coupon"} is at' in runner.explanation(outcome)
    assert step.step.spec.send["properties"] == {"coupon": ""}
