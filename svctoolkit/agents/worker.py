"""Runs tools in a separate process, which is ended when a tool takes too long."""

from __future__ import annotations

import json
import os
import time
import traceback
import warnings
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final, NamedTuple

from svctoolkit.errors import ToolkitError, WorkspaceWarning
from svctoolkit.json_types import Json

MOST: Final = 40_000  # characters of an answer


class Answer(NamedTuple):
    """The answer of a tool: JSON or text, or the text of an error. It has no secrets and at most `MOST` characters."""

    text: str
    is_error: bool = False


class Worker:
    """Runs tools of a project one after the other, in one process. It starts with the first call; `close()` ends it."""

    def __init__(self, folder: Path, file: Path, *, strict: bool = False) -> None:
        self._project = folder, file, strict
        self._lock = Lock()
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def call(self, name: str, arguments: Mapping[str, Json], seconds: float) -> Answer:
        """Return the answer of a tool. After `seconds`, its process is ended, and the answer is an error."""
        end = time.monotonic() + seconds
        late = Answer(f"{name} did not finish within {seconds:g} s and was stopped; give it less to do", is_error=True)
        if not self._lock.acquire(timeout=max(0.0, seconds)):
            return Answer(f"{name} did not start within {seconds:g} s: another tool is running", is_error=True)
        try:
            connection = self._open()
            connection.send((name, dict(arguments)))
            if connection.poll(max(0.0, end - time.monotonic())):
                answer: Answer = connection.recv()
                return answer
            self._end()
            return late
        except (EOFError, OSError):
            self._end()
            return Answer(f"{name} ended its process: it may need too much memory; give it less to do", is_error=True)
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _open(self) -> Connection:
        if self._connection is None:
            context = get_context("spawn")
            self._connection, other = context.Pipe()
            self._process = context.Process(target=_serve, args=(other, *self._project), daemon=True)
            self._process.start()
            other.close()
        return self._connection

    def _end(self) -> None:
        if self._process is not None and self._connection is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
        self._process = self._connection = None


def _serve(connection: Connection, folder: Path, file: Path, strict: bool) -> None:
    """Answer calls until the other side closes the connection."""
    Thread(target=_end_with_parent, daemon=True).start()
    os.chdir(folder)
    warnings.simplefilter("ignore", WorkspaceWarning)  # `svctoolkit check` lists them; with `strict` they are raised
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while True:
            name, arguments = connection.recv()
            connection.send(run(name, arguments, folder, file, strict=strict))


def _end_with_parent() -> None:
    """End this process when the server is killed, also in the middle of a tool that would never finish."""
    server = parent_process()
    if server is not None:
        server.join()
        os._exit(1)


# Any: arguments of tools
def run(name: str, arguments: Mapping[str, Any], folder: Path, file: Path, *, strict: bool = False) -> Answer:
    """Run a tool in this process."""
    from svctoolkit.agents.tool import Project
    from svctoolkit.agents.tools import TOOLS
    from svctoolkit.workspace import on_load

    project = Project(folder, file, strict)
    with on_load(project.opened.append):
        try:
            value, is_error = TOOLS[name].function(project, **arguments), False
        except ToolkitError as error:
            value, is_error = str(error), True
        except Exception as error:  # noqa: BLE001 -- a bug; the agent's other calls still work
            traceback.print_exc()
            value, is_error = f"internal error: {type(error).__name__}: {error}. This is a bug in svctoolkit.", True
    for workspace in project.opened:
        value = workspace.masker.mask(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return Answer(short(text), is_error)


def short(text: str) -> str:
    """Return a text, or its beginning and a note if it is longer than `MOST`."""
    if len(text) <= MOST:
        return text
    note = f"\n... cut here: the answer has {len(text):,} characters. Ask for less."
    return text[: MOST - len(note)] + note
