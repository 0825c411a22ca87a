"""What can follow on a command line: commands, options, their values, and names from the workspace and suites.

The scripts of `svctoolkit completion` call this at each Tab, so nothing is imported that a candidate does not need.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from svctoolkit.cli import _parser
from svctoolkit.cli._command import Command
from svctoolkit.errors import ToolkitError
from svctoolkit.json_types import Json
from svctoolkit.registry import Registry

_ID = "::"  # between a suite file and the id of a scenario


def candidates(words: Sequence[str], commands: Registry[Command]) -> list[str]:
    """Return what can replace the last of these words, which is what the user has begun to type; empty for files."""
    *before, begun = words or [""]
    return sorted({name for name in _candidates(before, begun, commands) if name.startswith(begun)})


def _candidates(before: Sequence[str], begun: str, commands: Registry[Command]) -> Iterable[str]:
    if not before:
        return [*commands.names(), "--help", "--version"]
    if before[0] not in commands.names():
        return ()
    name, command, rest = before[0], commands[before[0]], before[1:]
    if command.commands is not None:
        if not rest:
            return command.commands.names()
        if rest[0] not in command.commands.names():
            return ()
        name, command, rest = f"{name} {rest[0]}", command.commands[rest[0]], rest[1:]
    return _of_command(_parser.of(name, command), name, rest, begun)


def _of_command(parser: argparse.ArgumentParser, name: str, rest: Sequence[str], begun: str) -> Iterable[str]:
    actions = {option: action for action in parser._actions for option in action.option_strings}
    taking = actions.get(rest[-1]) if rest else None
    if taking is not None and taking.nargs != 0:
        return _values(taking, name, rest)
    if begun.startswith("-"):
        return (option for option in actions if option.startswith("--"))
    positionals = [action for action in parser._actions if not action.option_strings]
    given = _positional_count(rest, actions)
    if positionals and (given < len(positionals) or positionals[-1].nargs in ("*", "+")):
        return _values(positionals[min(given, len(positionals) - 1)], name, [*rest, begun])
    return ()


def _positional_count(rest: Sequence[str], actions: Mapping[str, argparse.Action]) -> int:
    count, skip = 0, False
    for word in rest:
        if skip or word.startswith("-"):
            action = actions.get(word)
            skip = not skip and action is not None and action.nargs != 0
        else:
            count += 1
    return count


def _values(action: argparse.Action, name: str, rest: Sequence[str]) -> Iterable[str]:
    """Return the values of an option or argument; empty if they are files, or anything."""
    if action.choices is not None:
        return map(str, action.choices)
    key = (action.option_strings or [action.dest])[0]
    find = _BY_COMMAND.get((name, key)) or _BY_NAME.get(key)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(find(rest)) if find else ()
    except (ToolkitError, OSError, AttributeError, TypeError):
        return ()  # a workspace or suite with mistakes has no names to offer


def _types(_rest: Sequence[str]) -> Iterable[str]:
    from svctoolkit.destinations import CATALOGUE, definitions

    return {*definitions.names(), *CATALOGUE.names()}


def _kinds_of_test(_rest: Sequence[str]) -> Iterable[str]:
    return ("destination", "source")


def _tested(rest: Sequence[str]) -> Iterable[str]:
    return _keys("sources" if "source" in rest else "destinations", rest)


def _destinations(rest: Sequence[str]) -> Iterable[str]:
    return _keys("destinations", rest)


def _sources(rest: Sequence[str]) -> Iterable[str]:
    return _keys("sources", rest)


def _environments(rest: Sequence[str]) -> Iterable[str]:
    from svctoolkit.workspace import environments

    return environments.names(_workspace_file(rest))


def _samples(_rest: Sequence[str]) -> Iterable[str]:
    from svctoolkit.events.samples import samples

    return samples()


def _run_reports(_rest: Sequence[str]) -> Iterable[str]:
    from svctoolkit.runner import REPORTERS

    return REPORTERS.names()


def _replay_reports(_rest: Sequence[str]) -> Iterable[str]:
    from svctoolkit.replay import REPORTS

    return REPORTS.names()


def _scenarios(rest: Sequence[str]) -> Iterator[str]:
    """Yield `FILE::ID` for the scenarios of the file that the user has begun to type; before `::`, files."""
    from svctoolkit.runner.suite.load import load

    file, colons, _ = rest[-1].partition(_ID)
    if colons and Path(file).is_file():
        yield from (f"{file}{_ID}{scenario.id}" for scenario in load(Path(file)).scenarios)


def _pages(_rest: Sequence[str]) -> Iterable[str]:
    folder = Path(__file__).parents[1] / "docs"
    return (str(page.relative_to(folder).with_suffix("")) for page in folder.rglob("*.md"))


def _workspace_file(rest: Sequence[str]) -> Path:
    named = [after for word, after in pairwise(rest) if word == "--workspace"]
    return Path(named[-1] if named else "workspace.yaml")


def _keys(section: str, rest: Sequence[str]) -> Iterable[str]:
    """Return the keys of a section of the workspace file, which is only read: no variables, no code."""
    from svctoolkit import yamlfile

    items: Mapping[str, Json] = yamlfile.load(_workspace_file(rest)).data.get(section, {})
    return list(items)


_Find = Callable[[Sequence[str]], Iterable[str]]
_BY_NAME: Mapping[str, _Find] = {
    "--destination": _destinations,
    "--source": _sources,
    "--env": _environments,
    "--sample": _samples,
}
_BY_COMMAND: Mapping[tuple[str, str], _Find] = {
    ("definitions", "name"): _types,
    ("test", "what"): _kinds_of_test,
    ("test", "id"): _tested,
    ("run", "paths"): _scenarios,
    ("run", "--report"): _run_reports,
    ("replay", "--report"): _replay_reports,
    ("docs", "page"): _pages,
}
