"""Search the smallest events that a tracking plan allows and a vendor loses, for every rule of the vendor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.lost.names import destinations_of, workspace_of
from svctoolkit.lost.rules import fix_text
from svctoolkit.pipeline import Pipeline
from svctoolkit.plans import Plan
from svctoolkit.simulations import SIMULATIONS, Level, Loss, check_level
from svctoolkit.simulations.rules import LOSSES
from svctoolkit.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

_TRIES = 300
_NOW = datetime(2026, 1, 15, 10, 5, tzinfo=UTC)
_COLUMNS = ("destination", "type", "what", "rule", "says", "source", "tries", "fix")


@dataclass(frozen=True, slots=True)
class SearchedRule:
    """One rule of one destination. `events` are those that the plan allows and of which the last one is lost by it.

    There is one event, or two where a rule folds the second one into the first. They are empty if none were found.
    """

    destination: str
    type: str
    what: str
    rule: str
    says: str
    source: str
    events: Sequence[Mapping[str, Json]] = ()
    fix: str = ""


class Searched(Displayed):
    """The result of a search: `found` and `missed` rules. `tries` events were tried for each destination."""

    def __init__(self, rules: Sequence[SearchedRule], tries: int) -> None:
        self.rules, self.tries = tuple(rules), tries

    @property
    def found(self) -> list[SearchedRule]:
        """The rules by which an event of the plan is lost."""
        return [rule for rule in self.rules if rule.events]

    @property
    def missed(self) -> list[SearchedRule]:
        """The rules for which no event was found."""
        return [rule for rule in self.rules if not rule.events]

    def frame(self) -> pd.DataFrame:
        """Return one row for each rule: its members, `found`, `tries` and `events` (JSON text)."""
        import json

        import pandas as pd

        rows = [
            [
                *(getattr(rule, name) if name != "tries" else self.tries for name in _COLUMNS),
                bool(rule.events),
                json.dumps([*rule.events], ensure_ascii=False) if rule.events else None,
            ]
            for rule in self.rules
        ]
        kinds = {name: "int64" if name == "tries" else "string" for name in _COLUMNS}
        return pd.DataFrame(storable_all(rows), columns=[*_COLUMNS, "found", "events"]).astype(
            {**kinds, "events": "string"}
        )

    def to_dict(self) -> dict[str, Json]:
        """Return everything as JSON."""
        return {"tries": self.tries, "rules": [asdict(rule) for rule in self.rules]}

    def __repr__(self) -> str:
        return render(self, "text")


def search_losses(
    plan: Plan,
    to: str | Sequence[str] = (),
    workspace: Workspace | None = None,
    *,
    level: Level = "simulated",
    tries: int = _TRIES,
) -> Searched:
    """Return, for every rule of the destinations by which records get lost, the smallest events that the plan allows.

    `to` and `workspace` are those of `find_losses`. `tries` is how many events are tried for each destination; more
    find more. The search is the same each time. It needs Hypothesis (`pip install 'svctoolkit[pytest]'`).

    Raises `ConfigError` without it, and the errors of `find_losses`.
    """
    try:
        from svctoolkit.lost.candidates import Candidates
    except ModuleNotFoundError as error:
        raise ConfigError("searching events of a plan requires Hypothesis: pip install 'svctoolkit[pytest]'") from error
    names, chosen = [to] if isinstance(to, str) else list(to), check_level(level)
    shop = workspace_of(names, chosen) if workspace is None else workspace.at_level(chosen)
    keys = list(shop.destinations) if workspace is None else destinations_of(shop, names, chosen)
    candidates, rules = Candidates(plan, tries), list[SearchedRule]()
    for key in keys:
        losses_of = partial(_losses, _pipeline(shop), key, shop.simulation_level(shop.destinations[key], chosen))
        rules += [_searched(shop, key, rule, events) for rule, events in _search(candidates, shop, key, losses_of)]
    return Searched(rules, tries)


# Any: the candidates need Hypothesis, which is imported late, and a function of events
def _search(candidates: Any, shop: Workspace, key: str, losses_of: Any) -> Iterator[tuple[str, Any]]:
    destination = shop.destinations[key]
    level = shop.simulation_level(destination, "simulated")
    rules = SIMULATIONS[destination.type].rules
    wanted = [rule.id for rule in rules.values() if rule.effect in LOSSES and rule.is_active(level)]
    found = candidates.find(wanted, lambda events: {loss.rule for loss in losses_of(events)})
    for rule in wanted:
        yield rule, found.get(rule, ())


def _pipeline(shop: Workspace) -> Pipeline:
    """Return a pipeline whose clock has stopped shortly after the events."""
    pipeline = Pipeline(shop, exploring=True)
    pipeline.context = replace(pipeline.context, clock=lambda: _NOW)
    pipeline.simulated.clock = pipeline.context.clock
    return pipeline


def _losses(pipeline: Pipeline, key: str, level: Level, events: Sequence[Mapping[str, Json]]) -> Sequence[Loss]:
    """Return what the last of some events loses at a destination that holds nothing before them."""
    pipeline.simulated.reset()
    pipeline.recorder.clear()
    lost: Sequence[Loss] = ()
    for event in events:
        lost = pipeline.test_destination(key, event, simulate=level).lost
    return lost


def _searched(shop: Workspace, key: str, rule: str, events: Sequence[Mapping[str, Json]]) -> SearchedRule:
    destination = shop.destinations[key]
    rules = SIMULATIONS[destination.type].rules
    broken = rules[rule]
    fix = fix_text(broken.fix, "", destination.transformation)
    return SearchedRule(
        key, destination.type, broken.effect, rule, broken.says, rules.source_of(broken), events, fix if events else ""
    )
