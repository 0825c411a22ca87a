"""Check events against the tracking plan of their source, once each, before they go to their destinations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from svctoolkit.lexical import storable
from svctoolkit.pipeline.fates import check
from svctoolkit.plans import Link, Verdict
from svctoolkit.server.store import schema
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.schema import Received, Violation
from svctoolkit.workspace import Workspace

#: Limit per event: an event of megabytes may have any number of violations, and each is a row.
MOST_VIOLATIONS = 1000
_LOG = logging.getLogger("svctoolkit.plans")


class Check(NamedTuple):
    """The result of checking an event: records for the store, how the plan changes the event, why it drops it."""

    record: schema.Check
    violations: list[Violation]
    change: Mapping[str, Any] | None
    reason: str


class Checks:
    """Checks the events of a workspace's sources. Does nothing in a workspace without tracking plans."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._linked: tuple[Block | None, Link | None] = None, None

    def check(self, block: Block, place: int, event: Received) -> Check | None:
        """Return the verdict of the source's plan on one event of a block; None if the source has no plan.

        A plan that cannot be used lets events pass, so that a broken plan never loses an accepted event.
        """
        workspace = self._workspace
        if not workspace.tracking_plans:
            return None
        try:
            link = self._link(block)
            verdict = link and check(block.events[place], link, str(block.first + place))
            return _check_of(event, verdict) if verdict else None
        except Exception:  # noqa: BLE001 - a plan that cannot be used must not stop an event
            _LOG.exception("event %s cannot be checked against its plan; it continues unchecked", block.first + place)
            return None

    def _link(self, block: Block) -> Link | None:
        """Return the plan of a block's source. Looked up once for all of its events."""
        # Compared by identity: the router hands over the events of a block one after the other.
        if self._linked[0] is not block:
            source = self._workspace.sources.get(block.source)
            self._linked = block, None if source is None else self._workspace.plan_link(source)
        return self._linked[1]


def _check_of(event: Received, verdict: Verdict) -> Check:
    plan, change = verdict.plan, verdict.change
    violations = [
        Violation(
            seq=event.seq,
            source=event.source,
            type=event.type,
            name=event.name,
            plan=plan.id,
            version=plan.version,
            violation=violation.type,
            property=storable(violation.property),
            path=storable(violation.path),
            schema_path=storable(violation.schema_path),
            message=storable(violation.message),
            place=verdict.rule.place_of(violation) if verdict.rule else plan.where,
            dropped=verdict.dropped,
            run=event.run,
            at=event.received_at,
        )
        for violation in verdict.violations[:MOST_VIOLATIONS]
    ]
    record = schema.Check(
        seq=event.seq,
        run=event.run,
        plan=plan.id,
        version=plan.version,
        violations=len(verdict.violations),
        dropped=verdict.dropped,
        unchecked=storable(verdict.unchecked),
        mark=change,
    )
    return Check(record, violations, change, verdict.reason if verdict.dropped else "")
