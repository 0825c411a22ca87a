"""Bring a project up to date with a newer export, and keep what was edited in the project.

Three states are compared: what the last import wrote, the project now, and what an import would write now. A change of
the export is applied where the project was not edited. Where both changed in different ways, it is a conflict.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from svctoolkit import yamlfile
from svctoolkit.errors import UnsetVariables, WorkspaceWarning
from svctoolkit.json_types import Json
from svctoolkit.project.imports import read_all, write_workspace
from svctoolkit.project.lock import NAME, WORKSPACE, Lock, digest, lock_of, read_lock
from svctoolkit.runner import write
from svctoolkit.workspace import Workspace, load_env, record_written, save_env
from svctoolkit.yamlfile import REMOVED

Resolution = Literal["report", "mine", "theirs"]
_LONGEST = 60  # characters of a value in a line


@dataclass(frozen=True, slots=True)
class Change:
    """A difference to the last import. `mine` is in the project, `theirs` in the export; `REMOVED` if absent.

    `path` is that of a value in workspace.yaml, or (`is_file`) the name of a file, whose hashes these are. `conflict`:
    the project was edited there, too.
    """

    path: tuple[str, ...]
    mine: Json
    theirs: Json
    conflict: bool = False
    is_file: bool = False

    def __str__(self) -> str:
        place = "/".join(self.path) if self.is_file else ".".join(self.path)
        sign = "!" if self.conflict else "+" if self.mine is REMOVED else "-" if self.theirs is REMOVED else "~"
        if self.is_file:
            what = {"+": "new", "-": "removed", "~": "changed", "!": "changed in the export, and edited here"}[sign]
            return f"{sign} {place}: {what}"
        if sign in "+-":
            return f"{sign} {place}{_named(self.theirs if sign == '+' else self.mine)}"
        return f"{sign} {place}: {_show(self.mine)} here, {_show(self.theirs)} in the export"


@dataclass(frozen=True, slots=True)
class Sync:
    """The changes of a newer export. `secrets` names secrets whose value in `.env` is another than in the export."""

    changes: Sequence[Change]
    secrets: Sequence[str]
    applied: bool

    @property
    def conflicts(self) -> list[Change]:
        """The changes that need a decision."""
        return [change for change in self.changes if change.conflict]


def sync(
    project: Path,
    path: Path,
    *,
    apply: bool = False,
    conflicts: Resolution = "report",
    with_secrets: bool = False,
    workspace_id: str = "",
    code_paths: Sequence[Path] = (),
    others: Mapping[str, Path] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Sync:
    """Compare a project with the export in `path`, and return what changed since the last import.

    With `apply`, write the changes: all, or none if the workspace would be invalid. Comments and edits stay. A conflict
    is only reported; `mine` keeps the project's value from now on, `theirs` takes that of the export. New secrets are
    added to `.env`, other values of secrets only replace those there `with_secrets`; secret URLs that an earlier import
    wrote as a whole stay whole, except `with_secrets`. Suites are not changed.

    Raises `UsageError` without a lock file, and what `import_workspace` raises for the export.
    """
    base = read_lock(project)
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        draft = Path(temporary)
        workspace, _, _ = read_all(path, workspace_id, code_paths, others or {}, strict=False, environ=environ)
        write_workspace(workspace, draft)
        theirs, values = lock_of(draft), dict(load_env(draft, {}))
        if not with_secrets:
            theirs = _with_whole_urls(theirs, base, values)
        mine = lock_of(project)
        changes = [*_changes(base.workspace, mine.workspace, theirs.workspace, ()), *_file_changes(base, mine, theirs)]
        own = load_env(project, {})
        differing = [name for name, value in values.items() if own.get(name, value) != value]
        if apply:
            chosen = [change for change in changes if not change.conflict or conflicts == "theirs"]
            _apply(project, draft, chosen, environ)
            new = {name: value for name, value in values.items() if with_secrets or name not in own}
            if new:
                save_env(project, new)
            kept = [change for change in changes if change.conflict] if conflicts == "report" else []
            write(project / NAME, _lock_without(base, theirs, kept).text())
    return Sync(changes, differing, apply)


_WHOLE = re.compile(r"\$\(env:(\w+)\)")


def _with_whole_urls(theirs: Lock, base: Lock, values: dict[str, str]) -> Lock:
    """Return the lock of an export with whole URLs as secrets, where the last import wrote them so; change `values`."""
    names = {name for text in _texts(base.workspace) if (found := _WHOLE.fullmatch(text)) for name in found.groups()}

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: whole(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [whole(inner) for inner in value]
        found = _WHOLE.search(value) if isinstance(value, str) and "://" in value else None
        if found is None or found[1] not in names:
            return value
        values[found[1]] = _WHOLE.sub(lambda reference: values.get(reference[1], reference[0]), value)
        return found[0]

    return Lock(whole(theirs.workspace), theirs.files)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _changes(base: Any, mine: Any, theirs: Any, path: tuple[str, ...]) -> Iterator[Change]:
    """Yield the changes of the export, in objects member by member; any other value is compared as a whole."""
    if theirs == base or mine == theirs:
        return
    if isinstance(theirs, Mapping) and isinstance(mine, Mapping) and (isinstance(base, Mapping) or base is REMOVED):
        before: Mapping[str, Any] = base if isinstance(base, Mapping) else {}
        for key in dict.fromkeys([*theirs, *before]):
            own, new = mine.get(key, REMOVED), theirs.get(key, REMOVED)
            yield from _changes(before.get(key, REMOVED), own, new, (*path, key))
        return
    yield Change(path, mine, theirs, conflict=mine != base)


def _file_changes(base: Lock, mine: Lock, theirs: Lock) -> Iterator[Change]:
    for name in dict.fromkeys([*theirs.files, *base.files]):
        before, own, new = (lock.files.get(name, REMOVED) for lock in (base, mine, theirs))
        if new not in (before, own):
            yield Change(tuple(name.split("/")), own, new, conflict=own != before, is_file=True)


def _apply(project: Path, draft: Path, changes: Sequence[Change], environ: Mapping[str, str]) -> None:
    """Write the changes. The new workspace is checked first, with the new code."""
    file = project / WORKSPACE
    values = {change.path: change.theirs for change in changes if not change.is_file}
    text = yamlfile.edit(yamlfile.load_text(file), values, name=yamlfile.display_name(file))
    names = ["/".join(change.path) for change in changes if change.is_file]
    files = {name: (draft / name).read_text("utf-8") for name in names if digest(draft / name)}
    _check(project, text, files, environ)
    record_written({project / name: content for name, content in files.items()})
    for name, content in files.items():
        write(project / name, content)
    write(file, text)
    for name in names:
        if name not in files:
            (project / name).unlink(missing_ok=True)


def _check(project: Path, text: str, files: Mapping[str, str], environ: Mapping[str, str]) -> None:
    """Raise `InvalidWorkspace` if the workspace with these files would be invalid."""
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkspaceWarning)
        warnings.simplefilter("ignore", UnsetVariables)
        copy = Path(temporary)
        present = {name: (project / name).read_text("utf-8") for name in lock_of(project).files}
        for name, content in (present | dict(files)).items():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_text(content, encoding="utf-8")
        Workspace.loads(text, name=WORKSPACE, folder=copy, environ=load_env(project, environ))


def _lock_without(base: Lock, theirs: Lock, open_changes: Sequence[Change]) -> Lock:
    """Return the lock of the export, with the earlier state where a conflict is still open."""
    workspace, files = dict(theirs.workspace), dict(theirs.files)
    for change in open_changes:
        if change.is_file:
            name = "/".join(change.path)
            files[name] = base.files.get(name, "")
        else:
            _set(workspace, change.path, _get(base.workspace, change.path))
    return Lock(workspace, {name: digest for name, digest in files.items() if digest})


def _get(data: Any, path: Sequence[str]) -> Any:
    for step in path:
        data = data.get(step, REMOVED) if isinstance(data, Mapping) else REMOVED
    return data


def _set(data: dict[str, Any], path: Sequence[str], value: Any) -> None:
    *above, last = path
    for step in above:
        inner = data.get(step)
        data[step] = dict(inner) if isinstance(inner, Mapping) else {}
        data = data[step]
    if value is REMOVED:
        data.pop(last, None)
    else:
        data[last] = value


def _named(value: Any) -> str:
    """Return type and name of an item, in brackets."""
    words = [str(value[key]) for key in ("type", "name") if key in value] if isinstance(value, Mapping) else []
    if isinstance(value, Mapping):
        return f" ({', '.join(words)})" if words else ""
    return f": {_show(value)}"


def _show(value: Any) -> str:
    if value is REMOVED:
        return "nothing"
    text = yamlfile.dump(value).strip() if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
