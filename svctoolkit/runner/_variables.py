"""`$(name)`: a value by its name. Alone it keeps its type, inside text it becomes text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from svctoolkit.errors import Problem, did_you_mean
from svctoolkit.yamlfile import Document

Path = tuple[str | int, ...]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_REFERENCE = re.compile(rf"\$(\$?)\(({NAME.pattern})\)")


class Variables:
    """The values that `$(name)` stands for in one scenario. `$$(name)` is the text `$(name)` itself."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def applied(self, value: Any) -> Any:
        """`value` with every reference replaced. References to what is not there stay: see `unknown`."""
        if isinstance(value, str):
            return self._text(value) if "$" in value else value
        if isinstance(value, dict):
            return {k: self.applied(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.applied(v) for v in value]
        return value

    def _text(self, text: str) -> Any:
        alone = _REFERENCE.fullmatch(text)
        if alone and not alone[1]:
            return self._values.get(alone[2], text)
        return _REFERENCE.sub(self._inside, text)

    def _inside(self, found: re.Match[str]) -> str:
        if found[1]:
            return found[0][1:]
        value = self._values.get(found[2], found[0])
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def unknown(self, value: Any, document: Document, path: Path) -> Iterator[Problem]:
        """A problem for each reference in `value` (which stands at `path`) to a variable that is not there."""
        if isinstance(value, str):
            for escaped, name in _REFERENCE.findall(value) if "$" in value else ():
                if not escaped and name not in self._values:
                    hint = did_you_mean(name, self._values) or f" Write $$({name}) for the text itself."
                    yield document.problem(path, f"no variable is called {name!r}.{hint}")
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from self.unknown(inner, document, (*path, key))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from self.unknown(inner, document, (*path, index))


def names_in(text: str) -> str:
    """`text` with the bare names of its references: `currency of $(country)` is `currency of country`."""
    return _REFERENCE.sub(lambda found: found[2], text)
