"""What is wrong in a project, as rudder-cli reports it: rule, severity, file, JSON pointer, line and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]
Path: TypeAlias = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `rule` is empty for errors that rudder-cli prints without a rule; a `note` is only ours.

    `path` is a JSON pointer, such as `/spec/config/api_key`. `line` and `column` are those of rudder-cli: of the key,
    or of its nearest parent in the file. For files that are not YAML they are 1; `cause` has the real place then.
    """

    rule: str
    severity: Severity
    file: str
    path: str
    line: int
    column: int
    message: str
    cause: str = ""

    @property
    def where(self) -> str:
        """The most useful place: `file:line:col`."""
        return self.cause or f"{self.file}:{self.line}:{self.column}"

    def __str__(self) -> str:
        rule = f" [{self.rule}]" if self.rule else ""
        return f"{self.where}: {self.severity}: {self.message}{rule}"


def pointer(path: Path) -> str:
    """Return a path as a JSON pointer, as rudder-cli writes it: without escapes."""
    return "".join(f"/{step}" for step in path)
