"""One call of user code in Python, in a process that is there for this call alone.

Nothing here is taken back afterwards: the process ends with its answer, and with it every module, handler, thread and
patched built-in that the code has left behind.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import logs as log_lines  # type: ignore[import-not-found]  # these are beside this file, which runs as a script
import program as programs  # type: ignore[import-not-found]

Ask = Callable[[bytes], Any]

_METADATA = """
sourceId sourceName workspaceId sourceType sourceCategory destinationId destinationType destinationName namespace
originalSourceId trackingPlanId trackingPlanVersion sourceTpConfig mergedTpConfig jobId sourceJobId sourceJobRunId
sourceTaskRunId recordId messageId messageIds rudderId receivedAt eventName eventType sourceDefinitionId
destinationDefinitionId transformationId transformationVersionId
""".split()  # noqa: SIM905
_FUNCTIONS = ("transformEvent", "transformBatch")
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode


class Call:
    """Runs a program once. `ask` sends requests to the host and gives its answers, `decode` reads JSON."""

    def __init__(self, program: programs.Program, ask: Ask, decode: Callable[[bytes], Any]) -> None:
        self._program, self._ask, self._decode = program, ask, decode
        self._limits = program.limits
        self._logs = log_lines.Logs(program.limits)
        self._requests = self._size = 0
        self._hits: dict[str, dict[int, int]] = {}
        for name, level in (("stdout", "info"), ("stderr", "error")):
            stream = log_lines.Stream(self._logs, level)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        sys.meta_path.insert(0, programs.LibraryFinder(program.libraries))

    def check(self) -> bytes:
        """Runs the top level, and says what is wrong with the code: `{}` or `{"error": ...}`."""
        try:
            _entry_point(self._namespace())
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            _raise_if_memory(error)
            return json.dumps({"error": self._failure(error)}).encode()
        return b"{}"

    def run(self, content: bytes) -> bytes:
        """The results, as JSON text. `content` is a line with the events and one with their metadata."""
        events, about = map(self._decode, content.split(b"\n"))
        self._logs.start(len(events))
        batch = None
        try:
            names = self._namespace()
            entry = _entry_point(names)
            function, metadata = names[entry], _metadata(events, about)
            if entry == "transformEvent":
                outputs = [self._transform(function, index, event, metadata) for index, event in enumerate(events)]
            else:
                batch = self._transform_batch(function, [*events], metadata)  # which code may change
                outputs = ['{"events":[]'] * len(events)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            _raise_if_memory(error)
            outputs = ['{"error":' + json.dumps(self._failure(error))] * len(events)
        self._logs.end_line()
        return self._results(outputs, batch).encode()

    def _namespace(self) -> dict[str, Any]:
        """The module's names after its top level has run."""
        names: dict[str, Any] = {
            "__name__": "transformation",
            "__builtins__": builtins,
            "log": self._log,
            "getCredential": self._credential,
            "fetch": lambda url, options=None: self._request("fetch", url, options),
            "fetchV2": lambda url, options=None: self._request("fetchV2", url, options),
            "geolocation": lambda ip=None: self._request("geolocation", ip),
        }
        with self._tracing():
            exec(self._program.code, names)  # noqa: S102 - running user code is what this is for
        return names

    def _log(self, *words: object) -> None:
        self._logs.end_line()
        self._logs.add("info", " ".join(map(_log_text, words)))

    def _credential(self, key: object) -> str | None:
        if key is None:
            raise TypeError("Key should be valid and defined")
        value: str | None = self._program.credentials.get(str(key))
        return value

    def _request(self, kind: str, *args: object) -> Any:
        self._requests += 1
        if self._requests > self._limits["calls"]:
            raise RuntimeError(f"more than {self._limits['calls']} requests in one call of the transformation")
        (answer,) = self._ask(_encode({"calls": [{"id": 0, "kind": kind, "args": args}]}).encode())
        if answer["error"] is not None:
            raise RuntimeError(answer["error"])
        return answer["value"]

    def _transform(self, function: Callable[..., Any], index: int, event: Any, metadata: Callable[..., Any]) -> str:
        self._logs.switch(index)
        try:
            returned = self._invoke(function, event, metadata)
            if returned is None:
                return '{"events":[]'
            if isinstance(returned, list):
                if not all(isinstance(event, dict) for event in returned):
                    raise TypeError("returned event in events array from transformEvent(event) is not an object")
                return '{"events":' + self._json(returned)
            if not isinstance(returned, dict):
                raise TypeError("returned event from transformEvent(event) is not an object")
            return '{"events":[' + self._json(returned) + "]"
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            _raise_if_memory(error)
            return '{"error":' + json.dumps(self._failure(error))

    def _transform_batch(self, function: Callable[..., Any], events: list[Any], metadata: Callable[..., Any]) -> str:
        returned = self._invoke(function, events, metadata)
        if not isinstance(returned, list):
            raise TypeError("returned events from transformBatch(event) is not an array")
        bad = '"returned event in events array from transformBatch(events) is not an object"'
        return "[" + ",".join(self._json(event) if isinstance(event, dict) else bad for event in returned) + "]"

    def _invoke(self, function: Callable[..., Any], events: Any, metadata: Callable[..., Any]) -> Any:
        if self._program.coverage:
            with self._tracing():
                return _settle(function(events, metadata))
        return _settle(function(events, metadata))

    def _json(self, value: object) -> str:
        text = _encode(value)
        self._size += len(text)
        if self._size > self._limits["output_bytes"]:
            raise ValueError(f"the output is larger than {self._limits['output_bytes']} bytes")
        return text

    def _results(self, outputs: list[str], batch: str | None) -> str:
        logs = self._logs
        for index, lines in enumerate(logs.lines):
            if lines:
                outputs[index] += f',"logs":{json.dumps(lines)},"dropped":{logs.dropped[index]}'
        rest = "" if batch is None else f',"batch":{batch}'
        if self._program.coverage:
            units = zip(self._program.files, self._program.lines(), strict=True)
            hits = [[self._hits.get(file, {}).get(line, 0) for line in lines] for file, lines in units]
            rest += f',"hits":{json.dumps(hits)}'
        return '{"results":[' + ",".join(f"{output}}}" for output in outputs) + "]" + rest + "}"

    def _failure(self, error: BaseException) -> dict[str, Any]:
        return failure(error, self._program.files)

    @contextlib.contextmanager
    def _tracing(self) -> Iterator[None]:
        """Counts the lines that run, when coverage was asked for."""
        if not self._program.coverage:
            yield
            return

        def trace(frame: types.FrameType, what: str, _arg: object) -> Any:
            if frame.f_code.co_filename not in self._program.files:
                return None
            if what == "line":
                counts = self._hits.setdefault(frame.f_code.co_filename, {})
                counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
            return trace

        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(None)


def failure(error: BaseException, files: list[str]) -> dict[str, Any]:
    """An error in words, with its place in the user's files."""
    try:
        message = str(error)[:2000]
    except Exception:  # noqa: BLE001 - an error's own __str__ may fail as well
        message = "(its text cannot be shown)"
    at: list[Any] | None = None
    if isinstance(error, SyntaxError) and error.filename in files:
        at, message = [error.filename, error.lineno or 1, error.offset or 1], str(error.msg)
    else:
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename in files:
                column = list(code.co_positions())[trace.tb_lasti // 2][2]
                at = [code.co_filename, trace.tb_lineno, (column or 0) + 1]
            trace = trace.tb_next
    return {"name": type(error).__name__[:100], "message": message, "at": at}


def _entry_point(names: Mapping[str, Any]) -> str:
    functions = [name for name in _FUNCTIONS if callable(names.get(name))]
    if len(functions) != 1:
        raise TypeError(f"Expected one of {','.join(_FUNCTIONS)}. Found {','.join(functions)}")
    return functions[0]


def _raise_if_memory(error: BaseException) -> None:
    """Memory is the process's affair, not an event's: there may be none left to go on with."""
    if isinstance(error, MemoryError):
        raise error


def _log_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _settle(returned: Any) -> Any:
    """What a function returned; of an asynchronous one, what it comes to."""
    if not isinstance(returned, types.CoroutineType):
        return returned
    loop = event_loop()
    try:
        return loop.run_until_complete(returned)
    finally:
        loop.close()


def event_loop() -> Any:
    """An event loop without descriptors: there is nothing to wait for but time."""
    import asyncio
    import time

    class Loop(asyncio.base_events.BaseEventLoop):
        def __init__(self) -> None:
            super().__init__()
            self._selector = self

        def select(self, timeout: float | None) -> list[Any]:
            if timeout is None:
                raise RuntimeError("a future that the transformation waits for is never done")
            if timeout > 0:
                time.sleep(timeout)
            return []

        def _process_events(self, _events: list[Any]) -> None:
            """There are none."""

        def _write_to_self(self) -> None:
            """No other thread has to be woken."""

    return Loop()


def _metadata(events: list[dict[str, Any]], about: list[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    by_id = {event.get("messageId"): of for event, of in zip(reversed(events), reversed(about), strict=True)}

    def metadata(event: Any = None) -> dict[str, Any]:
        """What is known about an event, by its messageId."""
        of_event = (by_id.get(event.get("messageId")) if isinstance(event, dict) else None) or {}
        return {name: of_event.get(name) for name in _METADATA}

    return metadata
