"""Rows of two texts, such as headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ipywidgets

from svctoolkit.destinations.definitions import Variable
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret
from svctoolkit.widgets._base import controls


class Pairs:
    """Rows that can be added and removed; `keep` receives all non-empty ones after every change.

    The right-hand values of a secret variable are kept as results of `secret(text, row, name)`.
    """

    def __init__(
        self,
        variable: Variable,
        rows: Sequence[Mapping[str, Json]],
        keep: Callable[[list[dict[str, Json]]], None],
        secret: Callable[..., Secret],
    ) -> None:
        self._count_missing, self._right = variable.key_left or "from", variable.key_right or "to"
        self._is_secret = variable.secret
        self._keep, self._secret = keep, secret
        self._rows = [dict(row) for row in rows]
        self._lines = ipywidgets.VBox([])
        self._lines.add_class("svc-fields")
        self._add = controls.button("Add row", self._add_row, icon="plus")
        self.box = ipywidgets.VBox([self._lines, controls.bar(self._add)])
        self._draw()

    def _draw(self) -> None:
        self._lines.children = [self._line(number, row) for number, row in enumerate(self._rows, 1)]

    def _line(self, number: int, row: dict[str, Any]) -> Any:
        key = controls.text(f"{self._count_missing} {number}", str(row.get(self._count_missing, "")))
        key.observe(lambda change: self._set(row, self._count_missing, change["new"]), "value")
        remove = controls.button(f"Remove row {number}", lambda: self._remove_row(row))
        return controls.bar(key, self._right_of(number, row), remove)

    def _right_of(self, number: int, row: dict[str, Any]) -> Any:
        label, value = f"{self._right} {number}", row.get(self._right, "")
        if self._is_secret or isinstance(value, Secret):

            def keep(new: Secret) -> None:
                self._set(row, self._right, self._secret(new.reveal(), number, self._right))

            return controls.secret(label, keep, is_set=bool(value))
        widget = controls.text(label, str(value))
        widget.observe(lambda change: self._set(row, self._right, change["new"]), "value")
        return widget

    def _set(self, row: dict[str, Any], name: str, value: Any) -> None:
        row[name] = value
        self._tell()

    def _add_row(self) -> None:
        self._rows.append({self._count_missing: "", self._right: ""})
        self._draw()

    def _remove_row(self, row: dict[str, Any]) -> None:
        self._rows = [other for other in self._rows if other is not row]
        self._draw()
        self._tell()

    def _tell(self) -> None:
        self._keep([dict(row) for row in self._rows if any(row.values())])
