"""Build the scenarios of a suite: fill in defaults, rows, variables and fixtures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET

from svctoolkit import inputs
from svctoolkit.displayed import printable
from svctoolkit.errors import ConfigError, InvalidSuite, Problem
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.checks.ineffective import Columns
from svctoolkit.runner.suite.checks.reach import idle_suite_settings
from svctoolkit.runner.suite.checks.scenario import scenario_problems
from svctoolkit.runner.suite.checks.settings import suite_problems
from svctoolkit.runner.suite.common import shared_answers
from svctoolkit.runner.suite.fixtures import Fixtures
from svctoolkit.runner.suite.model import Invariant, Live, Place, Scenario, Step, Suite, as_list
from svctoolkit.runner.suite.moments import Moments
from svctoolkit.runner.suite.repeat import repeat_inputs
from svctoolkit.runner.suite.results import STAGES
from svctoolkit.runner.suite.steps import StepBuilder, capture_names, type_problem
from svctoolkit.runner.suite.variables import NAME, Variables, names_in

_EXACT_RESULTS = (*STAGES, "delivered")  # those that `exact: true` covers


@dataclass
class ScenarioBuilder:
    """Builds the scenarios of one suite. `problems` collects all of its mistakes."""

    suite: Suite
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.document, self.data = self.suite.document, self.suite.document.data
        self.folder = self.suite.path.parent
        common = self.suite.common
        self.fixtures = Fixtures(self.document, self.folder, self.problems, common)
        self._vars = common.section("vars", self.data.get("vars", {}))
        self._recorder = shared_answers(common, self.suite.workspace, self.data.get("recorder", {}))
        self._steps = StepBuilder(self.suite, self.fixtures, self.problems)
        everywhere = {key: self.data.get(key) for key in ("never", "always", "setup", "teardown")}
        self._columns = Columns([everywhere, self._recorder, *(data for _, data in common.sections())])

    def load(self, variables: Mapping[str, Json]) -> None:
        """Add the scenarios and the policies to the suite; `variables` replace its own of the same names."""
        with inputs.recording() as read:
            scope = self._variables(variables)
            self.problems += suite_problems(self.suite)
            self._load_policies()
        self.suite.inputs.add(read)
        for index, raw in enumerate(self.data["scenarios"]):
            with inputs.recording() as self._inputs:
                self.suite.scenarios += self._scenarios(("scenarios", index), raw, scope)
        # Only after all scenarios are built: any of them may use a fixture.
        self.fixtures.check_unused()
        self.problems += _same_ids(self.suite)
        # A scenario with a mistake is missing, so what it reaches is not known.
        self.problems += [] if self.problems else idle_suite_settings(self.suite)
        self.problems += self._columns.problems(self.document)
        self.suite.fixtures = {name: name in self.fixtures.used for name in self.fixtures.names}

    def _load_policies(self) -> None:
        """Load the workspace's policies, and those of the suite or the nearest folder. Raises `ConfigError`."""
        if self.suite.workspace.policies:
            from svctoolkit.policies import Policies  # few suites have policies

            self.suite.policies = Policies.of_workspace(self.suite.workspace)
            self.suite.policies_place = ("workspace",) if "workspace" in self.data else ()
        written = [((*place, "policies"), data.get("policies")) for place, data in self.suite.common.sections()]
        own = self.data.get("policies")
        written.append((("policies",), own and str(self.folder / own)))
        for place, file in reversed(written):
            if file:
                from svctoolkit.policies import Policies

                policies = Policies.load(file)
                policies.require(self.suite.workspace.destinations, misspelt_only=place != ("policies",))
                own_policies = self.suite.policies
                self.suite.policies = policies if own_policies is None else own_policies + policies
                self.suite.policies_place = place
                return

    def _variables(self, spec: Mapping[str, Any]) -> Variables:
        """Return the suite's variables; each may use those above it."""
        scope = Variables({}, self.suite.environment, moments=Moments(datetime.now(UTC)))
        for name, written in self._vars.items():
            place = self.suite.common.place("vars", name, self.data.get("vars", {}))
            if not NAME.fullmatch(name):
                message = f"{name!r} is not a valid variable name"
                self.problems.append(self.document.problem(place, message, key=True))
            # Variables of the command line win, even over ones that would be invalid.
            if name in spec:
                scope = scope.extend({name: spec[name]})
                continue
            value = self.fixtures.apply(written, place)
            self.problems += scope.unknown(value, self.document, place)
            scope = scope.extend({name: self._steps.encode(scope.apply(value), place)})
        # Variables that only the command line sets come last, and may be used by scenarios.
        return scope.extend({name: value for name, value in spec.items() if name not in scope.values})

    def _scenarios(self, place: Place, scenario_entry: Mapping[str, Any], variables: Variables) -> Iterator[Scenario]:
        raw = self.fixtures.apply(scenario_entry, place)
        base = raw.get("id") or slug(raw["name"]) or f"scenario-{place[-1]}"
        body = {key: value for key, value in raw.items() if key not in ("cases", "matrix")}
        if "cases" not in raw and "matrix" not in raw:
            scenario = self._scenario(place, place, body, base, variables)
            yield from [scenario] if scenario else []
            return
        if "cases" in raw and "matrix" in raw:
            self.problems.append(
                self.document.problem([*place, "matrix"], "a scenario can have cases or a matrix, not both")
            )
            return
        from svctoolkit.runner.suite import cases as _rows

        try:
            rows = _rows.rows(raw, self.document, place, self.folder)
        except ConfigError as error:
            self.problems += error.problems
            return
        self._columns.use(place, raw, rows, self.folder)
        for row in rows:
            self.problems += variables.unknown(row.values, self.document, row.place)
            values = self._steps.encode(variables.apply(row.values), row.place)
            # A row of `cases` may skip itself; in a matrix these names are ordinary axes.
            own = {key: values[key] for key in ("skip", "xfail") if key in values} if "cases" in raw else {}
            tags = values.get("tags", []) if "cases" in raw else []
            tagged = {**body, **own, "tags": [*raw.get("tags", []), *tags]}
            scenario = self._scenario(place, row.place, tagged, f"{base}[{row.id}]", variables.extend(values))
            yield from [scenario] if scenario else []

    def _scenario(
        self, place: Place, at: Place, raw: Mapping[str, Any], id: str, variables: Variables
    ) -> Scenario | None:
        """Return one scenario; None if it has a problem. `place` is where it is written, `at` the place of its row."""
        try:
            variables = self._own_variables(place, raw, id, variables)
            raw = self._repeat(place, raw, variables)
            values, steps = self._steps.steps(place, raw, variables)
            spec = msgspec.convert(values, _format.Scenario)
            steps = steps or (Step(spec, values.get("expect", {}), place),)
            scenario = self._build(place, at, raw, id, variables, spec, steps)
        except msgspec.ValidationError as error:
            self.problems.append(type_problem(error, self.document, place, at))
            return None
        except InvalidSuite as error:
            self.problems += error.problems
            return None
        wrong = list(scenario_problems(scenario, spec))
        self.problems += wrong
        # All problems of all scenarios are collected, so one bad scenario does not hide the others' mistakes.
        return None if wrong else scenario

    def _repeat(self, place: Place, raw: Mapping[str, Any], variables: Variables) -> dict[str, Any]:
        """Return a scenario with the repeated events of its steps, of `setup` and of `teardown`."""
        repeated, wrong = repeat_inputs(raw, variables)
        wrongs = [(place, wrong)]
        for name in ("steps", "setup", "teardown"):
            steps = [repeat_inputs(step, variables) for step in raw.get(name, ())]
            wrongs += [((*place, name, n), wrong) for n, (_, wrong) in enumerate(steps)]
            repeated |= {name: [step for step, _ in steps]} if steps else {}
        if problems := [self.document.problem([*at, "repeat"], wrong) for at, wrong in wrongs if wrong]:
            raise InvalidSuite(problems)
        return repeated

    def _own_variables(self, place: Place, raw: Mapping[str, Any], id: str, variables: Variables) -> Variables:
        """Return the variables of one scenario: the suite's, its row's, its own, and its times and ids."""
        freeze = variables.apply(raw.get("freeze") or self.data.get("freeze") or {})
        time, ids = freeze.get("time"), freeze.get("ids")
        now = datetime.now(UTC)
        with suppress(ValueError, TypeError):  # an invalid time is reported with its position by the checks
            now = datetime.fromisoformat(time) if time else now
        # Ids depend on the scenario, not on the order of the run, so that --shuffle and -k change nothing.
        seed = f"{self.suite.name}::{id}" if ids == "sequence" else ""
        variables = variables.with_moments(Moments(now if now.tzinfo else now.replace(tzinfo=UTC), seed))
        for name, value in raw.get("vars", {}).items():
            if not NAME.fullmatch(name):
                message = f"{name!r} is not a valid variable name"
                self.problems.append(self.document.problem([*place, "vars", name], message, key=True))
            self._steps.check_names(value, variables, (*place, "vars", name))
            variables = variables.extend({name: self._steps.encode(variables.apply(value), (*place, "vars", name))})
        return variables

    def _build(
        self,
        place: Place,
        at: Place,
        raw: Mapping[str, Any],
        id: str,
        variables: Variables,
        spec: _format.Scenario,
        steps: tuple[Step, ...],
    ) -> Scenario:
        # By destination: a scenario's script replaces the suite's for that destination only.
        answers = {**self._recorder, **(raw.get("recorder") or {})}
        scripts = msgspec.convert(
            self._steps.encode(variables.apply(answers), (*place, "recorder")), _format.RecorderScript
        )
        given = variables.apply({**self.data.get("given", {}), **(raw.get("given") or {})})
        return Scenario(
            suite=self.suite,
            id=id,
            title=printable(" ".join(spec.name.split())),
            tags=tuple(dict.fromkeys([*self.data.get("tags", []), *spec.tags])),
            steps=steps,
            place=at,
            written=place,
            line=self.document.position(at)[0],
            skip=spec.skip,
            xfail=spec.xfail.reason if isinstance(spec.xfail, _format.Xfail) else spec.xfail,
            setup=self._steps.hook_steps("setup", place, raw, variables),
            teardown=self._steps.hook_steps("teardown", place, raw, variables),
            recorder={key: _answers(script) for key, script in scripts.items()},
            ignore=_paths([*self.data.get("ignore", []), *spec.ignore]),
            freeze=spec.freeze if spec.freeze is not UNSET else self._freeze(),
            live=_live(spec, raw, variables, steps),
            serial="" if spec.serial is UNSET else spec.serial,
            exact=self._exact(spec),
            invariants=self._invariants(place, raw, variables),
            limit=self._limit(spec),
            own_ignores=_paths(spec.ignore),
            scripted=tuple(raw.get("recorder") or ()),
            batch=None if spec.batch is UNSET else spec.batch,
            given=self._steps.encode(given, (*place, "given")),
            own_given=tuple(raw.get("given") or ()),
            differs=_paths(as_list(spec.xfail.differs)) if isinstance(spec.xfail, _format.Xfail) else (),
            only_warns=(self.data.get("severity", "error") if spec.severity is UNSET else spec.severity) == "warn",
            forbids_losses=self._forbids_losses(spec),
            faults=spec.faults,
            inputs=self._inputs,
        )

    def _forbids_losses(self, spec: _format.Scenario) -> bool:
        """Whether `losses: forbid` applies: the scenario's own setting, or that of the suite or the nearest folder."""
        files = [*(data for _, data in self.suite.common.sections()), self.data]
        written = [data["losses"] for data in files if "losses" in data]
        return (written[-1] if written and spec.losses is UNSET else spec.losses) == "forbid"

    def _limit(self, spec: _format.Scenario) -> float | None:
        limit = spec.limit if spec.limit is not UNSET else self.data.get("limit")
        return None if limit is None else _format.seconds(limit)

    def _exact(self, spec: _format.Scenario) -> frozenset[str]:
        """Return the results that must match exactly: all, or those that the scenario or else the suite sets."""
        exact = spec.exact or self.data.get("exact", False)
        return frozenset(_EXACT_RESULTS if exact is True else exact or ())

    def _invariants(self, place: Place, raw: Mapping[str, Any], variables: Variables) -> tuple[Invariant, ...]:
        """Return the invariants of the suite and of the scenario."""
        invariants: list[Invariant] = []
        for at, written in (*self.suite.common.sections(), ((), self.data), (place, raw)):
            for index, operand in enumerate(written.get("never", ())):
                forbidden = self._steps.encode(variables.apply(operand), (*at, "never", index))
                invariants.append(Invariant("never", "", forbidden, (*at, "never", index)))
            for stage, operand in written.get("always", {}).items():
                invariants.append(Invariant("always", stage, variables.apply(operand), (*at, "always", stage)))
        return tuple(invariants)

    def _freeze(self) -> _format.Freeze | None:
        written = self.data.get("freeze")
        return msgspec.convert(written, _format.Freeze) if written else None


def _answers(script: _format.RecorderAnswer | list[_format.RecorderAnswer]) -> tuple[_format.RecorderAnswer, ...]:
    return tuple(script) if isinstance(script, list) else (script,)


def _paths(dotted: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(path.split(".")) for path in dotted)


def _live(spec: _format.Scenario, raw: Mapping[str, Any], variables: Variables, steps: tuple[Step, ...]) -> Live | None:
    if spec.live is UNSET:
        return None
    scope = variables.with_later(frozenset().union(*(capture_names({"expect": step.expect}) for step in steps)))
    return Live(
        "" if spec.live.destination is UNSET else spec.live.destination,
        _format.seconds(spec.live.within),
        _format.seconds(spec.live.every),
        raw["live"].get("verify"),
        scope,
    )


def _same_ids(suite: Suite) -> Iterator[Problem]:
    first: dict[str, Scenario] = {}
    for scenario in suite.scenarios:
        other = first.setdefault(scenario.id, scenario)
        if other is not scenario:
            message = f"duplicate id {scenario.id!r}, also used in line {other.line}: give one of them another `id`"
            yield suite.document.problem(scenario.place, message)


def slug(name: str) -> str:
    """Return a name as an id that is easy to type: letters, digits and hyphens."""
    # Accents become plain letters: ids are typed on a command line.
    plain = unicodedata.normalize("NFKD", names_in(name)).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9_.]+", "-", plain).strip("-.")
