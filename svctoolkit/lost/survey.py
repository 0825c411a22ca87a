"""How well each vendor is simulated: its rules by confidence, their age, and the examples that it accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime

from svctoolkit import simulations
from svctoolkit.delivery import request
from svctoolkit.destinations import CATALOGUE, Example, examples
from svctoolkit.json_types import Json
from svctoolkit.pipeline.simulated import read_request
from svctoolkit.simulations import SIMULATIONS


@dataclass(frozen=True, slots=True)
class Simulated:
    """One simulated type. `rules` counts its rules by confidence: `doc`, `rec`, `val`, `inf`, `gen`, `unsure`.

    `oldest` is the oldest date on which a source was read, and `stale` are the rules whose source was not read in the
    last 18 months. Of its worked `examples`, the server accepts `accepted` without a loss; the others show
    what the vendor refuses.
    """

    type: str
    title: str
    rules: Mapping[str, int]
    oldest: str
    stale: tuple[str, ...]
    examples: int
    accepted: int

    def item(self) -> dict[str, Json]:
        """Return it as JSON."""
        return asdict(self)


def survey(today: date | None = None) -> list[Simulated]:
    """Return the facts about each simulated type, on this day (UTC)."""
    day = today or datetime.now(UTC).date()
    return [_facts(type, day) for type in sorted(SIMULATIONS.names())]


def _facts(type: str, today: date) -> Simulated:
    rules = SIMULATIONS[type].rules
    shown = [each for each in examples(type) if each.payloads] if type in CATALOGUE else []
    return Simulated(
        type,
        SIMULATIONS[type].title,
        dict(Counter(rule.confidence for rule in rules.values())),
        min((rules.sources[rule.source].checked for rule in rules.values()), default=""),
        tuple(rule.id for rule in rules.stale(today)),
        len(shown),
        sum(_is_accepted(type, example) for example in shown),
    )


def _is_accepted(type: str, example: Example) -> bool:
    server = simulations.open(type, example.config, account={"history": "existing"}, now=example.now)
    for payload in example.payloads:
        server.respond(read_request(request(payload)))
    return not server.losses and not server.faults
