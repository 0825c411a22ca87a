"""A tool, and the project that it works in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, get_type_hints

from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.json_types import Json
from svctoolkit.workspace import Workspace

SECONDS: Final = 30.0  # a tool may take
LONG: Final = 120.0  # one that runs many scenarios or events


@dataclass(frozen=True, slots=True)
class Project:
    """The folder in which tools read and write, and its workspace file. With `strict`, notes on it are errors."""

    folder: Path
    file: Path
    strict: bool = False
    #: workspaces that a call has loaded: their secrets are masked in its answer
    opened: list[Workspace] = field(default_factory=list, compare=False)

    def workspace(self) -> Workspace:
        """Return the workspace as its file is now, in delivery mode `record`. Raises what `Workspace.load` raises."""
        if not self.file.is_file():
            raise UsageError(
                f"{self.file} does not exist. `svctoolkit init` creates a starter project; "
                "`svctoolkit mcp --workspace FILE` uses another file"
            )
        workspace = Workspace.load(self.file, strict=self.strict).in_mode("record")
        self.opened.append(workspace)
        return workspace

    def path(self, name: str) -> Path:
        """Return a path inside the folder. Raises `UsageError` for other paths and for URLs."""
        path = Path(name)
        inside = (self.folder / path).resolve()
        if "://" in name or "\0" in name or not inside.is_relative_to(self.folder.resolve()):
            raise UsageError(f"{name!r} is not in the project: tools read and write files below {self.folder} only")
        return path if not path.is_absolute() else inside.relative_to(self.folder.resolve())


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of a `Project` and an agent's arguments. It returns JSON or text, or raises a `ToolkitError`.

    The description and the arguments' types are those of the function; a type `Annotated[..., "text"]` explains its
    argument. `seconds` is the limit of its time. `writes`: it changes files of the project.
    """

    function: Callable[..., Json]
    seconds: float = SECONDS
    writes: bool = False

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def description(self) -> str:
        return inspect.getdoc(self.function) or ""

    # Any: types of all kinds
    @property
    def arguments(self) -> dict[str, tuple[Any, inspect.Parameter]]:
        """The arguments of an agent by name, each with its type and its declaration."""
        hints = get_type_hints(self.function, include_extras=True)
        _, *parameters = inspect.signature(self.function).parameters.values()
        return {parameter.name: (hints[parameter.name], parameter) for parameter in parameters}


def only_one(**given: object) -> None:
    """Raise `ConfigError` unless exactly one of these arguments is given."""
    if sum(value is not None for value in given.values()) != 1:
        raise ConfigError(f"give exactly one of {' and '.join(given)}")
