"""Select and run a command, and turn its exceptions into exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from svctoolkit import __version__
from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import (
    ConfigError,
    InvalidMessageType,
    RequestError,
    ToolkitError,
    UnknownName,
    UnsetVariables,
    Unsupported,
    UsageError,
    WorkspaceNotes,
    WorkspaceWarning,
    did_you_mean,
)
from svctoolkit.registry import Registry

COMMANDS: Registry[Command] = Registry(
    Command, package="svctoolkit.cli.commands", attribute="command", group="svctoolkit.cli"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `svctoolkit` with these arguments (default: those of the process) and return its exit code; see `Exit`.

    Errors go to standard error as `svctoolkit: message`. With `SVCTOOLKIT_TRACEBACK=1` they are raised instead.
    """
    _terminal.utf8()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        _terminal.flush()
        return int(code)
    except KeyboardInterrupt:
        _terminal.err("interrupted")
        return Exit.INTERRUPTED
    except BrokenPipeError:  # from a command that writes to standard output directly
        _terminal.discard(sys.stdout)
        return Exit.FAILED
    except Exception as error:
        if os.environ.get("SVCTOOLKIT_TRACEBACK"):
            raise
        return _report_error(error, arguments)


def _run(arguments: Sequence[str]) -> int:
    if not arguments:
        _terminal.err(f"command required\n\n{_help()}")
        return Exit.USAGE
    name, rest = arguments[0], arguments[1:]
    if name in ("-h", "--help"):
        _terminal.out(_help())
        return Exit.OK
    if name in ("-V", "--version"):
        return _version(rest)
    if name.startswith("-"):
        raise UsageError(f"unknown option {name} before the command.{did_you_mean(name, ['--help', '--version'])}")
    from svctoolkit.cli import _parser

    command = COMMANDS[name]
    if command.commands is not None and rest and not rest[0].startswith("-"):
        name, command, rest = f"{name} {rest[0]}", command.commands[rest[0]], rest[1:]
    try:
        args = _parser.of(name, command).parse(rest)
    except SystemExit:  # argparse has printed the help
        return Exit.OK
    strict, environment = (args.strict, args.env) if command.loads_workspace else (False, None)
    variables = {
        "SVC_ENV": environment,
        "SVC_SIMULATE": args.simulate if command.simulates else None,
        "SVC_VAR_FILES": _parser.var_files(args),
        "SVCTOOLKIT_TRUST_CODE": "1" if command.runs_code and args.trust_code else None,
    }
    with warnings.catch_warnings(), ExitStack() as stack:
        for variable, value in variables.items():
            stack.enter_context(_variable(variable, value))
        warnings.showwarning = _WarningPrinter()  # type: ignore[assignment]
        warnings.simplefilter("error" if strict else "always", WorkspaceWarning)
        warnings.simplefilter("once", UnsetVariables)
        return command.run(args)


@contextmanager
def _variable(name: str, value: str | None) -> Iterator[None]:
    """Set an environment variable while a command runs: suites and worker processes read the option from there."""
    if value is None:
        yield
        return
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _version(arguments: Sequence[str]) -> int:
    """Print the version, and which extras are installed: as text, or with `--json` as data."""
    from svctoolkit.cli import _extras

    for argument in arguments:
        if argument != "--json":
            raise UsageError(f"unknown option {argument} of svctoolkit --version.{did_you_mean(argument, ['--json'])}")
    extras = {name: packages for name, packages in sorted(_extras.requirements().items()) if name}
    missing = {name: [item.problem for item in packages if item.problem] for name, packages in extras.items()}
    if arguments:
        import json
        import platform

        data = {
            "svctoolkit": __version__,
            "python": platform.python_version(),
            "extras": {
                name: {
                    "installed": not missing[name],
                    "packages": {item.name: item.version or None for item in packages},
                }
                for name, packages in extras.items()
            },
        }
        _terminal.out(json.dumps(data, indent=2))
        return Exit.OK
    _terminal.out(f"svctoolkit {__version__}")
    if installed := [name for name in extras if not missing[name]]:
        _terminal.out(f"extras: {', '.join(installed)}")
    for name in extras:
        if missing[name]:
            _terminal.out(f"no {name}: {'; '.join(missing[name])} (pip install 'svctoolkit[{name}]')")
    return Exit.OK


class _WarningPrinter:
    """Prints warnings without the source line that Python would add; notes on workspaces as one line per command."""

    def __init__(self) -> None:
        self._noted = False

    def __call__(self, message: Warning | str, *_: object) -> None:
        if isinstance(message, WorkspaceNotes):
            if not self._noted:
                file = os.path.relpath(message.folder or message.problems[0].where.rsplit(":", 2)[0])
                path = "" if file == "workspace.yaml" or not os.path.exists(file) else f" {file}"
                _terminal.err(_terminal.plain(f"{_terminal.quantity(message.count, 'note')}: svctoolkit check{path}"))
            self._noted = True
            return
        first, *others = map(_terminal.plain, str(message).splitlines())
        _terminal.err("\n".join([f"note: {first}", *(f"  {line}" for line in others)]))


def _help() -> str:
    import textwrap

    from svctoolkit.cli import _parser

    names = COMMANDS.names()
    longest = max(map(len, names))
    indent = " " * (longest + 4)
    commands = "\n".join(
        textwrap.fill(
            COMMANDS[name].help,
            _terminal.width(),
            initial_indent=f"  {name:<{longest}}  ",
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        for name in names
    )
    about = _parser.wrap(
        "An offline test bench for customer-event pipelines such as RudderStack and Segment, in one Python process."
    )
    codes = _parser.wrap(
        "exit codes: 0 ok, 1 failed, 2 interrupted, 3 could not finish, 4 wrong usage or input, 5 nothing selected"
    )
    first = _parser.examples(("svctoolkit init shop", "cd shop && svctoolkit run", "svctoolkit test --help"))
    return (
        f"usage: svctoolkit [--help] [--version] COMMAND ...\n\n{about}\n\ncommands:\n{commands}\n\n{first}\n\n{codes}"
    )


def _report_error(error: Exception, arguments: Sequence[str]) -> int:
    """Print the error and return its exit code."""
    if isinstance(error, OSError) and error.filename is not None:  # a name that is too long, or goes through a file
        _terminal.err(_terminal.plain(f"{error.filename}: {error.strerror}"))
        return Exit.USAGE
    if not isinstance(error, ToolkitError):
        last = _innermost(error)
        _terminal.err(f"internal error: {type(error).__name__}: {error} ({last}). This is a bug in svctoolkit.")
        _terminal.err("set SVCTOOLKIT_TRACEBACK=1 to see the traceback")
        return Exit.INTERNAL
    _terminal.err("\n".join([str(error), *getattr(error, "__notes__", ())]))
    if isinstance(error, UsageError) or (isinstance(error, UnknownName) and error.kind == "command"):
        command = arguments[0] if arguments and arguments[0] in COMMANDS else ""
        _terminal.err(f"see svctoolkit {command} --help" if command else "see svctoolkit --help")
    return Exit.USAGE if _is_input(error) else Exit.FAILED


def _is_input(error: ToolkitError) -> bool:
    """Whether the user's input is invalid, as opposed to a failure while processing it."""
    if isinstance(error, RequestError):
        return 400 <= error.status < 500 and error.status not in (408, 429)
    return isinstance(error, (ConfigError, InvalidMessageType, Unsupported))


def _innermost(error: BaseException) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return f"{os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno}" if place else "unknown place"
