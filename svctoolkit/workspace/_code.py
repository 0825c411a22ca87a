"""The transformations of a workspace, ready to run."""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from svctoolkit import transformations
from svctoolkit.delivery import HttpRequest, Recorder, Transport, caller
from svctoolkit.errors import DeliveryError, TransformationError
from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal
from svctoolkit.transformations import (
    CallableTransformation,
    CodeLoss,
    FetchRequest,
    FetchResponse,
    Metadata,
    Output,
    Runnable,
)
from svctoolkit.workspace._output import MaskedCode
from svctoolkit.workspace._patience import ImpatientCode

if TYPE_CHECKING:
    from svctoolkit.transformations import SandboxedTransformation
    from svctoolkit.workspace._items import Library, Transformation
    from svctoolkit.workspace._model import Workspace

#: Seconds until code that could not be loaded is loaded again, by the kind of the error.
_AGAIN = {"syntax": math.inf, "error": math.inf, "sandbox": 1.0}
_AGAIN_AFTER_BREACH = 5.0
_MOST_LOGS = 10_000
_Record = TypeVar("_Record", "CodeLog", "LostValue")
_GEOLOCATION = "http://geolocation"  # a host that only the recorder answers


class CodeLog(msgspec.Struct, frozen=True):
    """A line that user code has logged, with its secrets masked. `event` is the message id, `run` that of the event."""

    text: str
    level: str
    transformation: str
    destination: str = ""
    run: str = ""
    event: str = ""


class LostValue(msgspec.Struct, frozen=True):
    """A value that user code returned and JSON could not represent, with the event's message id and run."""

    loss: CodeLoss
    transformation: str
    destination: str = ""
    run: str = ""
    event: str = ""


class UserCode:
    """Makes transformations runnable: loaded at their first event, and again when code or credentials change.

    Requests of the code go through the workspace's delivery mode: answered by `recorder`, or sent to the live network
    under its policy. `transport`, if given, answers instead. `coverage` counts executed lines.
    """

    def __init__(
        self,
        workspace: Workspace,
        recorder: Recorder,
        *,
        transport: Transport | None = None,
        loopback: bool = True,
        coverage: bool = False,
    ) -> None:
        self._workspace, self._recorder, self._transport = workspace, recorder, transport
        self._loopback, self._coverage = loopback, coverage
        self._codes: dict[str, _Code] = {}
        #: the last lines that the code has logged, oldest first
        self.logs: deque[CodeLog] = deque(maxlen=_MOST_LOGS)
        #: the last values that JSON could not represent, oldest first
        self.losses: deque[LostValue] = deque(maxlen=_MOST_LOGS)
        self._lock = Lock()

    def runnable(self, transformation: Transformation) -> Runnable:
        """Return the runnable transformation. Never raises: if the code cannot be loaded, each event gets the error."""
        keep = partial(self._keep, transformation.key)
        code = self._runnable(transformation)
        if self._workspace.patience is not None:
            code = ImpatientCode(code, transformation.key, self._workspace.patience)
        return MaskedCode(code, lambda: self._workspace.masker, keep)

    def _keep(self, transformation: str, events: Sequence[Mapping[str, Any]], outputs: Sequence[Output]) -> None:
        about = caller()
        for at, output in enumerate(outputs):
            if not output.logs and not output.losses:
                continue
            where = transformation, about.destination, about.run, str(events[at].get("messageId") or "")
            self.logs.extend(CodeLog(log.text, log.level, *where) for log in output.logs)
            self.losses.extend(LostValue(loss, *where) for of_event in output.losses for loss in of_event)

    def forget(self, run: str = "") -> None:
        """Forget the log lines and lost values, or those of a run and of the runs within it."""
        _forget(self.logs, run)
        _forget(self.losses, run)

    def _runnable(self, transformation: Transformation) -> Runnable:
        if transformation.function is not None:
            return CallableTransformation(transformation.function)
        source = self.source(transformation)
        with self._lock:
            code = self._codes.get(transformation.key)
            if code is None or code.source != source:
                code = self._codes[transformation.key] = _Code(source, lambda: self._load(transformation))
            return code

    def coverage(self) -> dict[str, dict[int, int]]:
        """Return how often each executable line has run, by file; empty without `coverage=True`."""
        by_file: dict[str, dict[int, int]] = {}
        for code in list(self._codes.values()):
            if code.loaded is not None:
                for file, lines in code.loaded.coverage().items():  # several may use the same library
                    total = by_file.setdefault(file, {})
                    by_file[file] = total | {line: total.get(line, 0) + count for line, count in lines.items()}
        return by_file

    def branches(self) -> dict[str, dict[str, int]]:
        """Return how often each branch was taken, by file and `line:column outcome`; empty without `coverage=True`."""
        by_file: dict[str, dict[str, int]] = {}
        for code in list(self._codes.values()):
            for file, taken in code.loaded.branches().items() if code.loaded is not None else ():
                total = by_file.setdefault(file, {})
                by_file[file] = total | {branch: total.get(branch, 0) + count for branch, count in taken.items()}
        return by_file

    def source(self, transformation: Transformation) -> Json:
        """Return everything that a loaded transformation depends on, to detect changes by comparing."""
        workspace = self._workspace
        libraries = {key: (library.language, library.code) for key, library in workspace.libraries.items()}
        code = transformation.function, transformation.language, transformation.code, transformation.code_version
        return code, libraries, dict(workspace.credentials), workspace.limits

    def _load(self, transformation: Transformation) -> SandboxedTransformation:
        if not transformation.code:
            raise TransformationError(_no_code(transformation), name="ConfigError", kind="syntax")
        return transformations.load(
            transformation.code,
            transformation.language or "javascript",
            name=transformation.file_name,
            libraries={key: _library(library) for key, library in self._workspace.libraries.items()},
            credentials=reveal(self._workspace.credentials),
            fetch=partial(self._fetch, transformation.key),
            geolocation=partial(self._locate, transformation.key),
            in_order=self._is_recorded,
            limits=self._workspace.limits,
            scope=self._workspace.scope,
            coverage=self._coverage,
            version=transformation.code_version,
        )

    def _current_transport(self) -> Transport:
        return self._transport or self._workspace.transport(self._recorder, loopback=self._loopback)

    def _is_recorded(self) -> bool:
        """Whether a recorder answers. Its answers depend on the order of the requests, and take no time."""
        return isinstance(self._current_transport(), Recorder)

    def _fetch(self, transformation: str, request: FetchRequest) -> FetchResponse:
        """Return the response. Raises `TimeoutError` if a recorder's answer takes longer than the rest of the call."""
        waited: list[float] = []
        try:
            return self._exchange(transformation, request, waited)
        except DeliveryError:
            if sum(waited) >= request.timeout:
                raise TimeoutError from None
            raise

    def _exchange(self, transformation: str, request: FetchRequest, waited: list[float]) -> FetchResponse:
        transport = self._current_transport()
        sent = HttpRequest(request.method, request.url, request.headers, request.body)
        timeout = min(request.timeout, self._workspace.delivery.timeout)
        if isinstance(transport, Recorder):
            response = transport.exchange(
                sent,
                timeout=timeout,
                destination=caller().destination,
                run=caller().run,
                transformation=transformation,
                sleep=waited.append,
            )
        else:
            response = transport(sent, timeout=timeout)
        return FetchResponse(response.status, response.headers, response.body, sum(waited))

    def _locate(self, transformation: str, ip: str) -> Any:
        service = reveal(self._workspace.delivery.geolocation) or _GEOLOCATION
        request = FetchRequest("GET", f"{service.rstrip('/')}/geoip/{ip}", timeout=1.0)
        response = self._exchange(transformation, request, [])
        if response.status != 200:
            raise DeliveryError(
                f"request to fetch geolocation failed with status code: {response.status}", code="EGEOLOCATION"
            )
        try:
            return json.loads(response.body)
        except ValueError:
            raise DeliveryError("the geolocation service's response is not JSON", code="EGEOLOCATION") from None


class _Code:
    """The code of a transformation, loaded at its first event.

    An error in the code itself persists until the code changes. After other errors (a limit, a crashed worker, lack of
    memory), loading is retried after a while, because the machine may have been the cause.
    """

    wants_metadata = True

    def __init__(
        self,
        source: Any,
        load: Callable[[], SandboxedTransformation],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source, self.loaded = source, cast("SandboxedTransformation | None", None)
        self._load, self._clock = load, clock
        self._error: TransformationError | None = None
        self._until = 0.0
        # one lock per code: if its top level hangs, only its own events wait
        self._lock = Lock()

    def run(self, events: Sequence[Mapping[str, Any]], metadata: Sequence[Metadata]) -> list[Output]:
        loaded = self._ready()
        if isinstance(loaded, TransformationError):
            return [Output(error=loaded) for _ in events]
        return loaded.run(events, metadata)

    def _ready(self) -> SandboxedTransformation | TransformationError:
        if self.loaded is not None:
            return self.loaded
        with self._lock:
            if self._error is not None and self._clock() < self._until:
                return self._error
            try:
                self.loaded = self.loaded or self._load()
            except TransformationError as error:
                self._error, self._until = error, self._clock() + _AGAIN.get(error.kind, _AGAIN_AFTER_BREACH)
                return error
            return self.loaded


def _forget(records: deque[_Record], run: str) -> None:
    kept = [record for record in list(records) if run and not (record.run == run or record.run.startswith(f"{run}/"))]
    records.clear()
    records.extend(kept)


def _no_code(transformation: Transformation) -> str:
    if transformation.version_id:
        return f"the code of transformation {transformation.key!r} is in RudderStack only: give it as `code` or `file`"
    return f"transformation {transformation.key!r} has no code"


def _library(library: Library) -> transformations.Library:
    return transformations.Library(library.code, library.language or "javascript", library.file_name)
