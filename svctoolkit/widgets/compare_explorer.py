"""Compare the outcomes of many events in two workspaces, by event and by stage."""

from __future__ import annotations

from typing import Unpack

from svctoolkit.replay import Comparison, Events, compare
from svctoolkit.replay.options import Options
from svctoolkit.widgets.replay_explorer.explorer import ReplayExplorer, comparison_state
from svctoolkit.workspace import Workspace


class CompareExplorer(ReplayExplorer):
    """The effect of a change on many events: groups of differences, their events, both sides' stages and payloads.

    >>> CompareExplorer("month.ndjson", before, after)  # doctest: +SKIP

    `events` and the options are those of `svctoolkit.replay.compare`, which runs in the constructor unless its `result`
    is passed. Editors and scenarios use the later side. Raises the errors of `compare`, and `ConfigError` for events
    that can be read only once.
    """

    def __init__(
        self,
        events: Events,
        before: Workspace,
        after: Workspace,
        *,
        result: Comparison | None = None,
        **options: Unpack[Options],
    ) -> None:
        given = result or compare(events, before, after, **options)
        self._begin(comparison_state(given, events, before, after, options))
