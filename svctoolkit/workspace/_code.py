"""The transformations of a workspace, ready to run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from svctoolkit import transformations
from svctoolkit.delivery import HttpRequest, Recorder, Transport
from svctoolkit.errors import DeliveryError, TransformationError
from svctoolkit.secrets import revealed
from svctoolkit.transformations import (
    CallableTransformation,
    FetchRequest,
    FetchResponse,
    Metadata,
    Output,
    Runnable,
)

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace
    from svctoolkit.workspace._parts import Library, Transformation

_GEOLOCATION = "http://geolocation"  # a host for the recorder; the live network has no such name


class UserCode:
    """Makes transformations runnable: loaded at their first event, and again when code or credentials have changed.

    What the code asks of the network goes through the workspace's delivery mode: `recorder` answers, or the live
    network under its policy. `transport` answers instead, if it is given. `coverage` counts the lines that run.
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
        self._loaded: dict[str, tuple[Any, Runnable]] = {}
        self._lock = Lock()

    def runnable(self, transformation: Transformation) -> Runnable:
        """Never raises: code that cannot be loaded gives its error for each event."""
        if transformation.function is not None:
            return CallableTransformation(transformation.function)
        now = self.written(transformation)
        with self._lock:
            entry = self._loaded.get(transformation.key)
            if entry is None or entry[0] != now:
                entry = self._loaded[transformation.key] = (now, self._load(transformation))
            return entry[1]

    def coverage(self) -> dict[str, dict[int, int]]:
        """How often each line that can run has run, by file; empty without `coverage=True`."""
        files: dict[str, dict[int, int]] = {}
        for _, loaded in list(self._loaded.values()):
            if isinstance(loaded, transformations.SandboxedTransformation):
                for file, lines in loaded.coverage().items():  # several may use the same library
                    counts = files.setdefault(file, {})
                    files[file] = counts | {line: counts.get(line, 0) + count for line, count in lines.items()}
        return files

    def written(self, transformation: Transformation) -> Any:
        """Everything that makes a loaded transformation what it is: equal as long as nothing of it has changed."""
        workspace = self._workspace
        libraries = {key: (library.language, library.code) for key, library in workspace.libraries.items()}
        code = transformation.function, transformation.language, transformation.code
        return code, libraries, dict(workspace.credentials), workspace.limits

    def _load(self, transformation: Transformation) -> Runnable:
        try:
            if not transformation.code:
                raise TransformationError(_no_code(transformation), name="ConfigError", kind="syntax")
            return transformations.load(
                transformation.code,
                transformation.language or "javascript",
                name=transformation.file_name,
                libraries={key: _library(library) for key, library in self._workspace.libraries.items()},
                credentials=revealed(self._workspace.credentials),
                fetch=self._fetch,
                geolocation=self._locate,
                limits=self._workspace.limits,
                scope=f"{self._workspace.name} {id(self._workspace)}",
                coverage=self._coverage,
            )
        except TransformationError as error:
            return _Broken(error)

    def _fetch(self, request: FetchRequest) -> FetchResponse:
        transport = self._transport or self._workspace.transport(self._recorder, loopback=self._loopback)
        sent = HttpRequest(request.method, request.url, request.headers, request.body)
        response = transport(sent, timeout=min(request.timeout, self._workspace.delivery.timeout))
        return FetchResponse(response.status, response.headers, response.body)

    def _locate(self, ip: str) -> Any:
        service = self._workspace.delivery.geolocation or _GEOLOCATION
        response = self._fetch(FetchRequest("GET", f"{service.rstrip('/')}/geoip/{ip}", timeout=1.0))
        if response.status != 200:
            raise DeliveryError(
                f"request to fetch geolocation failed with status code: {response.status}", code="EGEOLOCATION"
            )
        try:
            return json.loads(response.body)
        except ValueError:
            raise DeliveryError("the geolocation service did not answer with JSON", code="EGEOLOCATION") from None


@dataclass(frozen=True, slots=True)
class _Broken:
    """Code that cannot be loaded."""

    error: TransformationError

    def run(self, events: Sequence[Mapping[str, Any]], metadata: Sequence[Metadata]) -> list[Output]:  # noqa: ARG002
        return [Output(error=self.error) for _ in events]


def _no_code(transformation: Transformation) -> str:
    if transformation.version_id:
        return f"the code of transformation {transformation.key!r} is kept by the service: give it as `code` or `file`"
    return f"transformation {transformation.key!r} has no code"


def _library(library: Library) -> transformations.Library:
    return transformations.Library(library.code, library.language or "javascript", library.file_name)
