"""Build the steps of a scenario: defaults, variables, encodings, and what an earlier step captures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from svctoolkit.errors import InvalidSuite, Problem
from svctoolkit.expect.encodings import encode as encode_value
from svctoolkit.expect.encodings import encoding_problems, mentions_encoding
from svctoolkit.json_types import Json
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.fixtures import Fixtures
from svctoolkit.runner.suite.model import INPUTS, Place, Step, Suite, encode_inputs
from svctoolkit.runner.suite.moments import Moments
from svctoolkit.runner.suite.variables import Variables
from svctoolkit.runner.suite.webhooks import sender_of
from svctoolkit.yamlfile import Document

_KINDS = {
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "str": "a string",
    "int": "a number",
    "float": "a number",
    "null": "empty",
}


@dataclass
class StepBuilder:
    """Builds the steps of one suite's scenarios. `problems` collects mistakes that do not prevent that."""

    suite: Suite
    fixtures: Fixtures
    problems: list[Problem]

    def __post_init__(self) -> None:
        self.document, self.data = self.suite.document, self.suite.document.data
        texts = (self.document.text, *self.suite.common.texts())
        self._encodes = any(map(mentions_encoding, texts)) or self.fixtures.has_files

    # Any: values of a suite file, before or after its variables are applied
    def steps(
        self, place: Place, raw: Mapping[str, Any], variables: Variables
    ) -> tuple[dict[str, Any], tuple[Step, ...]]:
        """Return the scenario's values with variables applied, and its steps; without `steps` it is a single step."""
        outer = {k: v for k, v in raw.items() if k not in ("steps", "live", "recorder", "given", "setup", "teardown")}
        if "steps" not in raw:
            self.check_names(raw, variables.with_later(capture_names(raw)), place)
            values = self._apply(self._with_defaults(outer), variables, place)
            return values | ({"live": raw["live"]} if "live" in raw else {}), ()
        steps = []
        later: frozenset[str] = frozenset()
        inherited = {k: raw[k] for k in ("source", "destination", "only", "stages", "force") if k in raw}
        for n, written in enumerate(raw["steps"]):
            at = (*place, "steps", n)
            variables = variables.with_moments(_after(variables, written.get("wait")))
            scope = variables.with_later(later)
            self.check_names(written, scope, at)
            waits = not written.keys() - {"name", "wait"}
            own = {} if waits or {"request", "transformation", "delete", "python"} & written.keys() else inherited
            # A step that names one of them must not inherit the other, or it would have both.
            if {"source", "destination"} & written.keys():
                own = {k: v for k, v in own.items() if k not in ("source", "destination", "only")}
            if "only" in written:
                own = {k: v for k, v in own.items() if k != "destination"}
            steps.append(self._step(at, self._with_defaults({**own, **written}), scope))
            # What this step captures exists only for the steps after it.
            later |= capture_names(written)
        self.check_names({k: v for k, v in raw.items() if k != "steps"}, variables.with_later(later), place)
        live = {"live": raw["live"]} if "live" in raw else {}
        values = {k: v for k, v in self._apply(outer, variables, place).items() if k not in inherited}
        return {**values, **live, "steps": [{}]}, tuple(steps)

    def _step(self, place: Place, raw: dict[str, Any], variables: Variables) -> Step:
        values = self._apply(raw, variables, place)
        only = {k: v for k, v in values.items() if k in _format.Step.__struct_fields__}
        try:
            spec = msgspec.convert(only, _format.Step)
        except msgspec.ValidationError as error:
            raise InvalidSuite(type_problem(error, self.document, place, place)) from error
        pending = None
        # Uses a captured value: converted again when the value is known.
        if variables.later and variables.pending(raw):
            pending = ({k: v for k, v in raw.items() if k in only}, variables)
        return Step(spec, values.get("expect", {}), place, pending)

    def _apply(self, raw: dict[str, Any], variables: Variables, place: Place) -> dict[str, Any]:
        """Return a step with its variables, and with the values that it encodes."""
        values: dict[str, Any] = variables.apply(raw)
        if not self._encodes:
            return values
        for key in INPUTS:
            self._check_encodings(values.get(key), (*place, key))
        return encode_inputs(values)

    # Any: values of a suite file, before or after its variables are applied
    def encode(self, value: Any, place: Place) -> Any:
        """Return `value`, at `place`, with its encodings replaced."""
        if self._encodes:
            self._check_encodings(value, place)
        return encode_value(value) if self._encodes else value

    def _check_encodings(self, value: Any, place: Place) -> None:
        wrong = encoding_problems(value)
        self.problems += [self.document.problem([*place, *path], text, key=True) for path, text in wrong]

    # Any: values of a suite file, before or after its variables are applied
    def check_names(self, value: Any, variables: Variables, place: Place) -> None:
        """Raise `InvalidSuite` if `value`, at `place`, has a name that no variable has."""
        wrong = list(variables.unknown(value, self.document, place))
        if wrong:
            raise InvalidSuite(wrong)

    # Any: values of a suite file, before or after its variables are applied
    def hook_steps(self, when: str, place: Place, raw: Mapping[str, Any], variables: Variables) -> tuple[Step, ...]:
        """Return the steps of `setup` or `teardown`, of the suite and the scenario. A plain event is sent."""
        steps = []
        sources = [((when,), self.data.get(when, [])), ((*place, when), raw.get(when, []))]
        # Teardown mirrors setup: the scenario's own first, then the suite's.
        for at, items in sources if when == "setup" else reversed(sources):
            for n, item in enumerate(items):
                where = (*at, n)
                used = item if at[0] == "scenarios" else self.fixtures.apply(item, where)
                step = {"send": used} if "type" in used else used
                self.check_names(used, variables, where)
                steps.append(self._step(where, self._with_defaults(step), variables))
        return tuple(steps)

    def _with_defaults(self, step: dict[str, Any]) -> dict[str, Any]:
        """Return a step with the suite's defaults. If there is only one source, sending needs no `source`."""
        if {"request", "transformation", "delete", "python"} & step.keys():
            return step
        defaults = self.data.get("defaults", {})
        complete = dict(step)
        if (sender := sender_of(step)) is not None:
            complete["source"] = step.get("source", sender)
        elif "send" in step or "calls" in step or "generate" in step:
            sources = self.suite.workspace.sources
            source = defaults.get("source") or (next(iter(sources)) if len(sources) == 1 else None)
            if source and "source" not in step:
                complete["source"] = source
            if "destination" in defaults and not {"destination", "only"} & step.keys():
                complete["destination"] = defaults["destination"]
        elif "event" in step:
            if not {"source", "destination"} & step.keys():
                kind = next((k for k in ("destination", "source") if k in defaults), "")
                complete |= {kind: defaults[kind]} if kind else {}
            complete |= {k: defaults[k] for k in ("stages", "force") if k in defaults and k not in step}
        return complete


def _after(variables: Variables, wait: Json) -> Moments:
    """Return the times and ids of a step: its clock has moved on by what it waits for."""
    moments = variables.moments or Moments(datetime.now(UTC))
    try:
        return moments.later(_format.seconds(variables.apply(wait))) if wait else moments
    except (ValueError, TypeError):  # reported with its position when the step is converted
        return moments


# Any: values of a suite file, before or after its variables are applied
def capture_names(step: Mapping[str, Any]) -> frozenset[str]:
    """Return the names that a step captures."""
    expect = step.get("expect")
    capture = expect.get("capture") if isinstance(expect, dict) else None
    return frozenset(capture) if isinstance(capture, dict) else frozenset()


def type_problem(error: msgspec.ValidationError, document: Document, place: Place, at: Place) -> Problem:
    """Convert an error such as `Expected `bool`, got `str` - at `$.stages.user_transform`` to a problem."""
    what, _, where = str(error).partition(" - at `$")
    steps = [int(s) if s.isdigit() else s for s in re.findall(r"[\w-]+", where)]
    expected, got = [_KINDS.get(kind, kind) for kind in re.findall("`([^`]+)`", what)[:2]] or ("something else", "this")
    row = "" if at == place else f" in the row at {document.where(at)}"
    return document.problem([*place, *steps], f"must be {expected}, but the variable is {got}{row}")
