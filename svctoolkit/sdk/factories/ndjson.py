"""Events as lines of a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.sdk.client import ServiceClient


class NdjsonFactory:
    """Appends each event to `path` as one line of JSON. Several processes may append to one file."""

    def __init__(self, path: str | os.PathLike[str], display_name: str = "") -> None:
        self.display_name = display_name
        self._path = Path(path)

    def create(self, config: Mapping[str, Json], client: ServiceClient) -> _NdjsonFile:  # noqa: ARG002 - the protocol
        """Open the file. Raises `OSError`, which the client reports; it then continues without this integration."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return _NdjsonFile(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))


class _NdjsonFile:
    def __init__(self, file: int) -> None:
        self._file = file

    def dump(self, event: dict[str, Any]) -> None:
        # One write per line, so that lines of several processes are not interleaved.
        os.write(self._file, (json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n").encode())

    def reset(self) -> None:
        return None

    def flush(self) -> None:
        os.fsync(self._file)

    def __del__(self) -> None:
        os.close(self._file)
