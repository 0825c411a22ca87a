"""The mistakes that findings reported as green, read from data and run as a user would."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile

FOLDER = Path(__file__).parent / "entries"


@dataclass(frozen=True)
class Entry:
    """One mistake, and what must notice it.

    `files` are those of the project, by name. `run` are the arguments of svctoolkit. The exit code must not be 0 (with
    `any_code`, it may be), and the output must contain `says`. `test` is a test file instead, which must fail, and
    `program` Python that must set `noticed`.
    """

    id: str
    files: Mapping[str, str] = field(default_factory=dict)
    run: tuple[str, ...] = ("run", ".")
    any_code: bool = False
    says: str = ""
    test: str = ""
    strict: bool = False
    program: str = ""

    def write(self, folder: Path) -> None:
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")


@cache
def entries() -> tuple[Entry, ...]:
    """Return every entry. Raises `ValueError` for an id that is given twice."""
    found = [entry for name in ("suites", "events", "python") for entry in _read(name)]
    ids = [entry.id for entry in found]
    if len(set(ids)) < len(ids):
        raise ValueError(f"an id is given twice: {sorted(i for i in ids if ids.count(i) > 1)[0]}")
    return tuple(found)


def _read(name: str) -> Iterator[Entry]:
    projects = _yaml("projects")
    for raw in _yaml(name):
        text = raw.get("workspace") or projects[raw.get("project", "base")]
        files = {"workspace.yaml": text, **{path: _content(file) for path, file in raw.get("files", {}).items()}}
        if "scenario" in raw:
            files["suites/a.suite.yaml"] = _suite(raw)
        yield Entry(
            id=raw["id"],
            files=files,
            run=tuple(raw.get("run", ("run", "."))),
            any_code=raw.get("code") == "any",
            says=raw.get("says", ""),
            test=raw.get("test", ""),
            strict=raw.get("strict", False),
            program=raw.get("program", ""),
        )


def _yaml(name: str) -> Any:
    path = FOLDER / f"{name}.yaml"
    return yamlfile.load(path.read_text(encoding="utf-8"), name=path.name).data


def _suite(raw: Mapping[str, Any]) -> str:
    scenario = raw["scenario"] if isinstance(raw["scenario"], str) else json.dumps(raw["scenario"])
    if scenario.startswith("{"):
        item = f"- {{name: x, {scenario[1:]}"
    else:
        item = "- name: x\n" + "".join(f"  {line}\n" for line in scenario.splitlines())
    return f"version: 1\nworkspace: ../workspace.yaml\n{raw.get('suite', '')}scenarios:\n{item}\n"


def _content(file: Any) -> str:
    """Return the content of a file; events are repeated, with their number in place of `$(n)`."""
    if isinstance(file, str):
        return file
    lines = [
        json.dumps(event).replace("$(n)", str(number))
        for number in range(file["repeat"])
        for event in (file["event"], file.get("more"))
        if event
    ]
    return "\n".join(lines) + "\n" + file.get("tail", "")
