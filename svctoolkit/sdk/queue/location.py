"""Where the queue's file is, and how it tells one source's events from another's."""

from __future__ import annotations

import os
import sys

from svctoolkit.sdk.base.settings import MEMORY, Settings


def fingerprint(write_key: str) -> str:
    """Tells the events of one source from another's in a shared file, without keeping the key there."""
    import hashlib

    return hashlib.sha256(write_key.encode()).hexdigest()[:16]


def queue_path(settings: Settings, *, embedded: bool) -> str:
    """The file's path, or `MEMORY`."""
    directory = settings.data_directory
    if directory == MEMORY or (directory is None and embedded):
        return MEMORY
    if directory is None:
        import platformdirs

        program = os.path.basename(sys.argv[0] if sys.argv else "")
        name = settings.application_name or os.path.splitext(program)[0]
        slug = "".join(c if c.isalnum() or c in "-_" else "-" for c in name) or "python"
        directory = os.path.join(platformdirs.user_data_dir("svctoolkit", appauthor=False), "sdk", slug)
    return os.path.join(directory, "queue-1.db")
