"""Which code of a workspace may run where the sandbox lacks an essential layer: the user's own, by its content."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from svctoolkit.errors import Problem, ToolkitError, TransformationError, UntrustedCode
from svctoolkit.workspace._lookup import code_of

if TYPE_CHECKING:
    from svctoolkit.transformations import Layers, TrustStore
    from svctoolkit.workspace._items import Library, Transformation
    from svctoolkit.workspace._model import Workspace

CODE_SUFFIXES = (".py", ".js", ".mjs")


class CodePiece(msgspec.Struct, frozen=True):
    """The code of a transformation or library. `file` has it: a file of code, or the file with the workspace."""

    name: str
    code: str
    language: str
    file: Path | None

    @property
    def where(self) -> str:
        """Return the file, as seen from the current folder; without a file the name."""
        return os.path.relpath(self.file) if self.file else self.name

    @property
    def label(self) -> str:
        """Return the file; with the name if the file also has other things."""
        return self.where if self.file is None or self.file.suffix in CODE_SUFFIXES else f"{self.where} ({self.name})"

    def is_on_disk(self) -> bool:
        """Whether the file has this code: it does not if the code is from another revision, or was changed in memory.

        Code inside the file of a workspace cannot be compared.
        """
        from svctoolkit.transformations import digest_of

        if self.file is None or not self.file.is_file():
            return False
        if self.file.suffix not in CODE_SUFFIXES:
            return True
        return digest_of(code_of(self.file)) == digest_of(self.code)


def pieces(workspace: Workspace, *keys: str) -> Iterator[CodePiece]:
    """Yield the code of these transformations (default: all), and of the libraries that they may import."""
    from svctoolkit.transformations import imported_libraries

    chosen = [workspace.transformations[key] for key in keys or workspace.transformations]
    libraries: dict[str, Library] = {}
    for item in chosen:
        if item.function is None and item.code:
            yield _piece(workspace, item)
            codes = {key: lib.code for key, lib in workspace.libraries.items() if lib.language == _language(item)}
            libraries |= {key: workspace.libraries[key] for key in imported_libraries(item.code, codes)}
    yield from (_piece(workspace, library) for library in libraries.values() if library.code)


def code_file(file: Path) -> CodePiece:
    """Return the code in a file. Raises `InvalidWorkspace` if it cannot be read."""
    return CodePiece(file.name, code_of(file), "", file)


def every_piece(workspace: Workspace) -> list[CodePiece]:
    """Return the code of all transformations and libraries."""
    items: list[Transformation | Library] = [*workspace.transformations.values(), *workspace.libraries.values()]
    return [_piece(workspace, item) for item in items if item.code]


def _piece(workspace: Workspace, item: Transformation | Library) -> CodePiece:
    file = (workspace.folder or Path()) / item.file if item.file else workspace.file
    return CodePiece(item.key, item.code, _language(item), file)


def _language(item: Transformation | Library) -> str:
    return item.language or "javascript"


def require_trust(
    *workspaces: Workspace,
    keys: Sequence[str] = (),
    store: TrustStore | None = None,
    layers: Callable[[str], Layers] | None = None,
) -> None:
    """Raise `UntrustedCode` for code that this machine's sandbox cannot contain and that the user has not recorded.

    `keys` are transformations of the workspaces, by default all. The sandbox is only examined if there is such code.
    """
    trusting = {id(each): each for each in workspaces}.values()
    code = [piece for each in trusting if not each.limits.trust for piece in pieces(each, *keys)]
    if not code:  # finding the store's folder takes 20 ms
        return
    from svctoolkit import transformations
    from svctoolkit.transformations import TrustStore, code_is_trusted, essential_layers

    store = store or TrustStore()
    unknown = [piece for piece in code if not store.has(piece.code)]
    unknown = [piece for piece in unknown if essential_layers(piece.language) != ("engine",)]
    if not unknown or code_is_trusted():
        return
    try:
        sandbox = {piece.language: (layers or transformations.layers)(piece.language) for piece in unknown}
    except TransformationError:  # the sandbox cannot be started at all: each event reports why
        return
    unknown = [piece for piece in unknown if not sandbox[piece.language].essential]
    if unknown:
        raise _refusal(unknown, sandbox[unknown[0].language], store)


def _refusal(unknown: Sequence[CodePiece], sandbox: Layers, store: TrustStore) -> UntrustedCode:
    recorded = {entry.file for entry in store.entries()}
    states = {
        piece.where: "changed since you trusted it"
        if piece.file and str(piece.file.resolve()) in recorded
        else "not yet trusted"
        for piece in unknown
    }
    problems = [
        Problem(
            f"user code does not run: the sandbox on this machine lacks {sandbox.lacking()} ({sandbox.platform}), "
            "and this code is not recorded as yours"
        ),
        *(Problem(state, where) for where, state in states.items()),
    ]
    files = shlex.join(dict.fromkeys(piece.where for piece in unknown if piece.is_on_disk()))
    if files:
        problems.append(Problem(f"if you trust it, run: svctoolkit trust {files}"))
    if not all(piece.is_on_disk() for piece in unknown):
        problems.append(Problem("some code is not in a file here: to trust it, call workspace.trust() in Python"))
    problems.append(Problem("to trust all code, as in CI: --trust-code or SVCTOOLKIT_TRUST_CODE=1"))
    return UntrustedCode(problems, [*states])


def record(found: Sequence[CodePiece], store: TrustStore | None = None) -> list[CodePiece]:
    """Record code as the user's own. Return what was new. Raises `ToolkitError` if the store cannot be written."""
    from svctoolkit.transformations import TrustStore

    store = store or TrustStore()
    return [piece for piece in found if store.add(piece.code, piece.file.resolve() if piece.file else piece.name)]


def record_written(files: Mapping[Path, str]) -> None:
    """Record the code among files that a command writes for the user: by path, their content.

    If the record cannot be written, the commands that run the code say what to do, on machines where it matters.
    """
    code = [CodePiece(path.name, text, "", path) for path, text in files.items() if path.suffix in CODE_SUFFIXES]
    with contextlib.suppress(ToolkitError):
        record(code)
