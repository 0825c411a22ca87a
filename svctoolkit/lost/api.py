"""The function `find_losses`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.delivery import Recorder
from svctoolkit.errors import ConfigError
from svctoolkit.lost.model import LossReport
from svctoolkit.lost.names import destinations_of, workspace_of
from svctoolkit.lost.rules import LostRule, Received
from svctoolkit.pipeline import Stages
from svctoolkit.replay.api import replay_all
from svctoolkit.replay.inputs import Events
from svctoolkit.replay.tally.losses import by_rule
from svctoolkit.simulations import Level, check_level
from svctoolkit.workspace import Workspace

_SEND = Stages(send_to_destination=True)


def find_losses(
    events: Events,
    to: str | Sequence[str] = (),
    workspace: Workspace | None = None,
    *,
    level: Level = "simulated",
    columns: Mapping[str, str] | None = None,
    sample: float = 1.0,
) -> LossReport:
    """Return what vendors would lose of events, by rule. Nothing is sent.

    `events`, `columns` and `sample` are as in `svctoolkit.replay`. `to` names destinations: types as people write them
    (`"mixpanel"`, `"GA4"`), or destinations of a workspace by key or id. Without a workspace, a type has the smallest
    settings that it needs, and Mixpanel validates (`strictMode`). With one, its settings and user code apply, and by
    default all simulated destinations count. The accounts are existing ones: rules that need to know who is there
    already stay silent.

    Raises `ConfigError`, `UnknownName` and `UsageError`.
    """
    names = [to] if isinstance(to, str) else list(to)
    chosen = check_level(level)
    shop = workspace_of(names, chosen) if workspace is None else workspace.at_level(chosen)
    keys = list(shop.destinations) if workspace is None else destinations_of(shop, names, chosen)
    if not keys:
        raise ConfigError("no destination of the workspace can be simulated; `svctoolkit simulations` lists the types")
    result = replay_all(
        events,
        shop,
        destinations=keys,
        stages=_SEND,
        columns=columns,
        sample=sample,
        rows=False,
        transport=Recorder(limit=0),
        progress=False,
    )
    sums = by_rule(result.tally.lost)
    groups = {key: [group for group in result.groups if group.destination == key] for key in keys}
    received = {key: Received.of(shop.destinations[key], sums.get(key, {}), groups[key]) for key in keys}
    lost = [
        LostRule.of(group, shop.destinations[group.destination], received[group.destination].sent)
        for group in result.groups
        if group.kind == "lossy" and group.examples
    ]
    order = {key: place for place, key in enumerate(keys)}
    lost.sort(key=lambda rule: (order[rule.destination], -rule.events))
    return LossReport(lost, list(received.values()), result.tally)
