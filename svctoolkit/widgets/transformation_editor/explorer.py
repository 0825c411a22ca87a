"""Write a transformation and see at once what it does to events."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from svctoolkit import display
from svctoolkit.errors import ToolkitError
from svctoolkit.widgets._base import controls
from svctoolkit.widgets.transformation_editor.state import EditorState, Events
from svctoolkit.widgets.transformation_editor.trial import Trials

if TYPE_CHECKING:
    from svctoolkit.workspace import Language, Workspace

_QUIET = 0.3  # seconds without a key before the code is run
_LANGUAGES = (("JavaScript", "javascript"), ("Python", "python"))


class TransformationEditor(controls.Explorer):
    """Code on the left, and on the right what it makes of an event: output, changes, logs, errors at their line.

    `name` is a transformation of the workspace, or what a new one is to be called. `events` are what it is tried on:
    events by name, a list, a data plane or what it has `received`; by default the sample events. The code runs as you
    type, unless the workspace's delivery mode is live: requests of the code would really go out.

    Nothing is changed before it is saved, to the workspace or to a file. Raises `ConfigError` for a transformation that
    is a Python function.
    """

    def __init__(
        self,
        workspace: Workspace | None = None,
        name: str | None = None,
        *,
        language: Language | None = None,
        events: Events = None,
    ) -> None:
        self.state = EditorState(workspace, name, language, events)
        self._touched, self._waiting, self._closed = 0.0, False, threading.Event()
        self._work: controls.Work[Trials] = controls.Work(self._show, fail=self._fail, busy=self._tell_busy)
        self._make_controls()
        what, saving = controls.bar(self._name, self._language), controls.bar(self._save, self._file, self._write)
        running = controls.bar(self._as_typed, self._run, self._busy)
        code_card = controls.card("Code", what, self._code, running, saving, self._said)
        choosing = controls.bar(self._event, self._refresh)
        right = controls.card("Result", choosing, self._summarize)
        super().__init__([controls.grid(code_card, right, least="400px"), self._whole], closing=[self._closed.set])
        self._observe()
        self._work.start(self._run_with_new_events)

    def _make_controls(self) -> None:
        state = self.state
        self._name = controls.text("Name", state.name)
        self._language = controls.choice("Language", _LANGUAGES, state.language)
        self._code = controls.area("Code", state.code, rows=18)
        self._code.continuous_update = True
        self._as_typed = controls.checkbox("Run as I type", not state.workspace.sends)
        self._run = controls.button("Run", self.run, icon="play", primary=True)
        self._event = controls.choice("Event", state.choices())
        self._refresh = controls.button("Refresh events", self._load_events, icon="refresh")
        self._summarize, self._whole, self._busy, self._said = (controls.html() for _ in range(4))
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

    def run(self) -> None:
        """Run the code now. Returns at once; `wait` waits for the result."""
        self._work.start(self.state.run)

    def wait(self, timeout: float = 30.0) -> bool:
        """Whether everything asked for has run and is shown within `timeout` seconds."""
        return self._work.wait(timeout)

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
        if self._code.value == self.state.code:
            self.run()
        else:
            self._code.value = self.state.code

    def _choose(self, change: dict[str, Any]) -> None:
        if change["new"] is not None:
            self.state.event = change["new"]
            self.run()

    def _rename(self, change: dict[str, Any]) -> None:
        self.state.name = change["new"].strip() or "transformation"

    def _load_events(self) -> None:
        self._work.start(self._run_with_new_events)

    def _run_with_new_events(self) -> Trials:
        """A data plane may have to finish writing what it received, so this is work for the thread."""
        self.state.refresh()
        self._event.unobserve(self._choose, "value")  # new options choose the first; that is not the user's choice
        self._event.options = self.state.choices()
        self._event.value = self.state.event
        self._event.observe(self._choose, "value")
        return self.state.run()

    def _save_with(self, save: Callable[[], str]) -> None:
        try:
            said = display.message(save(), "ok")
        except ToolkitError as error:
            said = display.message(error, "warning")
        self._said.value = display.page(said)

    def _show(self, trials: Trials) -> None:
        self._summarize.value, self._whole.value = display.page(trials.summary_block()), display.page(trials.whole())

    def _fail(self, message: display.Html) -> None:
        self._summarize.value, self._whole.value = display.page(message), ""

    def _tell_busy(self, busy: bool) -> None:
        self._busy.value = display.page(display.message("running", "info")) if busy else ""

    def static(self) -> display.Html:
        """The code, and what came out last."""
        trials = self.state.trials
        code = self.state.workspace.masker.text(self.state.code)
        return display.page(display.code(code, self.state.language), *([trials.html()] if trials else []))

    def __repr__(self) -> str:
        trials = self.state.trials
        return f"TransformationEditor {self.state.name!r}, {self.state.language}" + (f"\n{trials}" if trials else "")
