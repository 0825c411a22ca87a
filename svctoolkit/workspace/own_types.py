"""Custom destination types next to a workspace: `destinations.py`, or a folder `destinations/`.

    destinations.py                  harbor = DestinationType("Harbor", ...)        is HARBOR
    destinations/harbor/__init__.py  destination = DestinationType("Harbor", ...)   is HARBOR; examples.yaml next to it

This is Python code without a sandbox, so it runs only if code is trusted: `--trust-code`, `SVCTOOLKIT_TRUST_CODE=1` or
`svctoolkit.transformations.trust_code()`. Otherwise loading the workspace gives a warning.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from svctoolkit import inputs
from svctoolkit.destinations import CATALOGUE, DestinationType
from svctoolkit.errors import InvalidWorkspace, Problem, WorkspaceWarning
from svctoolkit.transformations import code_is_trusted

_PACKAGE = "svctoolkit_own_destinations"
_seen: dict[Path, tuple[object, ...]] = {}  # registered files, with the stamps of all modules of their folder


def register(folder: Path) -> None:
    """Add the types next to a workspace in `folder` to this process's catalogue, again after a file has changed.

    Issues a `WorkspaceWarning` if there are types but code is not trusted. Raises `InvalidWorkspace`, with the line,
    for a file that cannot be imported or has no type.
    """
    files = list(_files(folder))
    if not files:
        return
    for file in [*files, *_modules(folder)]:
        inputs.noted(file)
    if not code_is_trusted():
        text = (
            "custom destination types are not loaded, because they are Python code without a sandbox. "
            "If you trust them, use --trust-code or SVCTOOLKIT_TRUST_CODE=1"
        )
        warnings.warn(WorkspaceWarning([Problem(text, str(file)) for file in files]), stacklevel=4)
        return
    # Of all modules: a type may import others of its folder.
    stamps = tuple((file, inputs.stamp(file)) for file in [*files, *_modules(folder)])
    for file in files:
        if _seen.get(file.resolve()) != stamps:
            _register_file(file)
            _seen[file.resolve()] = stamps


def _files(folder: Path) -> list[Path]:
    single = folder / "destinations.py"
    modules = [file for file in _modules(folder) if _owner(file) == folder / "destinations"]
    found = [single, *modules] if inputs.is_file(single) else modules
    return [file for file in found if not _title(file).startswith("_")]


def _modules(folder: Path) -> list[Path]:
    return inputs.listing(folder / "destinations", "**/*.py")


def _owner(file: Path) -> Path:
    """Return the folder of a module, or of the package that an `__init__.py` is of."""
    return file.parent.parent if file.name == "__init__.py" else file.parent


def _title(file: Path) -> str:
    return file.parent.name if file.name == "__init__.py" else file.stem


def _register_file(file: Path) -> None:
    module = _import(file)
    if file.name == "destinations.py" and file.parent.name != "destinations":
        types = {name.upper(): value for name, value in vars(module).items() if isinstance(value, DestinationType)}
        expected = "a variable with a DestinationType; the variable's name in upper case is the type's name"
    else:
        value = vars(module).get("destination")
        types = {_title(file).upper(): value} if isinstance(value, DestinationType) else {}
        expected = "`destination = DestinationType(...)`"
    if not types:
        raise InvalidWorkspace(f"no destination type found: expected {expected}", where=str(file))
    for name, item in types.items():
        CATALOGUE.add(name, item)


def _import(file: Path) -> ModuleType:
    """Import the module again. Raises `InvalidWorkspace` with the line of any exception."""
    name = f"{_PACKAGE}_{abs(hash(str(file.resolve())))}"
    is_package = file.name == "__init__.py"
    spec = spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)] if is_package else None)
    if spec is None or spec.loader is None:
        raise InvalidWorkspace("not a Python module", where=str(file))
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
