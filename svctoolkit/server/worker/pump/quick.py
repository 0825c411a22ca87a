"""Which destinations answer at once, so that their events need no lane."""

from __future__ import annotations

from collections.abc import Callable

from svctoolkit.delivery import Cassette, Recorder, Transport
from svctoolkit.destinations import definitions
from svctoolkit.errors import ToolkitError
from svctoolkit.pipeline import Pipeline
from svctoolkit.server.worker.watchdog import is_own_code
from svctoolkit.workspace import Destination


class QuickDestinations:
    """Decides by the current workspace, scripts of the recorder and delivery mode.

    `is_paused` says whether the events of a destination have to wait, `may_run` whether its code is quick.
    """

    def __init__(self, pipeline: Pipeline, is_paused: Callable[[str], bool], may_run: Callable[[str], bool]) -> None:
        self._pipeline, self._is_paused, self._may_run = pipeline, is_paused, may_run

    def has(self, key: str) -> bool:
        """Whether the next events of a destination may be delivered by the thread that routes them.

        Not if a request may take long, such as one to the network, or if other events decide when it is sent: by a
        rate limit, or because they share it. Not if it runs the user's code in this process or slow code, either.
        """
        destination = self._pipeline.workspace.destinations.get(key)
        if destination is None or self._is_paused(key):
            return False
        try:
            return (
                self._is_alone(destination) and self._answers_at_once(destination) and self._maps_at_once(destination)
            )
        except ToolkitError:  # the lane reports what is wrong
            return False

    def _is_alone(self, destination: Destination) -> bool:
        delivery = self._pipeline.workspace.delivery
        limited = destination.key in delivery.throttle or destination.type in delivery.throttle
        return not limited and (delivery.batch is None or not definitions.shares_requests(destination.type))

    def _answers_at_once(self, destination: Destination) -> bool:
        transport: Transport = self._pipeline.transport()
        if self._pipeline.faults.applies_to("destination", destination.key):
            return False
        if destination.transformation is not None and self._pipeline.recorder.answers_code:
            return False
        if isinstance(transport, Recorder):
            return not transport.is_scripted(destination.key)  # an answer may have a delay
        return isinstance(transport, Cassette) and not transport.is_recording

    def _maps_at_once(self, destination: Destination) -> bool:
        route = self._pipeline.route(destination)
        code_is_quick = route.code is None or self._may_run(destination.key)
        return route.tables is None and not is_own_code(route) and code_is_quick
