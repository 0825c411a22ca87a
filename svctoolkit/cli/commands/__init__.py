"""The commands, a file each: its name is the command's name, its `command` is a `Command`.

A command with commands below it, such as `plan`, is a folder. A module imports only what declares its options; what it
works with is imported in its `run`, so `--help` and `--version` answer at once.
"""
