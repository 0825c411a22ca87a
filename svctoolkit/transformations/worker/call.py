"""One call of user code in Python, in a process that exists for this call alone, or for calls of stateless code.

Nothing else is cleaned up afterwards: the process ends with its answer, and with it every module, handler, thread and
patched built-in that the code leaves behind. Events are decoded one by one and results are joined once, because each
page of memory that a forked process touches for the first time costs 2 us.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from re import purge
from typing import Any

import logs as log_lines  # type: ignore[import-not-found]  # in this folder; this file runs as a script
import program as programs  # type: ignore[import-not-found]

Ask = Callable[[bytes], Any]
Decode = Callable[[bytes], Any]

_METADATA = """
sourceId sourceName workspaceId sourceType sourceCategory destinationId destinationType destinationName namespace
originalSourceId trackingPlanId trackingPlanVersion sourceTpConfig mergedTpConfig jobId sourceJobId sourceJobRunId
sourceTaskRunId recordId messageId messageIds rudderId receivedAt eventName eventType sourceDefinitionId
destinationDefinitionId transformationId transformationVersionId
""".split()  # noqa: SIM905
_LONGEST, _LONGEST_NAME = 2001, 101  # characters of an error; the host marks what is longer than one less
_FUNCTIONS = ("transformEvent", "transformBatch")
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode


class Codec:
    """Fast JSON with the same results as the standard library."""

    def __init__(self, msgspec: Any) -> None:
        self._decode = msgspec.json.Decoder().decode
        self._split = msgspec.json.Decoder(list[msgspec.Raw]).decode
        self._encode = msgspec.json.Encoder().encode
        self._error = msgspec.DecodeError

    def split(self, text: bytes) -> list[Any]:
        """Split a list into its members, still as text."""
        members: list[Any] = self._split(text)
        return members

    def decode(self, text: bytes) -> Any:
        try:
            return self._decode(text)
        except self._error:  # lone surrogates
            return json.loads(bytes(text))

    def encode(self, value: object) -> bytes:
        """Encode like `json`, with the same errors. The fast encoder's output is used if it decodes to the same value.

        Types that only the fast encoder supports, and NaN and infinities, are left to `json`.
        """
        with contextlib.suppress(TypeError, ValueError, OverflowError, RecursionError):
            text: bytes = self._encode(value)
            if self._decode(text) == value:
                return text
        return _encode(value).encode()


class Call:
    """Runs a program. Created in advance, by the process that forks: this part does not depend on the call.

    Only a program that is stateless runs more than once in a process.
    """

    def __init__(self, program: programs.Program, codec: Codec) -> None:
        self._program, self._codec = program, codec
        self._ask: Ask = _nobody
        self._limits = program.limits
        self._logs = log_lines.Logs(program.limits)
        self._reset()
        if program.coverage:
            setattr(builtins, programs.COUNTER, self._count_branch)
        for name, level in (("stdout", "info"), ("stderr", "error")):
            stream = log_lines.Stream(self._logs, level)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        self._finder = programs.LibraryFinder(program.libraries)
        sys.meta_path.insert(0, self._finder)

    def _reset(self) -> None:
        self._requests = self._size = 0
        self._asks = False  # whether it has read metadata
        self._hits: dict[str, dict[int, int]] = {}
        self._branches = {file: [0] * len(branches) for file, branches in self._program.branches.items()}

    @property
    def is_stateless(self) -> bool:
        """Whether the next call may run in the same process."""
        return bool(self._program.is_stateless)

    def repeat(self) -> None:
        """Prepare the next call in the same process."""
        self._reset()
        purge()  # a pattern may print a warning when it is compiled
        for forget in getattr(typing, "_cleanups", ()):  # `Union[int, str]` is also found as `Union[str, int]`
            forget()

    def close(self) -> None:
        """Undo the setup before another program is loaded."""
        sys.meta_path.remove(self._finder)

    def check(self, ask: Ask) -> bytes:
        """Run the top level, and return what is wrong with the code: `{}` or `{"error": ...}`.

        `ask` sends requests to the host and returns its answers.
        """
        self._ask = ask
        try:
            _entry_point(self._namespace())
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            _raise_if_memory(error)
            return json.dumps({"error": self._failure(error)}).encode()
        return b"{}"

    def run(self, content: bytes, ask: Ask) -> bytes:
        """Return the results as JSON text. `content` is a line with the events and a line with their metadata."""
        self._ask, decode = ask, self._codec.decode
        end = content.index(b"\n")
        events = self._codec.split(content[:end])
        self._logs.start(len(events))
        batch = None
        try:
            names = self._namespace()
            entry = _entry_point(names)
            function, metadata = names[entry], self._metadata(events, content[end + 1 :])
            if entry == "transformEvent":
                outputs = [self._transform(function, index, event, metadata) for index, event in enumerate(events)]
            else:
                batch = self._transform_batch(function, [decode(event) for event in events], metadata)
                outputs = [b'{"events":[]'] * len(events)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            _raise_if_memory(error)
            outputs = [self._failure_text(error)] * len(events)
        self._logs.end_line()
        return self._results(outputs, batch)

    def _namespace(self) -> dict[str, Any]:
        """Run the module's top level and return its names."""
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

    def _transform(self, function: Callable[..., Any], index: int, event: bytes, metadata: Callable[..., Any]) -> bytes:
        self._logs.switch(index)
        try:
            returned = self._invoke(function, self._codec.decode(event), metadata)
            if returned is None:
                return b'{"events":[]'
            if isinstance(returned, list):
                if not all(isinstance(event, dict) for event in returned):
                    raise TypeError("returned event in events array from transformEvent(event) is not an object")
                return b'{"events":' + self._json(returned)
            if not isinstance(returned, dict):
                raise TypeError("returned event from transformEvent(event) is not an object")
            return b'{"events":[' + self._json(returned) + b"]"
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            _raise_if_memory(error)
            return self._failure_text(error)

    def _transform_batch(self, function: Callable[..., Any], events: list[Any], metadata: Callable[..., Any]) -> bytes:
        returned = self._invoke(function, events, metadata)
        if not isinstance(returned, list):
            raise TypeError("returned events from transformBatch(event) is not an array")
        bad = b'"returned event in events array from transformBatch(events) is not an object"'
        return b"[" + b",".join([self._json(event) if isinstance(event, dict) else bad for event in returned]) + b"]"

    def _invoke(self, function: Callable[..., Any], events: Any, metadata: Callable[..., Any]) -> Any:
        if self._program.coverage:
            with self._tracing():
                return _settle(function(events, metadata))
        return _settle(function(events, metadata))

    def _metadata(self, events: list[bytes], about: bytes) -> Callable[..., dict[str, Any]]:
        """Return the `metadata` function. On its first call it decodes the original events again."""
        decode = self._codec.decode
        by_id: dict[Any, Any] = {}

        def metadata(event: Any = None) -> dict[str, Any]:
            """Return the metadata of an event, found by its messageId."""
            self._asks = True
            if not by_id:
                for of, text in zip(reversed(decode(about)), reversed(events), strict=True):
                    message_id = decode(text).get("messageId")
                    if not isinstance(message_id, (list, dict)):
                        by_id[message_id] = of
            message_id = event.get("messageId") if isinstance(event, dict) else None
            of_event = (None if isinstance(message_id, (list, dict)) else by_id.get(message_id)) or {}
            return {name: of_event.get(name) for name in _METADATA}

        return metadata

    def _json(self, value: object) -> bytes:
        text = self._codec.encode(value)
        self._size += len(text)
        if self._size > self._limits["output_bytes"]:
            raise ValueError(f"the output is larger than {self._limits['output_bytes']} bytes")
        return text

    def _results(self, outputs: list[bytes], batch: bytes | None) -> bytes:
        logs = self._logs
        for index, lines in enumerate(logs.lines):
            if lines:
                outputs[index] += f',"logs":{json.dumps(lines)},"dropped":{logs.dropped[index]}'.encode()
        rest = b"" if batch is None else b',"batch":' + batch
        if self._asks:
            rest += b',"metadata":true'
        if self._program.coverage:
            units = zip(self._program.files, self._program.lines(), strict=True)
            ran = [[self._hits.get(file, {}).get(line, 0) for line in lines] for file, lines in units]
            hits = [counts + self._branches[file] for file, counts in zip(self._program.files, ran, strict=True)]
            rest += f',"hits":{json.dumps(hits)}'.encode()
        if not outputs:
            return b'{"results":[]' + rest + b"}"
        return b"},".join([b'{"results":[' + outputs[0], *outputs[1:], b""])[:-1] + b"]" + rest + b"}"

    def _failure_text(self, error: BaseException) -> bytes:
        return b'{"error":' + json.dumps(self._failure(error)).encode()

    def _failure(self, error: BaseException) -> dict[str, Any]:
        return failure(error, self._program.files)

    def _count_branch(self, file: str, number: int, test: object) -> object:
        """Count an outcome of `test`, and return it; the counter of `false`, if there is one, is the next."""
        counters = self._branches[file]
        if test:
            counters[number] += 1
        elif self._program.branches[file][number][2] == "true":
            counters[number + 1] += 1
        return test

    @contextlib.contextmanager
    def _tracing(self) -> Iterator[None]:
        """Count the lines that run, if coverage is on."""
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
    """Describe an error, with its position in the user's files."""
    try:
        message = str(error)[:_LONGEST]
    except Exception:  # noqa: BLE001 - an error's own __str__ may fail as well
        message = "(the error's text cannot be shown)"
    at: list[Any] | None = None
    function = ""
    if isinstance(error, SyntaxError) and error.filename in files:
        at, message = [error.filename, _place(error.lineno), _place(error.offset)], str(error.msg)[:_LONGEST]
    else:
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename in files:
                column = list(code.co_positions())[trace.tb_lasti // 2][2]
                at, function = [code.co_filename, trace.tb_lineno, (column or 0) + 1], code.co_name
            trace = trace.tb_next
    return {"name": type(error).__name__[:_LONGEST_NAME], "message": message, "at": at, "function": function}


def _place(number: object) -> int:
    """Return the line or column of a syntax error, which user code may have raised with any value; 1 without one."""
    return number if type(number) is int and 0 < number < 1 << 31 else 1


def _entry_point(names: Mapping[str, Any]) -> str:
    functions = [name for name in _FUNCTIONS if callable(names.get(name))]
    if len(functions) != 1:
        own = {name for name, f in names.items() if isinstance(f, types.FunctionType) and f.__globals__ is names}
        others = sorted(own)  # without fetch and other functions that every transformation has
        defined = f". The code defines {', '.join(others)[:200]}" if others and not functions else ""
        raise TypeError(f"Expected one of {','.join(_FUNCTIONS)}. Found {','.join(functions)}{defined}")
    return functions[0]


def _raise_if_memory(error: BaseException) -> None:
    """Let memory errors end the process: there may not be enough memory left to continue."""
    if isinstance(error, MemoryError):
        raise error


def _log_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)


def _settle(returned: Any) -> Any:
    """Return a function's result; for an asynchronous function, wait for it."""
    if not isinstance(returned, types.CoroutineType):
        return returned
    loop = event_loop()
    try:
        return loop.run_until_complete(returned)
    finally:
        loop.close()


def event_loop() -> Any:
    """Return an event loop without file descriptors: there is nothing to wait for except time."""
    import asyncio
    import time

    class Loop(asyncio.base_events.BaseEventLoop):
        def __init__(self) -> None:
            super().__init__()
            self._selector = self

        def select(self, timeout: float | None) -> list[Any]:
            if timeout is None:
                raise RuntimeError("the transformation waits for a future that is never done")
            if timeout > 0:
                time.sleep(timeout)
            return []

        def _process_events(self, _events: list[Any]) -> None:
            """Do nothing: there are no events."""

        def _write_to_self(self) -> None:
            """Do nothing: there is no other thread to wake."""

    return Loop()


def _nobody(_requests: bytes) -> Any:
    raise RuntimeError("no call is running")
