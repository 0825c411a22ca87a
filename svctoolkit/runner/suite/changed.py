"""Which scenarios a change in git may affect: `--changed origin/main`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.git import git
from svctoolkit.inputs import Inputs
from svctoolkit.json_types import Json
from svctoolkit.runner.suite.dependencies import SECTIONS, inputs_of, items_of, touched_items, touches
from svctoolkit.runner.suite.last_run import Passed
from svctoolkit.runner.suite.model import Scenario, Suite

#: returns the parsed content that a file had before. Raises `ConfigError` if there was no such file, or an invalid one
Content: TypeAlias = Callable[[Path], Json]


def select_changed(scenarios: Sequence[Scenario], ref: str, *, shared: Inputs | None = None) -> list[Scenario]:
    """Return the scenarios that differ from `ref`, and those with an input that does: see `dependencies`.

    `shared` are files that all of them depend on, such as variables of the command line. Of a changed suite file, these
    are the new and edited scenarios, or all of them if its suite-wide settings changed. Files that git does not know,
    such as an ignored `.env`, are compared with the last run in which the scenario passed.

    Raises `UsageError` without git or `ref`.
    """
    # git would read it as an option.
    if ref.startswith("-"):
        raise UsageError(f"--changed {ref}: expected a branch, a tag or a commit")
    root = Path(_git(Path.cwd(), "rev-parse", "--show-toplevel").strip())
    base = _git(
        root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}", wrong=f"unknown revision {ref!r}"
    ).strip()
    # Compared with the working tree, and including new files that are not added yet. Of a renamed file, both names.
    names = _git(root, "diff", "--name-only", "--no-renames", "-z", base)
    names += _git(root, "ls-files", "-o", "--exclude-standard", "-z")
    files = {root / name for name in names.split("\0") if name}
    if shared is not None and shared.touched(files):
        return list(scenarios)

    def content(file: Path) -> Json:
        name = file.relative_to(root).as_posix()
        return yamlfile.load(_git(root, "show", f"{base}:{name}"), name=name).data

    affected = set(select_affected(scenarios, files, content))
    affected.update(_with_changed_unversioned(scenarios, root, shared or Inputs()))
    return [scenario for scenario in scenarios if scenario in affected]


def select_affected(scenarios: Sequence[Scenario], files: set[Path], content: Content) -> list[Scenario]:
    """Return the scenarios with an input among the absolute paths `files`.

    `content` returns what a suite or workspace contained before: of such a file, only some parts may have changed.
    """
    affected = set[Scenario]()
    for suite in dict.fromkeys(s.suite for s in scenarios):
        affected.update(_of(suite, files, content))
    return [scenario for scenario in scenarios if scenario in affected]


def _of(suite: Suite, files: set[Path], content: Content) -> Iterator[Scenario]:
    touched = suite.inputs.touched(files) - {suite.path.resolve(), suite.path.absolute()}
    items = touched_items(suite.workspace, files)
    workspace = (suite.path.parent / str(suite.document.data.get("workspace", ""))).resolve()
    if workspace in touched:
        differing = _differing_items(workspace, content)
        if differing is not None:
            touched.discard(workspace)
            items |= differing
    if touched:
        yield from suite.scenarios
        return
    unchanged = _same_scenarios(suite, content) if suite.path.resolve() in files else None
    for scenario in suite.scenarios:
        rewritten = unchanged is not None and _entry(scenario) not in unchanged
        if rewritten or items & items_of(scenario) or touches(scenario, files):
            yield scenario


def _entry(scenario: Scenario) -> Any:
    """Return a scenario as it is written; None for a test of a rudder/v1 transformation, whose file is its suite."""
    first, number, *_ = (*scenario.written, None)
    return scenario.suite.document.data["scenarios"][number] if first == "scenarios" else None


def _with_changed_unversioned(scenarios: Sequence[Scenario], root: Path, shared: Inputs) -> Iterator[Scenario]:
    """Yield the scenarios with inputs that git does not know, and that differ from when they last passed."""
    inputs = {scenario: [*inputs_of(scenario), shared] for scenario in scenarios}
    everything = {path for each in inputs.values() for read in each for path, seen in read.files.items() if seen}
    unknown = set(_unversioned(everything, root))
    if not unknown:
        return
    passed = Passed.load()
    for scenario, each in inputs.items():
        own = unknown & {path for read in each for path in read.files}
        if own and passed.changed(scenario.name, own):
            yield scenario


def _unversioned(paths: Iterable[Path], root: Path) -> Iterator[Path]:
    """Yield the paths outside of the repository, and those that it ignores."""
    inside = [path for path in paths if path.is_relative_to(root)]
    yield from (path for path in paths if not any(name.is_relative_to(root) for name in (path, path.resolve())))
    ignored = _git(root, "ls-files", "-o", "-i", "--exclude-standard", "-z", "--", *map(str, inside)) if inside else ""
    yield from (root / name for name in ignored.split("\0") if name)


def _differing_items(file: Path, content: Content) -> set[str] | None:
    """Return the items of a workspace file that differ from before; None if more differs, or one was removed."""
    try:
        before, now = content(file), yamlfile.load(file).data
    except (ConfigError, UsageError, ValueError):  # new, or not a valid workspace before
        return None
    if not isinstance(before, dict) or not isinstance(now, dict):
        return None
    sections = {name: (before.get(name) or {}, now.get(name) or {}) for name in before.keys() | now.keys()}
    if any(old != new and name not in SECTIONS for name, (old, new) in sections.items()):
        return None
    if not all(isinstance(side, dict) for name in sections.keys() & set(SECTIONS) for side in sections[name]):
        return None
    items = {name: sides for name, sides in sections.items() if name in SECTIONS}
    if any(old.keys() - new.keys() for old, new in items.values()):
        return None  # what depended on a removed item, such as a library, does not refer to it any more
    return {
        f"{name}.{key}"
        for name, (old, new) in items.items()
        for key in old.keys() | new.keys()
        if old.get(key) != new.get(key)
    }


def _same_scenarios(suite: Suite, content: Content) -> list[Any]:
    """Return the scenarios that are unchanged; an empty list if suite-wide settings have changed."""
    try:
        before = content(suite.path.resolve())
    except ConfigError:  # new, or not a valid suite before
        return []
    now = suite.document.data
    if not isinstance(before, dict) or _head(before) != _head(now):
        return []
    scenarios = before.get("scenarios")
    return scenarios if isinstance(scenarios, list) else []


def _head(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key != "scenarios"}


def _git(folder: Path, *arguments: str, wrong: str = "") -> str:
    return git(folder, *arguments, option="--changed", wrong=wrong)
