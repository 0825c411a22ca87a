"""Independent parts of a destination explorer: the tracking plan, and batches of many events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.plans import Verdict
from svctoolkit.results import SharedDeliveries
from svctoolkit.widgets._base import controls
from svctoolkit.widgets.destination_explorer import batch
from svctoolkit.widgets.destination_explorer.plan import NONE, PlanChoice, verdict_page
from svctoolkit.widgets.destination_explorer.request import TestRequest

_MOST_EVENTS = 1_000  # most events in one run


class PlanPanel:
    """Selects a plan and an event generated from it; shows the violations of an event. Without plans, `box` is empty.

    `use` receives the selected event, `changed` is called after another plan is selected.
    """

    def __init__(
        self, choice: PlanChoice, use: Callable[[Mapping[str, Json]], None], changed: Callable[[], None]
    ) -> None:
        self.choice, self._use, self._changed = choice, use, changed
        self._plan = controls.choice("Tracking plan", [NONE, *choice.links], choice.name)
        self._rule = controls.choice("Start from a planned event", [("choose…", "")])
        self._sample = controls.choice("Sample", [("choose…", None)])
        self._note = controls.html()
        parts = [self._plan, self._rule, self._sample, self._note] if choice.links else []
        self.box = controls.group("", *parts) if parts else controls.html()
        self._follow()
        self._plan.observe(lambda change: self._choose(change["new"]), "value")
        self._rule.observe(lambda change: self._choose_rule(change["new"]), "value")
        self._sample.observe(lambda change: self._take(change["new"]), "value")

    def show(self, event: dict[str, Json] | None) -> None:
        """Show the plan's verdict on an event; None for an unreadable event."""
        self._note.value = verdict_page(self.choice, self.verdict(event))

    def verdict(self, event: dict[str, Json] | None) -> Verdict | None:
        """The selected plan's verdict on an event."""
        return None if event is None else self.choice.verdict(event)

    def update(self) -> None:
        """Show the plan that `choice` selected."""
        self._plan.value = self.choice.name

    def _choose(self, name: str) -> None:
        self.choice.name = name
        self._follow()
        self._changed()

    def _follow(self) -> None:
        self._rule.options = [("choose…", ""), *((title, title) for title in self.choice.titles)]
        for control in (self._rule, self._sample):
            control.layout.display = None if self.choice.titles else "none"

    def _choose_rule(self, title: str) -> None:
        try:
            samples = self.choice.samples(title)
        except ToolkitError as error:
            samples = []
            self._note.value = display.page(controls.failure(error))
        self._sample.options = [("choose…", None), *((name, (event,)) for name, event in samples)]
        if samples:
            self._sample.value = (samples[0][1],)

    def _take(self, chosen: tuple[Mapping[str, Json]] | None) -> None:
        if chosen is not None:
            self._use(chosen[0])


class BatchPanel:
    """Batches many events and shows their requests. `request` returns what the explorer would run."""

    def __init__(self, request: Callable[[], TestRequest], own: Sequence[Mapping[str, Json]]) -> None:
        self._request, self._own = request, own
        kinds = [*([batch.GIVEN] if own else []), batch.SAME_USER, batch.OTHER_USERS, batch.SAMPLES]
        self._kind = controls.choice("Events", kinds)
        self._count = controls.number("How many", min(len(own), _MOST_EVENTS) or 20, low=1, high=_MOST_EVENTS)
        self._jobs = controls.number("Events of a call (jobs)", 20, low=1, high=_MOST_EVENTS)
        start = controls.button("Put together", self.run, icon="object-group")
        self._message = controls.html()
        note = "Nothing is sent: these are the requests that a data plane would make."
        help = controls.html(display.page(display.message(note, "info")))
        self.box = controls.group("", controls.bar(self._kind, self._count, self._jobs, start), help, self._message)
        self._work: controls.Work[Html] = controls.Work(self._show, fail=self._fail, busy=lambda _: None)
        self.result = Html("")

    def run(self) -> None:
        """Run in the background, like the button."""
        kind, count, jobs = self._kind.value, self._count.value, self._jobs.value
        try:
            request = self._request()
        except ToolkitError as error:
            self._fail(controls.failure(error))
            return
        self._work.start(lambda: self._result_page(request, kind, count, jobs))

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until it is done; False after `timeout` seconds."""
        return self._work.wait(timeout)

    def _result_page(self, request: TestRequest, kind: str, count: int, jobs: int) -> Html:
        events = batch.events_of(kind, count, request.event, self._own)
        deliveries: SharedDeliveries = request.deliveries(events, jobs)
        return batch.page(deliveries, events)

    # Any: the result of the work
    def _show(self, page: Any) -> None:
        self._message.value = self.result = page

    def _fail(self, message: Html) -> None:
        self._message.value = display.page(message)
        self.result = Html("")
