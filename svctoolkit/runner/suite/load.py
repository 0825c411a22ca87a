"""Load a suite file into scenarios. All of its problems are reported together."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import InvalidSuite, UnsetVariables
from svctoolkit.expect import resources
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.common import Common, common_of
from svctoolkit.runner.suite.model import Suite, calls_of
from svctoolkit.runner.suite.scenarios import ScenarioBuilder
from svctoolkit.runner.suite.variables import Environment, Variables, with_names
from svctoolkit.workspace import Workspace, announce, load_env, project_at
from svctoolkit.yamlfile import Document


def load(
    path: Path,
    *,
    workspaces: dict[Path, Workspace] | None = None,
    variables: Mapping[str, Json] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Suite:
    """Return the suite in a file, with one scenario per row of `cases` or `matrix`.

    `workspaces` caches loaded workspace files for suites that share one. `variables` override the suite's variables of
    the same names. `environ` is used for `$(env:NAME)`; by default it is that of the process. Raises `InvalidSuite` or
    `InvalidWorkspace` with every problem, each with its position.
    """
    environment = Environment() if environ is None else Environment(environ)
    with yamlfile.without_collector():
        with inputs.recording() as read:
            common = common_of(path)
            document = yamlfile.load(path, error=InvalidSuite).with_shared(common.documents)
        _check(document)
        shared = {} if workspaces is None else workspaces
        workspace = _workspace(path, document, shared, environment, variables or {}, common)
        workspace = _with_own_calls(workspace, document)
        suite = Suite(path, document.data.get("suite") or path.name.partition(".suite.")[0], document, workspace)
        suite.environment, suite.common = environment, common
        suite.inputs.add(read)
        _fill(suite, variables or {})
        document.release()  # before garbage collection is enabled again: it would traverse all the YAML nodes
    return suite


def suite_of(data: Mapping[str, Json], workspace: Workspace, *, name: str = "suite") -> Suite:
    """Return the suite that `data` describes in the format of a file, for a loaded workspace; errors call it `name`.

    Relative files start from the working directory. Raises `InvalidSuite` with every problem.
    """
    return loads(json.dumps(data), workspace, name=name)


def loads(
    text: str,
    workspace: Workspace,
    *,
    name: str = "suite",
    path: Path = Path("suite.suite.yaml"),
    environ: Mapping[str, str] | None = None,
) -> Suite:
    """Return the suite in a YAML text, for `workspace` unless the text contains one. Otherwise like `suite_of`.

    Relative files start from the folder of `path`. `environ` is used for `$(env:NAME)`; by default it is that of the
    process.
    """
    document = yamlfile.load(text, name=name, error=InvalidSuite)
    _check(document)
    environment = Environment() if environ is None else Environment(environ)
    if document.data.keys() & {"workspace", *_format.WORKSPACE_KEYS}:
        workspace = _workspace(path, document, {}, environment, {}, Common())
    workspace = _with_own_calls(workspace, document)
    suite = Suite(path, document.data.get("suite") or name, document, workspace, environment=environment)
    return _fill(suite, {})


def _check(document: Document) -> None:
    """Raise `InvalidSuite` with everything in the document that does not match the format."""
    if not yamlfile.fits(document.data, _format.Suite):
        yamlfile.check(document, _format.schema(), InvalidSuite)


def _fill(suite: Suite, variables: Mapping[str, Any]) -> Suite:
    suite.inputs.add(suite.workspace.inputs.get("", inputs.Inputs()))
    builder = ScenarioBuilder(suite)
    with resources.use(suite.resources):
        builder.load(variables)
    if builder.problems:
        raise InvalidSuite(yamlfile.cap(dict.fromkeys(builder.problems)))  # rows of one scenario repeat its problems
    if unset := [name for name in suite.environment.unset if name not in suite.workspace.unset]:
        warnings.warn(UnsetVariables(suite.name, unset), stacklevel=3)
    return suite


def _with_own_calls(workspace: Workspace, document: Document) -> Workspace:
    """Return the workspace with the suite's batching, if the suite sets it."""
    batch = document.data.get("batch")
    if batch is None:
        return workspace
    own = workspace.in_mode(workspace.delivery.mode)
    own.delivery = replace(own.delivery, batch=calls_of(batch))
    return own


def _workspace(
    path: Path,
    document: Document,
    scope: dict[Path, Workspace],
    environment: Environment,
    variables: Mapping[str, Any],
    common: Common,
) -> Workspace:
    """Return the workspace of the document: its own, or the one in the file that it names."""
    written = document.data.get("workspace")
    inline = {key: document.data[key] for key in _format.WORKSPACE_KEYS if key in document.data}
    if written is None:
        inline = with_names(
            inline, _values(common.section("vars", document.data.get("vars", {})), variables, environment)
        )
        workspace = Workspace.of(document.part(inline), folder=path.parent, environ=environment.values, strict=True)
        workspace.file = path
        announce(workspace)
        return workspace
    if inline:
        key = next(iter(inline))
        raise InvalidSuite(document.problem([key], f"{key!r} belongs in the workspace file {written}", key=True))
    file = path.parent / written
    if not file.is_file() and project_at(file) is None:
        raise InvalidSuite(document.problem(["workspace"], f"no such file: {written} (looked for {file})"))
    environment.values = load_env(file if file.is_dir() else file.parent, environment.values)
    loaded = scope.get(file.resolve())
    if loaded is None:
        loaded = scope[file.resolve()] = Workspace.load(file, environ=environment.values)
    return loaded


def _values(written: Mapping[str, Any], variables: Mapping[str, Any], environment: Environment) -> dict[str, Any]:
    """Return the suite's variables that an inline workspace may use: those without fixtures."""
    scope = Variables({}, environment)
    for name, value in written.items():
        scope = scope.extend({name: variables[name] if name in variables else scope.apply(value)})
    return dict(scope.values)
