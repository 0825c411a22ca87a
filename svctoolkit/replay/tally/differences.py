"""Compare the outputs of two pipelines for one event: their fates here, their payloads with `results.changes`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from svctoolkit import json_types
from svctoolkit.causes import Cause, Refusal, text_template
from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Passage, Stages
from svctoolkit.replay.tally.alignment import align
from svctoolkit.results import ABSENT, EventResult
from svctoolkit.results.changes import ORDER, Change, changes, general, unpaired
from svctoolkit.results.texts import open_texts

Status = Literal["delivered", "dropped", "failed", "filtered", "off", "unmapped"]
Kind = Literal["same", "changed", "newly dropped", "newly delivered", "newly failing", "no longer failing", "accepted"]
STATUSES: tuple[Status, ...] = get_args(Status)
KINDS: tuple[Kind, ...] = get_args(Kind)

#: The path of a change that adds or removes a whole payload.
PAYLOAD = "payload"
#: The path of a change in what a simulated destination loses begins so; the id of the rule follows.
LOST = "lost."


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one event at one destination.

    `status` is `delivered` (there is something to send), `dropped`, `failed`, `filtered` (the event is excluded),
    `off` (events are not routed to the destination), or `unmapped` (they are, but nothing creates requests for them);
    `reason` is the explanation. `output` has the payloads, or the events if `dest_transform` is off or there is no
    mapping. `passage` is the event's path through the stages, if it was run here. `rule` is the id of the rule that a
    failed event broke, `template` its message with `…` for values, and `detail` the part that is specific to the
    event: the rejected value, or the message of the user code. Neither `rule` nor `detail` depends on the wording of
    an error message. `lost` is what a simulated destination lost of the event, by rule.
    """

    status: Status
    output: list[Any] = field(default_factory=list)
    reason: str = ""
    passage: Passage | None = None
    rule: str = ""
    template: str = ""
    detail: str = ""
    lost: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key that outcomes of one group share: the rule, or else the reason with `…` for values."""
        return self.rule or text_template(self.reason)

    @property
    def substance(self) -> tuple[str, str]:
        """The part of a failure that is compared, independent of its wording."""
        return self.rule, self.detail if self.rule else self.reason


OFF = Outcome("off")


def outcome(passage: Passage, stages: Stages, type: str) -> Outcome:
    """Return the outcome of one event at a destination of this type."""
    output: list[Any] = []
    for result in passage.results:
        if result.dropped or result.error:
            continue
        if stages.dest_transform and result.dest_transformed_payload is not ABSENT:
            output += result.payloads
        else:
            output.append(_event(result))
    fate = passage.fate
    status: Any = fate.status  # never pending: a replay does not retry
    lost = {loss.rule: f"{loss.what}: {loss.says} ({loss.source})" for loss in passage.lost or ()}
    for result in passage.results:
        for loss in result.losses:
            lost[f"{loss.kind} at {general(loss.path)}"] = loss.text
    if fate.cause is None:
        return Outcome(status, output, fate.reason, passage, lost=lost)
    rule, template, detail = fate.cause.rule(type), fate.cause.template, _detail(fate.cause)
    return Outcome(status, output, fate.reason, passage, rule, template, detail, lost)


def _detail(cause: Cause) -> str:
    return cause.value or "" if isinstance(cause, Refusal) else cause.message


def _event(result: EventResult) -> Any:
    event = result.user_transformed_payload
    return result.event if event is ABSENT or (len(event) == 1 and isinstance(event.get("error"), str)) else event


@dataclass(frozen=True, slots=True)
class Difference:
    """How two outcomes differ. `changes` is empty if one side has nothing to compare.

    `fixed` are paths of changes whose value varied from run to run before, and is constant now.
    """

    kind: Kind
    changes: tuple[Change, ...] = ()
    fixed: frozenset[str] = frozenset()


SAME = Difference("same")


def difference(before: Outcome, after: Outcome) -> Difference:
    """Return the difference. A failure takes precedence over other changes; any other dissimilarity is a change."""
    if before.status == after.status:
        return _same_status(before, after)
    if after.status == "failed":
        return Difference("newly failing")
    if before.status == "failed" and after.status in ("dropped", "filtered", "off"):
        return Difference("changed", (Change("fate", before.status, after.status),))
    if before.status == "failed":
        return Difference("no longer failing")
    if after.status == "delivered":
        return Difference("newly delivered")
    if before.status in ("delivered", "unmapped"):
        return Difference("newly dropped")
    return Difference("changed", (Change("fate", before.status, after.status),))


def _same_status(before: Outcome, after: Outcome) -> Difference:
    found: list[Change] = []
    if before.substance != after.substance:
        found.append(Change("error" if before.status == "failed" else "reason", before.reason, after.reason))
    if encode(before.output) != encode(after.output):
        found += _changes(open_texts(before.output), open_texts(after.output))
    for rule in [*before.lost, *(rule for rule in after.lost if rule not in before.lost)]:
        if (rule in before.lost) != (rule in after.lost):
            found.append(Change(LOST + rule, before.lost.get(rule, ABSENT), after.lost.get(rule, ABSENT)))
    return Difference("changed", tuple(found)) if found else SAME  # only the order of members differs, or 1 and 1.0


def _changes(before: list[Any], after: list[Any]) -> Iterator[Change]:
    """Yield the differences between payloads; the paths do not have the index of the payload."""
    pairs = [(0, 0)] if len(before) == len(after) == 1 else align(before, after)
    for i, j in pairs:
        yield from changes(before[i], after[j], pairing=align)
    for change in unpaired(before, after, pairs, PAYLOAD):
        yield Change(PAYLOAD, change.before, change.after) if ORDER not in change.path else change


def json_type(value: Json) -> str:
    """Return the JSON type of one side of a change; `nothing` without a value."""
    return "nothing" if value is ABSENT else json_types.json_type(value)
