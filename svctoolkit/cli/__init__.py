"""The `svctoolkit` command.

To add a command is to add a file to `commands`. Other packages add theirs with an entry point in the group
`svctoolkit.cli`. What stands beside that folder is what commands share: options, input, output.
"""

from __future__ import annotations

from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._main import COMMANDS, main

__all__ = ["COMMANDS", "Command", "Exit", "main"]
