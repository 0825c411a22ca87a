"""What the vendor would lose of the present event, shown while the event and the settings are edited."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit import display, simulations
from svctoolkit.delivery import Recorder
from svctoolkit.destinations import Context
from svctoolkit.display import Html
from svctoolkit.errors import ToolkitError
from svctoolkit.pipeline import Pipeline, Simulated
from svctoolkit.results.blocks import loss_table
from svctoolkit.simulations import SIMULATIONS, Loss
from svctoolkit.widgets._base import controls
from svctoolkit.widgets.destination_explorer.request import TestRequest
from svctoolkit.workspace import Workspace


class Forecast:
    """The losses at the simulated vendor, each with its rule. `box` is empty for types that are not simulated.

    Each change runs all stages in the background, with an account that has existing data. No request leaves the
    machine, and the workspace's recorder and simulated servers do not change. `losses` are those of the last change.
    """

    def __init__(self) -> None:
        self.box = controls.html()
        self.losses: Sequence[Loss] = ()
        self._pipeline: Pipeline | None = None
        self._work: controls.Work[tuple[Sequence[Loss], Html]] = controls.Work(
            self._show, fail=self._fail, busy=lambda _: None
        )

    def update(self, request: TestRequest | None) -> None:
        """Try this request; None if the event cannot be read."""
        self._work.start(lambda: self._try(request))

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until the last change is shown; False after `timeout` seconds."""
        return self._work.wait(timeout)

    def _try(self, request: TestRequest | None) -> tuple[Sequence[Loss], Html]:
        if request is None or not simulations.is_simulated(request.destination.type):
            return (), Html("")
        try:
            result = request.result_at_vendor(self._pipeline_of(request.pipeline.workspace))
        except ToolkitError:  # a run shows why the event cannot be tested
            return (), Html("")
        if not any(entry.statuses for entry in result.data):
            return (), Html("")
        title = SIMULATIONS[request.destination.type].title
        if not result.lost:
            return (), display.page(display.message(f"{title} would keep all of this event.", "ok"))
        caption = f"{title} would lose, although the event may be delivered"
        return result.lost, display.page(loss_table(result.lost, result.masker, caption))

    def _pipeline_of(self, workspace: Workspace) -> Pipeline:
        if self._pipeline is None or self._pipeline.workspace is not workspace:
            servers = Simulated(workspace, Context().clock, history="existing")
            self._pipeline = Pipeline(workspace, exploring=True, transport=Recorder(limit=1), simulated=servers)
        return self._pipeline

    def _show(self, tried: tuple[Sequence[Loss], Html]) -> None:
        self.losses, self.box.value = tried

    def _fail(self, message: Html) -> None:
        self.losses, self.box.value = (), display.page(message)
