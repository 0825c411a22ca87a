"""Tools for the trees of an explorer: search, expand and collapse, copy path and value."""

from __future__ import annotations

from functools import cache

from svctoolkit import display
from svctoolkit.json_types import Json

_RENDER = """
function render({ el, signal }) {
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


def tree_tools() -> Json:
    """An invisible widget that adds tools to the trees around it; None without anywidget."""
    try:
        return _type()()
    except ImportError:
        return None


@cache
def _type() -> type[Json]:
    import anywidget

    class TreeTools(anywidget.AnyWidget):  # type: ignore[misc]  # untyped if not installed
        _esm = display.tree_tools() + _RENDER

        def __init__(self) -> None:
            super().__init__()
            self.add_class("svc-tree-tools")

    return TreeTools
