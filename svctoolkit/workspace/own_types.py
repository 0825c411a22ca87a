"""Destination types of a team's own beside their workspace: `destinations.py`, or a folder `destinations/`.

    destinations.py                  harbor = DestinationType("Harbor", ...)        is HARBOR
    destinations/harbor/__init__.py  destination = DestinationType("Harbor", ...)   is HARBOR, with examples.yaml beside

It is Python that no sandbox holds, so it runs only where code is trusted (`--trust-code`, `SVCTOOLKIT_TRUST_CODE=1`,
`svctoolkit.transformations.trust_code()`): whoever opens a stranger's workspace gets a warning in place of it.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from svctoolkit.destinations import CATALOGUE, DestinationType
from svctoolkit.errors import InvalidWorkspace, Problem, WorkspaceWarning
from svctoolkit.transformations import code_is_trusted

_PACKAGE = "svctoolkit_own_destinations"
_seen: dict[Path, tuple[int, int]] = {}  # files that are registered, as they were then


def register(folder: Path) -> None:
    """Add the types beside a workspace in `folder` to the catalogue of this process; again after a change.

    Warns with `WorkspaceWarning` where there are some and nobody trusts code. Raises `InvalidWorkspace` for a file that
    cannot be imported or has no type, with its line.
    """
    files = list(_files(folder))
    if not files:
        return
    if not code_is_trusted():
        text = (
            "destination types of one's own, which are Python without a sandbox, are not loaded: "
            "say --trust-code or SVCTOOLKIT_TRUST_CODE=1 where you trust them"
        )
        warnings.warn(WorkspaceWarning([Problem(text, str(file)) for file in files]), stacklevel=4)
        return
    for file in files:
        stat = file.stat()
        stamp = stat.st_mtime_ns, stat.st_size
        if _seen.get(file.resolve()) != stamp:
            _register_file(file)
            _seen[file.resolve()] = stamp


def _files(folder: Path) -> list[Path]:
    single = folder / "destinations.py"
    modules = sorted([*(folder / "destinations").glob("*.py"), *(folder / "destinations").glob("*/__init__.py")])
    return [file for file in (single, *modules) if file.is_file() and not _title(file).startswith("_")]


def _title(file: Path) -> str:
    return file.parent.name if file.name == "__init__.py" else file.stem


def _register_file(file: Path) -> None:
    module = _import(file)
    if file.name == "destinations.py" and file.parent.name != "destinations":
        types = {name.upper(): value for name, value in vars(module).items() if isinstance(value, DestinationType)}
        expected = "a DestinationType in a variable: its name in upper case is the type's"
    else:
        value = vars(module).get("destination")
        types = {_title(file).upper(): value} if isinstance(value, DestinationType) else {}
        expected = "`destination = DestinationType(...)`"
    if not types:
        raise InvalidWorkspace(f"there is no destination type in it: expected {expected}", where=str(file))
    for name, item in types.items():
        CATALOGUE.add(name, item)


def _import(file: Path) -> ModuleType:
    """The module, run anew. Raises `InvalidWorkspace` with the line for whatever it raises."""
    name = f"{_PACKAGE}_{abs(hash(str(file.resolve())))}"
    is_package = file.name == "__init__.py"
    spec = spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)] if is_package else None)
    if spec is None or spec.loader is None:
        raise InvalidWorkspace("this is no Python module", where=str(file))
    for old in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[old]
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InvalidWorkspace(f"{type(error).__name__}: {error}", where=_place(file, error)) from error
    return module


def _place(file: Path, error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{file}:{error.lineno}:{error.offset}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{file}:{lines[-1]}:1" if lines else str(file)
