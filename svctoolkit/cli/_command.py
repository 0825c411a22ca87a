"""`Command`, the definition of a command, and its exit codes."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import argparse

    from svctoolkit.registry import Registry


class Exit(IntEnum):
    """The exit codes of commands."""

    OK = 0
    FAILED = 1  # the command ran, and its result contains a failure
    INTERRUPTED = 2
    INTERNAL = 3  # also a scenario that could not run to its end
    USAGE = 4  # wrong options, or input that is invalid
    NOTHING = 5  # nothing was selected


def _no_arguments(_parser: argparse.ArgumentParser) -> None:
    pass


class Command(NamedTuple):
    """One command of `svctoolkit`.

    - `help`: one line for the list of commands, no full stop
    - `run(args) -> int`: does the work and returns the exit code (`Exit`). Raises `ToolkitError` for reportable errors
    - `add_arguments(parser)`: declares the options
    - `examples`: command lines shown below the options
    - `description`: paragraphs above the options (default: `help`)
    - `commands`: its subcommands, as in `svctoolkit plan check`, one file each
    - `runs_code`: whether it may run user transformations, which adds `--trust-code`
    - `simulates`: whether destinations may be simulated, which adds `--simulate`
    - `loads_workspace`: whether it loads a workspace file, which adds `--env` and `--strict`
    """

    help: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments
    examples: tuple[str, ...] = ()
    description: str = ""
    runs_code: bool = False
    loads_workspace: bool = False
    simulates: bool = False
    commands: Registry[Command] | None = None
