"""The commands, one file each: the file name is the command's name, `command` in it is its `Command`.

A command with subcommands, such as `plan`, is a folder. At the top of a module, import only what declaring the options
needs; import the rest in `run`, so that `--help` and `--version` stay fast.
"""
