"""A code input: an editor with colours if the page supports it, else a text area."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets
import traitlets

from svctoolkit.json_types import Json
from svctoolkit.widgets._base import controls
from svctoolkit.widgets._base.code_editor.words import functions, metadata

if TYPE_CHECKING:
    from svctoolkit.workspace import Language

_HERE = Path(__file__).parent
_BUNDLE = _HERE / "dist" / "codemirror.js"


class CodeArea:
    """An editable code field. `text` is its text area; `box` is the widget to show.

    If the editor's bundle was built and anywidget is installed, each page that can load it replaces the text area with
    an editor that has colours, line numbers, completion and marks. Ctrl+Enter in it calls `run`.
    """

    # Any: results of callbacks are ignored
    def __init__(self, label: str, code: str, language: Language, *, rows: int, run: Callable[[], Any]) -> None:
        self.text = controls.area(label, code, rows=rows)
        self.text.continuous_update = True
        self.editor = _editor(label=label, value=code, rows=rows, run=run)
        self.box = ipywidgets.VBox([self.text, *([self.editor] if self.editor else [])])
        self.box.add_class("svc-code-box")
        if self.editor:
            traitlets.link((self.text, "value"), (self.editor, "value"))
        self.speak(language)

    def speak(self, language: Language) -> None:
        """Set the language for colours and completion."""
        if self.editor:
            self.editor.language, self.editor.functions = language, list(functions(language))

    def offer(self, event: Mapping[str, Json]) -> None:
        """Complete the fields of events like this one. It is sent to the page, so it must not contain secrets."""
        if self.editor:
            self.editor.sample = {"event": event, "events": {"0": event}, "metadata": metadata()}

    def mark(self, problems: Sequence[tuple[int, int, str]]) -> None:
        """Replace the error marks; each has line, column (both from 1) and text."""
        if self.editor:
            self.editor.problems = [
                {"line": line, "column": column, "message": text} for line, column, text in problems
            ]


# Any: widgets, which have no types
def _editor(*, run: Callable[[], Any], **settings: Any) -> Any:
    """The editor's widget; None if no bundle was built or anywidget is not installed."""
    if not _BUNDLE.is_file():
        return None
    try:
        return _editor_type()(run, _bundle=_read_bundle()[0], **settings)
    except ImportError:
        return None


@cache
def _read_bundle() -> tuple[str, bytes]:
    """A key that identifies the content of the bundle, and the bundle."""
    content = _BUNDLE.read_bytes()
    return hashlib.sha256(content).hexdigest()[:16], content


@cache
def _editor_type() -> Any:
    import anywidget

    class CodeEditor(anywidget.AnyWidget):  # type: ignore[misc]  # untyped if not installed
        """`value` is updated shortly after the last key press."""

        _esm = (_HERE / "view.js").read_text("utf-8")
        _bundle = traitlets.Unicode().tag(sync=True)
        value = traitlets.Unicode().tag(sync=True)
        language = traitlets.Unicode().tag(sync=True)
        label = traitlets.Unicode().tag(sync=True)
        rows = traitlets.Int().tag(sync=True)
        problems = traitlets.List().tag(sync=True)
        sample = traitlets.Dict().tag(sync=True)
        functions = traitlets.List().tag(sync=True)

        def __init__(self, run: Callable[[], Any], **settings: Any) -> None:
            super().__init__(**settings)
            self._run = run
            self.on_msg(self._answer)
            self.add_class("svc-labelled")
            self.add_class("svc-editor")

        def _answer(self, _widget: Any, message: Mapping[str, Any], _buffers: Any) -> None:
            if message.get("kind") == "bundle":
                key, content = _read_bundle()
                self.send({"kind": "bundle", "key": key}, buffers=[content])
            elif message.get("kind") == "run":
                self._run()

    return CodeEditor
