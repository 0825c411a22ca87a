"""What every explorer is made of: labelled controls, work in the background, a static view of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import time
from html import escape
from typing import Any

import ipywidgets

from svctoolkit import display
from svctoolkit.json_types import Json
from svctoolkit.secrets import MASK, Secret
from svctoolkit.widgets._base.style import STYLE
from svctoolkit.widgets._base.tree_tools import tree_tools
from svctoolkit.widgets._base.work import Painter, Work, failure

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


class Explorer:
    """A widget of several parts. `root` holds them; a view without widgets gets `static()`, a terminal the `repr`.

    An explorer calls `Explorer.__init__` with its parts, gives its static view in `static()` and its text in
    `__repr__`. `close()` ends what it runs (`closing`) and closes its widgets.
    """

    def __init__(self, children: Iterable[Json], *, closing: Sequence[Callable[[], Json]] = ()) -> None:
        tools = tree_tools()
        self.root = ipywidgets.VBox([html(f"<style>{STYLE}</style>"), *([tools] if tools else []), *children])
        self.root.add_class("svc-explorer")
        self._closing = closing

    def static(self) -> display.Html:
        """What is shown where widgets are not: a `display.page`."""
        return display.page(display.message(f"{type(self).__name__} is shown where widgets run.", "info"))

    def close(self) -> None:
        """End what it runs and close its widgets."""
        for end in self._closing:
            end()
        _close(self.root)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        return {**self.root._repr_mimebundle_(**kwargs), **display.bundle(self.static(), repr(self))}


def _close(widget: Any) -> None:
    for child in getattr(widget, "children", ()):
        _close(child)
    widget.close()


class Field:
    """A control with a line below it: what it is for, and what is wrong with its value. `box` holds both."""

    # Any: widgets, which have no types
    def __init__(self, control: Any, help: str = "") -> None:
        self.control = control
        self._help = help
        self._note = html()
        self.box = ipywidgets.VBox([control, self._note])
        self.box.add_class("svc-field")
        self.problem("")

    def problem(self, text: str) -> None:
        """Show what is wrong at the field; an empty text takes it away."""
        if text:
            self._note.value = display.page(display.message(text, "error"))
        else:
            self._note.value = f'<div class="svc-help">{escape(self._help)}</div>' if self._help else ""

    def focus(self) -> None:
        """Put the cursor into the field, which scrolls it into view."""
        control = self.control
        while getattr(control, "children", ()):  # a group: its first control
            control = control.children[0]
        control.focus()


def html(value: str = "") -> Json:
    """A place for HTML: set `value` to a `display.page`."""
    return ipywidgets.HTML(value)


def text(label: str, value: str = "", *, placeholder: str = "") -> Json:
    """One line. `value` changes with Enter, or when the field is left."""
    return _with_label(ipywidgets.Text, label, value=value, placeholder=placeholder, continuous_update=False)


def area(label: str, value: str = "", *, rows: int = 6, placeholder: str = "") -> Json:
    """Several lines in code type. `value` changes when the field is left."""
    widget = _with_label(
        ipywidgets.Textarea, label, value=value, placeholder=placeholder, rows=rows, continuous_update=False
    )
    widget.add_class("svc-code")
    return widget


def number(label: str, value: int, *, low: int = 0, high: int = 1_000_000) -> Json:
    return _with_label(ipywidgets.BoundedIntText, label, value=value, min=low, max=high)


def choice(label: str, options: Sequence[Json], value: Json = None) -> Json:
    """One of several: texts, or pairs of label and value. Without a value the first."""
    widget = _with_label(ipywidgets.Dropdown, label, options=options)
    if value is not None:
        widget.value = value
    return widget


def choices(label: str, options: Sequence[str], value: Sequence[str] = ()) -> Json:
    """Several of several."""
    return _with_label(ipywidgets.SelectMultiple, label, options=options, value=tuple(value), rows=min(6, len(options)))


def listing(label: str, options: Sequence[Json], *, rows: int = 6) -> Json:
    """One of several that are all in sight, or none; the list can be long."""
    return _with_label(ipywidgets.Select, label, options=options, value=None, rows=rows)


def clock(label: str, value: time | None = None) -> Json:
    return _with_label(ipywidgets.TimePicker, label, value=value)


def checkbox(label: str, value: bool = False) -> Json:
    """Yes or no. (A toggle button would not tell a screen reader whether it is pressed.)"""
    widget = ipywidgets.Checkbox(value=value, description=label, indent=False, layout={"width": "auto"})
    widget.add_class("svc-check")
    return widget


def secret(label: str, keep: Callable[[Secret], None], *, is_set: bool = False) -> Json:
    """A password field that is empty again as soon as `keep` has the secret: a saved notebook never has it.

    `kept` says that there is a secret already; it is not sent to the browser.
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
    """Parts beside each other, on more lines where it is too narrow."""
    widget = ipywidgets.HBox(children)
    widget.add_class("svc-bar")
    return widget


# Any: widgets, which have no types
def card(title: str, *children: Any) -> Any:
    """Parts below each other in a frame with a heading."""
    widget = ipywidgets.VBox([html(f'<h4 class="svc-title">{escape(title)}</h4>'), *children])
    widget.add_class("svc-card")
    return widget


# Any: widgets, which have no types
def group(title: str, *children: Any) -> Any:
    """Controls that belong together, below what they are about."""
    widget = ipywidgets.VBox([html(f'<div class="svc-legend">{escape(title)}</div>'), *children])
    widget.add_class("svc-group")
    return widget


# Any: widgets, which have no types
def grid(*children: Any, least: str = "320px") -> Any:
    """Parts beside each other, each at least that wide, else below each other."""
    columns = f"repeat(auto-fit, minmax(min({least}, 100%), 1fr))"
    return ipywidgets.GridBox(children, layout={"grid_template_columns": columns, "grid_gap": "12px", "width": "100%"})


# Any: widgets, which have no types
def tabs(**pages: Any) -> Any:
    """One of the parts at a time; the name of a part is its tab's title, with `_` as a space."""
    return ipywidgets.Tab(list(pages.values()), titles=[name.replace("_", " ") for name in pages])


def _with_label(kind: Any, label: str, **settings: Any) -> Any:
    widget = kind(description=label, style={"description_width": "initial"}, layout={"width": "auto"}, **settings)
    widget.add_class("svc-labelled")
    return widget
