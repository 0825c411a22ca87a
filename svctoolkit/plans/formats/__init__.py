"""Formats of tracking plans. To add one, add a file here with a `format`.

Other packages can register formats through the entry point group `svctoolkit.plans.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from svctoolkit import inputs, yamlfile
from svctoolkit.errors import InvalidPlan, Problem
from svctoolkit.json_types import Json
from svctoolkit.plans.formats._contract import Format, Loader, refusal_problems
from svctoolkit.plans.model import Plan
from svctoolkit.plans.project import Project
from svctoolkit.registry import Registry
from svctoolkit.yamlfile import Document

FORMATS: Registry[Format] = Registry(
    Format, package=__name__, attribute="format", what="tracking plan format", group="svctoolkit.plans.formats"
)

__all__ = ["FORMATS", "Format", "load", "of_service"]


def load(
    path: Path | str,
    *,
    format: str | None = None,
    strict: bool = True,
    variables: Mapping[str, str] | None = None,
    documents: Mapping[Path, Document] | None = None,
) -> Project:
    """Read the plans in a file or a folder. Without `format`, the format is detected.

    `variables` are the values of `{{ .NAME }}` in a project of rudder-cli, without a prefix (default: those of the
    environment, `RUDDER_NAME`). `documents` are files of such a project that have been parsed already, by path: no
    others are read.

    Raises `InvalidPlan` with all problems, each with file, line and column; with `strict` also for schemas that
    RudderStack rejects (it lets their events pass unchecked). Raises `UnknownName` for an unknown format.
    """
    path = Path(path)
    name = yamlfile.display_name(path)
    if not inputs.exists(path):
        raise InvalidPlan("no such file or folder", where=name)
    reader = FORMATS[format] if format else _format_of(path)
    loader = Loader(variables=variables, documents=documents)
    project = reader.read(path, loader)
    if strict and not loader.problems:
        for plan in project.plans.values():
            loader.problems += refusal_problems(plan)
    if loader.problems:
        raise InvalidPlan(yamlfile.cap(_in_order(loader.problems)))
    if not project.plans and not project.links:
        raise InvalidPlan("no tracking plan found in it", where=name)
    return replace(project, files=loader.files, name=name)


def _format_of(path: Path) -> Format:
    for name in FORMATS.names():
        if FORMATS[name].folder >= path.is_dir() and FORMATS[name].looks_like(path):
            return FORMATS[name]
    if path.is_file():
        yamlfile.load(path, error=InvalidPlan)  # a file that cannot be parsed has no format: report its mistakes
    raise InvalidPlan(
        f"unknown tracking plan format; set its format: {', '.join(FORMATS.names())}", where=yamlfile.display_name(path)
    )


def _in_order(problems: list[Problem]) -> list[Problem]:
    """Sort by file, line and column, without duplicates."""

    def key(problem: Problem) -> tuple[str, int, int]:
        file, _, rest = problem.where.partition(":")
        numbers = [int(number) for number in rest.split(":")[:2] if number.isdecimal()]
        return file, *(numbers if len(numbers) == 2 else (0, 0))

    return sorted(dict.fromkeys(problems), key=key)


def of_service(data: Mapping[str, Json], *, name: str = "", strict: bool = True) -> Plan:
    """Return a plan from an object in RudderStack's JSON. `name` is used in errors. Raises `InvalidPlan` as `load`."""
    from svctoolkit.plans.formats import service

    loader = Loader()
    document = yamlfile.Document("", name or "plan", data, lambda: None)
    plan = service.plan_of(document, (), loader)
    if strict:
        loader.problems += refusal_problems(plan)
    if loader.problems:
        raise InvalidPlan(yamlfile.cap(loader.problems))
    return plan
