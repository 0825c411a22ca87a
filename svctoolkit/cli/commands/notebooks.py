"""`svctoolkit notebooks`: copy the example notebooks to a folder and open them."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import svctoolkit
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ConfigError, Problem, ToolkitError

_DEFAULT = "svctoolkit-notebooks"
_NEEDED = ("ipykernel", "ipywidgets", "jupyterlab", "matplotlib")
_INSTALL = "pip install jupyterlab 'svctoolkit[notebooks]'"
#: what one notebook needs in addition
_WAREHOUSE, _WAREHOUSE_NEEDED = "9_a_warehouse.ipynb", ("duckdb", "pyarrow")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", default=_DEFAULT, metavar="DIR", help=f"folder to copy them to (default: {_DEFAULT})"
    )
    parser.add_argument("--force", action="store_true", help="overwrite files in DIR that differ")
    parser.add_argument("--no-open", action="store_true", help="copy without starting JupyterLab")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    folder, files = Path(args.folder), _files()
    written = _write(folder, files, force=args.force)
    notebooks = sorted((name for name in files if name.endswith(".ipynb")), key=lambda n: int(n.partition("_")[0]))
    listing = "\n".join(f"  {folder / name}" for name in notebooks)
    _terminal.out(f"wrote {written} of {len(files)} files; the notebooks:\n{listing}")
    if more := _missing(_WAREHOUSE_NEEDED):
        _terminal.out(f"\n{_WAREHOUSE} also needs {', '.join(more)}: pip install 'svctoolkit[warehouse]'")
    missing = _missing(_NEEDED)
    if missing:
        _terminal.out(f"\nto run them, install {', '.join(missing)}: {_INSTALL}")
        return Exit.OK
    if args.no_open:
        _terminal.out(f"\nnext: jupyter lab {_terminal.word(str(folder / notebooks[0]))}")
        return Exit.OK
    _terminal.out("\nstarting JupyterLab; press Ctrl-C to stop")
    return _open(folder, notebooks[0])


def _missing(names: Sequence[str]) -> list[str]:
    return [name for name in names if find_spec(name) is None]


def _files() -> dict[str, bytes]:
    """The files to copy: relative path -> content. A wheel has them inside the package, a checkout next to it."""
    package = Path(svctoolkit.__file__).parent
    origin = next(place for place in (package / "_notebooks", package.parent / "notebooks") if place.is_dir())
    files = {}
    for path in sorted(origin.rglob("*")):
        steps = path.relative_to(origin).parts
        if path.is_file() and steps[0] != "images" and not any(p.startswith((".", "__")) for p in steps):
            files["/".join(steps)] = path.read_bytes()
    return files


def _write(folder: Path, files: Mapping[str, bytes], *, force: bool) -> int:
    """Write the missing and changed files, all or none, and return how many were written.

    Raises `ConfigError` if a file exists with different content (`force` overwrites it), `ToolkitError` if a file
    cannot be written.
    """
    try:
        stale = {folder / name: content for name, content in files.items() if not _is(folder / name, content)}
        changed = [path for path in stale if path.exists()]
        if changed and not force:
            hint = Problem(
                f"nothing was written; overwrite them with --force, or open your copies: jupyter lab {folder}"
            )
            raise ConfigError([*(Problem("exists with different content", str(path)) for path in changed), hint])
        _replace(stale)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolkitError(f"cannot write the notebooks to {folder}: {why}") from error
    return len(stale)


def _is(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _replace(files: Mapping[Path, bytes]) -> None:
    """Replace files through drafts next to them: a full disk or a missing permission leaves all files intact."""
    drafts = {path: path.with_name(f".{path.name}.new") for path in files}
    try:
        for path, content in files.items():
            if path.is_dir():
                raise IsADirectoryError(0, f"{path} is a folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            drafts[path].write_bytes(content)
        for path in files:
            os.replace(drafts[path], path)
    finally:
        for new in drafts.values():
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)


def _open(folder: Path, notebook: str) -> int:
    """Run JupyterLab and return its exit code. Ctrl-C goes to JupyterLab, which asks for confirmation."""
    process = subprocess.Popen([sys.executable, "-m", "jupyterlab", notebook], cwd=folder)
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            return Exit.OK if process.wait() == 0 else Exit.FAILED


command = Command(
    help="copy the example notebooks to a folder and open them",
    description="""
        Copy the example notebooks to a folder and open them in JupyterLab. They use the data of one shop, from a quick
        start to writing your own destination. If you have changed any of the files in DIR, nothing is written without
        --force.
    """,
    examples=("svctoolkit notebooks", "svctoolkit notebooks shop-notebooks --no-open"),
    add_arguments=_add_arguments,
    run=_run,
)
