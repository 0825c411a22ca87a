"""Parse the options of one command: argparse with our error messages and layout."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Command
from svctoolkit.errors import UsageError, did_you_mean

LEVELS = ("answers", "simulated", "strict")  # of `svctoolkit.simulations`, which takes long to import


class Parser(argparse.ArgumentParser):
    """Raises `UsageError` where argparse would print and exit, and suggests the nearest option for a misspelt one."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options in `arguments`. Raises `UsageError`."""
        if not {"-h", "--help"}.intersection(arguments):  # --help works even next to invalid options
            self._check_options(arguments)
        return self.parse_args(self._with_values(arguments))

    def _with_values(self, arguments: Sequence[str]) -> list[str]:
        """Add the default value to an option with an optional value, if a path follows: `--simulate suites`."""
        words = list(arguments)
        for place, (word, following) in enumerate(pairwise([*arguments, ""])):
            if word == "--":
                break
            action = self._option_string_actions.get(word)
            if action is None or action.nargs != "?" or not action.choices or not following.strip("-"):
                continue
            near = did_you_mean(following, action.choices)
            if following[0] != "-" and following not in action.choices and not near:
                words[place] = f"{word}={action.const}"
        return words

    def _check_options(self, arguments: Sequence[str]) -> None:
        """Check option names before argparse, which would report other errors first and a misspelt option last."""
        actions = self._option_string_actions
        for argument in arguments:
            if argument == "--":
                return
            name = argument.partition("=")[0] if argument.startswith("--") else argument[:2]
            if name.startswith("-") and name != "-" and name not in actions and not name[1:].isdigit():
                options = [option for option in actions if option.startswith("--")]
                raise UsageError(f"unknown option {name} of {self.prog}.{did_you_mean(name, options)}")


def of(name: str, command: Command) -> Parser:
    """The parser of one command."""
    parser = Parser(
        prog=f"svctoolkit {name}",
        description=wrap(command.description or command.help),
        epilog=examples(command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    if command.runs_code:
        help_text = "run user transformations even if the sandbox lacks an essential layer on this machine"
        parser.add_argument("--trust-code", action="store_true", help=help_text)
    if command.simulates:
        help_text = (
            "let destinations that have a simulation refuse, hold and lose what the vendor's server would: simulated "
            "(default) or strict. Destinations with their own `simulate` keep it"
        )
        parser.add_argument("--simulate", nargs="?", const="simulated", choices=LEVELS, metavar="LEVEL", help=help_text)
    if command.loads_workspace:
        help_text = "use this environment of the workspace (default: SVC_ENV, if set)"
        parser.add_argument("--env", metavar="NAME", help=help_text)
        add_var_files(parser)
        help_text = "reject workspaces with unknown destination types, unknown variables, or settings without effect"
        parser.add_argument("--strict", action="store_true", help=help_text)
    return parser


def add_var_files(parser: argparse.ArgumentParser) -> None:
    """Declare `--var-file`."""
    parser.add_argument(
        "--var-file",
        metavar="FILE",
        action="append",
        default=[],
        help="values of {{ .NAME }} in a rudder-cli project, NAME.vars.yaml; may be repeated, and a later file wins",
    )


def var_files(args: argparse.Namespace) -> str | None:
    """The files of `--var-file` as one text for the environment; None without any. Raises `UsageError`."""
    names: list[str] = getattr(args, "var_file", [])
    for name in names:
        if not Path(name).is_file():
            raise UsageError(f"--var-file {name}: no such file")
    return os.pathsep.join(os.path.abspath(name) for name in names) or None


def examples(lines: Sequence[str]) -> str | None:
    """The block of examples below the options."""
    return "\n  ".join(["examples:", *lines]) if lines else None


def wrap(text: str, *, indent: int = 0) -> str:
    """Wrap paragraphs to the width of the terminal, with each line indented."""
    width, margin = _terminal.width() - 2, " " * indent
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    return "\n\n".join(textwrap.fill(p, width, initial_indent=margin, subsequent_indent=margin) for p in paragraphs)


def one_of(what: str, choices: Sequence[str]) -> Callable[[str], str]:
    """A `type=` for an argument with a few allowed words, which suggests the nearest one for a misspelt word."""

    def check(text: str) -> str:
        if text not in choices:
            expected = f"expected {' or '.join(choices)}"
            raise argparse.ArgumentTypeError(f"unknown {what} {text!r}; {expected}.{did_you_mean(text, choices)}")
        return text

    return check
