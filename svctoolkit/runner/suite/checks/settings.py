"""Checks of what a suite sets for all of its scenarios, or for one: tags, scripted answers, the frozen time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from msgspec import UNSET

from svctoolkit.delivery.recorder.condition import condition_problems
from svctoolkit.destinations.lookups import looks_up
from svctoolkit.errors import Problem, UnknownName, did_you_mean
from svctoolkit.runner.suite.checks.claims import invariant_problems
from svctoolkit.runner.suite.checks.simulated import given_problems
from svctoolkit.runner.suite.common import shared_answers
from svctoolkit.runner.suite.model import Place, Places, Suite, as_list
from svctoolkit.runner.suite.variables import references

#: Tags that would clash with pytest's own marks.
_TAKEN = {"skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings"}


def suite_problems(suite: Suite) -> Iterator[Problem]:
    """Yield every problem in the suite-wide settings of a suite."""
    data, document = suite.document.data, suite.document
    for message in tag_problems(data.get("tags", [])):
        yield document.problem(["tags"], message)
    for path, message in [
        *recorder_problems(suite, data.get("recorder", {})),
        *given_problems(suite.workspace, _constant(data.get("given", {}))),
        *freeze_problems(data.get("freeze", {})),
        *invariant_problems(data, suite.workspace.destinations),
    ]:
        yield document.problem(path, message, key=True)
    own = data.get("recorder", {})
    for key in shared_answers(suite.common, suite.workspace, {}):
        for _, message in recorder_problems(suite, {key: None}):
            yield document.problem(suite.common.place("recorder", key, own), message, key=True)
    for place, shared in suite.common.sections():
        for path, message in invariant_problems(shared):
            yield document.problem([*place, *path], message, key=True)
    for kind in ("destination", "source"):
        if name := data.get("defaults", {}).get(kind):
            try:
                getattr(suite.workspace, kind)(name)
            except UnknownName as error:
                yield document.problem(["defaults", kind], str(error))


def _constant(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the suite gives to each destination; nothing where it depends on variables of its scenarios."""
    return {key: {} if any(references(state)) else state for key, state in given.items()}


def tag_problems(tags: Sequence[str]) -> list[str]:
    """Return a message for each tag that pytest uses for something else."""
    return [f"{tag!r} is a built-in mark of pytest: use another tag" for tag in tags if tag in _TAKEN]


# Any: values of a suite file, which the schema has checked
def recorder_problems(suite: Suite, scripts: Mapping[str, Any]) -> Places:
    """Yield the mistakes in scripted answers, by destination or URL."""
    for key in scripts:
        if "://" in key:
            types = {destination.type for destination in suite.workspace.destinations.values()}
            if not suite.workspace.transformations and not any(map(looks_up, types)):
                yield ("recorder", key), "the workspace has no transformation and no mapping that could request this"
            elif not _is_url(key):
                yield ("recorder", key), f"{key!r} is not a valid URL: write https://host/path"
        elif key not in suite.workspace.destinations:
            near = did_you_mean(key, suite.workspace.destinations)
            yield ("recorder", key), f"unknown destination {key!r}.{near}"
    for key, script in scripts.items():
        yield from _conditions(("recorder", key), script)


def _conditions(place: Place, script: Any) -> Places:
    """Yield the mistakes in conditions: of a scenario's answers, or of a suite's as written, with variables."""
    for index, answer in enumerate(as_list(list(script) if isinstance(script, tuple) else script)):
        is_written = isinstance(answer, Mapping)
        when = answer.get("when", UNSET) if is_written else getattr(answer, "when", UNSET)
        if when is not UNSET:
            for path, message in condition_problems(when, pending=is_written):
                yield (*place, index, "when", *path), message


def _is_url(text: str) -> bool:
    try:
        address = urlsplit(text)
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname)


# Any: values of a suite file, which the schema has checked
def freeze_problems(freeze: Mapping[str, Any]) -> Places:
    """Yield what is wrong with a frozen time."""
    time = freeze.get("time")
    try:
        moment = datetime.fromisoformat(time) if time else None
        if moment is not None and moment.tzinfo is None:
            yield ("freeze", "time"), f"the time zone is missing: write {time}Z"
        elif moment is not None and not 1000 <= moment.year <= 9000:  # leaves room for delays on both sides
            yield ("freeze", "time"), f"{time!r} is not between the years 1000 and 9000"
    except ValueError:
        yield ("freeze", "time"), f"{time!r} is not a valid time: write 2026-01-01T12:00:00Z"
