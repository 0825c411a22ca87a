"""`%load_ext svctoolkit`: write transformations and suites in notebook cells.

    %%transform clean --event track     run the code in the cell on an event
    %%suite --tags orders               run the suite in the cell
    %%mutate clean                      list the changes of the code that the cell's assertions do not notice
    %svc                                show the workspace that the other two use

The workspace is the variable `workspace`, or the variable chosen with `%svc NAME`; it is created if missing.
Loading the extension also adds `df.svc` to DataFrames.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any

from IPython.core.completer import context_matcher
from IPython.core.error import UsageError as ShellUsageError
from IPython.display import display
from IPython.utils.capture import capture_output

from svctoolkit import runner, yamlfile
from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import ConfigError, ToolkitError, UnknownName, UsageError, did_you_mean
from svctoolkit.events import EVENT_TYPES, samples
from svctoolkit.events.formatter import register, unregister
from svctoolkit.json_types import Json
from svctoolkit.magics.completion import keys, matches, split
from svctoolkit.magics.options import mutate_options, suite_options, transform_options
from svctoolkit.magics.progress import Progress
from svctoolkit.mutation import Result, notebook
from svctoolkit.simulations import Level
from svctoolkit.widgets.suite_explorer.results import Results
from svctoolkit.widgets.transformation_editor.aggregate import Aggregate, Many, aggregate
from svctoolkit.widgets.transformation_editor.state import Capturing, events_by_name, language_of, replace_code
from svctoolkit.widgets.transformation_editor.trial import Bench, Trials
from svctoolkit.workspace import Workspace

_LANGUAGES = {"js": "javascript", "javascript": "javascript", "python": "python", "py": "python"}
_FILES = (".json", ".yaml", ".yml")
_TYPES = ", ".join(EVENT_TYPES)
_BEFORE = 1  # lines of a cell before the text that the magic receives
_VALUE = re.compile(r"(?:^|[\s{,-])(destination|source|transformation|type):\s*+\[?\s*+([\w-]*+)$")
_KEY = re.compile(r"(\s*(?:-\s+)?)(\w*)$")
_NAMED = (["%%transform"], ["%%suite"], ["%%mutate"])


class Magics:
    """The magics of one shell, and the workspace that they use."""

    # Any: IPython's shell
    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._chosen = ""
        self._bench: Bench | None = None

    def transform(self, line: str, cell: str) -> Trials | Aggregate:
        """Run the code in the cell as a transformation, and show its effect on one event or on many.

        %%transform NAME [--language js|python] [--event EVENT | --events EVENTS] [--destination KEY] [--plan PLAN]

        The transformation is added to the workspace, or its code is replaced.

        --language: language of the code (default: detected)
        --event: a sample event (track, 'order completed'), a variable with an event or a list of them, or a JSON or
            YAML file (default: track); may be repeated
        --events: many events; show how many the code changed, dropped or failed on, and where. A variable (a list, a
            DataFrame, Arrow, a data plane), or files as for `svctoolkit replay` (events.ndjson)
        --destination: let this destination use the transformation; may be repeated
        --plan: also show violations of this tracking plan: its key in the workspace, or a path
        """
        options = transform_options().of(line)
        if not cell.strip():
            raise UsageError("%%transform: the cell is empty; write the code below the first line")
        workspace = self.workspace()
        destinations = [workspace.destination(key) for key in options.destination]
        if options.events and options.event:
            raise UsageError(
                "%%transform: use either --event, to show events one by one, or --events, to count outcomes of many"
            )
        many = self._many(options.events) if options.events else None
        events = {name: event for text in options.event or ["track"] for name, event in self._events(text)}
        if options.language and options.language not in _LANGUAGES:
            near = did_you_mean(options.language, _LANGUAGES)
            raise UsageError(f"%%transform: unknown language {options.language!r}; expected js or python.{near}")
        language: Any = _LANGUAGES[options.language] if options.language else language_of(cell)
        replace_code(workspace, options.name, cell, language)
        for destination in destinations:
            destination.transformation = options.name
        if options.plan:
            self._show_violations(options.plan, events, many)
        if self._bench is None or self._bench.workspace is not workspace:
            self._bench = Bench(workspace)
        transformation = workspace.transformation(options.name)
        if many is None:
            return self._bench.run(transformation, events, offset=_BEFORE)
        return aggregate(self._bench, transformation, many, offset=_BEFORE)

    def _many(self, text: str) -> Many:
        """The events selected by `--events`."""
        if text in self._shell.user_ns:
            return Many(self._shell.user_ns[text])
        if not (Path(text).suffix or Path(text).exists() or "://" in text):
            names = [name for name in self._shell.user_ns if not name.startswith("_")]
            raise UnknownName("event variable or file", text, names)
        return Many(text)

    def _show_violations(self, name: str, events: Mapping[str, Any], many: Many | None) -> None:
        """Show violations of a plan above the output of the transformation; for many events, as a frame."""
        from svctoolkit import plans

        known = self.workspace().tracking_plans
        plan = known[name].chosen if name in known else plans.load(name).plan()
        if many is not None:
            display(plan.report([event for _, event in many.events()]))
            return
        for event in events.values():
            display(plan.check(event))

    def suite(self, line: str, cell: str) -> Results:
        """Run the scenarios of the YAML suite in the cell, and show their outcomes.

        %%suite [--tags EXPR] [-k EXPR] [--coverage] [--fail-fast] [--simulate LEVEL]

        If the suite has no destinations, sources or workspace file, it uses the workspace of the notebook.

        --tags: run scenarios whose tags match: 'orders and not slow'
        -k: run scenarios with these words in their id, title or tags
        --coverage: report what no scenario covers
        --fail-fast: stop at the first failure
        --simulate: let destinations that have a simulation refuse and hold events as the vendor does: simulated, strict
        """
        options = suite_options().of(line)
        if not cell.strip():
            raise UsageError("%%suite: the cell is empty; write the suite below the first line")
        suite = self._suite("\n" * _BEFORE + cell, options.simulate)
        chosen = runner.select(suite.scenarios, tags=options.tags, words=options.words)
        if not chosen:
            tags = sorted({tag for scenario in suite.scenarios for tag in scenario.tags})
            near = did_you_mean(options.tags, tags)
            raise UsageError(f"%%suite: none of {len(suite.scenarios)} scenarios is selected.{near}")
        results, progress = Results(), Progress(self._shell)
        planes = runner.Planes(coverage=options.coverage)
        try:
            for notice in runner.run(chosen, planes, coverage=options.coverage, fail_fast=options.fail_fast):
                results(notice)
                progress.show(f"{results.done} of {results.total} scenarios finished")
        finally:
            planes.close()
            progress.end()
        return results

    def mutate(self, line: str, cell: str) -> notebook.MarkedCode:
        """Change a transformation, one mistake at a time, and show the lines whose changes the cell does not notice.

        %%mutate NAME

        The cell has Python with assert statements, or a suite as for %%suite. It has to pass without a change. Each
        change is made in memory, and undone; variables that the cell assigns are not kept.
        """
        options = mutate_options().of(line)
        if not cell.strip():
            raise UsageError("%%mutate: the cell is empty; write assertions or scenarios below the first line")
        workspace = self.workspace()
        item = workspace.transformation(options.name)
        changes = notebook.changes_of(workspace, options.name)
        if notebook.is_suite(cell):
            verdicts = notebook.judge_scenarios(self._suite("\n" * _BEFORE + cell, None), changes)
        else:
            verdicts = notebook.judge_assertions(item, changes, cell, self._runs(cell))
        result, progress, began = Result(len(changes)), Progress(self._shell), monotonic()
        try:
            for verdict in verdicts:
                result.verdicts.append(verdict)
                progress.show(f"{len(result.verdicts)} of {result.total} changes judged")
        except KeyboardInterrupt:
            result.interrupted = True
        finally:
            progress.end()
        result.seconds = monotonic() - began
        return notebook.MarkedCode.of(item, result, workspace.masker.mask)

    def _runs(self, cell: str) -> Callable[[], None]:
        """Return a function that runs a cell with the variables of the notebook, which it cannot rebind."""
        try:
            code = compile(cell, notebook.CELL, "exec")
        except SyntaxError as error:
            raise UsageError(f"%%mutate: line {(error.lineno or 0) + _BEFORE}: {error.msg}") from None

        def run() -> None:
            with capture_output():
                exec(code, dict(self._shell.user_ns))  # noqa: S102 - the user's own cell

        return run

    def _suite(self, text: str, level: Level | None) -> runner.Suite:
        """Return the suite in a cell; `level` applies to its own workspace and to the notebook's."""
        workspace = self.workspace()
        if level is None:
            return runner.loads(text, workspace, name="cell")
        return runner.loads(text, workspace.at_level(level), name="cell", environ={**os.environ, "SVC_SIMULATE": level})

    def svc(self, line: str) -> Workspace:
        """Show the workspace that %%transform and %%suite use.

        %svc [NAME]

        NAME: variable with the workspace to use from now on
        """
        name = line.strip()
        if name:
            if not isinstance(self._shell.user_ns.get(name), Workspace):
                if name in self._shell.user_ns:
                    raise UsageError(f"%svc: {name} is a {type(self._shell.user_ns[name]).__name__}, not a workspace")
                raise UnknownName("workspace variable", name, self.workspaces())
            self._chosen = name
        return self.workspace()

    def workspace(self) -> Workspace:
        """The workspace in the variable chosen with `%svc`, or in `workspace`, which is created if missing."""
        name = self._chosen or "workspace"
        value = self._shell.user_ns.get(name)
        if isinstance(value, Workspace):
            return value
        if self._chosen or value is not None:
            raise UsageError(f"variable {name} is not a workspace; choose another one with %svc NAME")
        fresh = self._shell.user_ns["workspace"] = Workspace("notebook")
        return fresh

    def workspaces(self) -> list[str]:
        """The names of variables with a workspace."""
        return [n for n, v in self._shell.user_ns.items() if isinstance(v, Workspace) and not n.startswith("_")]

    def _events(self, text: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """The events selected by `--event`, each with its name."""
        value = self._shell.user_ns.get(text)
        if _holds_events(value):
            return [(text, value)] if isinstance(value, Mapping) else events_by_name(value)
        if text.lower() in samples():
            return [(text.lower(), samples()[text.lower()])]
        if Path(text).suffix not in _FILES:
            raise UnknownName("event", text, self.event_names())
        data = yamlfile.load(Path(text)).data
        if not _holds_events(data):
            raise ConfigError(f"expected an event, an object with a `type`, or a list of them: {_TYPES}", where=text)
        return [(Path(text).name, data)] if isinstance(data, Mapping) else events_by_name(data)

    def event_names(self) -> list[str]:
        """The names that `--event` accepts besides files: sample events, and variables with events."""
        variables = self._shell.user_ns.items()
        return [*samples(), *(name for name, value in variables if not name.startswith("_") and _holds_events(value))]

    # Any: IPython's completion context
    def complete(self, context: Any) -> dict[str, Json]:
        """IPython matcher that completes names in the lines of the magics, and in the YAML of a suite."""
        cell = context.full_text.split("\n")
        before = cell[context.cursor_line][: context.cursor_position]
        words, text = split(before)
        in_suite = cell[0].startswith("%%suite")
        if words[:1] == ["%svc"] or (context.cursor_line == 0 and words[:1] in _NAMED):
            return matches(text, self._arguments(words, text), files=words[-1] in ("--event", "--events"))
        if not in_suite or context.cursor_line == 0:
            return matches("", [])
        if match := _VALUE.search(before):
            return matches(match[2], self._values(match[1]))
        key = _KEY.match(before)
        return matches(key[2], keys(inside=bool(key[1]))) if key else matches("", [])

    def _arguments(self, before: Sequence[str], text: str) -> list[str]:
        """Completions in the line of a magic after the words `before`."""
        magic, last = before[0], before[-1]
        if magic == "%svc":
            return self.workspaces()
        if magic == "%%suite":
            return suite_options().names
        if magic == "%%mutate":
            return list(self._seen().transformations)
        if last == "--language":
            return ["js", "python"]
        if last in ("--event", "--events"):
            return [shlex.quote(name) for name in self.event_names()]
        if last == "--destination":
            return list(self._seen().destinations)
        return (
            transform_options().names if text.startswith("-") or len(before) > 1 else list(self._seen().transformations)
        )

    def _values(self, key: str) -> list[str]:
        """Completions for the value of a key of a suite."""
        workspace = self._seen()
        choices: dict[str, Callable[[], Iterable[str]]] = {
            "destination": workspace.destinations.keys,
            "source": workspace.sources.keys,
            "transformation": workspace.transformations.keys,
            "type": lambda: [*EVENT_TYPES, *CATALOGUE.names()],
        }
        return list(choices[key]())

    def _seen(self) -> Workspace:
        """The workspace for completion; it is not created if missing."""
        value = self._shell.user_ns.get(self._chosen or "workspace")
        return value if isinstance(value, Workspace) else Workspace()


def _holds_events(value: Any) -> bool:
    """Whether it is an event, a list of events or captured events, or a data plane."""
    if isinstance(value, (list, tuple)):
        value = getattr(value[0], "event", value[0]) if value else None
    if isinstance(value, Mapping):
        return value.get("type") in EVENT_TYPES
    return isinstance(value, Capturing)


def _with_short_errors(magic: Callable[..., Any]) -> Callable[..., Any]:
    """Report errors of this package as one message without a traceback; the cell still fails."""

    @wraps(magic)
    def call(*words: str) -> Any:
        try:
            return magic(*words)
        except ToolkitError as error:
            raise ShellUsageError(str(error)) from None

    return call


# Any: IPython's shell
def load(shell: Any) -> None:
    """Register the magics and their completion with an IPython shell; DataFrames get `df.svc`, events show as trees."""
    import svctoolkit.accessor  # noqa: F401 - the import registers it

    unload(shell)
    magics = Magics(shell)
    shell.register_magic_function(_with_short_errors(magics.transform), "cell", "transform")
    shell.register_magic_function(_with_short_errors(magics.suite), "cell", "suite")
    shell.register_magic_function(_with_short_errors(magics.mutate), "cell", "mutate")
    shell.register_magic_function(_with_short_errors(magics.svc), "line", "svc")
    shell.Completer.custom_matchers.append(_matcher(magics))
    register(shell.display_formatter.formatters["text/html"])


# Any: IPython's shell
def unload(shell: Any) -> None:
    """Unregister everything except `df.svc`."""
    unregister(shell.display_formatter.formatters["text/html"])
    for kind, name in (("cell", "transform"), ("cell", "suite"), ("cell", "mutate"), ("line", "svc")):
        shell.magics_manager.magics[kind].pop(name, None)
    matchers = shell.Completer.custom_matchers
    matchers[:] = [matcher for matcher in matchers if getattr(matcher, "matcher_identifier", "") != __name__]


def _matcher(magics: Magics) -> Any:
    def matcher(context: Any) -> dict[str, Any]:
        return magics.complete(context)

    return context_matcher(identifier=__name__)(matcher)
