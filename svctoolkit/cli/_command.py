"""What a command is made of."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from svctoolkit.registry import Registry


class Exit(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FAILED = 1  # it ran, and there is an error in the result
    INTERRUPTED = 2
    INTERNAL = 3  # a mistake of this package
    USAGE = 4  # wrong options, or input that is invalid
    NOTHING = 5  # nothing was selected


def _no_arguments(_parser: argparse.ArgumentParser) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Command:
    """One command of `svctoolkit`.

    - `help`: one line for the list of commands, no full stop
    - `run(args) -> int`: does the work and gives the exit code (`Exit`). It raises `ToolkitError` for what is wrong
    - `add_arguments(parser)`: declares the options
    - `examples`: command lines that work as they are written, shown below the options
    - `description`: paragraphs above the options; `help` where there are none
    - `commands`: those below it, as in `svctoolkit plan check`, one file each
    - `runs_code`: whether it may run user transformations: then it has `--trust-code`
    - `loads_workspace`: whether it loads a workspace file: then it has `--env` and `--strict`
    """

    help: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments
    examples: tuple[str, ...] = ()
    description: str = ""
    runs_code: bool = False
    loads_workspace: bool = False
    commands: Registry[Command] | None = None
