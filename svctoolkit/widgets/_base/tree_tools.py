"""Tools for the trees of an explorer: search, expand and collapse, copy path and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from svctoolkit import display
from svctoolkit.json_types import Json

_RENDER = """
function render({ model, el, signal }) {
  model.send({ kind: "shown" });
  let end = () => {};
  const start = () => {
    if (signal?.aborted) return;
    const root = el.closest(".svc-explorer");
    if (root) end = attach(root);
    else requestAnimationFrame(start);  // not yet attached to the page
  };
  start();
  return () => end();
}
export default { render };
"""


def tree_tools(shown: Callable[[], None]) -> Json:
    """An invisible widget that adds tools to the trees around it; None without anywidget.

    `shown` is called whenever a page shows it: then the page has everything around it.
    """
    try:
        return _type()(shown)
    except ImportError:
        return None


@cache
def _type() -> type[Json]:
    import anywidget

    class TreeTools(anywidget.AnyWidget):  # type: ignore[misc]  # untyped if not installed
        _esm = display.tree_tools() + _RENDER

        def __init__(self, shown: Callable[[], None]) -> None:
            super().__init__()
            self._shown = shown
            self.on_msg(self._answer)
            self.add_class("svc-tree-tools")

        def _answer(self, _widget: Any, message: Mapping[str, Any], _buffers: Any) -> None:
            if message.get("kind") == "shown":
                self._shown()

    return TreeTools
