"""Trust by content: hashes of the user's own code, in a folder of the user.

Code whose hash is there runs even where an essential layer of the sandbox is missing. Changed code has another hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from svctoolkit.errors import ToolkitError

#: environment variable with the folder of the store
STORE_VARIABLE = "SVCTOOLKIT_TRUST_STORE"
#: Code with one of these words can import libraries by names that are not in its text.
_INDIRECT = re.compile(r"\b(?:__import__|importlib|import_module|exec|eval|compile|__builtins__|builtins)\b")
_ENTRY = re.compile(r"[0-9a-f]{64}\.json")


class Trusted(NamedTuple):
    """One entry of a store: the SHA-256 of code, the file that had it, and when it was recorded (ISO 8601, UTC)."""

    digest: str
    file: str
    at: str


class TrustStore:
    """The code that a user trusts: a folder with one small file per hash, readable and writable only by the user.

    `folder` is by default that of `SVCTOOLKIT_TRUST_STORE`, or else in the user's data folder. One file per hash needs
    no lock: commands that run at the same time never overwrite each other's entries.
    """

    def __init__(self, folder: Path | None = None, environ: Mapping[str, str] = os.environ) -> None:
        self.folder = folder or _default_folder(environ)

    def has(self, code: str) -> bool:
        """Whether this code is recorded. Never, if the store cannot be read, or if other users can write to it."""
        try:
            return (self.folder / f"{digest_of(code)}.json").is_file() and self._is_private()
        except OSError:
            return False

    def add(self, code: str, file: Path | str, *, now: datetime | None = None) -> bool:
        """Record code and the file that has it; return false if it was recorded already.

        Raises `ToolkitError` if the store cannot be written, or if other users can write to it.
        """
        entry = self.folder / f"{digest_of(code)}.json"
        text = json.dumps({"file": str(file), "at": (now or datetime.now(UTC)).isoformat(timespec="seconds")})
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_new = not entry.exists()
            _write(entry, text)
        except OSError as error:
            raise ToolkitError(f"cannot record code as trusted in {self.folder}: {error.strerror}") from error
        if not self._is_private():
            raise ToolkitError(
                f"{self.folder}: other users can write to this folder, so nothing in it is trusted. "
                f"Make it yours alone (chmod 700), or choose another one with {STORE_VARIABLE}"
            )
        return is_new

    def entries(self) -> list[Trusted]:
        """Return what is recorded, oldest first."""
        with contextlib.suppress(OSError):
            files = [file for file in self.folder.iterdir() if _ENTRY.fullmatch(file.name)]
            return sorted(map(_entry, files), key=lambda entry: (entry.at, entry.file))
        return []

    def remove(self, entries: Iterable[Trusted]) -> None:
        """Forget these entries. Raises `ToolkitError` if the store cannot be written."""
        for entry in entries:
            try:
                (self.folder / f"{entry.digest}.json").unlink(missing_ok=True)
            except OSError as error:
                raise ToolkitError(f"cannot change {self.folder}: {error.strerror}") from error

    def _is_private(self) -> bool:
        if not hasattr(os, "geteuid"):  # Windows: a profile folder is private by its access list
            return True
        status = self.folder.stat()
        return status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022


def digest_of(code: str) -> str:
    """Return the SHA-256 of code; the line ends of Windows make no difference, because git may change them."""
    return hashlib.sha256(code.replace("\r\n", "\n").encode("utf-8", "surrogatepass")).hexdigest()


def imported_libraries(code: str, libraries: Mapping[str, str]) -> list[str]:
    """Return the names of the libraries (name -> code) that code may import, also through others, judged by its text.

    These are all libraries if the code can build names at run time.
    """
    found: list[str] = []
    texts = [code]
    while texts:
        text = texts.pop()
        every = _INDIRECT.search(text)
        for name, library in libraries.items():
            if name not in found and (every or re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text)):
                found.append(name)
                texts.append(library)
    return found


def _default_folder(environ: Mapping[str, str]) -> Path:
    if given := environ.get(STORE_VARIABLE):
        return Path(given)
    import platformdirs  # only needed on machines without a complete sandbox, and to record code

    return Path(platformdirs.user_data_dir("svctoolkit", appauthor=False)) / "trust"


def _entry(file: Path) -> Trusted:
    """Return an entry; only its name counts, so a damaged file still trusts its hash."""
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        content = {}
    content = content if isinstance(content, dict) else {}
    return Trusted(file.stem, str(content.get("file", "")), str(content.get("at", "")))


def _write(file: Path, text: str) -> None:
    """Write a file atomically, readable only by the user."""
    import tempfile  # only for the command that records code

    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=".new-")  # mode 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as new:
            new.write(text)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
