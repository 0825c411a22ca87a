"""What a reader of plans gives: plans, and which source has which of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from svctoolkit.errors import InvalidPlan, UnknownName
from svctoolkit.plans.model import Plan
from svctoolkit.plans.settings import Settings


@dataclass(frozen=True)
class Link:
    """A source's plan, with what becomes of events that break it. Without a plan nothing is checked."""

    plan: Plan | None
    settings: Settings


@dataclass(frozen=True)
class Project:
    """Plans by id, links by source id, and the files that all of it was read from."""

    plans: dict[str, Plan] = field(default_factory=dict)
    links: dict[str, Link] = field(default_factory=dict)
    files: Sequence[Path] = ()
    name: str = ""

    def plan(self, id: str | None = None) -> Plan:
        """The plan with this id (or name); without one the only plan.

        Raises `UnknownName` for one that is not there, `InvalidPlan` where there are several to choose from.
        """
        if id is not None:
            named = next((plan for plan in self.plans.values() if plan.name == id), None)
            plan = self.plans.get(id) or named
            if plan is None:
                raise UnknownName("tracking plan", id, self.plans, where=self.name)
            return plan
        if len(self.plans) != 1:
            names = ", ".join(self.plans) or "none"
            raise InvalidPlan(f"say which plan is meant: there are {len(self.plans)} ({names})", where=self.name)
        return next(iter(self.plans.values()))
