"""The views next to the user's stage: violations of the input event, and each destination's payloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages
from svctoolkit.plans import Plan, Verdict
from svctoolkit.plans.survey import hint
from svctoolkit.results import DestinationResult, blocks
from svctoolkit.secrets import Masker

_ONLY_MAPPING = Stages(user_transform=False)
_MOST = 10  # output events of one event, with their payloads


def violations(plan: Plan, event: Mapping[str, Json], masker: Masker) -> Html:
    """An event's violations of a plan before the transformation. Secrets are masked."""
    verdict = plan.check(event)
    if verdict.unchecked or not verdict.violations:
        return verdict_message(verdict, plan)
    rows = [
        (violation.path or "/", violation.type, masker.text(f"{violation.message} {hint(verdict, violation)}".strip()))
        for violation in verdict.violations
    ]
    count = display.quantity(len(rows), "violation")
    return display.table(("at", "violation", "message"), rows, caption=f"{plan.name or plan.id}: {count}")


def verdict_message(verdict: Verdict, plan: Plan) -> Html:
    """The message without violations: the event conforms, or why it was not checked."""
    name = plan.name or plan.id
    if verdict.unchecked:
        return display.message(f"{name}: not checked: {verdict.unchecked}", "warning")
    return display.message(f"{name}: the event conforms", "ok")


def payloads(pipeline: Pipeline, destinations: Iterable[str], events: list[Mapping[str, Json]]) -> Html:
    """Each destination's payloads for the output events of the transformation; empty without events.

    Secrets are masked.
    """
    return Html("".join(_destination(pipeline, key, events[:_MOST]) for key in destinations if events))


def _destination(pipeline: Pipeline, key: str, events: list[Mapping[str, Json]]) -> Html:
    try:
        results = [pipeline.test_destination(key, event, stages=_ONLY_MAPPING, force=True) for event in events]
    except ToolkitError as error:
        text = pipeline.workspace.masker.text(str(error))
        return display.section(f"Payload for {key}", display.message(text, "warning"))
    return display.section(f"Payload for {key}", *(block for result in results for block in _result(result)))


def _result(result: DestinationResult) -> Iterator[Html]:
    if result.error is not None:
        yield display.message(result.mask(result.error), "warning")
    for entry in result.data:
        step = blocks.steps(result, entry)[1]
        if step.status != "ok":
            yield display.message(step.note or step.status, "error" if step.status == "failed" else "warning")
        for loss in entry.losses:
            yield display.message(result.mask(str(loss)), "warning")
        for name, value in blocks.values(result, entry).items():
            if name.startswith("dest_transform"):
                yield display.tree(value, open_depth=3)
