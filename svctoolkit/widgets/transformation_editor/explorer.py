"""Write a transformation and see its effect on events immediately."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.code_editor.area import CodeArea
from svctoolkit.widgets.transformation_editor.comparison import Comparison
from svctoolkit.widgets.transformation_editor.state import EditorState, Events
from svctoolkit.widgets.transformation_editor.trial import Trials

if TYPE_CHECKING:
    from svctoolkit.plans import Plan
    from svctoolkit.workspace import Language, Workspace

_QUIET = 0.04  # seconds without a key before the code is run; the editor sends it after 60 ms without a key
_GAP = 0.2  # seconds between updates of the counts
_LANGUAGES = (("JavaScript", "javascript"), ("Python", "python"))


class TransformationEditor(controls.Explorer):
    """Code on the left, and its result for an event on the right: output, changes, logs, errors at their line.

    Further views show the payloads of selected destinations (initially those that use the transformation), and the
    event's violations of `plan`: a plan, its key in the workspace, or a path. A button counts the outcomes of all
    events, or of `many` (whatever a replay accepts), and how many differ from the saved version.

    `name` is a transformation of the workspace, or the name of a new one. `events` are the events to try it on: events
    by name, a list, a data plane or its `received` events; by default the sample events. The code runs as you type,
    unless the workspace's delivery mode is live, where the code would send real requests.

    `on_run` is called after each run, in a worker thread.

    Nothing changes until you save, to the workspace or to a file. Raises `ConfigError` for a transformation that is a
    Python function.
    """

    # Any: whatever a replay accepts
    def __init__(
        self,
        workspace: Workspace | None = None,
        name: str | None = None,
        *,
        language: Language | None = None,
        events: Events = None,
        many: Any = None,
        plan: Plan | str | None = None,
        on_run: Callable[[], None] | None = None,
    ) -> None:
        self.state = EditorState(workspace, name, language, events, many=many, plan=plan)
        self._touched, self._waiting, self._closed = 0.0, False, threading.Event()
        self._stop, self._on_run = threading.Event(), on_run
        self._counting: controls.Work[None] = controls.Work(
            lambda _: None, fail=self._fail_many, busy=self._tell_counting
        )
        self._work: controls.Work[Trials] = controls.Work(self._show, fail=self._fail, busy=self._tell_busy)
        self._make_controls()
        what, saving = controls.bar(self._name, self._language), controls.bar(self._save, self._file, self._write)
        running = controls.bar(self._as_typed, self._run, self._busy)
        code_card = controls.card("Code", what, self._area.box, running, saving, self._message)
        choosing = controls.bar(self._event, self._refresh)
        beside = controls.bar(*([self._payloads_for] if self.state.workspace.destinations else []), *self._plans)
        right = controls.card("Result", choosing, beside, self._verdict, self._summarize, self._payloads)
        many_card = controls.card("Many events", controls.bar(self._count, self._cancel), self._counts)
        closing = [self._closed.set, self._stop.set]
        super().__init__([controls.grid(code_card, right, least="400px"), self._whole, many_card], closing=closing)
        self._observe()
        self._work.start(self._run_with_new_events)

    def _make_controls(self) -> None:
        state = self.state
        self._name = controls.text("Name", state.name)
        self._language = controls.choice("Language", _LANGUAGES, state.language)
        self._area = CodeArea("Code", state.code, state.language, rows=18, run=self.run)
        self._code = self._area.text
        self._as_typed = controls.checkbox("Run as I type", not state.workspace.sends)
        self._run = controls.button("Run", self.run, icon="play", primary=True)
        self._event = controls.choice("Event", state.choices())
        self._refresh = controls.button("Refresh events", self._load_events, icon="refresh")
        self._payloads_for = controls.choices("Payloads for", list(state.workspace.destinations), state.destinations)
        plans = state.plan_choices()
        self._plan = controls.choice("Tracking plan", plans, state.plan)
        self._plans = [self._plan] if len(plans) > 1 else []
        self._count = controls.button("Run over all events", self.count, icon="list")
        self._cancel = controls.button("Cancel", self._stop.set, icon="stop")
        self._cancel.disabled = True
        self._summarize, self._whole, self._busy, self._message = (controls.html() for _ in range(4))
        self._verdict, self._payloads, self._counts = (controls.html() for _ in range(3))
        self._save = controls.button("Save to workspace", lambda: self._save_with(state.save), icon="save")
        self._file = controls.text("File", str(state.file or ""), placeholder="clean.js")
        self._write = controls.button(
            "Write to file", lambda: self._save_with(lambda: state.write(self._file.value)), icon="file"
        )
        self._save.layout.display = "" if state.has_workspace else "none"

    def _observe(self) -> None:
        self._code.observe(self._type, "value")
        self._language.observe(self._spoken, "value")
        self._event.observe(self._choose, "value")
        self._name.observe(self._rename, "value")
        self._payloads_for.observe(self._choose_destinations, "value")
        self._plan.observe(self._choose_plan, "value")

    def count(self) -> None:
        """Run the current code over all events. Returns immediately; `wait` waits for the end."""
        self._stop.clear()
        self._counting.start(self._compare)

    def _compare(self) -> None:
        painted = 0.0
        for comparison in self.state.compare(self._stop.is_set):
            if monotonic() - painted > _GAP or comparison.is_done or comparison.is_cancelled:
                self._show_counts(comparison)
                painted = monotonic()

    def run(self) -> None:
        """Run the code now. Returns immediately; `wait` waits for the result."""
        self._work.start(self.state.run)

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until all requested runs are finished and shown; False after `timeout` seconds."""
        until = monotonic() + timeout
        return self._work.wait(timeout) and self._counting.wait(max(0, until - monotonic()))

    def _type(self, change: dict[str, Any]) -> None:
        self.state.code = change["new"]
        self._touched = monotonic()
        if self._as_typed.value and not self._waiting:
            self._waiting = True
            self._work.start(self._run_when_quiet)

    def _run_when_quiet(self) -> Trials:
        while (remaining := self._touched + _QUIET - monotonic()) > 0 and not self._closed.is_set():
            self._closed.wait(remaining)
        self._waiting = False
        return self.state.run()

    def _spoken(self, change: dict[str, Any]) -> None:
        self.state.speak(change["new"])
        self._area.speak(change["new"])
        if self._code.value == self.state.code:
            self.run()
        else:
            self._code.value = self.state.code

    def _choose(self, change: dict[str, Any]) -> None:
        if change["new"] is not None:
            self.state.event = change["new"]
            self.run()

    def _choose_destinations(self, change: dict[str, Any]) -> None:
        self.state.destinations = tuple(change["new"])
        self.run()

    def _choose_plan(self, change: dict[str, Any]) -> None:
        self.state.plan = change["new"]
        self.run()

    def _rename(self, change: dict[str, Any]) -> None:
        self.state.name = change["new"].strip() or "transformation"

    def _load_events(self) -> None:
        self._work.start(self._run_with_new_events)

    def _run_with_new_events(self) -> Trials:
        """Runs in the worker thread, since a data plane may have to finish writing received events."""
        self.state.refresh()
        self._event.unobserve(
            self._choose, "value"
        )  # setting options selects the first one, which is not the user's choice
        self._event.options = self.state.choices()
        self._event.value = self.state.event
        self._event.observe(self._choose, "value")
        self._area.offer(self.state.sample())
        return self.state.run()

    def _save_with(self, save: Callable[[], str]) -> None:
        try:
            message = display.message(save(), "ok")
        except ToolkitError as error:
            message = display.message(error, "warning")
        self._message.value = display.page(message)

    def _show(self, trials: Trials) -> None:
        self._select(transformation=self.state.name, language=self.state.language, event=self.state.event)
        self._summarize.value, self._whole.value = display.page(trials.summary_block()), display.page(trials.whole())
        self._verdict.value = display.page(self.state.violations) if self.state.violations else ""
        below = self.state.losses + self.state.payloads
        self._payloads.value = display.page(display.Html(below)) if below else ""
        self._area.mark(trials.marks())
        if self._on_run is not None:
            self._on_run()

    def _show_counts(self, comparison: Comparison) -> None:
        self._counts.value = display.page(comparison.html())

    def _fail_many(self, message: display.Html) -> None:
        self._counts.value = display.page(message)

    def _tell_counting(self, busy: bool) -> None:
        self._count.disabled, self._cancel.disabled = busy, not busy

    def _fail(self, message: display.Html) -> None:
        self._area.mark([])
        self._verdict.value = self._payloads.value = ""
        self._summarize.value, self._whole.value = display.page(message), ""

    def _tell_busy(self, busy: bool) -> None:
        self._busy.value = display.page(display.message("running", "info")) if busy else ""

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events that the code runs on: the chosen one, or all."""
        return [dict(event) for event in self.state.chosen().values()]

    def static(self) -> display.Html:
        """The code and its last result."""
        trials = self.state.trials
        code = self.state.workspace.masker.text(self.state.code)
        parts = [self.state.violations, *([trials.html()] if trials else []), self.state.losses, self.state.payloads]
        counts = [self.state.comparison.html()] if self.state.comparison else []
        return display.page(display.code(code, self.state.language), *parts, *counts)

    def __repr__(self) -> str:
        trials = self.state.trials
        return f"TransformationEditor {self.state.name!r}, {self.state.language}" + (f"\n{trials}" if trials else "")
