"""Run the user's code without a destination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.delivery import calling
from svctoolkit.errors import InvalidMessageType
from svctoolkit.events import check
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.pipeline.stages import user_transform
from svctoolkit.transformations import Output, cause_of


def transform_alone(
    events: Sequence[Mapping[str, Json]], route: Route, run: str = ""
) -> tuple[list[Mapping[str, Json]], list[str]]:
    """Return the events that the code of a route returns, in its order, and its errors as text.

    A call gets all events, up to the `batch` of the workspace. An event without a valid type is an error, and is not
    passed to the code.
    """
    valid, errors = [], list[str]()
    for event in events:
        try:
            valid.append(check(event))
        except InvalidMessageType as error:
            errors.append(str(error))
    batch = route.workspace.delivery.batch
    size = batch.jobs if batch else 1
    with calling(run, route.transformation.key if route.transformation else ""):
        calls = [user_transform.run(valid[at : at + size], route, None) or [] for at in range(0, len(valid), size)]
    outputs = [output for call in calls for output in call]
    errors += [cause_of(output.error).text for output in outputs if output.error is not None]
    return [event for call in calls for event in _in_order(call)], errors


def _in_order(outputs: Sequence[Output]) -> Iterator[Mapping[str, Json]]:
    """Yield the events of a call: a batch function may return them in another order than that of its input."""
    if any(output.order for output in outputs):
        placed = [pair for output in outputs for pair in zip(output.order, output.events, strict=True)]
        yield from (event for _, event in sorted(placed, key=lambda pair: pair[0]))
        return
    for output in outputs:
        yield from output.events
