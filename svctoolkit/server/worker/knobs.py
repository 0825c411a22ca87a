"""The settings of a data plane, as its workspace has them at the moment."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from svctoolkit.server.store.retention import Retention
from svctoolkit.server.worker.backoff import Backoff, backoff_of
from svctoolkit.workspace import PlaneLimits, Workspace

_IN_MEMORY = Retention(events=20_000, seconds=float("inf"))


class Knobs:
    """Settings are read when they are used, so that changes of the workspace apply at once. Arguments override them."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        in_file: bool,
        backoff: Backoff | None = None,
        concurrency: int | None = None,
        dedup_window: float | None = None,
        retention: Retention | None = None,
        lenient: bool | None = None,
    ) -> None:
        self._workspace = workspace
        self._backoff, self._concurrency, self._dedup_window = backoff, concurrency, dedup_window
        self._retention, self._lenient = retention, lenient
        self._default_retention = Retention() if in_file else _IN_MEMORY
        self._own_backoff: tuple[object, Backoff] | None = None

    @property
    def backoff(self) -> Backoff:
        if self._backoff is not None:
            return self._backoff
        delivery = self._workspace.delivery
        state = delivery.profile, tuple(delivery.backoff.items())
        # Asked several times per event, so it is only built again when the settings have changed.
        if self._own_backoff is None or self._own_backoff[0] != state:
            self._own_backoff = state, backoff_of(delivery.profile, delivery.backoff)
        return self._own_backoff[1]

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent requests to a destination."""
        return self._workspace.delivery.concurrency if self._concurrency is None else self._concurrency

    @property
    def dedup_window(self) -> float:
        """Seconds for which a `messageId` is remembered for deduplication."""
        return self._workspace.data_plane.dedup_window if self._dedup_window is None else self._dedup_window

    @property
    def retention(self) -> Retention:
        if self._retention is not None:
            return self._retention
        settings, default = self._workspace.data_plane, self._default_retention
        return Retention(settings.events or default.events, settings.seconds or default.seconds)

    @property
    def lenient(self) -> bool:
        """Whether a bad event of a batch is rejected alone and the rest accepted."""
        return self._workspace.data_plane.lenient if self._lenient is None else self._lenient

    @property
    def event_blocking(self) -> Mapping[str, Collection[str]]:
        """Names of events that no destination receives, by event type."""
        return self._workspace.data_plane.event_blocking

    @property
    def limits(self) -> PlaneLimits:
        return self._workspace.data_plane.limits
