"""A result as JSON, without its rows."""

from __future__ import annotations

from svctoolkit.json_types import Json
from svctoolkit.replay.results.stories import stories
from svctoolkit.replay.tally.tally import plain


def as_json(result: Json) -> dict[str, Json]:
    """Return everything except the rows of a result of a replay or comparison."""
    verdict = result.verdict
    return {
        "verdict": None if verdict is None else "failed" if verdict else "passed",
        "breaches": [breach._asdict() for breach in verdict or ()],
        "stories": [story.to_dict() for story in stories(result.groups)],
        "complete": result.complete,
        "records": result.records,
        "events": result.events,
        "rejected": result.rejected,
        "unread": plain(result.unread),
        "sourceless": result.sourceless,
        "assumed": dict(result.tally.assumed),
        "sample": result.sample,
        "counts": {key: dict(counts) for key, counts in result.counts.items()},
        "estimates": {key: {what: list(e) for what, e in of.items()} for key, of in result.estimates.items()},
        "groups": plain(tuple(result.groups)),
        "more_groups": result.more_groups,
        "unstable": plain(result.tally.unstable),
        "ignored": plain(result.tally.ignored),
        "lost": plain(result.tally.lost),
        "flows": plain(result.tally.flows),
        "shifts": plain(result.tally.shifts),
        "releases": dict(result.releases),
        "personal": {key: dict(kinds) for key, kinds in result.tally.personal.items()},
        "lossy": dict(result.tally.lossy),
        "expired": plain(result.expired),
        "policies": plain(result.tally.policies),
        "edited": None if result.edited is None else list(result.edited),
        "unreached": list(result.unreached.edits),
        "unchecked": list(result.unchecked),
        "exceeded": [{"entry": str(of.entry), "events": of.events, "of": of.total} for of in result.exceeded],
        "rejects": plain(result.rejects),
        "elapsed": round(result.elapsed, 3),
        "seconds": {step: round(spent, 3) for step, spent in result.seconds.items()},
    }
