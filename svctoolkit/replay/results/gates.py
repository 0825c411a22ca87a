"""What fails a check in addition to its conditions: input that was not read, rules that were not applied, policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit.policies import Policies
from svctoolkit.replay.records.record import Reject
from svctoolkit.replay.results.text import plural_s
from svctoolkit.replay.review.accepted import Exceeded
from svctoolkit.replay.review.terms import Breach
from svctoolkit.replay.tally.tally import Tally


def unreliable(
    unread: Sequence[Reject], exceeded: Sequence[Exceeded], sourceless: int, sources: Sequence[str]
) -> Iterator[Breach]:
    """Yield what makes conditions meaningless: unread events, too many accepted ones, rules that were not applied."""
    for reject in unread:
        yield Breach("input", f"{reject.place}: {reject.reason}")
    for each in exceeded:
        yield Breach("accepted", str(each))
    if sourceless:
        yield Breach("source", source_text(sourceless, sources))


def mostly_rejected(tally: Tally) -> Iterator[Breach]:
    """Yield a breach if most records are not events: what was checked says nothing about them."""
    if tally.records - tally.rejected < tally.rejected < tally.records:
        many = f"{tally.rejected:,} of {tally.records:,} records"
        yield Breach("input", f"{many} are not events. To check only the others, add a condition: rejected>99%")


def policy_breaches(counts: Mapping[str, Mapping[str, int]], policies: Policies) -> list[Breach]:
    """Return the policies of severity `error` that do not hold; `counts` has the events by policy and destination."""
    return [
        Breach(name, ", ".join(f"{count:,} event{plural_s(count)} at {key}" for key, count in of.items()))
        for name, of in counts.items()
        if name in policies.strict
    ]


def undecided_policies(tally: Tally, policies: Policies, sample: float) -> list[Breach]:
    """Return the policies of severity `error` that hold for a sample: only all events can show that they hold."""
    if sample >= 1 or tally.events >= tally.records - tally.rejected:
        return []
    text = f"not sure: no breach in {tally.events:,} of {tally.records - tally.rejected:,} events; needs all events"
    return [Breach(name, text, 1.0) for name in sorted(policies.strict - tally.policies.keys())]


def assumed_text(assumed: Mapping[str, int]) -> str:
    """Return which sources events are taken as those of."""
    named = ", ".join(f"{key} ({count:,})" for key, count in sorted(assumed.items()))
    return f"sources by what the events say (id, write key, SDK or channel): {named}. To choose one: source=, --source"


def source_text(count: int, sources: Sequence[str]) -> str:
    """Return what is uncertain about events without a source."""
    have = "event has" if count == 1 else "events have"
    rules = f"tracking plans and states of {', '.join(sources)} were not applied"
    return f"{count:,} {have} no source: {rules}. Choose one: source=, --source"
