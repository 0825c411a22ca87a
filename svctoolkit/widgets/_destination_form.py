"""The form of a destination's configuration, made from its type's definition."""

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
from svctoolkit.widgets import _base
from svctoolkit.widgets import _destination_config as configuration
from svctoolkit.widgets._destination_pairs import Pairs
from svctoolkit.widgets._destination_state import DestinationState

_NOT_SET = "(not set)"
_Set = Callable[[Any], None]


class Form:
    """A field for each variable: required ones and those that are set first, the others when they are asked for.

    `changed(name)` is called after a variable of the state has changed. `box` holds the form. The other fields are made
    in the background: 40 of them take a tenth of a second.
    """

    def __init__(self, state: DestinationState, changed: Callable[[str], None]) -> None:
        self._state, self._changed = state, changed
        self._variables = configuration.variables(state.type)
        self._problems: Mapping[str, str] = {}
        first = [n for n, v in self._variables.items() if (v.required and v.default is None) or n in state.config]
        self._others = [name for name in self._variables if name not in first]
        self.fields = {name: self._field(name) for name in first}
        count = len(self._others)
        self._more = _base.checkbox(f"Show {count} more setting{'s' if count > 1 else ''}")
        self._work = _base.Work(self._made, failed=self._failed, busy=self._set_busy)
        self._more.observe(lambda change: self._show_others(change["new"]), "value")
        self._first = ipywidgets.VBox([self.fields[name].box for name in first])
        self._rest = ipywidgets.VBox([])
        self.box = ipywidgets.VBox([self._first, *([self._more, self._rest] if self._others else [])])
        for part, name in ((self.box, "svc-fields"), (self._first, "svc-fields"), (self._rest, "svc-rest")):
            part.add_class(name)

    def show(self, problems: Mapping[str, str]) -> None:
        """Show what is wrong at the fields; those that are not in sight come into it."""
        self._problems = problems
        if problems.keys() & set(self._others):
            self._more.value = True
        self._tell(self.fields)

    def _tell(self, fields: Mapping[str, _base.Field]) -> None:
        for name, field in fields.items():
            field.problem(self._problems.get(name, ""))

    def wait(self, timeout: float = 30.0) -> bool:
        """Whether all fields that were asked for are there within `timeout` seconds."""
        return self._work.wait(timeout)

    def _show_others(self, shown: bool) -> None:
        if shown and self._others[0] not in self.fields:
            self._work.start(lambda: {name: self._field(name) for name in self._others})
        else:
            self._rest.children = [self.fields[name].box for name in self._others] if shown else []

    def _made(self, fields: dict[str, _base.Field]) -> None:
        self.fields |= fields
        self._tell(fields)
        self._rest.children = [field.box for field in fields.values()]

    def _failed(self, message: Html) -> None:
        self._rest.children = [_base.html(display.page(message))]

    def _set_busy(self, busy: bool) -> None:
        self._more.disabled = busy

    def _field(self, name: str) -> _base.Field:
        variable, value = self._variables[name], self._state.config.get(name)
        title = configuration.label(name, variable)
        if variable.required:
            title += " (required)"

        def keep(new: Any) -> None:
            self._state.set(name, new)
            self._changed(name)

        if variable.kind == "pairs":
            pairs = Pairs(variable, value or [], keep, lambda text, *path: self._state.secret(text, name, *path))
            return _base.Field(_base.group(title, pairs.box))
        if isinstance(value, Secret) or (variable.secret and variable.kind == "text"):
            control = _base.secret(title, lambda s: keep(self._state.secret(s.reveal(), name)), kept=bool(value))
            return _base.Field(control)
        make = _CONTROLS.get(variable.kind, _text)
        return make(title, variable, value, keep)


def _text(title: str, variable: Variable, value: Any, keep: _Set) -> _base.Field:
    made = _base.text(title, "" if value is None else str(value), placeholder=str(variable.default or ""))
    made.observe(lambda change: keep(change["new"].strip()), "value")
    return _base.Field(made)


def _boolean(title: str, variable: Variable, value: Any, keep: _Set) -> _base.Field:
    made = _base.checkbox(title, bool(variable.default if value is None else value))
    made.observe(lambda change: keep(change["new"]), "value")
    return _base.Field(made)


def _choice(title: str, variable: Variable, value: Any, keep: _Set) -> _base.Field:
    options = [*([] if variable.required and variable.default else [_NOT_SET]), *variable.options]
    if value is not None and value not in options:
        options.append(value)
    made = _base.choice(title, options, variable.default if value is None else value)
    made.observe(lambda change: keep(None if change["new"] == _NOT_SET else change["new"]), "value")
    return _base.Field(made)


def _choices(title: str, variable: Variable, value: Any, keep: _Set) -> _base.Field:
    chosen = [option for option in value or [] if option in variable.options]
    made = _base.choices(title, variable.options, chosen)
    made.observe(lambda change: keep(list(change["new"])), "value")
    return _base.Field(made, "Ctrl or Shift chooses several")


def _tags(title: str, variable: Variable, value: Any, keep: _Set) -> _base.Field:
    texts = [next(iter(tag.values()), "") if isinstance(tag, Mapping) else tag for tag in value or []]
    made = _base.area(title, "\n".join(map(str, texts)), rows=2)

    def took(change: Mapping[str, Any]) -> None:
        lines = [line.strip() for line in change["new"].splitlines()]
        keep([{variable.tag_key: line} if variable.tag_key else line for line in lines if line])

    made.observe(took, "value")
    return _base.Field(made, "one on each line")


def _time(title: str, _variable: Variable, value: Any, keep: _Set) -> _base.Field:
    made = _base.clock(f"{title} (UTC)", _as_time(value))
    made.observe(lambda change: keep(_as_text(change["new"])), "value")
    return _base.Field(made)


def _timerange(title: str, _variable: Variable, value: Any, keep: _Set) -> _base.Field:
    names = ("excludeWindowStartTime", "excludeWindowEndTime")
    old = value if isinstance(value, Mapping) else {}
    ends = [_base.clock(word, _as_time(old.get(name))) for word, name in zip(("from", "to"), names, strict=True)]

    def took(_change: object) -> None:
        found = {name: _as_text(end.value) for name, end in zip(names, ends, strict=True)}
        keep(found if any(found.values()) else None)

    for end in ends:
        end.observe(took, "value")
    return _base.Field(_base.group(f"{title} (UTC)", _base.bar(*ends)))


def _as_time(value: Any) -> time | None:
    try:
        return time.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _as_text(value: time | None) -> str:
    return value.strftime("%H:%M") if value else ""


def _json(title: str, variable: Variable, value: Any, keep: _Set) -> _base.Field:
    """Rows of several members, and what nobody knows the shape of: JSON, or a text."""
    held = [value]  # with the secrets, of which the editor has masks
    shown = "" if value is None else _as_json(value)
    if variable.kind == "any" and "\n" not in shown:
        made = _base.text(title, shown)
    else:
        made = _base.area(title, shown, rows=min(8, max(2, shown.count("\n") + 1)))
    field = _base.Field(made, "a text or JSON" if variable.kind == "any" else "JSON: [{...}]")

    def took(change: Mapping[str, Any]) -> None:
        try:
            new = _parsed(change["new"].strip())
        except json.JSONDecodeError as error:
            field.problem(f"line {error.lineno}, column {error.colno}: {error.msg}")
            return
        held[0] = configuration.unmasked(new, held[0])
        keep(held[0])

    made.observe(took, "value")
    return field


def _as_json(value: Any) -> str:
    shown = configuration.masked_text(value)
    return shown if isinstance(shown, str) else json.dumps(shown, indent=2, ensure_ascii=False)


def _parsed(text: str) -> Any:
    return json.loads(text) if text[:1] in ("[", "{") or text in ("true", "false") else text


_CONTROLS: Mapping[str, Callable[[str, Variable, Any, _Set], _base.Field]] = {
    "any": _json,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _choices,
    "rows": _json,
    "tags": _tags,
    "time": _time,
    "timerange": _timerange,
}
