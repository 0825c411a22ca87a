"""Decide what a destination's answer means for each job of its request: the only place that does.

The data plane, replays, the Test API and suites call `judge`, whoever answered: a server, a recorder, a cassette or a
simulation.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from svctoolkit.causes import Cause, map_texts
from svctoolkit.delivery import Delivered, rejection_of
from svctoolkit.destinations import DestinationType, JobOutcome, Outcome, Reply, outcome_of_status
from svctoolkit.json_types import Json
from svctoolkit.pipeline.route import Route
from svctoolkit.results import Judgement

RETRIED = ("retry", "throttle")
_LOG = logging.getLogger("svctoolkit.delivery")
_ACCEPTED = Judgement("delivered")
_DELIVERED = JobOutcome("delivered")
_SUCCESS = Outcome("delivered")


class Judged(Struct, frozen=True):
    """What an answer means for each job of its request, in their order, without secrets.

    `cause` is why some were not delivered. `auth` is that of `destinations.Outcome`.
    """

    jobs: Sequence[JobOutcome]
    cause: Cause | None = None
    auth: str = ""


def judge(
    route: Route,
    payload: Mapping[str, Json],
    answer: Delivered,
    ids: Sequence[int],
    metadata: Sequence[Mapping[str, Json]],
) -> Judged:
    """Return what an answer means for the jobs that a payload carried: by the rules of the type, if it has any.

    `ids` are the mapping's ids of the jobs, `metadata` has an entry for each of them.
    """
    kind = route.type
    if not kind.judges and 200 <= answer.status < 300:  # as nearly always
        return Judged([_DELIVERED] * len(ids))
    return _of_jobs(_outcome(route, kind, payload, answer, ids, metadata), route, kind, answer, len(ids))


def _of_jobs(outcome: Outcome, route: Route, kind: DestinationType, answer: Delivered, jobs_count: int) -> Judged:
    mask = route.masker.text
    # Destinations that answer for the whole request give all jobs the same outcome.
    each = outcome.jobs or [JobOutcome(outcome.outcome, outcome.message)] * jobs_count
    jobs = [_with_reason(job, outcome.message, mask) for job in each]
    failed = next((job for job in jobs if job.outcome != "delivered"), None)
    if failed is None:
        return Judged(jobs, auth=outcome.auth)
    cause = rejection_of(answer.status, answer.response, mask)
    if not cause.message and kind.judges:  # only the judge of the type can read it
        cause = replace(cause, message=failed.message.removeprefix(f"{answer.status}: "))
    return Judged(jobs, map_texts(cause, mask), outcome.auth)


def judge_alone(route: Route, payload: Mapping[str, Json], answer: Delivered) -> Judgement:
    """Return what the answer to a request of one job means for it."""
    kind = route.type
    if 200 <= answer.status < 300 and not kind.judges:  # as nearly always
        return _ACCEPTED
    outcome = _outcome(route, kind, payload, answer, (0,), ({},))
    if outcome is _SUCCESS:
        return _ACCEPTED
    judged = _of_jobs(outcome, route, kind, answer, 1)
    (job,) = judged.jobs
    return Judgement(job.outcome, job.message, judged.cause)


def ends(outcome: str, route: Route) -> bool:
    """Whether the outcome of a request decides for its jobs: requests of theirs after it change nothing.

    As in RudderStack, a request that failed for good ends its batch only if the type has no handler for responses.
    """
    return outcome in RETRIED or (outcome == "abort" and not route.type.judges)


def decisive(judgements: Sequence[Judgement], route: Route) -> Judgement:
    """Return what the answers to the requests of one job mean together: the first that `ends`, or else the last."""
    if judgements.count(_ACCEPTED) == len(judgements):  # as nearly always
        return _ACCEPTED
    earlier: Judgement | None = None
    for judgement in judgements:
        if ends(judgement.outcome, route):
            return judgement
        refused = earlier is not None and earlier.outcome == "abort" and judgement.outcome == "delivered"
        earlier = Judgement("delivered", after_refusal(earlier.reason)) if earlier and refused else judgement
    return earlier or _ACCEPTED


def after_refusal(reason: str) -> str:
    """Return the note of a delivered job if a request before the last was refused for `reason`."""
    return f"a request before the last was refused: {reason}"


def reason_of(answer: Delivered, mask: Callable[[str], str]) -> str:
    """Return the error that an answer reports, as readable text, masked before a long one is cut."""
    if answer.error is not None:
        return str(answer.error)
    text = answer.response if isinstance(answer.response, str) else _message(answer.response)
    return f"the destination answered {answer.status}" + (f": {mask(text)[:200]}" if text else "")


def _message(response: Any) -> str:
    """Return the error message of an answer that has one of the usual formats."""
    if isinstance(response, Mapping):
        error = response.get("error", response.get("message", ""))
        if isinstance(error, Mapping):
            error = error.get("message", "")
        return error if isinstance(error, str) else ""
    return ""


def _outcome(
    route: Route,
    kind: DestinationType,
    payload: Mapping[str, Json],
    answer: Delivered,
    ids: Sequence[int],
    metadata: Sequence[Mapping[str, Json]],
) -> Outcome:
    reply = Reply(answer.status, answer.headers, answer.response)
    own = None
    if answer.error is None and kind.judges:
        sent = {**payload, "destinationConfig": route.destination.config}
        try:
            own = kind.judgement(sent, [reply], ids, metadata)
        except Exception as error:  # noqa: BLE001 - an unexpected answer, which RudderStack retries
            _LOG.warning("an answer of %s cannot be read: %r", route.destination.key, error)
            # Not failed for good: a proxy may have answered in place of the destination.
            reason = reason_of(answer, route.masker.text)
            return Outcome("retry", f"the destination's answer cannot be read: {reason}")
    if own is not None:
        return own
    if 200 <= answer.status < 300:
        return _SUCCESS
    return Outcome(outcome_of_status(reply).outcome, reason_of(answer, route.masker.text))


def _with_reason(job: JobOutcome, message: str, mask: Callable[[str], str]) -> JobOutcome:
    # What was refused of a request is not a note of the jobs that were delivered.
    text = job.message or ("" if job.outcome == "delivered" else message)
    return replace(job, message=mask(text)) if text else job
