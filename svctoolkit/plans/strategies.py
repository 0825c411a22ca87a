"""Hypothesis strategies that generate events of a plan for property tests.

    @given(strategies.conforming(plan))
    def test_no_planned_event_breaks_the_mapping(event): ...

They need Hypothesis, which is optional: `pip install 'svctoolkit[pytest]'`.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

from svctoolkit.errors import UnknownName
from svctoolkit.json_types import Json
from svctoolkit.plans import generate
from svctoolkit.plans.generate import NearMiss
from svctoolkit.plans.model import Plan
from svctoolkit.plans.rule import Rule


def conforming(plan: Plan, *names: str) -> st.SearchStrategy[dict[str, Json]]:
    """Generate conforming events, of the planned events with these names (`Order Done`, `identify`), or of all."""
    return st.tuples(st.sampled_from(_rules(plan, names)), st.randoms(use_true_random=False)).map(
        lambda drawn: generate.conforming(plan, drawn[0], Random(drawn[1].getrandbits(64)))
    )


def near_misses(plan: Plan, *names: str) -> st.SearchStrategy[NearMiss]:
    """Generate events with exactly one violation, and say which one."""

    def misses(drawn: tuple[Rule, Any]) -> st.SearchStrategy[NearMiss]:
        misses = generate.near_misses(plan, drawn[0], Random(drawn[1].getrandbits(64)))
        return st.sampled_from(misses) if misses else st.nothing()

    return st.tuples(st.sampled_from(_rules(plan, names)), st.randoms(use_true_random=False)).flatmap(misses)


def _rules(plan: Plan, names: tuple[str, ...]) -> list[Rule]:
    rules = [plan.rule_by_name(name) for name in names] if names else list(plan)
    for name, rule in zip(names, rules, strict=False):
        if rule is None:
            raise UnknownName("planned event", name, plan.names)
    return [rule for rule in rules if rule is not None]
