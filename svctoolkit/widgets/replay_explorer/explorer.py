"""Explore replayed events: from groups to events, from an event to its stages and the origin of each field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Unpack, cast

import ipywidgets

from svctoolkit import display
from svctoolkit.causes import Refusal
from svctoolkit.display import Html
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.replay import Comparison, Events, Replayed, replay
from svctoolkit.replay.options import Options
from svctoolkit.results.contrast import Traits
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.grid.grid import Grid
from svctoolkit.widgets.destination_explorer.explorer import DestinationExplorer
from svctoolkit.widgets.replay_explorer import _display
from svctoolkit.widgets.replay_explorer.proof import Proof
from svctoolkit.widgets.replay_explorer.state import ReplayState
from svctoolkit.widgets.replay_explorer.trials import Trial
from svctoolkit.widgets.transformation_editor.explorer import TransformationEditor
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd


class ReplayExplorer(controls.Explorer):
    """Outcomes of many events at the destinations of a workspace: groups, their events, stages, lineage.

    >>> ReplayExplorer("month.ndjson", workspace)  # doctest: +SKIP

    `events` and the options are those of `svctoolkit.replay.replay`, which runs in the constructor unless its `result`
    is passed. An event can be opened in the transformation editor or the destination explorer, or saved to a suite
    file; with `mask_personal`, fake values replace personal data there. Nothing is sent. `state` is the current
    selection, `common` what the events of its group have in common. Raises the errors of `replay`, and `ConfigError`
    for events that can be read only once.
    """

    def __init__(
        self, events: Events, workspace: Workspace, *, result: Replayed | None = None, **options: Unpack[Options]
    ) -> None:
        given = result or replay(events, workspace, **options)
        self._begin(ReplayState(given, events, {"": workspace}, options))

    def _begin(self, state: ReplayState) -> None:
        self.state = state
        self.trials: Sequence[Trial] = ()
        self._opened: list[Any] = []
        self._work: controls.Work[Sequence[Trial]] = controls.Work(self._show, fail=self._fail, busy=lambda _: None)
        self.common = Traits()
        self._contrasting: controls.Work[Traits] = controls.Work(
            self._show_traits, fail=self._fail_traits, busy=lambda _: None
        )
        self._groups = Grid("Groups", self._choose, height=8)
        self._members = Grid("Events of the group", self._pick)
        self._note, self._in_common = controls.html(), controls.html()
        self._details, self._message = controls.html(), controls.html()
        self._contrast = controls.button("What do the found events have in common?", self._ask, icon="adjust")
        self._file = controls.text("Suite file", placeholder="orders.suite.yaml")
        self._editor = controls.button("Open in editor", lambda: self._open(self._edited), icon="pencil")
        self._setting = controls.button("Go to the setting", lambda: self._open(self._explored_setting), icon="cog")
        onward = controls.bar(
            self._editor,
            controls.button("Open in destination explorer", lambda: self._open(self._explored), icon="search"),
            self._setting,
            self._file,
            controls.button("Save as scenario", self._save, icon="plus"),
        )
        self._below, self._proof = ipywidgets.VBox([]), controls.html()
        self.proof: Proof | None = None
        self._proofs, self._editing = 0, cast("TransformationEditor | None", None)
        self._proving: controls.Work[None] = controls.Work(lambda _: None, fail=self._show_proof, busy=lambda _: None)
        head = display.page(_display.head(state.result), _display.pictures(state.result))
        super().__init__(
            [
                controls.card("Groups", controls.html(head), self._groups.box),
                controls.card("Events", self._note, self._in_common, self._members.box, controls.bar(self._contrast)),
                controls.card("Event", self._details, onward, self._message, self._proof, self._below),
            ],
            closing=[self.wait, self._close_opened],
        )
        self._groups.show(state.group_rows(), state.group_columns())
        self._choose(0)
        self.wait()

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events of the group, or those that the search finds, read again in the order of the input."""
        return self.state.events_of(self._members.found)

    def frame(self) -> pd.DataFrame:
        """Return a row for each of these events, in the order of the table.

        Columns: `place`, `event`, `user`, `event_id`, `text` (the error or change).
        """
        found = self._members.found_frame().reset_index(drop=True)
        return found.set_axis([str(name).replace(" ", "_") for name in found], axis="columns")

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until the selected event has run, the group is explained, and changed code is proven.

        False after `timeout` seconds.
        """
        until = monotonic() + timeout
        waits = [self._work.wait, self._contrasting.wait, self._proving.wait]
        return all(wait(max(0, until - monotonic())) for wait in waits)

    def static(self) -> Html:
        """The groups, events and event shown last."""
        result = self.state.result
        blocks = [_display.head(result), _display.pictures(result), self._groups.static("Groups")]
        if self.state.group is not None:
            blocks += [_display.group_note(self.state), _display.distribution(self.state)]
            blocks.append(_display.common(self.common, self.state))
            blocks.append(self._members.static("Events of the group"))
        blocks += [self.proof.html()] if self.proof is not None else []
        return Html(display.page(*blocks) + _display.details(self.trials, saved=True))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_display.words(self.state.result)}>"

    def _choose(self, number: int) -> None:
        if not self.state.groups:
            self._details.value = display.page(display.message("Nothing to inspect: no event was run.", "info"))
            return
        self.state.choose(number)
        self._note.value = display.page(_display.group_note(self.state), _display.distribution(self.state))
        self._groups.mark(number)
        self._members.show(self.state.member_frame())
        self._members.mark(0)
        self._editor.disabled = not self.state.transformation()
        self._contrasting.start(self.state.contrast)
        self._run()

    def _ask(self) -> None:
        """Compare the events that the search finds with all others."""
        self._contrasting.start(partial(self.state.contrast_of, list(self._members.found)))

    # Any: the result of the work
    def _show_traits(self, traits: Any) -> None:
        self.common = traits
        block = _display.common(traits, self.state)
        self._in_common.value = display.page(block) if block else ""

    def _fail_traits(self, message: Html) -> None:
        self.common = Traits()
        self._in_common.value = display.page(message)

    def _pick(self, number: int) -> None:
        self.state.pick(number)
        self._run()

    def _run(self) -> None:
        self._message.value = ""
        self._select(**self.state.selection())
        self._work.start(self.state.trials)

    # Any: the result of the work
    def _show(self, trials: Any) -> None:
        self.trials = trials
        self._details.value = _display.details(trials)
        refusal = self._refusal()
        self._setting.disabled = refusal is None
        self._setting.description = f"Go to setting {refusal.setting}" if refusal else "Go to the setting"

    def _fail(self, message: Html) -> None:
        self.trials = ()
        self._details.value = display.page(message)

    def _open(self, make: Callable[[], controls.Explorer]) -> None:
        """Open another explorer with the selected event below."""
        try:
            opened = make()
        except ToolkitError as error:
            self._message.value = display.page(controls.failure(error))
            return
        self._close_opened()
        self._opened = [opened]
        self._editing = opened if isinstance(opened, TransformationEditor) else None
        self._message.value = display.page(_display.stand_ins(self.state))
        self._below.children = (opened.root,)

    def _edited(self) -> controls.Explorer:
        """An editor with the events of the group, the selected one first; every change of the code is proven."""
        state = self.state
        events, many = state.editor_events()
        return TransformationEditor(state.newest, state.transformation(), events=events, many=many, on_run=self._prove)

    def _prove(self) -> None:
        """Compare all events with the code as replayed, unless it is the same."""
        if self._editing is not None:
            self._proofs += 1
            self._proving.start(partial(self._proof_of, self._editing.state.changed(), self._proofs))

    def _proof_of(self, after: Workspace, number: int) -> None:
        def report(proof: Proof) -> bool:
            self._show_proof(proof.html())
            return number == self._proofs

        proof = self.state.prove(after, report)
        self.proof = proof
        self._show_proof(proof.html() if proof is not None else Html(""))

    def _show_proof(self, block: Html) -> None:
        self._proof.value = display.page(block) if block else ""

    def _refusal(self) -> Refusal | None:
        """Why the mapping of the newest side rejects the selected event, if a setting decides it."""
        causes = [trial.fate.cause for trial in self.trials[-1:] if trial.fate is not None]
        return next((cause for cause in causes if isinstance(cause, Refusal) and cause.setting), None)

    def _explored_setting(self) -> controls.Explorer:
        explorer, refusal = self._explored(), self._refusal()
        if refusal is not None:
            explorer.go_to_setting(refusal.setting, refusal.text)
        return explorer

    def _explored(self) -> DestinationExplorer:
        assert self.state.group is not None  # noqa: S101 - `event` raises without a selection
        return DestinationExplorer(self.state.newest, self.state.group.destination, event=self.state.event())

    def _save(self) -> None:
        try:
            after = self._editing.state.changed() if self._editing is not None else None
            message = display.message(self.state.save(self._file.value, after), "ok")
        except ToolkitError as error:
            message = controls.failure(error)
            if self._editing is not None:
                hint = "The scenario expects the result of the code in the editor: write the code to its file first."
                message = Html(message + display.message(hint, "info"))
        self._message.value = display.page(message, _display.stand_ins(self.state))

    def _close_opened(self) -> None:
        self._proofs += 1  # which ends a proof that is running
        self._editing, self.proof = None, None
        self._show_proof(Html(""))
        for explorer in self._opened:
            explorer.close()
        self._opened = []


def comparison_state(
    result: Comparison, events: Events, before: Workspace, after: Workspace, options: Options
) -> ReplayState:
    """The state of a comparison explorer."""
    return ReplayState(result, events, {"before": before, "after": after}, options)
