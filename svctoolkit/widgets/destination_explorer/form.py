"""The form of a destination's configuration, generated from its type's definition."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import time
from typing import Any

import ipywidgets

from svctoolkit import display
from svctoolkit.destinations.definitions import Variable
from svctoolkit.display import Html
from svctoolkit.secrets import Secret
from svctoolkit.widgets._base import controls
from svctoolkit.widgets.destination_explorer import configuration
from svctoolkit.widgets.destination_explorer.pairs import Pairs
from svctoolkit.widgets.destination_explorer.state import DestinationState

_NOT_SET = "(not set)"
_Set = Callable[[Any], None]


class Form:
    """A field for each variable: first the required ones and those with a value, the others on request.

    `changed(name)` is called after a variable of the state has changed. `box` contains the form. The other fields are
    created in the background: 40 of them take a tenth of a second.
    """

    def __init__(self, state: DestinationState, changed: Callable[[str], None]) -> None:
        self._state, self._change = state, changed
        self._variables = configuration.variables(state.type)
        self._problems: Mapping[str, str] = {}
        self._target = ""
        first = [n for n, v in self._variables.items() if (v.required and v.default is None) or n in state.config]
        self._others = [name for name in self._variables if name not in first]
        self.fields = {name: self._field(name) for name in first}
        count = len(self._others)
        self._more = controls.checkbox(f"Show {count} more setting{'s' if count > 1 else ''}")
        self._work = controls.Work(self._show_fields, fail=self._fail, busy=self._set_busy)
        self._more.observe(lambda change: self._show_others(change["new"]), "value")
        self._first = ipywidgets.VBox([self.fields[name].box for name in first])
        self._rest = ipywidgets.VBox([])
        self.box = ipywidgets.VBox([self._first, *([self._more, self._rest] if self._others else [])])
        for box, name in ((self.box, "svc-fields"), (self._first, "svc-fields"), (self._rest, "svc-rest")):
            box.add_class(name)

    def show(self, problems: Mapping[str, str]) -> None:
        """Show problems at their fields, including hidden fields."""
        self._problems = problems
        if problems.keys() & set(self._others):
            self._more.value = True
        self._tell(self.fields)

    def go_to(self, name: str, text: str) -> None:
        """Scroll to the field of a variable, with `text` below it. A variable without a field is ignored."""
        if name in self._variables:
            self.show({name: text})
            self._target = name
            self._focus()

    def _focus(self) -> None:
        """Focus the requested field once it exists."""
        if self._target in self.fields:
            self.fields[self._target].focus()
            self._target = ""

    def _tell(self, fields: Mapping[str, controls.Field]) -> None:
        for name, field in fields.items():
            field.problem(self._problems.get(name, ""))

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until all requested fields exist; False after `timeout` seconds."""
        return self._work.wait(timeout)

    def _show_others(self, visible: bool) -> None:
        if visible and self._others[0] not in self.fields:
            self._work.start(lambda: {name: self._field(name) for name in self._others})
        else:
            self._rest.children = [self.fields[name].box for name in self._others] if visible else []

    def _show_fields(self, fields: dict[str, controls.Field]) -> None:
        self.fields |= fields
        self._tell(fields)
        self._rest.children = [field.box for field in fields.values()]
        self._focus()

    def _fail(self, message: Html) -> None:
        self._rest.children = [controls.html(display.page(message))]

    def _set_busy(self, busy: bool) -> None:
        self._more.disabled = busy

    def _field(self, name: str) -> controls.Field:
        variable, value = self._variables[name], self._state.config.get(name)
        title = configuration.label(name, variable)
        if variable.required:
            title += " (required)"

        def keep(new: Any) -> None:
            self._state.set(name, new)
            self._change(name)

        if variable.kind == "pairs":
            pairs = Pairs(variable, value or [], keep, lambda text, *path: self._state.secret(text, name, *path))
            return controls.Field(controls.group(title, pairs.box))
        if isinstance(value, Secret) or (variable.secret and variable.kind == "text"):
            control = controls.secret(title, lambda s: keep(self._state.secret(s.reveal(), name)), is_set=bool(value))
            return controls.Field(control)
        make = _CONTROLS.get(variable.kind, _text)
        return make(title, variable, value, keep)


def _text(title: str, variable: Variable, value: Any, keep: _Set) -> controls.Field:
    widget = controls.text(title, "" if value is None else str(value), placeholder=str(variable.default or ""))
    widget.observe(lambda change: keep(change["new"].strip()), "value")
    return controls.Field(widget)


def _boolean(title: str, variable: Variable, value: Any, keep: _Set) -> controls.Field:
    widget = controls.checkbox(title, bool(variable.default if value is None else value))
    widget.observe(lambda change: keep(change["new"]), "value")
    return controls.Field(widget)


def _choice(title: str, variable: Variable, value: Any, keep: _Set) -> controls.Field:
    options = [*([] if variable.required and variable.default else [_NOT_SET]), *variable.options]
    if value is not None and value not in options:
        options.append(value)
    widget = controls.choice(title, options, variable.default if value is None else value)
    widget.observe(lambda change: keep(None if change["new"] == _NOT_SET else change["new"]), "value")
    return controls.Field(widget)


def _choices(title: str, variable: Variable, value: Any, keep: _Set) -> controls.Field:
    chosen = [option for option in value or [] if option in variable.options]
    widget = controls.choices(title, variable.options, chosen)
    widget.observe(lambda change: keep(list(change["new"])), "value")
    return controls.Field(widget, "use Ctrl or Shift to select several")


def _tags(title: str, variable: Variable, value: Any, keep: _Set) -> controls.Field:
    texts = [next(iter(tag.values()), "") if isinstance(tag, Mapping) else tag for tag in value or []]
    widget = controls.area(title, "\n".join(map(str, texts)), rows=2)

    def took(change: Mapping[str, Any]) -> None:
        lines = [line.strip() for line in change["new"].splitlines()]
        keep([{variable.tag_key: line} if variable.tag_key else line for line in lines if line])

    widget.observe(took, "value")
    return controls.Field(widget, "one per line")


def _time(title: str, _variable: Variable, value: Any, keep: _Set) -> controls.Field:
    widget = controls.clock(f"{title} (UTC)", _as_time(value))
    widget.observe(lambda change: keep(_as_text(change["new"])), "value")
    return controls.Field(widget)


def _timerange(title: str, _variable: Variable, value: Any, keep: _Set) -> controls.Field:
    names = ("excludeWindowStartTime", "excludeWindowEndTime")
    old = value if isinstance(value, Mapping) else {}
    ends = [controls.clock(word, _as_time(old.get(name))) for word, name in zip(("from", "to"), names, strict=True)]

    def took(_change: object) -> None:
        ends_as_text = {name: _as_text(end.value) for name, end in zip(names, ends, strict=True)}
        keep(ends_as_text if any(ends_as_text.values()) else None)

    for end in ends:
        end.observe(took, "value")
    return controls.Field(controls.group(f"{title} (UTC)", controls.bar(*ends)))


def _as_time(value: Any) -> time | None:
    try:
        return time.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _as_text(value: time | None) -> str:
    return value.strftime("%H:%M") if value else ""


def _json(title: str, variable: Variable, value: Any, keep: _Set) -> controls.Field:
    """A field for rows of several members and values of unknown shape: JSON, or a string."""
    current = [value]  # with the secrets, which are masked in the editor
    text = "" if value is None else _as_json(value)
    if variable.kind == "any" and "\n" not in text:
        widget = controls.text(title, text)
    else:
        widget = controls.area(title, text, rows=min(8, max(2, text.count("\n") + 1)))
    field = controls.Field(widget, "a string or JSON" if variable.kind == "any" else "JSON: [{...}]")

    def took(change: Mapping[str, Any]) -> None:
        try:
            new = _parse(change["new"].strip())
        except json.JSONDecodeError as error:
            field.problem(f"line {error.lineno}, column {error.colno}: {error.msg}")
            return
        current[0] = configuration.without_masks(new, current[0])
        keep(current[0])

    widget.observe(took, "value")
    return field


def _as_json(value: Any) -> str:
    masked = configuration.with_masks(value)
    return masked if isinstance(masked, str) else json.dumps(masked, indent=2, ensure_ascii=False)


def _parse(text: str) -> Any:
    return json.loads(text) if text[:1] in ("[", "{") or text in ("true", "false") else text


_CONTROLS: Mapping[str, Callable[[str, Variable, Any, _Set], controls.Field]] = {
    "any": _json,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _choices,
    "rows": _json,
    "tags": _tags,
    "time": _time,
    "timerange": _timerange,
}
