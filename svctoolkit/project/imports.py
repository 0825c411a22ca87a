"""The whole import: read, find the code, write a project, take the first snapshots."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from svctoolkit import rudder_cli, yamlfile
from svctoolkit.errors import ConfigError, Problem
from svctoolkit.json_types import Json
from svctoolkit.policies.propose import proposals
from svctoolkit.project import code, states
from svctoolkit.project.accounts import add_accounts
from svctoolkit.project.code_tests import code_tests
from svctoolkit.project.environments import add_environment
from svctoolkit.project.files import FileNames, check_free, move_all, write_texts
from svctoolkit.project.lock import NAME, lock_of
from svctoolkit.project.names import key_by_name
from svctoolkit.project.report import Report
from svctoolkit.project.sources import read
from svctoolkit.project.suite_files import Written, write_suites
from svctoolkit.project.suites import sample_events
from svctoolkit.project.workflows import GITIGNORE, System, pytest_files, workflow_files
from svctoolkit.workspace import Library, Patience, Transformation, Workspace, every_piece, record_written

POLICIES = "policies.yaml"
_POLICIES_HEAD = """\
# What is true of the sample events today. Remove what is not a rule, and add what is: svctoolkit docs policies
# svctoolkit replay EVENTS --policies policies.yaml      checks your events
# `policies: ../policies.yaml` in a suite, or this list as `policies:` in workspace.yaml, checks suites
"""
_LATE = 3  # events that may exceed the time limit before code counts as endless
_HINT = "give another folder: svctoolkit import FILE -o FOLDER"


def import_workspace(
    path: Path,
    folder: Path,
    *,
    workspace_id: str = "",
    code_paths: Sequence[Path] = (),
    others: Mapping[str, Path] | None = None,
    with_suites: bool = True,
    strict: bool = False,
    ci: System | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Report:
    """Write a project for the workspace in `path` to `folder`: all files or none.

    `path` is a RudderStack workspace configuration (of one workspace, or of several: then `workspace_id` selects
    one), a workspace file, or a Rudder CLI project. Code is searched in `code_paths`, by default next to `path` and in
    `transformations/` there: files named by id or version, rudder/v1 files, JSON exported by RudderStack.

    The project contains workspace.yaml, with `$(env:NAME)` for secrets; their values in `.env` (mode 600) and their
    names in `.env.example`; `transformations/`; tracking plans in `tracking/`. `with_suites` adds a suite for each
    destination that runs and for each transformation without a destination, with snapshots of the current output for
    sample events, and one for each source with a plan, with planned events. It also adds `policies.yaml` with what is
    true of the sample events today.

    Code that does not end takes its time limit for each event. After three such events it runs no more, and nothing
    that runs it gets a suite.

    `others` are further exports by the name of the environment that each becomes, such as of a production workspace.
    `ci` adds a workflow that runs the suites without secrets.

    Raises `ConfigError` if the export cannot be read (with `strict`, also for unknown types or variables) or a file
    already exists, `ToolkitError` if a file cannot be written.
    """
    check_free(folder, ["workspace.yaml"], _HINT)
    workspace, unknown, missing = read_all(path, workspace_id, code_paths, others or {}, strict=strict, environ=environ)
    with tempfile.TemporaryDirectory(prefix="svctoolkit-") as temporary:
        draft = Path(temporary)
        write_workspace(workspace, draft)
        code = {piece.file: piece.code for piece in every_piece(workspace) if piece.file}
        # before the suites run it
        record_written({folder / file.relative_to(draft): text for file, text in code.items()})
        write_texts({NAME: lock_of(draft).text()}, draft)
        workspace.patience = patience = Patience(_LATE)
        tests = code_tests(workspace, path) if with_suites and path.is_dir() else {}
        written = write_suites(workspace, draft, environ, tests) if with_suites else Written()
        summary = Report(workspace, states.states(workspace), missing, unknown, endless=patience.given_up)
        summary = replace(summary, scenarios=written.scenarios, varying=written.varying, refused=written.refused)
        proposed, left_out = proposals(workspace, [*sample_events().values()]) if with_suites else ([], {})
        summary = replace(summary, policies=[*dict.fromkeys(_kind(policy) for policy in proposed)], left_out=left_out)
        workspace.patience = None
        policies = {POLICIES: _POLICIES_HEAD + yamlfile.dump({"policies": proposed})} if proposed else {}
        write_texts(policies | pytest_files(folder) | workflow_files(ci), draft)
        (draft / "IMPORT.md").write_text(f"# What runs here\n\n```text\n{summary.text()}\n```\n", encoding="utf-8")
        files = move_all(draft, folder, hint=_HINT)
    return replace(summary, files=files)


def read_all(
    path: Path,
    workspace_id: str,
    code_paths: Sequence[Path],
    others: Mapping[str, Path],
    *,
    strict: bool,
    environ: Mapping[str, str],
) -> tuple[Workspace, list[Problem], list[str]]:
    """Return the workspace with its code and environments, what is unknown in it, and the code that is missing."""
    workspace, unknown, missing = _read_one(path, workspace_id, code_paths, strict=strict, environ=environ)
    for name, export in others.items():
        other, more, lacking = _read_one(export, "", code_paths, strict=strict, environ=environ)
        notes = add_environment(workspace, name, other)
        unknown += [*more, *(Problem(note, str(export)) for note in notes)]
        missing += [f"{item} of {name}" for item in lacking]
    add_accounts(workspace)
    return workspace, unknown, missing


def _read_one(
    path: Path, workspace_id: str, code_paths: Sequence[Path], *, strict: bool, environ: Mapping[str, str]
) -> tuple[Workspace, list[Problem], list[str]]:
    workspace, unknown = read(path, workspace_id, strict, environ)
    missing = code.fill(workspace, code.search(list(code_paths) or code.places_beside(path)))
    key_by_name(workspace)
    return workspace, unknown, missing


def write_workspace(workspace: Workspace, draft: Path) -> None:
    """Write workspace.yaml, code, plans, `.env` and `.gitignore` of a project to a folder."""
    workspace.folder = draft
    names = FileNames()
    for item in workspace.transformations.values():
        _write_code(item, Path("transformations", names.of(item.name)), draft)
    for key, library in workspace.libraries.items():
        _write_code(library, Path("transformations", "libraries", names.of(key)), draft)
    _copy_plans(workspace, draft)
    workspace.save(draft / "workspace.yaml", env_file=True)
    (draft / ".gitignore").write_text(GITIGNORE, encoding="utf-8")
    text = (draft / "workspace.yaml").read_text("utf-8")
    variables = dict.fromkeys(re.findall(r"(?<!\$)\$\(env:(\w+)", text))
    if variables:
        (draft / ".env.example").write_text("".join(f"{name}=\n" for name in variables), encoding="utf-8")


def _copy_plans(workspace: Workspace, draft: Path) -> None:
    """Copy the files of tracking plans into the project, including comments; variables get their present values."""
    for item in workspace.tracking_plans.values():
        folder = item.path
        if folder is not None and folder.is_file():
            item.path = Path("tracking", folder.name)
            (draft / "tracking").mkdir(exist_ok=True)
            shutil.copyfile(folder, draft / item.path)
        elif folder is not None and folder.is_absolute():
            for file in item.project.files:
                copy = draft / "tracking" / file.resolve().relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_text(_with_variables(file), encoding="utf-8")
            item.path = Path("tracking")


def _with_variables(file: Path) -> str:
    """Return the text of a rudder-cli file with its variables replaced: the copy has to work in another shell."""
    return rudder_cli.substitute(yamlfile.load_text(file), rudder_cli.given_variables(os.environ)).text


def _write_code(item: Transformation | Library, file: Path, draft: Path) -> None:
    item.code = item.code.removeprefix("\ufeff")  # of an editor on Windows; readers of files remove it, too
    if not item.code:
        return
    half = re.search("[\ud800-\udfff]", item.code)
    if half:
        line = item.code.count("\n", 0, half.start()) + 1
        name = item.name if isinstance(item, Transformation) else item.key
        raise ConfigError(
            f"line {line} of the code of {name!r} has half of a surrogate pair, such as half an emoji, which no file "
            "can hold: write it as an escape"
        )
    item.file = file.with_name(f"{file.name}.{'py' if item.language == 'python' else 'js'}")
    (draft / item.file).parent.mkdir(parents=True, exist_ok=True)
    (draft / item.file).write_text(item.code, encoding="utf-8", newline="\n")


def _kind(policy: Mapping[str, Json]) -> str:
    return next(name for name in policy if name != "name")
