"""Explains a failed scenario in a few lines: every difference with its position."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from svctoolkit.displayed import printable
from svctoolkit.expect.compare import json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.attempts.outcome import Outcome, StepOutcome
from svctoolkit.runner.attempts.verify import trouble
from svctoolkit.runner.report.route import root_causes, route_lines
from svctoolkit.runner.suite.model import Place
from svctoolkit.runner.suite.results import STAGES

MOST = 20
_MOST_COMMANDS = 3  # that explain rules, for each step
_FAILED = "`failed: any`, or `failed: [{error: ...}]`"
_ENDS = ("user_transform", "dest_transform", "delivered", "attempts", "dropped")
_ORDER = ("status", "response", *STAGES, "dropped", "failed", "attempts", "delivered")


def explanation(outcome: Outcome) -> str:
    """Return the lines that explain why `outcome` is not ok; the first one has the position. Secrets are masked."""
    scenario = outcome.scenario
    if not outcome.differences:
        what = f"it passed, but is marked xfail: {outcome.reason}" if outcome.status == "failed" else outcome.reason
        return printable(scenario.suite.masker.mask(f"{scenario.where}: {what}"))
    lines = [line for step in outcome.steps if step.differences for line in _explain(outcome, step)]
    total = len(outcome.differences)
    if total > MOST:
        lines.append(f"... and {total - MOST} more differences")
    if outcome.reason:
        lines.append(f"and it ended with an error: {outcome.reason}")
    return printable(str(scenario.suite.masker.mask("\n".join(lines))))


def _explain(outcome: Outcome, step: StepOutcome) -> Iterator[str]:
    document, mask = outcome.scenario.suite.document, outcome.scenario.suite.masker.text
    shown_line = ""
    before = sum(len(s.differences) for s in outcome.steps[: outcome.steps.index(step)])
    listed = reasons(step)[: max(0, MOST - before)]
    for text in root_causes(outcome.scenario, step) if listed else ():
        yield f"{document.where(listed[0][0])}: {text}"
    for number, (place, text) in enumerate(listed):
        yield f"{document.where(place)}: {text}"
        excerpt = document.excerpt(place, mask=mask)
        if excerpt != shown_line:
            yield excerpt
        shown_line = excerpt
        if number == 0:
            yield from route_lines(outcome.scenario, step)
    if len(outcome.scenario.steps) > 1 and not step.hook:
        steps = [other for other in outcome.steps if not other.hook]
        yield f"in step {steps.index(step) + 1} of {len(outcome.scenario.steps)}"
    yield from hints(step)


def reasons(step: StepOutcome) -> list[tuple[Place, str]]:
    """Return the reasons why a step differs, each with its place: causes before their consequences. Not masked."""
    differing = sorted(
        ((step.place(d), _with_origin(step, d), d.path[:1] != ("failed",)) for d in step.differences[:MOST]),
        key=lambda d: d[2],
    )
    lines = [(place, text) for place, text, _ in differing]
    absent = [d for d in step.differences if len(d.path) <= 2 and d.path[:1] and d.path[0] in _ENDS]
    if absent:  # something is missing: show where it was dropped
        unsaid = [str(c) for c in step.causes if not any(str(c) in text for _, text in lines)]
        at = sum(not after for _, _, after in differing)
        lines[at:at] = [(step.place(absent[0]), text) for text in unsaid]
    return lines


def _with_origin(step: StepOutcome, difference: Difference) -> str:
    text = origin_text(step, difference)
    return f"{difference}\n  {text}" if text else str(difference)


def origin_text(step: StepOutcome, difference: Difference) -> str:
    """Return where the value of a difference came from (`total: from properties.total`), or an empty text."""
    origin = step.origin(difference)
    if origin is None:
        return ""
    from svctoolkit.runner.attempts.origins import origin_line

    return origin_line(difference, origin)


def first_wrong_stage(step: StepOutcome) -> str:
    """Return the first stage with unexpected results, or an empty string."""
    failures = [d for d in step.differences if d.path == ("failed",) and d.text]
    if failures and step.causes:
        return step.causes[0].stage
    first = {d.path[0] for d in step.differences if d.path}
    return next((stage for stage in _ORDER if stage in first), "")


def hints(step: StepOutcome) -> Iterator[str]:
    """Yield hints about the differences of a step: where they began, and what the response says. Not masked."""
    if step.generated and any(difference.path != ("limit",) for difference in step.differences):
        yield f"smallest failing event of {step.generated} generated: {json_line(step.step.spec.send)}"
    failures = [d for d in step.differences if d.path == ("failed",) and d.text]
    if failures and step.causes and len(failures) == len(step.differences):
        cause = next((cause for cause in step.causes if str(cause) == failures[0].text), step.causes[0])
        how = _how_to_say(cause) if step.step.kind == "verify" else _FAILED
        if "$snapshot" not in str(step.step.expect.get(cause.stage)):  # of a value that is not expected to fail
            yield f"a scenario fails on any failure that it does not expect: {how}"
    first = {d.path[0] for d in step.differences if d.path} - {"failed"}
    if first_wrong_stage(step) in STAGES and len(first) > 1:
        yield f"the first stage that differs is {first_wrong_stage(step)}"
    message = trouble(step.answer) if step.answer else ""
    if message and message.partition(": ")[2] not in str(step.differences):
        yield message
    yield from help_commands(step)


def help_commands(step: StepOutcome) -> Iterator[str]:
    """Yield the commands that explain the rules of the causes that a report names (the first three of them)."""
    if any(cause.help for cause in step.causes):
        reported = "\n".join(text for _, text in reasons(step))
        commands = dict.fromkeys(cause.help for cause in step.causes if cause.help and str(cause) in reported)
        yield from islice(commands, _MOST_COMMANDS)


def _how_to_say(cause: Cause) -> str:
    """Return how a scenario with a `verify` step expects this failure."""
    if cause.stage == "send_to_destination" and cause.reason.startswith("the destination answered"):
        member = "response" if cause.reason.startswith("the destination answered 2") else "status"
        return f"`{cause.stage}: {{{member}: ...}}`"
    return "`error: ...`" if cause.stage == "routing" else f"`{cause.stage}: {{error: ...}}`"
