"""Write scenarios to a suite file: a new one, or appended to an existing one, which otherwise stays unchanged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.expect.snapshots import write
from svctoolkit.inputs import is_suite
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.attempt import attempt
from svctoolkit.runner.planes.pool import open_planes
from svctoolkit.runner.record.writer import dump, inline, unique_name
from svctoolkit.runner.suite.load import loads
from svctoolkit.runner.suite.model import Suite
from svctoolkit.runner.suite.scenarios import slug
from svctoolkit.workspace import Workspace

_WORKSPACE_FILE = "workspace.yaml"


def add_scenarios(
    path: Path, suite: Mapping[str, Json], workspace: Workspace, *, environ: Mapping[str, str] | None = None
) -> int:
    """Write the scenarios of a recorded suite to a file, and return how many were new.

    A new file refers to the `workspace.yaml` that the workspace was read from, or contains the workspace. In an
    existing file the scenarios are appended with unique names; everything else stays unchanged. The file is written
    atomically, and only if the new scenarios pass with it. `environ` supplies environment variables for references, in
    addition to those of the process. Raises `ConfigError` or one of its subclasses.
    """
    name = yamlfile.display_name(path)
    if not is_suite(path):
        raise ConfigError("the name of a suite file must end with .suite.yaml", where=name)
    if path.exists():
        text = yamlfile.load_text(path)
        added = _missing(yamlfile.load(text, name=name).data, suite)
        text = checked = _append(text, added, name)
    else:
        added = [*suite["scenarios"]]
        head = _head(path, workspace)
        text = dump({**head, **suite})
        # check with the workspace that is loaded: secrets that were typed in are not in a variable yet
        checked = text if "workspace" in head else dump(suite)
    if added:
        _make_folder(path.parent, name)  # before the check: relative paths start from this folder
        _check(loads(checked, workspace, name=name, path=path, environ={**os.environ, **(environ or {})}), len(added))
        write(path, text)
    return len(added)


def _head(path: Path, workspace: Workspace) -> dict[str, Any]:
    """Return the workspace part of a new suite."""
    file = workspace.folder / _WORKSPACE_FILE if workspace.folder is not None else None
    if file is None or not file.is_file():
        return inline(workspace)
    return {"workspace": Path(os.path.relpath(file, path.parent)).as_posix()}


def _make_folder(folder: Path, name: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=name) from error


def _missing(data: Any, suite: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scenarios that a file does not have yet, with unique names and their own clock."""
    there = data.get("scenarios") if isinstance(data, dict) else None
    scenarios = [one for one in there if isinstance(one, dict)] if isinstance(there, list) else []
    ids = {str(one.get("id") or slug(str(one.get("name")))) for one in scenarios}
    bare = [_without_name(one) for one in scenarios]
    # The recorded results depend on the frozen clock; the file may have another one, or none.
    own = {} if data == {} or data.get("freeze") == suite.get("freeze") else {"freeze": suite["freeze"]}
    added: list[dict[str, Any]] = []
    for scenario in suite["scenarios"]:
        whole = {**scenario, **own}
        if _without_name(whole) in bare:
            continue
        added.append({**whole, "name": unique_name(whole["name"], ids)})
    return added


def _without_name(scenario: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in scenario.items() if key != "name"}


def _append(text: str, scenarios: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return the text with items added after the last one of `scenarios`."""
    # Only for positions: the text is extended, not rewritten, so comments and formatting stay.
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    members = root.value if isinstance(root, yaml.MappingNode) else []
    items = next((value for key, value in members if key.value == "scenarios"), None)
    # A list in brackets, or an empty one, has no line to append to.
    if not isinstance(items, yaml.SequenceNode) or items.flow_style or not items.value:
        raise ConfigError(
            "cannot add scenarios: expected a list `scenarios:` with a line `- name: ...` for each", where=name
        )
    column = items.start_mark.column
    lines = text.splitlines(keepends=True)
    end = items.end_mark.line if items.end_mark.column == 0 else items.end_mark.line + 1
    while _is_between(lines[end - 1], column):  # blank lines and comments before the next section
        end -= 1
    before = "".join(lines[:end])
    gap = "" if before.endswith("\n") else "\n"
    gap += "\n" if any(not line.strip() for line in lines[items.start_mark.line : end]) else ""
    return before + gap + indent(yamlfile.dump(list(scenarios)), " " * column) + "".join(lines[end:])


def _is_between(line: str, column: int) -> bool:
    bare = line.strip()
    return not bare or (bare.startswith("#") and len(line) - len(line.lstrip()) <= column)


def _check(suite: Suite, count: int) -> None:
    """Raise `ConfigError` unless the last `count` scenarios of a suite pass."""
    with open_planes() as planes:
        for scenario in suite.scenarios[-count:]:
            outcome = attempt(scenario, planes)
            if outcome.status != "passed":
                why = outcome.reason or next((str(d) for s in outcome.steps for d in s.differences), outcome.status)
                message = (
                    f"{scenario.title!r} does not pass with this suite: {suite.masker.text(why)}. Nothing was written."
                )
                raise ConfigError(message, where=suite.name)
