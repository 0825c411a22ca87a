"""Python in the worker: CPython itself. The locks hold it, not the language."""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import gc
import importlib
import importlib.abc
import importlib.machinery
import json
import signal
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Ask = Callable[[bytes], list[dict[str, Any]]]

# Nothing can be imported once the locks are on, so what user code may want is here before.
_PRELOAD = """
__future__ abc array ast asyncio base64 binascii bisect calendar cmath codecs collections collections.abc
colorsys concurrent.futures contextlib contextvars copy csv dataclasses datetime decimal difflib email.utils
encodings.ascii encodings.cp1252 encodings.idna encodings.latin_1 encodings.utf_16 encodings.utf_8_sig enum
fnmatch fractions functools gzip hashlib heapq hmac html html.parser inspect io ipaddress itertools json
keyword locale logging math numbers operator pickle platform pprint queue random re reprlib secrets statistics
string stringprep struct textwrap threading time traceback types typing unicodedata urllib.parse uuid warnings
weakref zlib zoneinfo _strptime
""".split()  # noqa: SIM905
_METADATA = """
sourceId sourceName workspaceId sourceType sourceCategory destinationId destinationType destinationName namespace
originalSourceId trackingPlanId trackingPlanVersion sourceTpConfig mergedTpConfig jobId sourceJobId sourceJobRunId
sourceTaskRunId recordId messageId messageIds rudderId receivedAt eventName eventType sourceDefinitionId
destinationDefinitionId transformationId transformationVersionId
""".split()  # noqa: SIM905
_BOTH = ("transformEvent", "transformBatch")


class _Libraries(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the user's libraries by their names."""

    def __init__(self) -> None:
        self.code: dict[str, types.CodeType] = {}

    def find_spec(self, fullname: str, _path: object, _target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in self.code else None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(self.code[module.__name__], module.__dict__)  # noqa: S102 - running user code is what this is for

    def forget(self) -> None:
        for name in self.code:
            sys.modules.pop(name, None)


class _Logs:
    """What the user's code wrote, with the event that it had then, up to a limit for each event."""

    def __init__(self) -> None:
        self.limits: Mapping[str, int] = {}
        self.start(0)

    def start(self, events: int) -> None:
        self.lines: list[list[list[str]]] = [[] for _ in range(events)]
        self.size, self.dropped = [0] * events, [0] * events
        self.current, self._begun = 0, ""

    def add(self, level: str, text: str) -> None:
        at = self.current
        if at >= len(self.lines):
            return  # at the top level of a module, while it is checked
        if self.size[at] >= self.limits["log_bytes"]:
            self.dropped[at] += 1
            return
        line = text[: self.limits["log_line"]] + ("…" if len(text) > self.limits["log_line"] else "")
        self.size[at] += len(line) + 1
        self.lines[at].append([level, line])

    def write(self, level: str, text: str) -> None:
        """A stream's text, which may stop in the middle of a line."""
        *whole, rest = (self._begun + text[: 1 << 20]).split("\n")
        for line in whole:
            self.add(level, line)
        self._begun = rest[: self.limits["log_line"]]

    def end_line(self) -> None:
        if self._begun:
            self.add("info", self._begun)
        self._begun = ""


class _Stream:
    """Stands in for stdout and stderr."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, logs: _Logs, level: str) -> None:
        self._logs, self._level = logs, level

    def write(self, text: str) -> int:
        self._logs.write(self._level, str(text))
        return len(text)

    def flush(self) -> None:
        """Nothing waits here."""

    def isatty(self) -> bool:
        return False


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _event_loop() -> Any:
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


def _fast_decoder(folders: list[str]) -> Callable[[bytes], Any]:
    """JSON at native speed. The module is not left where user code would find it to import."""
    before = set(sys.modules)
    sys.path[:0] = folders
    import msgspec

    del sys.path[: len(folders)]
    for name in set(sys.modules) - before:
        del sys.modules[name]
    decode = msgspec.json.Decoder().decode

    def decoded(text: bytes) -> Any:
        try:
            return decode(text)
        except msgspec.DecodeError:  # lone surrogates
            return json.loads(text)

    return decoded


class Engine:
    """Runs one program: `load` once, then `run` for each call."""

    jit = False
    spare = 0

    def __init__(self, config: dict[str, Any]) -> None:
        sys.modules["ssl"] = None  # type: ignore[assignment]  # asyncio does without, and it is slow to load
        for name in _PRELOAD:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        del sys.modules["ssl"]
        _event_loop().close()
        self._decode = _fast_decoder(config["packages"])
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=False, chain=False)
        self._encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, ensure_ascii=True).encode
        self._logs, self._libraries = _Logs(), _Libraries()
        self._hits: dict[str, dict[int, int]] = {}

    def start(self) -> None:
        """Takes away what a program in a shell would have."""
        sys.stdin = sys.__stdin__ = None  # type: ignore[misc]
        for name, level in (("stdout", "info"), ("stderr", "error")):
            stream = _Stream(self._logs, level)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        sys.argv, sys.path[:] = ["transformation"], []
        sys.meta_path.insert(0, self._libraries)
        self._snapshot = {id(module): dict(vars(module)) for module in sys.modules.values() if module is not None}
        gc.freeze()

    def load(self, message: dict[str, Any]) -> dict[str, Any]:
        """Compiles a program and checks which function it has, by running its top level once."""
        self._limits = self._logs.limits = message["limits"]
        self._asked = 0
        self._credentials = message["credentials"]
        self._coverage = message["coverage"]
        self._files = [message["main"]["file"]]
        try:
            for library in message["libraries"]:
                self._files.append(library["file"])
                code = compile(library["code"], library["file"], "exec", dont_inherit=True)
                if library["import"] in sys.modules:
                    clash = f"the library cannot be called {library['import']!r}: Python has a module of that name"
                    return {"error": {"name": "ImportError", "message": clash, "at": [library["file"], 1, 1]}}
                self._libraries.code[library["import"]] = code
            self._code = compile(message["main"]["code"], message["main"]["file"], "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            return {"error": self._failure(error)}
        lines = [sorted(_lines(code)) for code in [self._code, *self._libraries.code.values()]]
        units = [{"file": f, "lines": n, "inserted": []} for f, n in zip(self._files, lines, strict=True)]
        try:
            self._chosen(self._namespace(_no_requests))
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            return {"units": units, "error": self._failure(error)}
        self._hits.clear()
        return {"units": units}

    def _namespace(self, ask: Ask) -> dict[str, Any]:
        """The module's names after its top level has run, afresh."""
        self._libraries.forget()

        def request(kind: str, *args: object) -> Any:
            self._asked += 1
            if self._asked > self._limits["calls"]:
                raise RuntimeError(f"more than {self._limits['calls']} requests in one call of the transformation")
            call = {"id": 0, "kind": kind, "args": args}
            (answer,) = ask(b'{"calls":[' + self._encode(call).encode() + b"]}")
            if answer["error"] is not None:
                raise RuntimeError(answer["error"])
            return answer["value"]

        def log(*words: object) -> None:
            self._logs.end_line()
            self._logs.add("info", " ".join(map(_shown, words)))

        def get_credential(key: object) -> str | None:
            if key is None:
                raise TypeError("Key should be valid and defined")
            value: str | None = self._credentials.get(str(key))
            return value

        names: dict[str, Any] = {
            "__name__": "transformation",
            "__builtins__": builtins,
            "log": log,
            "getCredential": get_credential,
            "fetch": lambda url, options=None: request("fetch", url, options),
            "fetchV2": lambda url, options=None: request("fetchV2", url, options),
            "geolocation": lambda ip=None: request("geolocation", ip),
        }
        with self._traced():
            exec(self._code, names)  # noqa: S102 - running user code is what this is for
        return names

    @staticmethod
    def _chosen(names: Mapping[str, Any]) -> str:
        found = [name for name in _BOTH if callable(names.get(name))]
        if len(found) != 1:
            raise TypeError(f"Expected one of {','.join(_BOTH)}. Found {','.join(found)}")
        return found[0]

    def run(self, given: bytes, ask: Ask) -> bytes:
        """The results, as JSON text. `given` is a line with the events and one with their metadata.

        `ask` sends requests to the host and gives its answers.
        """
        events, told = map(self._decode, given.split(b"\n"))
        self._logs.start(len(events))
        self._size = self._asked = 0
        sys.setrecursionlimit(1000)
        batch = None
        self._used: list[types.ModuleType] = []
        try:
            names = self._namespace(ask)
            self._used = [name for name in names.values() if isinstance(name, types.ModuleType)]
            chosen = self._chosen(names)
            function = names[chosen]
            metadata = _metadata(events, told)
            if chosen == "transformEvent":
                outputs = [self._one(function, index, event, metadata) for index, event in enumerate(events)]
            else:
                batch = self._batch(function, [*events], metadata)  # which code may change
                outputs = ['{"events":[]'] * len(events)
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            self._raise_if_memory(error)
            outputs = ['{"error":' + json.dumps(self._failure(error))] * len(events)
        self._logs.end_line()
        return self._results(outputs, batch).encode()

    def _one(self, function: Callable[..., Any], index: int, event: Any, metadata: Callable[..., Any]) -> str:
        self._logs.end_line()
        self._logs.current = index
        try:
            returned = self._called(function, event, metadata)
            if returned is None:
                return '{"events":[]'
            if isinstance(returned, list):
                if not all(isinstance(event, dict) for event in returned):
                    raise TypeError("returned event in events array from transformEvent(event) is not an object")
                return '{"events":' + self._fitting(returned)
            if not isinstance(returned, dict):
                raise TypeError("returned event from transformEvent(event) is not an object")
            return '{"events":[' + self._fitting(returned) + "]"
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises
            self._raise_if_memory(error)
            return '{"error":' + json.dumps(self._failure(error))

    def _batch(self, function: Callable[..., Any], events: list[Any], metadata: Callable[..., Any]) -> str:
        returned = self._called(function, events, metadata)
        if not isinstance(returned, list):
            raise TypeError("returned events from transformBatch(event) is not an array")
        bad = '"returned event in events array from transformBatch(events) is not an object"'
        return "[" + ",".join(self._fitting(event) if isinstance(event, dict) else bad for event in returned) + "]"

    def _called(self, function: Callable[..., Any], events: Any, metadata: Callable[..., Any]) -> Any:
        if self._coverage:
            with self._traced():
                return self._finished(function(events, metadata))
        return self._finished(function(events, metadata))

    def _finished(self, returned: Any) -> Any:
        if not isinstance(returned, types.CoroutineType):
            return returned
        loop = _event_loop()
        try:
            return loop.run_until_complete(returned)
        finally:
            loop.close()

    def _fitting(self, value: object) -> str:
        text = self._encode(value)
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
        rest += ',"last":true' if self._changed() else ""
        if self._coverage:
            units = zip(self._files, [self._code, *self._libraries.code.values()], strict=True)
            hits = [[self._hits.get(file, {}).get(n, 0) for n in sorted(_lines(code))] for file, code in units]
            rest += f',"hits":{json.dumps(hits)}'
            self._hits.clear()
        return '{"results":[' + ",".join(f"{output}}}" for output in outputs) + "]" + rest + "}"

    def _failure(self, error: BaseException) -> dict[str, Any]:
        try:
            message = str(error)[:2000]
        except Exception:  # noqa: BLE001 - an error's own __str__ may fail as well
            message = "(its text cannot be shown)"
        at: list[Any] | None = None
        if isinstance(error, SyntaxError) and error.filename in self._files:
            at, message = [error.filename, error.lineno or 1, error.offset or 1], str(error.msg)
        else:
            trace = error.__traceback__
            while trace is not None:
                code = trace.tb_frame.f_code
                if code.co_filename in self._files:
                    column = list(code.co_positions())[trace.tb_lasti // 2][2]
                    at = [code.co_filename, trace.tb_lineno, (column or 0) + 1]
                trace = trace.tb_next
        return {"name": type(error).__name__[:100], "message": message, "at": at}

    def _raise_if_memory(self, error: BaseException) -> None:
        if isinstance(error, MemoryError):
            raise error

    @contextlib.contextmanager
    def _traced(self) -> Iterator[None]:
        """Counts the lines that run, when coverage was asked for."""
        if not self._coverage:
            yield
            return

        def trace(frame: types.FrameType, what: str, _arg: object) -> Any:
            if frame.f_code.co_filename not in self._files:
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

    def _changed(self) -> bool:
        """Whether built-ins or modules that the code uses are not what they were: the next call must not see that."""
        return any(
            id(module) in self._snapshot and vars(module) != self._snapshot[id(module)]
            for module in [builtins, *self._used]
        )

    def clean(self) -> None:
        """Between calls: a run starts from the compiled code, so there is nothing to take away."""


def _no_requests(_calls: bytes) -> list[dict[str, Any]]:
    raise RuntimeError("requests are answered while events run, not while the transformation is loaded")


def _lines(code: types.CodeType) -> set[int]:
    """The lines of a module that can run."""
    found = {line for _, _, line in code.co_lines() if line}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _lines(constant) - {constant.co_firstlineno}
    return found


def _metadata(events: list[dict[str, Any]], told: list[dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    known = {event.get("messageId"): about for event, about in zip(reversed(events), reversed(told), strict=True)}

    def metadata(event: Any = None) -> dict[str, Any]:
        """What is known about an event, by its messageId."""
        found = known.get(event.get("messageId")) if isinstance(event, dict) else None
        return {name: (found or {}).get(name) for name in _METADATA}

    return metadata
