"""GitHub Actions workflow commands for failed scenarios. Secrets are masked."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from svctoolkit.displayed import printable
from svctoolkit.runner.attempts.outcome import Outcome
from svctoolkit.runner.report.groups import Group, group_by_cause
from svctoolkit.runner.report.route import root_causes
from svctoolkit.runner.report.text import MOST, explanation, help_commands, reasons

_CODE = re.compile(r"\(([^()\s]+\.(?:js|ts|mjs|py)):(\d+)(?::(\d+))?\)")  # `(transformations/clean.js:8:29)`


def github_commands(outcome: Outcome) -> str:
    """Return one GitHub Actions workflow command for a scenario: GitHub shows about ten per step."""
    suite = outcome.scenario.suite
    places = [line for step in outcome.steps if step.differences for line in reasons(step)]
    places = places or [(outcome.scenario.place, explanation(outcome).partition(": ")[2])]
    line, column = suite.document.position(places[0][0])
    causes = [text for step in outcome.steps for text in root_causes(outcome.scenario, step)]
    texts = causes + [text for _, text in places[:MOST]] + [f"... and {len(places) - MOST} more"] * (len(places) > MOST)
    texts += dict.fromkeys(line for step in outcome.steps if step.differences for line in help_commands(step))
    return _command(outcome, outcome.scenario.title, texts, _in_repository(Path(suite.name)), line, column)


def group_command(group: Group) -> str:
    """Return one workflow command for the scenarios of a group, at the line of code if the cause names one."""
    first = group.outcomes[0]
    at = _code_place(group, first)
    if len(group.outcomes) == 1 and at is None:
        return github_commands(first)
    count = len(group.outcomes)
    title = group.cause if count == 1 else group.title
    line, column = first.scenario.suite.document.position(first.scenario.place)
    file, line, column = at or (_in_repository(Path(first.scenario.suite.name)), line, column)
    return _command(first, title, [group.cause, *group.lines()], file, line, column)


def caused_command(outcome: Outcome) -> tuple[str, str]:
    """Return the cause of one failed scenario, which may be empty, and its workflow command: for `merged_commands`."""
    (group,) = group_by_cause([outcome])
    return group.cause, group_command(group)


def merged_commands(commands: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield one workflow command for each cause: that of its first scenario, with how many it fails in the title."""
    by_cause: dict[str, list[str]] = {}
    for cause, command in commands:
        by_cause.setdefault(cause or command, []).append(command)
    for cause, of in sorted(by_cause.items(), key=lambda item: -len(item[1])):
        place, _, rest = of[0].partition("title=")
        message = rest.partition("::")[2]  # colons of a title are escaped
        title = _property(f"{cause}: fails {len(of)} scenarios")
        yield of[0] if len(of) == 1 else f"{place}title={title}::{message}"


def _command(outcome: Outcome, title: str, texts: list[str], file: str, line: int, column: int) -> str:
    mask = outcome.scenario.suite.masker.mask
    message = _escape(printable(str(mask("\n".join(texts)))))
    level = "warning" if outcome.ok else "error"
    place = f"file={_property(file)},line={line},col={column}"
    return f"::{level} {place},title={_property(printable(str(mask(title))))}::{message}\n"


def _code_place(group: Group, outcome: Outcome) -> tuple[str, int, int] | None:
    """Return the file, line and column of user code that a cause names, if the code is in a file."""
    found = _CODE.search(group.cause)
    if found is None:
        return None
    suite = outcome.scenario.suite
    for item in suite.workspace.transformations.values():
        if item.file_name == found[1]:
            folders = (suite.workspace.file.parent if suite.workspace.file else suite.path.parent, suite.path.parent)
            file = next((folder / found[1] for folder in folders if (folder / found[1]).is_file()), None)
            return None if file is None else (_in_repository(file), int(found[2]), int(found[3] or 1))
    return None


def _in_repository(file: Path) -> str:
    """Return a file as GitHub finds it: relative to the checked out repository, not to the working directory."""
    for root in filter(None, (os.environ.get("GITHUB_WORKSPACE"), os.getcwd())):
        with suppress(ValueError):
            return file.resolve().relative_to(Path(root).resolve()).as_posix()
    return file.as_posix()


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
