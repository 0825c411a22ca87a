"""Shared parts of explorers: labelled controls, background work, a static view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import time
from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets
import traitlets

from svctoolkit import display
from svctoolkit.json_types import Json
from svctoolkit.results.frames import flatten
from svctoolkit.secrets import MASK, Secret
from svctoolkit.widgets._base.catching_up import send_again
from svctoolkit.widgets._base.style import STYLE
from svctoolkit.widgets._base.tree_tools import tree_tools
from svctoolkit.widgets._base.work import Painter, Work, failure

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Explorer",
    "Field",
    "Painter",
    "Work",
    "area",
    "bar",
    "button",
    "card",
    "checkbox",
    "choice",
    "choices",
    "clock",
    "failure",
    "grid",
    "group",
    "html",
    "listing",
    "number",
    "secret",
    "tabs",
    "text",
]


class Explorer(traitlets.HasTraits):  # type: ignore[misc]  # untyped if not installed
    """A widget with several parts, in `root`. Views without widgets show `static()`, a terminal shows the `repr`.

    `selected` says by name what the user chose last, such as a destination and the place of an event. It can be
    observed: `explorer.observe(call, names="selected")`. `events` and `frame()` are the data behind it.

    A subclass calls `Explorer.__init__` with its parts, returns its static view in `static()` and its text in
    `__repr__`. `close()` stops its background work (`closing`) and closes its widgets.
    """

    selected = traitlets.Dict(read_only=True)

    def __init__(self, children: Iterable[Json], *, closing: Sequence[Callable[[], Json]] = ()) -> None:
        super().__init__()
        tools = tree_tools(lambda: send_again(self.root))
        self.root = ipywidgets.VBox([html(f"<style>{STYLE}</style>"), *([tools] if tools else []), *children])
        self.root.add_class("svc-explorer")
        self._closing = closing

    @property
    def events(self) -> list[dict[str, Json]]:
        """The events of the selection."""
        return []

    def frame(self) -> pd.DataFrame:
        """Return the events of the selection: one row each, one column per field with its dotted name."""
        return flatten(self.events)

    def static(self) -> display.Html:
        """The view without widgets: a `display.page`."""
        return display.page(display.message(f"{type(self).__name__} needs a notebook that runs widgets.", "info"))

    def _select(self, **names: Json) -> None:
        """Publish a new selection. Observers are called if it differs from the last one."""
        self.set_trait("selected", names)

    def close(self) -> None:
        """Stop background work and close the widgets."""
        for end in self._closing:
            end()
        _close(self.root)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {**self.root._repr_mimebundle_(**kwargs), **display.bundle(self.static(), repr(self))}

    def _mime_(self) -> tuple[str, str]:
        """marimo's display: the static view. marimo shows single anywidgets, but no widgets that contain others."""
        name = type(self).__name__
        note = (
            f"marimo shows the static view of a {name}. Its methods work in the next cells; Jupyter, VS Code and Colab "
            "show its controls."
        )
        return "text/html", str(display.page(display.message(note, "info")) + self.static())


def _close(widget: Any) -> None:
    for child in getattr(widget, "children", ()):
        _close(child)
    widget.close()


class Field:
    """A control with a help line below it, which also shows problems of its value. `box` contains both."""

    # Any: widgets, which have no types
    def __init__(self, control: Any, help: str = "") -> None:
        self.control = control
        self._help = help
        self._note = html()
        self.box = ipywidgets.VBox([control, self._note])
        self.box.add_class("svc-field")
        self.problem("")

    def problem(self, text: str) -> None:
        """Show a problem at the field; an empty string removes it."""
        if text:
            self._note.value = display.page(display.message(text, "error"))
        else:
            self._note.value = f'<div class="svc-help">{escape(self._help)}</div>' if self._help else ""

    def focus(self) -> None:
        """Focus the field, which scrolls it into view."""
        control = self.control
        while getattr(control, "children", ()):  # a group: its first control
            control = control.children[0]
        control.focus()


def html(value: str = "") -> Json:
    """A place for HTML: set `value` to a `display.page`."""
    return ipywidgets.HTML(value)


def text(label: str, value: str = "", *, placeholder: str = "") -> Json:
    """A single-line text field. `value` changes with Enter, or when the field loses focus."""
    return _with_label(ipywidgets.Text, label, value=value, placeholder=placeholder, continuous_update=False)


def area(label: str, value: str = "", *, rows: int = 6, placeholder: str = "") -> Json:
    """A multi-line field in a code font. `value` changes when the field loses focus."""
    widget = _with_label(
        ipywidgets.Textarea, label, value=value, placeholder=placeholder, rows=rows, continuous_update=False
    )
    widget.add_class("svc-code")
    return widget


def number(label: str, value: int, *, low: int = 0, high: int = 1_000_000) -> Json:
    return _with_label(ipywidgets.BoundedIntText, label, value=value, min=low, max=high)


def choice(label: str, options: Sequence[Json], value: Json = None) -> Json:
    """A dropdown of texts, or of pairs of label and value. The first is selected by default."""
    widget = _with_label(ipywidgets.Dropdown, label, options=options)
    if value is not None:
        widget.value = value
    return widget


def choices(label: str, options: Sequence[str], value: Sequence[str] = ()) -> Json:
    """A list that allows several selections."""
    return _with_label(ipywidgets.SelectMultiple, label, options=options, value=tuple(value), rows=min(6, len(options)))


def listing(label: str, options: Sequence[Json], *, rows: int = 6) -> Json:
    """A list box with one selection or none."""
    return _with_label(ipywidgets.Select, label, options=options, value=None, rows=rows)


def clock(label: str, value: time | None = None) -> Json:
    return _with_label(ipywidgets.TimePicker, label, value=value)


def checkbox(label: str, value: bool = False) -> Json:
    """A checkbox. (Screen readers do not announce whether a toggle button is pressed.)"""
    widget = ipywidgets.Checkbox(value=value, description=label, indent=False, layout={"width": "auto"})
    widget.add_class("svc-check")
    return widget


def secret(label: str, keep: Callable[[Secret], None], *, is_set: bool = False) -> Json:
    """A password field that is cleared as soon as `keep` has received the secret, so that no saved notebook contains
    it.

    `is_set` says that there is already a secret, which is not sent to the browser.
    """
    widget = _with_label(ipywidgets.Password, label, continuous_update=False, placeholder=_placeholder(is_set))

    def take(change: dict[str, Any]) -> None:
        if change["new"]:
            widget.placeholder = _placeholder(True)
            widget.value = ""
            keep(Secret(change["new"]))

    widget.observe(take, "value")
    return widget


def _placeholder(is_set: bool) -> str:
    return f"{MASK} is set; type to replace it" if is_set else "is not saved with the notebook"


def button(label: str, call: Callable[[], Json], *, icon: str = "", primary: bool = False) -> Json:
    widget = ipywidgets.Button(
        description=label, icon=icon, button_style="primary" if primary else "", layout={"width": "auto"}
    )
    widget.on_click(lambda _: call())
    return widget


# Any: widgets, which have no types
def bar(*children: Any) -> Any:
    """Parts side by side, wrapped if there is not enough width."""
    widget = ipywidgets.HBox(children)
    widget.add_class("svc-bar")
    return widget


# Any: widgets, which have no types
def card(title: str, *children: Any) -> Any:
    """Parts stacked in a frame with a heading."""
    widget = ipywidgets.VBox([html(f'<h4 class="svc-title" aria-level="2">{escape(title)}</h4>'), *children])
    widget.add_class("svc-card")
    return widget


# Any: widgets, which have no types
def group(title: str, *children: Any) -> Any:
    """Related controls under a label."""
    widget = ipywidgets.VBox([html(f'<div class="svc-legend">{escape(title)}</div>'), *children])
    widget.add_class("svc-group")
    return widget


# Any: widgets, which have no types
def grid(*children: Any, least: str = "320px") -> Any:
    """Parts side by side, each with at least this width, else stacked."""
    columns = f"repeat(auto-fit, minmax(min({least}, 100%), 1fr))"
    return ipywidgets.GridBox(children, layout={"grid_template_columns": columns, "grid_gap": "12px", "width": "100%"})


# Any: widgets, which have no types
def tabs(**pages: Any) -> Any:
    """Tabs with one part each; the name of a part is its tab's title, with `_` as a space."""
    return ipywidgets.Tab(list(pages.values()), titles=[name.replace("_", " ") for name in pages])


def _with_label(kind: Any, label: str, **settings: Any) -> Any:
    widget = kind(description=label, style={"description_width": "initial"}, layout={"width": "auto"}, **settings)
    widget.add_class("svc-labelled")
    return widget
