"""Events against the tracking plan of their source, once each, before they go to their destinations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from svctoolkit.pipeline.fates import check
from svctoolkit.plans import Link, Verdict
from svctoolkit.server.store.blob import pack
from svctoolkit.server.store.block import Block
from svctoolkit.server.store.schema import CheckRow, ViolationRow, storable
from svctoolkit.workspace import Workspace

#: of one event; an event of megabytes may have any number, and each is a row
MOST_VIOLATIONS = 1000
_LOG = logging.getLogger("svctoolkit.plans")


class Check(NamedTuple):
    """What a plan has said of an event: rows for the store, how it changes the event, why it is dropped."""

    row: CheckRow
    violations: list[ViolationRow]
    change: Mapping[str, Any] | None
    reason: str


class Checks:
    """Checks the events of a workspace's sources. Without any tracking plan there is nothing to do."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._linked: tuple[Block | None, Link | None] = None, None

    def check(self, block: Block, place: int) -> Check | None:
        """What the plan of the block's source says of one of its events; None where the source has no plan.

        A plan that cannot be used lets events pass: nothing that was accepted is ever lost by it.
        """
        workspace = self._workspace
        if not workspace.tracking_plans:
            return None
        try:
            link = self._link(block)
            verdict = link and check(block.events[place], link, str(block.first + place))
            return _check_of(block, place, verdict) if verdict else None
        except Exception:  # noqa: BLE001 - a plan that cannot be used must not stop an event
            _LOG.exception("event %s cannot be checked; it goes on unchecked", block.first + place)
            return None

    def _link(self, block: Block) -> Link | None:
        """The plan of a block's source: looked up once for all of its events."""
        if self._linked[0] is not block:
            source = self._workspace.sources.get(block.source)
            self._linked = block, None if source is None else self._workspace.plan_link(source)
        return self._linked[1]


def _check_of(block: Block, place: int, verdict: Verdict) -> Check:
    seq, plan, change = block.first + place, verdict.plan, verdict.change
    dropped = int(verdict.dropped)
    violations = [
        ViolationRow(
            0,
            seq,
            block.run,
            plan.id,
            plan.version,
            breach.type,
            storable(breach.property),
            storable(breach.path),
            storable(breach.schema_path),
            storable(breach.message),
            verdict.rule.place_of(breach) if verdict.rule else plan.where,
            dropped,
            block.at,
        )
        for breach in verdict.violations[:MOST_VIOLATIONS]
    ]
    row = CheckRow(
        seq,
        block.run,
        plan.id,
        plan.version,
        len(verdict.violations),
        dropped,
        storable(verdict.unchecked),
        None if change is None else pack(change),
    )
    return Check(row, violations, change, verdict.reason if verdict.dropped else "")
