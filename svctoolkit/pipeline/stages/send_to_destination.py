"""Send payloads and return the destination's responses: the only stage that uses the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from svctoolkit.delivery import Delivered, Sender
from svctoolkit.json_types import Json
from svctoolkit.pipeline.judging import ends, judge_alone
from svctoolkit.pipeline.route import Route
from svctoolkit.results import Judgement


def run(
    payloads: Sequence[Mapping[str, Json]], route: Route, sender: Sender, *, stops: bool
) -> tuple[list[Delivered], list[Judgement]]:
    """Send the payloads of one job one after another, and judge each answer.

    A failure is returned as a result, not raised. With `stops`, requests after one that `ends` are not sent.
    """
    answers, judgements = list[Delivered](), list[Judgement]()
    for payload in payloads:
        answers.append(sender.send(payload))
        judgements.append(judge_alone(route, payload, answers[-1]))
        if stops and ends(judgements[-1].outcome, route):
            break
    return answers, judgements
