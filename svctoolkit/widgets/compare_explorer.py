"""Many events through two workspaces: what comes out differently, event by event, stage by stage."""

from __future__ import annotations

from typing import Unpack

from svctoolkit.replay import Comparison, Events, compare
from svctoolkit.replay.options import Options
from svctoolkit.widgets.replay_explorer.explorer import ReplayExplorer, comparison_state
from svctoolkit.workspace import Workspace


class CompareExplorer(ReplayExplorer):
    """What a change would make of many events: groups of differences, their events, both sides' stages and payloads.

    >>> CompareExplorer("month.ndjson", before, after)  # doctest: +SKIP

    `events` and the options are those of `svctoolkit.replay.compare`, which runs before this returns; with `result`,
    what it has given for them already. Editors and scenarios take the later side. Raises what `compare` raises, and
    `ConfigError` for events that can be read only once.
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
