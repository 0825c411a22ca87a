"""The location of the queue's file, and the fingerprint that separates the sources in it."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from svctoolkit.sdk.base.settings import MEMORY, Settings

FILE = "queue-3.db"


def fingerprint(write_key: str) -> str:
    """Return a hash that identifies a source in a shared file, so that the write key itself is not stored."""
    return _digest(write_key)


class Place(NamedTuple):
    """The path of the queue's file, or `MEMORY`. `why` says why it is in memory although nothing asks for that."""

    path: str
    why: str = ""


def queue_place(settings: Settings, *, embedded: bool) -> Place:
    """Return where the queue is.

    Without a directory and an application name, the file belongs to the full path of the running script: two programs
    that happen to be called `manage.py` share nothing. Without a script (a kernel, `-c`, `-m`, a test run), the
    events cannot be assigned to a program, and stay in memory.
    """
    directory = settings.data_directory
    if directory == MEMORY or (directory is None and embedded):
        return Place(MEMORY)
    if directory is not None:
        return Place(os.path.join(directory, FILE))
    folder = _folder(settings.application_name)
    if not folder:
        return Place(MEMORY, "no script identifies the program (python -m, -c, a notebook)")
    import platformdirs

    try:
        home = platformdirs.user_data_dir("svctoolkit", appauthor=False)
    except RuntimeError:  # a user ID without an entry in the system's list of users, and no HOME
        return Place(MEMORY, "the user has no home directory")
    return Place(os.path.join(home, "sdk", folder, FILE))


def is_trial() -> bool:
    """Return whether this is a test run or an interactive session, where events in memory are to be expected."""
    return "_pytest.main" in sys.modules or "ipykernel" in sys.modules or hasattr(sys, "ps1")


def _folder(application_name: str) -> str:
    if application_name:
        slug = _slug(application_name)
        return slug if slug == application_name else f"{slug}-{_digest(application_name)[:8]}"
    script = _main_script()
    return f"{_slug(os.path.splitext(os.path.basename(script))[0])}-{_digest(script)}" if script else ""


def _main_script() -> str:
    """Return the path of the running script, symlinks resolved; empty if no script identifies the program."""
    # While a spawned child of `multiprocessing` imports the main file, `__main__` is still the bootstrap.
    main = sys.modules.get("__mp_main__") or sys.modules.get("__main__")
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    # A package that is run as a directory has a spec, too, but named `__main__`; with `-m` it has the module's name.
    if not file or (spec is not None and spec.name != "__main__") or "_pytest.main" in sys.modules:
        return ""
    return str(os.path.realpath(file))


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:64]


def _digest(text: str) -> str:
    return sha256(text)[:16]


def sha256(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    # 5 ms to import. Threads find it imported: `initialize` calls `fingerprint` first, in the thread of its caller.
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
