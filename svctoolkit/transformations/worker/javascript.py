"""JavaScript in the worker: V8, the glue around the user's code, and the linker."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ask = Callable[[bytes], list[dict[str, Any]]]


class Engine:
    """Runs one program at a time; see `python.Engine` for the same in Python."""

    jit = True
    spare = 64 << 20  # V8 collects garbage before it reports that the heap is full; without room it crashes instead

    def __init__(self, config: dict[str, Any]) -> None:
        sys.path[:0] = config["packages"]
        import linker  # type: ignore[import-not-found]  # beside this file; the worker runs as a script
        import v8  # type: ignore[import-not-found]

        self._linker, self._error = linker, v8.JavaScriptError
        self._memory = config["memory"]
        self._glue = Path(__file__).with_name("glue.js").read_text("utf-8")
        self._v8 = v8.V8(config["engine"], flags="--single-threaded")
        self._program: bytes = b""
        self._files: list[str] = []

    def start(self) -> None:
        """Starts the engine's thread, which takes over the locks that this one has."""
        self._renew()

    def _renew(self) -> None:
        self._v8.renew(self._memory)
        self._step = self._v8.eval(self._glue)
        if self._program:
            self._v8.call(self._step, b"load " + self._program)

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Links and compiles a program; says where it is wrong, or what the host needs to place later errors."""
        libraries, coverage, self._files, units = message["libraries"], message["coverage"], [], []
        names = {library["import"]: place for place, library in enumerate(libraries)}
        try:
            for source, importable in [*((library, {}) for library in libraries), (message["main"], names)]:
                self._files.append(source["file"])
                file, script = source["file"], source["script"]
                units.append(self._linker.link(source["code"], file, script, importable, coverage=coverage))
        except self._linker.UnknownImportError as unknown:
            at = [self._files[-1], unknown.line, unknown.column]
            return {"unknown_import": unknown.module, "at": at}
        main = units.pop()
        used = sorted({wanted["library"] for wanted in main["imports"]})
        for wanted in main["imports"]:
            wanted["library"] = used.index(wanted["library"])
        keep = [units[place] for place in used]
        program = {
            "main": main,
            "libraries": keep,
            "limits": message["limits"],
            "credentials": message["credentials"],
            "coverage": coverage,
        }
        self._program = json.dumps(program).encode()
        files = [message["main"]["file"], *(libraries[place]["file"] for place in used)]
        placed = [
            {"file": file, "lines": unit["lines"], "inserted": unit["inserted"], "head": len(unit["head"])}
            for file, unit in zip(files, [main, *keep], strict=True)
        ]
        return {"units": placed, **self._check()}

    def _check(self) -> dict[str, Any]:
        try:
            self._renew()
            self._v8.call(self._step, b"check")
        except self._error as error:
            if error.kind == "memory" or str(error).strip() in {"", "null"}:
                raise MemoryError from None
            return {"syntax": str(error)}
        checked: dict[str, Any] = json.loads(self._v8.call(self._step, b"checked"))
        return checked

    def run(self, given: bytes, ask: Ask) -> bytes:
        """The results, as JSON text. `given` is a line with the events and one with their metadata.

        `ask` sends requests to the host and gives its answers.
        """
        try:
            answer: bytes = self._v8.call(self._step, b"run " + given)
            while not answer.startswith(b'{"results"'):
                if answer:
                    for reply in ask(answer):
                        self._v8.call(self._step, b"answer " + json.dumps(reply).encode())
                answer = self._v8.call(self._step, b"state")
        except self._error as error:
            if error.kind == "memory" or str(error).strip() in {"", "null"}:  # ended by force, not thrown
                raise MemoryError from None
            # the glue catches what is thrown; only a full stack gets past it
            return json.dumps({"error": {"name": "RangeError", "message": str(error).split("\n")[0]}}).encode()
        return answer

    def clean(self) -> None:
        """Between calls: a realm that the user's code changed is replaced by a fresh one."""
        try:
            same = self._v8.call(self._step, b"pristine") == b"yes"
        except self._error:
            same = False
        if not same:
            self._renew()
