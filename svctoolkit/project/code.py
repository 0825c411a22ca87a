"""Find the code of transformations and libraries in files, rudder/v1 projects and RudderStack exports.

A workspace configuration refers to code by version id. RudderStack exports the code itself as JSON objects with
`versionId`, `id`, `name`, `language` and `code`; libraries have an `importName` (or `handleName`), the name that code
imports.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError
from svctoolkit.workspace import Language, Library, Transformation, Workspace
from svctoolkit.workspace.rudder_v1 import code_in

_SUFFIXES: dict[str, Language] = {".js": "javascript", ".py": "python"}
_LARGEST = 32 << 20  # bytes; larger files are skipped, as they hold events rather than code
_SKIPPED = {"__pycache__", "node_modules", "venv"}


@dataclass(frozen=True, slots=True)
class Code:
    """Some code, and its possible names: version id, id, file name. `import_name` is set for libraries.

    `version` is RudderStack's `codeVersion`, if given.
    """

    names: frozenset[str]
    language: Language
    text: str
    place: str
    import_name: str = ""
    name: str = ""
    version: str = ""


def search(paths: Sequence[Path]) -> list[Code]:
    """Return all code in files and folders. Raises `ConfigError` for a path that does not exist or cannot be read."""
    return [code for path in paths for file in _files(path) for code in _code_of(file)]


def places_beside(path: Path) -> list[Path]:
    """Return the default places to search for code: a project's folder, or the files next to an export."""
    if path.is_dir():
        return [path]
    folders = (path.parent / name for name in ("transformations", "libraries"))
    files = [file for file in sorted(path.parent.iterdir()) if file.is_file() and file != path]
    return [*files, *(folder for folder in folders if folder.is_dir())]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise ConfigError("no such file or folder", where=str(path))
    for here, folders, names in os.walk(path):
        folders[:] = sorted(folder for folder in folders if not folder.startswith(".") and folder not in _SKIPPED)
        yield from (Path(here, name) for name in sorted(names))


def _code_of(file: Path) -> Iterator[Code]:
    if file.suffix not in (*_SUFFIXES, ".json", ".yaml", ".yml") or file.stat().st_size > _LARGEST:
        return
    if file.suffix in _SUFFIXES:
        with suppress(ConfigError):  # there may be any files next to an export
            text = yamlfile.load_text(file)
            yield Code(frozenset({file.stem}), _SUFFIXES[file.suffix], text, str(file), name=file.stem)
    elif file.suffix == ".json":
        yield from (code for value in _objects(file) if (code := _exported(value, file)))
    else:
        for item in code_in(file):
            names = frozenset({item.id, item.name})
            yield Code(names, item.language, item.code, str(file), item.import_name, item.name)


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects with code in a JSON file, at any depth that occurs in exports."""
    try:
        pending = [json.loads(yamlfile.load_text(file))]
    except (ConfigError, ValueError, RecursionError):
        return
    for depth in range(4):
        below: list[Any] = []
        for value in pending:
            if isinstance(value, dict) and isinstance(value.get("code"), str):
                yield value
            elif isinstance(value, (dict, list)) and depth < 3:
                below += value.values() if isinstance(value, dict) else value
        pending = below


def _exported(value: dict[str, Any], file: Path) -> Code | None:
    language = str(value.get("language") or "javascript").lower()
    kind: Language = "python" if language.startswith("python") else "javascript"
    names = {value.get(key) for key in ("versionId", "id")}
    import_name = value.get("importName") or value.get("handleName") or ""
    texts = frozenset(name for name in names if isinstance(name, str) and name)
    if not texts or not isinstance(import_name, str):
        return None
    version = str(value.get("codeVersion", ""))
    version = version if version in ("0", "1") and kind == "javascript" and not import_name else ""
    return Code(texts, kind, value["code"], str(file), import_name, str(value.get("name") or ""), version)


def fill(workspace: Workspace, codes: Sequence[Code]) -> list[str]:
    """Fill in the code of the workspace's transformations and libraries; return those whose code was not found.

    Libraries that the configuration does not contain are added, too.
    """
    by_name = {name: code for code in reversed(codes) for name in code.names}
    missing = []
    for key, item in workspace.transformations.items():
        code = by_name.get(item.version_id) or by_name.get(item.id) or by_name.get(key)
        if item.code:
            continue
        if code is None:
            missing.append(
                f"transformation {item.id!r}" + (f" (version {item.version_id!r})" if item.version_id else "")
            )
            continue
        _set(item, code)
        item.code_version = code.version or item.code_version
        if code.name and item.name == item.id:
            item.name = code.name
    missing += _fill_libraries(workspace, by_name)
    _add_imported(workspace, {code.import_name or code.name: code for code in reversed(codes)})
    for code in codes:  # also libraries that no code imports: they are part of the workspace
        if code.import_name and code.import_name not in workspace.libraries:
            workspace.libraries[code.import_name] = Library(code.import_name, code.language, code.text)
    return missing


_IMPORT = re.compile(r"""\bfrom\s++['"]([\w$]++)['"]|^[^\S\n]*+(?:from|import)\s++(\w++)""", re.MULTILINE)


def _add_imported(workspace: Workspace, by_import: dict[str, Code]) -> None:
    for item in workspace.transformations.values():
        for match in _IMPORT.finditer(item.code):
            name = match[1] or match[2]
            code = by_import.get(name)
            if code is not None and name not in workspace.libraries and code.language == item.language:
                workspace.libraries[name] = Library(name, code.language, code.text)


def _fill_libraries(workspace: Workspace, by_name: dict[str, Code]) -> list[str]:
    """Fill in the code of libraries, and rename them to their import names if these are known."""
    missing = []
    for key, library in list(workspace.libraries.items()):
        code = by_name.get(library.version_id) or by_name.get(key)
        if library.code:
            continue
        if code is None:
            missing.append(f"library {key!r}")
            continue
        del workspace.libraries[key]
        name = code.import_name or key
        workspace.libraries[name] = Library(name, version_id=library.version_id)
        _set(workspace.libraries[name], code)
    return missing


def _set(item: Transformation | Library, code: Code) -> None:
    item.code, item.language = code.text, code.language
