"""Steps in Python: what they get, what they return, how they fail."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite
from svctoolkit.runner import steps
from svctoolkit.runner.steps import STEPS, Context

WORKSPACE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}}
"""
SEND = "{send: {type: track, event: A, userId: u1}, expect: {delivered: [{}], capture: {who: delivered.0.body.userId}}}"
NEVER = threading.Event()


def describe(context: Context, *, prefix: str = "") -> dict[str, Any]:
    """What the step sees."""
    sent = [request["body"]["event"] for result in context.results for request in result["delivered"]]
    return {"sent": sent, "who": prefix + context.captured["who"], "hosts": list(context.workspace.destinations)}


def refuse(_context: Context) -> None:
    """A check of one's own that fails."""
    raise AssertionError("the signature is wrong")


def crash(_context: Context) -> None:
    """A bug in a step."""
    raise KeyError("x")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The steps of this file, as an entry point would register them."""
    own = {
        "describe": describe,
        "refuse": refuse,
        "crash": crash,
        "wait": lambda _: NEVER.wait(),
        "odd": lambda _: object,
    }
    for name, step in own.items():
        STEPS.add(name, step)
    yield
    NEVER.set()
    NEVER.clear()


def outcome(written: str, more: str = "") -> runner.Outcome:
    """The outcome of a scenario with these steps."""
    text = f"scenarios:\n  - {{name: s, {more} steps: [{written}]}}\n"
    with runner.open_planes(limit=60) as planes:
        return runner.attempt(runner.loads(text, Workspace.loads(WORKSPACE)).scenarios[0], planes)


def test_a_step_gets_what_the_scenario_has_so_far() -> None:
    """Results of earlier steps, captured values, the workspace, its arguments; its result is expected and captured."""
    expect = "{result: {sent: [A], who: user u1, hosts: [hook]}, capture: {name: result.who}}"
    later = "{send: {type: track, event: B, userId: $(name)}, expect: {delivered: [{body: {userId: user u1}}]}}"
    call = f"{{python: describe, arguments: {{prefix: 'user '}}, expect: {expect}}}"

    assert outcome(f"{SEND}, {call}, {later}").differences == []
    assert [str(d) for d in outcome(f"{SEND}, {call.replace('[A]', '[B]')}, {later}").differences] == [
        'result.sent.0: expected "B", got "A"'
    ]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("{python: refuse}", "refuse: the signature is wrong (test_python_steps.py:"),
        ("{python: crash}", "crash: KeyError: 'x' (test_python_steps.py:"),
        ("{python: crash, arguments: {a: 1}}", "got an unexpected keyword argument 'a'"),
        ("{python: odd}", "odd: Encoding objects of type type is unsupported"),
    ],
)
def test_an_exception_is_a_failure_at_the_step(call: str, said: str) -> None:
    """It has the step's name and the line that raised it; no traceback, no broken scenario."""
    result = outcome(f"{SEND}, {call}")
    text = runner.explanation(result)

    assert result.status == "failed"
    assert said in text
    assert text.startswith("suite:2:")


def test_a_step_that_does_not_return_ends_with_the_scenario() -> None:
    """The limit applies to it, too."""
    assert "the Python step 'wait' has not returned" in runner.explanation(outcome("{python: wait}", "limit: 100ms,"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("{python: descrbe}", "unknown Python step 'descrbe'. Did you mean 'describe'"),
        ("{python: nothing_like_it}", "entry point in the group `svctoolkit.steps`"),
        ("{python: crash, destination: hook}", "a Python step has no 'destination'"),
        ("{python: crash, send: {type: track}}", "a scenario can only do one thing"),
        ("{arguments: {a: 1}, send: {type: track}, expect: {delivered: [{}]}}", "add `python: NAME`"),
        ("{python: crash, expect: {delivered: [{}]}}", "unknown result 'delivered' for a scenario that calls a Python"),
    ],
)
def test_a_wrong_step_is_reported_before_the_run(call: str, message: str) -> None:
    """Its name, and what does not belong to it."""
    with pytest.raises(InvalidSuite, match=message):
        outcome(call)


def test_the_example_is_true() -> None:
    """The doctest of the module."""
    assert doctest.testmod(steps).failed == 0
