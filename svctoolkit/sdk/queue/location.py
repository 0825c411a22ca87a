"""Where the queue's file is, and how it tells one source's events from another's."""

from __future__ import annotations

import os
import sys

from svctoolkit.sdk.base.settings import MEMORY, Settings

_FILE = "queue-3.db"


def fingerprint(write_key: str) -> str:
    """Tells the events of one source from another's in a shared file, without keeping the key there."""
    return _digest(write_key)


def queue_path(settings: Settings, *, embedded: bool) -> str:
    """The file's path, or `MEMORY`.

    Without a directory and an application's name it belongs to the script that runs, wherever its file lies: two
    programs that happen to be called `manage.py` share nothing. Where there is no script (a kernel, `-c`, `-m`, a test
    run), nothing says whose events these are, and they stay in memory.
    """
    directory = settings.data_directory
    if directory == MEMORY or (directory is None and embedded):
        return MEMORY
    if directory is None:
        folder = _folder(settings.application_name)
        if not folder:
            return MEMORY
        import platformdirs

        directory = os.path.join(platformdirs.user_data_dir("svctoolkit", appauthor=False), "sdk", folder)
    return os.path.join(directory, _FILE)


def _folder(application_name: str) -> str:
    if application_name:
        slug = _slug(application_name)
        return slug if slug == application_name else f"{slug}-{_digest(application_name)[:8]}"
    script = _main_script()
    return f"{_slug(os.path.splitext(os.path.basename(script))[0])}-{_digest(script)}" if script else ""


def _main_script() -> str:
    """The file of the running script, links resolved; empty if there is none that would say whose program this is."""
    main = sys.modules.get("__main__")
    file, spec = getattr(main, "__file__", None), getattr(main, "__spec__", None)
    # A package that is run as a directory has a spec, too, but of the name `__main__`; `-m` has the module's.
    if not file or (spec is not None and spec.name != "__main__") or "_pytest.main" in sys.modules:
        return ""
    return str(os.path.realpath(file))


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_" else "-" for c in name)[:64]


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
