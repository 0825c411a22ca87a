"""Try a destination: its configuration in a form, an event, the stages and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Stages
from svctoolkit.plans import Plan
from svctoolkit.results import DestinationResult
from svctoolkit.results.lineage import Lineage
from svctoolkit.widgets._base import controls
from svctoolkit.widgets.destination_explorer import _display as _destination_view
from svctoolkit.widgets.destination_explorer.forecast import Forecast
from svctoolkit.widgets.destination_explorer.form import Form
from svctoolkit.widgets.destination_explorer.panels import BatchPanel, PlanPanel
from svctoolkit.widgets.destination_explorer.plan import PlanChoice, verdict_page
from svctoolkit.widgets.destination_explorer.request import TestRequest
from svctoolkit.widgets.destination_explorer.state import DestinationState, Sample
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

_OWN = "Changes apply to this run only and are passed as destinationConfig."
_COPY = "Click to select all. Secrets are read from the environment variables in the code."


class _Ran(NamedTuple):
    request: TestRequest
    result: DestinationResult | ToolkitError  # an error: the request was rejected
    suite: str
    lineage: Lineage | None


class DestinationExplorer(controls.Explorer):
    """Choose a destination type, or a destination of the workspace, configure it, and run an event through its stages.

    >>> DestinationExplorer(workspace, "hook", event=event)  # doctest: +SKIP

    The workspace is not changed. Requests to types outside the workspace go to a recorder and never leave the machine.
    With a tracking plan (default: that of a source connected to the destination), violations are shown next to the
    stages, and the plan provides samples that conform or violate one rule. With an `event`, the first two stages run at
    once. `events` are more events, to be batched into requests. `result` is the last result, `state` the current
    selection. Raises `UnknownName`.
    """

    def __init__(
        self,
        workspace: Workspace | None = None,
        destination: str = "",
        *,
        event: Mapping[str, Json] | None = None,
        events: Iterable[Mapping[str, Json]] = (),
        plan: Plan | None = None,
    ) -> None:
        own = list(events)
        event = event if event is not None or not own else own[0]
        self.state = DestinationState(workspace)
        self.result: DestinationResult | None = None
        if destination:
            self.state.choose(destination)
        if event is not None:
            self.state.use(Sample("", event))
        self._work = controls.Work(self._show, fail=self._fail, busy=self._set_busy)
        self._filtering = False
        self._forecast = Forecast()
        self._batch = BatchPanel(self.state.request, own)
        self._plan = PlanPanel(PlanChoice(self.state.workspace, plan), self._use_event, self._change)
        self._make_controls()
        self._show_choice()
        if plan is None:
            self._plan.choice.follow(self.state.destination)
            self._plan.update()
        top = controls.grid(self._destination_card, self._event_card, least="340px")
        stages = controls.bar(*self._stages.values(), self._force, self._run, self._status)
        super().__init__([top, stages, self._strips, self._jumps, self._tabs], closing=[self.wait])
        if event is not None and destination and not self.state.workspace.sends:
            self._run_mapping()

    def _run_mapping(self) -> None:
        """Run the first two stages, which send nothing, so that the first view has a result."""
        try:
            trial = replace(self.state.request(), stages=Stages())
        except ToolkitError as error:
            self._fail(controls.failure(error))
            return
        self._work.start(lambda: _ran(trial))
        self._work.wait(10)

    def run(self) -> None:
        """Run the stages in the background, like the button."""
        problems = self.state.problems()
        self._form.show(problems)
        self._general.problem(problems.get("", ""))
        try:
            trial = self.state.request()
        except ToolkitError as error:
            self._fail(controls.failure(error))
            return
        self._work.start(lambda: _ran(trial))

    def go_to_setting(self, setting: str, text: str = "") -> None:
        """Scroll to a configuration variable, with `text` below its field."""
        self._form.go_to(setting, text)

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until all work is done; False after `timeout` seconds."""
        return all(part.wait(timeout) for part in (self._work, self._form, self._batch, self._forecast))

    @property
    def events(self) -> list[dict[str, Json]]:
        """The event in the field. Raises `ConfigError` if it is not valid JSON."""
        return [self.state.event]

    def frame(self) -> pd.DataFrame:
        """Return `result.frame()`, or the event before the first run."""
        return self.result.frame() if self.result is not None else super().frame()

    def static(self) -> display.Html:
        """The last result; related fields of its event and payloads highlight each other, as in the explorer."""
        if self._lit is None:
            return display.page(display.message(f"Destination explorer: {self.state.name}, not run yet", "info"))
        flow = self._lit.flow(is_open=True)
        return Html(f"{self._checked}{self._lit.saved()}{display.page(flow) if flow else ''}{self._batch.result}")

    def __repr__(self) -> str:
        return repr(self.result) if self.result else f"<DestinationExplorer: {self.state.name}, not run yet>"

    def _make_controls(self) -> None:
        self._search = controls.text("Search destinations", placeholder="a name, such as mixpanel or webhook")
        self._search.continuous_update = True
        # A list box, not a grid: a field with one value, names only, of a fixed list. Typing a letter goes to a name.
        self._list = controls.listing("Destination", self.state.choices(), rows=6)
        self._about, self._form_box = controls.html(), controls.group("Configuration")
        self._override = controls.area(
            "Override (destinationConfig, JSON)", rows=2, placeholder='{"variable": "value"}'
        )
        self._general = controls.Field(self._override, "overrides configuration variables, key by key")
        self._destination_card = controls.card(
            "Destination", self._search, self._list, self._about, self._form_box, self._general.box
        )
        self._sample = controls.choice("Start from a sample event or an example", [("", "")])
        self._event = controls.area("Event (JSON)", self.state.event_text, rows=18)
        self._event_field = controls.Field(self._event)
        self._event_card = controls.card(
            "Event", self._sample, self._event_field.box, self._forecast.box, self._plan.box
        )
        self._stages = {
            name: controls.checkbox(name, getattr(self.state.stages, name)) for name in self.state.stages.__slots__
        }
        self._force = controls.checkbox("force (run even if disabled)")
        self._run = controls.button("Run", self.run, icon="play", primary=True)
        self._status = controls.html()
        self._make_views()
        self._observe()

    def _make_views(self) -> None:
        nothing = display.page(display.message("Run to see the output of each stage", "info"))
        self._strips, self._payloads, self._diff = controls.html(), controls.html(nothing), controls.html(nothing)
        self._jumps = controls.bar()
        self._http, self._frame = controls.html(nothing), controls.html(nothing)
        self._code, self._suite, self._added = controls.html(), controls.html(), controls.html()
        self._file = controls.text("Suite file", placeholder="orders.suite.yaml")
        add = controls.button("Add to suite", self._add, icon="plus")
        self._lit: _destination_view.Lit | None = None
        self._checked = Html("")
        self._count_missing, self._right = controls.choice("From", [""]), controls.choice("To", [""])
        compared = controls.group("", controls.bar(self._count_missing, self._right), self._diff)
        self._tabs = controls.tabs(
            Payloads=self._payloads,
            Diff=compared,
            HTTP=self._http,
            Frame=self._frame,
            Batch=self._batch.box,
            Python=self._code,
            Suite=controls.group("", controls.bar(self._file, add), self._added, self._suite),
        )

    def _observe(self) -> None:
        _on(self._search, self._filter)
        _on(self._list, self._choose)
        _on(self._override, lambda text: self._edit("override_text", text, self._general))
        _on(self._event, lambda text: self._edit("event_text", text, self._event_field))
        _on(self._sample, self._use)
        _on(self._force, lambda on: self._edit("force", on))
        for name, box in self._stages.items():
            _on(box, partial(self._switch, name))
        for side in (self._count_missing, self._right):
            _on(side, lambda _: self._compare())

    def _switch(self, stage: str, on: bool) -> None:
        self._edit("stages", replace(self.state.stages, **{stage: on}))

    def _filter(self, text: str) -> None:
        """Show the matching destinations; the selection stays until another one is chosen."""
        entries = self.state.choices(text)
        self._filtering = True
        try:
            self._list.options = entries
            self._list.value = self.state.name if any(name == self.state.name for _, name in entries) else None
        finally:
            self._filtering = False

    def _choose(self, name: str | None) -> None:
        if name is None or self._filtering or name == self.state.name:
            return
        self.state.choose(name)
        self._show_choice()

    def _show_choice(self) -> None:
        self._select(destination=self.state.name, type=self.state.type)
        self._filter(self._search.value)
        refusal = self.state.refusal()
        blocks = [display.message(refusal, "warning")] if refusal else []
        if self.state.destination is not None:
            workspace = self.state.workspace
            note = f"{_OWN} Delivery mode: {workspace.delivery.mode}."
            blocks.append(display.message(note, "warning" if workspace.sends else "info"))
        blocks += [display.message(quirk, "info") for quirk in self.state.quirks()]
        self._about.value = display.page(*blocks) if blocks else ""
        titles = [("choose…", ""), *((sample.title, sample) for sample in self.state.samples())]
        self._sample.options = titles
        self._new_form()
        self._change()

    def _use(self, sample: Sample | str) -> None:
        if isinstance(sample, str):
            return
        self.state.use(sample)
        self._event.value = self.state.event_text
        if sample.config is not None:
            self._new_form()
        self._change()

    def _use_event(self, event: Mapping[str, Json]) -> None:
        self.state.use(Sample("", event))
        self._event.value = self.state.event_text
        self._change()

    def _new_form(self) -> None:
        self._form = Form(self.state, self._set_config)
        self._form_box.children = [self._form_box.children[0], self._form.box]

    def _set_config(self, name: str) -> None:
        self._form.fields[name].problem(self.state.problems().get(name, ""))
        self._change()

    def _edit(self, name: str, value: Any, field: controls.Field | None = None) -> None:
        setattr(self.state, name, value)
        if field is not None:
            field.problem(self.state.trouble(name))
        self._change()

    def _change(self) -> None:
        """Update code, suite, violations and losses after every change; the suite's expectations need a run."""
        event = trial = None
        try:
            event = self.state.event
            trial = self.state.request()
            self._show_code(trial, trial.suite(expected=False))
        except ToolkitError as error:
            self._code.value = self._suite.value = display.page(controls.failure(error))
        self._plan.show(event)
        self._forecast.update(trial)

    def _show_code(self, trial: TestRequest, suite: str, *, expected: bool = False) -> None:
        self._code.value = _destination_view.code(trial.code(), "Python", _COPY)
        note = f"{_COPY} Add it to a suite file or save it as one, then run it with svctoolkit run."
        if not expected:
            note += " Run to add the expectations of each stage."
        self._suite.value = _destination_view.code(suite, "YAML", note)

    def _show(self, ran: _Ran) -> None:
        self._show_code(ran.request, ran.suite, expected=True)
        if isinstance(ran.result, ToolkitError):
            self._fail(controls.failure(ran.result))
            return
        self.result = ran.result
        verdict = self._plan.verdict(dict(ran.request.event))
        first = [] if verdict is None else [self._plan.choice.step(verdict)]
        self._checked = verdict_page(self._plan.choice, verdict)
        ready, done = self.state.stages, ran.request.stages
        left_out = [name for name in Stages.__slots__ if getattr(ready, name) and not getattr(done, name)]
        self._strips.value = _destination_view.strips(ran.result, first, left_out)
        settings = {failure.setting: failure.message for failure in ran.result.failures() if failure.setting}
        self._jumps.children = [
            controls.button(f"Go to setting {name}", partial(self.go_to_setting, name, text), icon="arrow-up")
            for name, text in settings.items()
        ]
        self._lit = _destination_view.Lit(ran.result, ran.lineage)
        flow = self._lit.flow(is_open=True)
        self._payloads.value = self._lit.payloads() + (display.page(flow) if flow else "")
        self._http.value = _destination_view.http(ran.result, left_out)
        self._frame.value = _destination_view.frame(ran.result)
        before = (self._count_missing.value, self._right.value)
        names = list(self._lit.values)
        for side, chosen, otherwise in zip(
            (self._count_missing, self._right), before, (names[:1], names[1:2]), strict=True
        ):
            side.options = names
            side.value = chosen if chosen in names else next(iter(otherwise), None)
        self._compare()

    def _add(self) -> None:
        """Add the current scenario to the file."""
        try:
            message = display.message(self.state.request().add_to(self._file.value), "ok")
        except ToolkitError as error:
            message = controls.failure(error)
        self._added.value = display.page(message)

    def _compare(self) -> None:
        if self._lit is not None:
            self._diff.value = self._lit.diff(self._count_missing.value or "", self._right.value or "")

    def _fail(self, message: display.Html) -> None:
        self._strips.value = display.page(message)
        self._jumps.children = []

    def _set_busy(self, busy: bool) -> None:
        self._status.value = display.page(display.message("running", "info")) if busy else ""


def _ran(trial: TestRequest) -> _Ran:
    result: DestinationResult | ToolkitError
    try:
        result = trial.result()
    except ToolkitError as error:
        result = error
    return _Ran(trial, result, trial.suite(expected=True), _lineage(trial.stages, result))


def _lineage(stages: Stages, result: DestinationResult | ToolkitError) -> Lineage | None:
    """The lineage of the run, for a rejected event up to the rejection; None without a run, or if a stage that lineage
    needs
    was off."""
    if isinstance(result, ToolkitError) or not (stages.user_transform and stages.dest_transform):
        return None
    return result.lineage() if result.data else None


def _on(control: Any, call: Callable[[Any], None]) -> None:
    control.observe(lambda change: call(change["new"]), "value")
