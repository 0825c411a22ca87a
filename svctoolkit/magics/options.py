"""The options of the magics."""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from svctoolkit.errors import UsageError, did_you_mean
from svctoolkit.simulations import LEVELS


class Options(argparse.ArgumentParser):
    """The options of one magic. Raises `UsageError`, which suggests the nearest option for a misspelt one."""

    def __init__(self, magic: str) -> None:
        super().__init__(prog=magic, add_help=False, allow_abbrev=False)

    @property
    def names(self) -> list[str]:
        return [option for option in self._option_string_actions if option.startswith("--")]

    def of(self, line: str) -> argparse.Namespace:
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise UsageError(f"{self.prog}: {error}") from None
        for word in words:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in self.names:
                near = did_you_mean(name, self.names) or f" {self.prog}? shows the options."
                raise UsageError(f"unknown option {name} of {self.prog}.{near}")
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}. {self.prog}? shows its usage.")


def transform_options() -> Options:
    options = Options("%%transform")
    options.add_argument("name", metavar="NAME")
    options.add_argument("--language")
    options.add_argument("--event", action="append", default=[])
    options.add_argument("--destination", action="append", default=[])
    options.add_argument("--events")
    options.add_argument("--plan")
    return options


def suite_options() -> Options:
    options = Options("%%suite")
    options.add_argument("--tags", default="")
    options.add_argument("-k", dest="words", default="")
    options.add_argument("--coverage", action="store_true")
    options.add_argument("--fail-fast", action="store_true")
    options.add_argument("--simulate", choices=LEVELS)
    return options


def mutate_options() -> Options:
    options = Options("%%mutate")
    options.add_argument("name", metavar="NAME")
    return options
