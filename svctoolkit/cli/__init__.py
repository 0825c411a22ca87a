"""The `svctoolkit` command.

To add a command, add a file to `commands`. Other packages add commands with an entry point in the group
`svctoolkit.cli`. The modules next to that folder are shared by commands: options, input, output.
"""

from __future__ import annotations

from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._main import COMMANDS, main

__all__ = ["COMMANDS", "Command", "Exit", "main"]
