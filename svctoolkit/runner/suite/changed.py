"""Which scenarios a change in git may affect: `--changed origin/main`."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.runner.suite.common import NAME as COMMON
from svctoolkit.runner.suite.model import Scenario, Suite

#: Parts of a workspace with keys: a change of one key only affects the destinations that use it.
_PARTS = ("sources", "destinations", "transformations")


def select_changed(scenarios: Sequence[Scenario], ref: str) -> list[Scenario]:
    """Return the scenarios that differ from `ref`, and those whose workspace, code, fixtures, rows or snapshots do.

    Of a changed suite file, these are the new and edited scenarios, or all of them if its suite-wide settings changed.
    Changed code selects the scenarios whose destinations use it. Raises `UsageError` without git or `ref`.
    """
    # git would read it as an option.
    if ref.startswith("-"):
        raise UsageError(f"--changed {ref}: expected a branch, a tag or a commit")
    root = Path(_git(Path.cwd(), "rev-parse", "--show-toplevel").strip())
    base = _git(
        root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", wrong=f"unknown revision {ref!r}"
    ).strip()
    # Compared with the working tree, and including new files that are not added yet.
    names = _git(root, "diff", "--name-only", "-z", base) + _git(root, "ls-files", "-o", "--exclude-standard", "-z")
    files = {root / name for name in names.split("\0") if name}
    affected = set[Scenario]()
    for suite in dict.fromkeys(s.suite for s in scenarios):
        affected.update(_of(suite, files, root, base))
    return [scenario for scenario in scenarios if scenario in affected]


def _of(suite: Suite, files: set[Path], root: Path, base: str) -> Iterator[Scenario]:
    code = _code(suite)
    touched = {path.resolve() for path in suite.files} & files
    # Also one that was deleted.
    touched |= {path for path in files if path.name == COMMON and path.parent in suite.path.resolve().parents}
    keys = set[str]()
    workspace = (suite.path.parent / str(suite.document.data.get("workspace", ""))).resolve()
    if workspace in touched:
        parts = _touch_of_workspace(suite, workspace, root, base)
        if parts is not None:
            touched.discard(workspace)
            keys |= parts
    # A fixture, rows or the workspace itself: any scenario of the suite may depend on it.
    if touched - code.keys():
        yield from suite.scenarios
        return
    keys |= {destination for path in touched for destination in code[path]}
    snapshots = {path.name for path in files if path.parent == suite.snapshot_folder.resolve()}
    unchanged = _same_scenarios(suite, root, base) if suite.path.resolve() in files else None
    for scenario in suite.scenarios:
        raw = suite.document.data["scenarios"][scenario.written[1]]
        rewritten = unchanged is not None and raw not in unchanged
        used = keys & set(scenario.destinations()) or keys & _alone(scenario)
        if rewritten or used or any(name.startswith(f"{scenario.id}.") for name in snapshots):
            yield scenario


def _alone(scenario: Scenario) -> set[str]:
    return {f"transformation {s.spec.transformation}" for s in scenario.steps if s.kind == "transformation"}


def _code(suite: Suite) -> dict[Path, set[str]]:
    """Return the files of user code, and the destinations that run them; any transformation may import a library."""
    workspace = suite.workspace
    base = workspace.folder or Path()
    users = {
        key: {d.key for d in workspace.destinations.values() if d.transformation == key} | {f"transformation {key}"}
        for key in workspace.transformations
    }
    users_of_file = {(base / t.file).resolve(): users[key] for key, t in workspace.transformations.items() if t.file}
    # Imports are not parsed: a library may be used by any transformation.
    everyone = set[str]().union(*users.values())
    return users_of_file | {
        (base / library.file).resolve(): everyone for library in workspace.libraries.values() if library.file
    }


def _touch_of_workspace(suite: Suite, file: Path, root: Path, base: str) -> set[str] | None:
    """Return the destinations that a change of the workspace file affects; None if it affects more than these."""
    try:
        before = yamlfile.load(_git(root, "show", f"{base}:{file.relative_to(root).as_posix()}"), name=file.name).data
        now = yamlfile.load(file).data
    except (ConfigError, UsageError, ValueError):  # new, or not a valid workspace at that revision
        return None
    if not isinstance(before, dict) or not isinstance(now, dict):
        return None
    parts = {name: (before.get(name) or {}, now.get(name) or {}) for name in before.keys() | now.keys()}
    if any(old != new and name not in _PARTS for name, (old, new) in parts.items()):
        return None
    if not all(isinstance(side, dict) for name in parts.keys() & set(_PARTS) for side in parts[name]):
        return None
    differ = {
        name: {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}
        for name, (old, new) in parts.items()
        if name in _PARTS
    }
    workspace = suite.workspace
    sources = differ.get("sources", set()) & workspace.sources.keys()
    keys = {d.key for key in sources for d in workspace.destinations_of(workspace.sources[key])}
    transformations = differ.get("transformations", set())
    users = {d.key for d in workspace.destinations.values() if d.transformation in transformations}
    return keys | users | differ.get("destinations", set()) | {f"transformation {key}" for key in transformations}


def _same_scenarios(suite: Suite, root: Path, base: str) -> list[Any]:
    """Return the scenarios that are unchanged; an empty list if suite-wide settings have changed."""
    name = suite.path.resolve().relative_to(root).as_posix()
    try:
        before = yamlfile.load(_git(root, "show", f"{base}:{name}"), name=name).data
    except ConfigError:  # new, or not a valid suite at that revision
        return []
    now = suite.document.data
    if not isinstance(before, dict) or _head(before) != _head(now):
        return []
    scenarios = before.get("scenarios")
    return scenarios if isinstance(scenarios, list) else []


def _head(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "scenarios"}


def _git(folder: Path, *arguments: str, wrong: str = "") -> str:
    try:
        result = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8"
        )
    except OSError as error:
        raise UsageError(f"--changed needs git: {error.strerror}") from error
    if result.returncode:
        raise UsageError(f"--changed: {wrong or result.stderr.strip() or 'git failed'}")
    return result.stdout
