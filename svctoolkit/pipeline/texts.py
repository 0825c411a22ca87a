"""Run events that stay JSON text, for a caller that only wants their outcomes.

The text of an event goes to the user's code and comes back as text. It is decoded only if the outcome is anything else
than one event that the destination is sent. What comes back is decoded once for all mappings that read it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

from svctoolkit.delivery import Sender
from svctoolkit.destinations import Context
from svctoolkit.errors import MappingError
from svctoolkit.json_types import Json
from svctoolkit.pipeline.fates import DELIVERED, PENDING, Passage, fate_of, fates_before
from svctoolkit.pipeline.progress import enter
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.rules import needs_all
from svctoolkit.pipeline.run import run_many
from svctoolkit.pipeline.stages import dest_transform, user_transform
from svctoolkit.pipeline.stages.stages import Stages
from svctoolkit.results import EventResult, Payload
from svctoolkit.transformations import JsonEvents, Output
from svctoolkit.workspace import Source

Timer: TypeAlias = Callable[[str], AbstractContextManager[None]]
#: Gets the payloads of an event, by its place in a batch.
Keep: TypeAlias = Callable[[int, Sequence[Payload]], None]
#: The stages with which events can stay text.
STAGES = Stages()
# One object for all events, as creating one for each takes a tenth of the time here.
_PENDING, _DELIVERED = Passage(PENDING), Passage(DELIVERED)


def can_stay_text(route: Route) -> bool:
    """Whether `pass_texts` can run events to a destination: it has a mapping, and user code in a sandbox."""
    in_sandbox = route.code is not None and not route.runs_function
    return in_sandbox and route.mapping is not None and not needs_all(route.destination)


def pass_texts(
    events: JsonEvents,
    heads: Sequence[Mapping[str, Json]],
    route: Route,
    sender: Sender,
    context_of: Callable[[int], Context],
    source: Source | None,
    repeats: Collection[int],
    timer: Timer,
    keep: Keep | None = None,
) -> list[Passage]:
    """Return the passage of each event, as `pass_many` does with `STAGES` for a source without a tracking plan.

    `heads` are the events, or the members of them that routing and `metadata` read. `context_of(index)` is the
    context of an event, `timer(stage)` measures the time of a stage. Passages of delivered events may have no results:
    `keep` gets the payloads of these, each right after its mapping, while they are in the CPU cache.
    """
    fates = fates_before(heads, route, source, repeats)
    passages = [_PENDING if fate is PENDING else Passage(fate) for fate in fates]
    places = [place for place, fate in enumerate(fates) if fate is PENDING]
    if not places:
        return passages
    going = events if len(places) == len(passages) else events.select(places)
    enter("user_transform", waits=True)
    with timer("user_transform"):
        outputs = user_transform.run(going, route, source, [heads[place] for place in places]) or ()
    enter("dest_transform")
    judge = route.mapping if keep is None else None
    sends_text = judge.sends if judge is not None and judge.judges_text else _not_judged
    with timer("dest_transform"):
        for place, output in zip(places, outputs, strict=True):
            if output.text and sends_text(output.text):
                passages[place] = _DELIVERED
                continue
            output, context = output.decoded(), context_of(place)
            if len(output.events) == 1 and not output.losses:  # as nearly always
                passages[place] = _map_one(events, place, output, route, context, keep)
            else:
                passages[place] = _pass_one(events[place], output, route, sender, context, source)
    return passages


def _not_judged(_text: bytes) -> bool:
    return False


def _map_one(
    events: JsonEvents, place: int, output: Output, route: Route, context: Context, keep: Keep | None
) -> Passage:
    """Return the passage of an event from which the user's code made one event, without results if it is delivered."""
    (event,), refusal = output.events, None
    try:
        if keep is not None:
            if payloads := dest_transform.run(event, route, context):
                keep(place, payloads)
                return _DELIVERED
        elif dest_transform.sends(event, route, context):
            return _DELIVERED
    except MappingError as error:
        refusal = error.refusal
    result = EventResult(events[place], event, [], logs=output.logs, masker=route.masker)
    if refusal is not None:
        result.refuse(refusal)
    return Passage(fate_of([result], route, STAGES), [result])


def _pass_one(
    event: Mapping[str, Json], output: Output, route: Route, sender: Sender, context: Context, source: Source | None
) -> Passage:
    (results,) = run_many([event], route, STAGES, sender, [context], source, code=lambda *_: [output])
    return Passage(fate_of(results, route, STAGES), results)
