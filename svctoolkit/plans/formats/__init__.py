"""Formats of tracking plans. To add one is to add a file here, with a `format`.

Other packages add theirs with an entry point in the group `svctoolkit.plans.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from svctoolkit import yamlfile
from svctoolkit.errors import InvalidPlan, Problem
from svctoolkit.json_types import Json
from svctoolkit.plans.formats._contract import Format, Notebook, refusal_problems
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.registry import Registry

FORMATS: Registry[Format] = Registry(
    Format, package=__name__, attribute="format", what="format of tracking plans", group="svctoolkit.plans.formats"
)

__all__ = ["FORMATS", "Format", "load", "of_service"]


def load(path: Path | str, *, format: str | None = None, strict: bool = True) -> Project:
    """The plans in a file or a folder. `format` is found out where it is not said.

    Raises `InvalidPlan` with every problem at once, each with file, line and column; with `strict` also for schemas
    that the service refuses, whose events it lets pass unchecked. `UnknownName` for a format that is not there.
    """
    path = Path(path)
    name = yamlfile.display_name(path)
    if not path.exists():
        raise InvalidPlan("there is no such file or folder", where=name)
    reader = FORMATS[format] if format else _format_of(path)
    notebook = Notebook()
    project = reader.read(path, notebook)
    if strict and not notebook.problems:
        for plan in project.plans.values():
            notebook.problems += refusal_problems(plan)
    if notebook.problems:
        raise InvalidPlan(yamlfile.cap(_in_order(notebook.problems)))
    if not project.plans and not project.links:
        raise InvalidPlan("there is no tracking plan in it", where=name)
    return replace(project, files=notebook.files, name=name)


def _format_of(path: Path) -> Format:
    for name in FORMATS.names():
        if FORMATS[name].folder >= path.is_dir() and FORMATS[name].looks_like(path):
            return FORMATS[name]
    raise InvalidPlan(
        f"looks like no tracking plan; say its format: {', '.join(FORMATS.names())}", where=yamlfile.display_name(path)
    )


def _in_order(problems: list[Problem]) -> list[Problem]:
    """By file, line and column, each once."""

    def key(problem: Problem) -> tuple[str, int, int]:
        file, _, rest = problem.where.partition(":")
        numbers = [int(number) for number in rest.split(":")[:2] if number.isdecimal()]
        return file, *(numbers if len(numbers) == 2 else (0, 0))

    return sorted(dict.fromkeys(problems), key=key)


def of_service(data: Mapping[str, Json], *, name: str = "", strict: bool = True) -> Plan:
    """A plan in the service's JSON, as an object. `name` is what errors call it. Raises `InvalidPlan` as `load`."""
    from svctoolkit.plans.formats import service

    notebook = Notebook()
    document = yamlfile.Document("", name or "plan", data, lambda: None)
    plan = service.plan_of(document, (), notebook)
    if strict:
        notebook.problems += refusal_problems(plan)
    if notebook.problems:
        raise InvalidPlan(yamlfile.cap(notebook.problems))
    return plan
