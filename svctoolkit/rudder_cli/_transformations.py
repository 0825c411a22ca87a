"""Rules of `kind: transformation` and `kind: transformation-library`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Final

from svctoolkit import inputs
from svctoolkit.json_types import Json
from svctoolkit.rudder_cli._definitions import Release
from svctoolkit.rudder_cli._files import SpecFile
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._shapes import TEXT, Checker, is_open, misfit

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

RULE: Final = "transformations/transformation/"
LIBRARY_RULE: Final = "transformations/transformation-library/"
SHAPE: Final = {
    "id": TEXT,
    "name": TEXT,
    "description": TEXT,
    "language": TEXT,
    "code": TEXT,
    "file": TEXT,
    "import_name": TEXT,
    "tests": [{"name": TEXT, "input": TEXT, "output": TEXT}],
}
_SUFFIXES: Final = {"javascript": ".js", "python": ".py"}
_TEST_NAME: Final = r"^[A-Za-z0-9 _/\-]+$"
_PYTHON_IMPORT: Final = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))", re.MULTILINE)
#: Packages that the service offers to Python code in addition to the standard library.
_PYTHON_PACKAGES: Final = {"requests", "numpy", "pandas", "pytz", "dateutil", "user_agents", "xmltodict"}


def check(file: SpecFile, _release: Release) -> list[Finding]:
    """Return the findings of a transformation or a library."""
    library = file.kind == "transformation-library"
    checker = Checker(file, (LIBRARY_RULE if library else RULE) + "spec-syntax-valid")
    spec = file.spec
    if misfit(spec, SHAPE):
        return checker.findings if not checker.fits(SHAPE) else []
    _code_source(checker, spec)
    checker.needs(spec, (), "id", "name", "language", *(["import_name"] if library else []))
    checker.one_of(spec, (), "language", _SUFFIXES)
    if library:
        _import_name(checker, spec)
    else:
        _tests(checker, spec)
    return checker.findings


def _code_source(checker: Checker, spec: dict[str, Json]) -> None:
    has_code, has_file = bool(spec.get("code")), bool(spec.get("file"))
    if has_code and has_file:
        checker.add(("code",), "'code' and 'file' cannot be specified together")
        checker.add(("file",), "'file' and 'code' cannot be specified together")
    elif not has_code and not has_file:
        checker.add(("code",), "'code' is required when 'file' is not specified")
        checker.add(("file",), "'file' is required when 'code' is not specified")
    if has_file and not is_open(spec["file"]):
        for message in _file_faults(checker.file, spec["file"], str(spec.get("language"))):
            checker.add(("file",), message)


def _file_faults(file: SpecFile, written: str, language: str) -> Iterator[str]:
    if ".." in written.replace("\\", "/").split("/"):
        yield "the path must not contain '..'"
        return
    path = file.path.parent / written
    if not path.exists():
        yield "the path does not exist"
        return
    suffix = _SUFFIXES.get(language)
    if suffix and path.suffix != suffix:
        yield f"the name of the file must end in {suffix}"
    if path.is_dir():
        yield "the path must be a file"


def _import_name(checker: Checker, spec: dict[str, Json]) -> None:
    name, written = spec.get("name"), spec.get("import_name")
    if name and written and not is_open(name) and not is_open(written) and written != import_name_of(name):
        checker.add(("import_name",), f"'import_name' must be the name in camelCase: {import_name_of(name)!r}")


def import_name_of(name: str) -> str:
    """Return a name in camelCase: words are split at case changes, digits and other characters."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_a-zA-Z]+", name)
    return "".join(word.lower() if i == 0 else word[0].upper() + word[1:].lower() for i, word in enumerate(words))


def _tests(checker: Checker, spec: dict[str, Json]) -> None:
    for i, test in enumerate(spec.get("tests") or ()):
        path = ("tests", i)
        test = test or {}
        checker.needs(test, path, "name")
        checker.text(test, path, "name", pattern=_TEST_NAME)
        folder = test.get("input")
        if folder and not is_open(folder) and not (checker.file.path.parent / folder).exists():
            checker.add((*path, "input"), f"the folder {folder} does not exist")


def code_of(file: SpecFile) -> tuple[str, FilePath | None]:
    """Return the code, and the file that it is in. Empty if it cannot be read."""
    spec = file.spec
    if spec.get("code"):
        return str(spec["code"]), None
    if not isinstance(spec.get("file"), str):
        return "", None
    return file.attached or "", FilePath(os.path.normpath(file.path.parent / spec["file"]))


def attached_text(file: SpecFile) -> str | None:
    """Return the text of the file that `spec.file` names: code or SQL. None without one, or if it cannot be read."""
    written = file.spec.get("file")
    if not isinstance(written, str) or not written or is_open(written):
        return None
    try:
        return inputs.read(file.path.parent / written, 10_000_000).decode("utf-8", "replace")
    except OSError:
        return None


def load_fault(file: SpecFile) -> str:
    """Return why the code cannot be loaded: JavaScript is parsed, Python is not."""
    code, path = code_of(file)
    if file.spec.get("language") != "javascript" or not code:
        return ""
    node = _first_error(_tree(code))
    if node is None:
        return ""
    where = f"{path.name}:" if path else "code, line "
    return f"JavaScript syntax error ({where}{node.start_point[0] + 1})"


@cache
def _parser() -> Parser:
    import tree_sitter_javascript
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_javascript.language()))


def _tree(code: str) -> Node:
    return _parser().parse(code.encode()).root_node


def _first_error(node: Node) -> Node | None:
    if node.is_error or node.is_missing:
        return node
    if not node.has_error:
        return None
    return next((found for child in node.children if (found := _first_error(child))), node)


def semantic(files: list[SpecFile], libraries: list[SpecFile]) -> Iterator[Finding]:
    """Yield imports of libraries that do not exist, and forms of import that the service rejects."""
    names = {str(library.spec.get("import_name")) for library in libraries}
    for file in files:
        rule = RULE + "semantic-valid"
        path = ("spec", "file" if file.spec.get("file") else "code")
        fault, imported = imports_of(file)
        if fault:
            yield file.finding(rule, path, fault)
            continue
        for name in imported:
            if name not in names:
                yield file.finding(rule, path, f"imported library {name!r} not found")


def imports_of(file: SpecFile) -> tuple[str, list[str]]:
    """Return what is wrong with a file's imports, if anything, and the names of imported libraries."""
    code, _ = code_of(file)
    if file.spec.get("language") == "python":
        return "", list(_python_imports(code))
    found: list[str] = []
    for form, name in _javascript_imports(_tree(code)) if code else ():
        if form == "require":
            return f"require() is not supported: {name}", []
        if form == "dynamic":
            return f"dynamic imports are not supported: {name}", []
        if name.startswith((".", "/")):
            return f"relative and absolute imports are not supported: {name}", []
        if not name.startswith("@rs/") and name not in found:
            found.append(name)
    return "", found


def _javascript_imports(node: Node) -> Iterator[tuple[str, str]]:
    if node.type in ("import_statement", "export_statement"):
        source = node.child_by_field_name("source")
        if source is not None:
            yield "static", _literal(source)
    elif node.type == "call_expression":
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        text = (function.text or b"").decode() if function else ""
        if text in ("require", "import") and arguments is not None and arguments.named_children:
            form = "require" if text == "require" else "dynamic"
            if arguments.named_children[0].type == "string":
                yield form, _literal(arguments.named_children[0])
    for child in node.children:
        yield from _javascript_imports(child)


def _literal(node: Node) -> str:
    return (node.text or b"").decode().strip("'\"`")


def _python_imports(code: str) -> Iterator[str]:
    import sys

    for match in _PYTHON_IMPORT.finditer(code):
        for written in [match[1]] if match[1] else match[2].split(","):
            name = written.strip().split(" ")[0].split(".")[0]
            if name and name not in sys.stdlib_module_names and name not in _PYTHON_PACKAGES:
                yield name
