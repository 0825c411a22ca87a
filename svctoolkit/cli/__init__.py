"""The `svctoolkit` command.

To add a command is to add a file here: its name is the command's name, its `command` is a `Command`. Other packages add
theirs with an entry point in the group `svctoolkit.cli`. A command's module imports only what declares its options;
what it works with is imported in its `run`, so `--help` and `--version` answer at once.
"""

from __future__ import annotations

from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._main import COMMANDS, main

__all__ = ["COMMANDS", "Command", "Exit", "main"]
