"""The result of reading plans: the plans, and which source uses which of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from svctoolkit.errors import InvalidPlan, UnknownName
from svctoolkit.plans.model import Plan
from svctoolkit.plans.settings import Settings


@dataclass(frozen=True)
class Link:
    """A source's plan, and what happens to events that violate it. Without a plan nothing is checked."""

    plan: Plan | None
    settings: Settings


@dataclass(frozen=True)
class Project:
    """Plans by id, links by source id, and the files that they were read from."""

    plans: dict[str, Plan] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    files: Sequence[Path] = ()
    name: str = ""

    def plan(self, id: str | None = None) -> Plan:
        """Return the plan with this id (or name); without an id, the only plan.

        Raises `UnknownName` if it does not exist, `InvalidPlan` if there are several and none is named.
        """
        if id is not None:
            named = next((plan for plan in self.plans.values() if plan.name == id), None)
            plan = self.plans.get(id) or named
            if plan is None:
                raise UnknownName("tracking plan", id, self.plans, where=self.name)
            return plan
        if len(self.plans) != 1:
            names = ", ".join(self.plans) or "none"
            raise InvalidPlan(f"name one of the {len(self.plans)} plans: {names}", where=self.name)
        return next(iter(self.plans.values()))

    def with_plan(self, id: str, plan: Plan) -> Project:
        """Return a copy with another plan under this id, to which the same sources are linked."""
        before = self.plans[id]
        links = {of: Link(plan, link.settings) if link.plan is before else link for of, link in self.links.items()}
        return replace(self, plans={**self.plans, id: plan}, links=links)
