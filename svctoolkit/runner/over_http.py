"""Suites over HTTP: wait for an expectation of a run, and download an event as a scenario.

Every data plane serves these operations, which the entry point `svctoolkit.operations` names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.errors import RequestError, UnknownName, did_you_mean
from svctoolkit.expect.compare import Comparison
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.expectation import problems
from svctoolkit.expect.matchers import MISSING
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import causes, unexpected_failures
from svctoolkit.runner.attempts.held import simulated_differences
from svctoolkit.runner.attempts.shape import shape_results
from svctoolkit.runner.planes.fates import run_results, violation_records
from svctoolkit.runner.record import writer
from svctoolkit.runner.suite.checks.claims import ANY, member_problems
from svctoolkit.runner.suite.checks.simulated import held_problems, simulated_destinations
from svctoolkit.runner.suite.results import SIMULATED
from svctoolkit.server.inspect.views import View
from svctoolkit.server.web.guard import Guard
from svctoolkit.server.web.json import convert, refuse
from svctoolkit.server.web.operation import Operation, Parameter, ResponseDoc
from svctoolkit.server.web.requests import read_object
from svctoolkit.server.web.responses import Refusal, json_response
from svctoolkit.server.worker import Engine

_MOST_SECONDS = 300.0
_NAMES = (
    "delivered", "dropped", "failed", "attempts", "user_transform", "dest_transform", "violations", "holds", "lost"
)  # fmt: skip


class Expectation(Struct, frozen=True, forbid_unknown_fields=True):
    """What the events of a run must result in."""

    expect: Annotated[
        dict[str, Any],
        Meta(
            description="As in a suite: delivered, dropped, failed, attempts, user_transform, dest_transform, "
            "violations, and for simulated destinations holds and lost. Nothing may fail unless `failed` allows it."
        ),
    ]
    run: Annotated[str, Meta(description="Only events of this run; by default all events.")] = ""
    destination: Annotated[str, Meta(description="Key or id: check only this destination.")] = ""
    received: Annotated[
        int, Meta(ge=0, le=2**53, description="Wait until at least this many events of the run have arrived.")
    ] = 1
    timeout: Annotated[float, Meta(ge=0, le=_MOST_SECONDS, description="Seconds.")] = 10.0
    settle: Annotated[
        float,
        Meta(
            ge=0,
            le=_MOST_SECONDS,
            description="An expectation is not met for good once `received` events have arrived, none is in progress, "
            "and nothing has changed for this many seconds.",
        ),
    ] = 0.5


class DifferenceRecord(Struct, frozen=True):
    """One difference: the path of the value, and the whole difference in one line."""

    path: list[str | int]
    expected: str
    got: str
    message: str


class Verdict(Struct, frozen=True):
    """The result of an expectation; `causes` say why events did not arrive, if any did not."""

    verdict: Literal["passed", "failed"]
    message: str
    run: str
    differences: list[DifferenceRecord]
    causes: list[str]


def operations(engine: Engine, guard: Guard) -> list[Operation]:
    """Return the operations for a data plane."""
    service = _Service(engine)
    unauthorised = {401: ResponseDoc("Credentials are wrong or missing.", (Refusal,))}
    seq = Parameter(
        "seq",
        "query",
        "The sequence number of an event.",
        {"type": "integer", "minimum": 1, "maximum": 2**53},
        1,
        required=True,
    )
    return [
        Operation(
            method="POST",
            path="/inspect/expect",
            id="expect",
            summary="Check the results of a run",
            description="Responds as soon as the expectation is met, or as it is not met for good: with the "
            "differences, when nothing has changed for `settle` seconds, or at the timeout. Nothing is compared before "
            "`received` events have arrived and no event of the run is in progress.",
            handle=guard.local(service.expect),
            login="local",
            body=Expectation,
            example=lambda: {"run": "checkout-7", "expect": {"delivered": []}, "received": 0},
            responses={
                200: ResponseDoc("The expectation is met.", (Verdict,)),
                400: ResponseDoc("The body is invalid, or the expectation can never be met.", (Refusal,)),
                404: ResponseDoc("The destination does not exist.", (Refusal,)),
                409: ResponseDoc("The expectation is not met.", (Verdict,)),
                413: ResponseDoc("The body is too large.", (Refusal,)),
                415: ResponseDoc("The body is not JSON.", (Refusal,)),
                **unauthorised,
            },
        ),
        Operation(
            method="GET",
            path="/inspect/scenario",
            id="scenario",
            summary="An event as a scenario",
            description="A suite with one scenario, as `svctoolkit record` writes it. The event runs again, outside "
            "the data plane, and the scenario expects its results. Personal data is replaced.",
            handle=guard.local(service.scenario),
            login="local",
            parameters=(seq,),
            responses={
                200: ResponseDoc("The suite, as YAML."),
                400: ResponseDoc("The event cannot be written as a scenario.", (Refusal,)),
                404: ResponseDoc("The event is not stored (or no longer).", (Refusal,)),
                **unauthorised,
            },
        ),
    ]


class _Service:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def expect(self, request: Request) -> Response:
        raw, _ = await read_object(request)
        try:
            expectation = convert(raw, Expectation)
        except msgspec.ValidationError as error:
            refuse(f"invalid body: {error}")
        keys = self._keys(expectation.destination)
        _check(_of_destination(expectation.expect, keys), self._engine)
        verdict = await self._wait(expectation, keys)
        return json_response(msgspec.to_builtins(verdict), 200 if verdict.verdict == "passed" else 409)

    def _keys(self, destination: str) -> list[str]:
        workspace = self._engine.workspace
        try:
            return [workspace.destination(destination).key] if destination else []
        except UnknownName as error:
            raise RequestError(404, {"message": str(error)}) from error

    async def _wait(self, expectation: Expectation, keys: list[str]) -> Verdict:
        """Compare after every change while no event is in progress, until the expectation is met, or nothing has
        changed for a while, or the time is up.
        """
        engine, deadline, number = self._engine, monotonic() + expectation.timeout, -1
        run = expectation.run or None
        last: tuple[int, Verdict] | None = None
        final = deadline  # when the last comparison is the result

        def something_new() -> bool:
            # Compare only after a change: the comparison reads the whole run, and waiting clients would load the CPU.
            return engine.is_idle(run) and engine.journal.feed.number != number

        # A destination may have been enabled just before this request.
        engine.wake()
        with engine.hurry(run):
            while True:
                changed = await engine.notifier.wait_async(something_new, max(0.0, final - monotonic()))
                if not changed and final < deadline and not engine.is_idle(run):
                    final = deadline  # something is under way again
                    continue
                if not changed and (engine.notifier.closed or monotonic() >= final):
                    break
                # Read before the comparison, so that a change during it causes another one.
                number = engine.journal.feed.number
                compared = received, verdict = await asyncio.to_thread(_compare, engine, expectation, keys)
                if received < expectation.received:
                    final = deadline
                elif verdict.verdict == "passed":
                    return verdict
                elif compared != last or final == deadline:  # a change of another run alone does not count
                    final = min(deadline, monotonic() + expectation.settle)
                last = compared
        received, verdict = await asyncio.to_thread(_compare, engine, expectation, keys)
        if not engine.is_idle(run):
            return _too_early(expectation, f"after {expectation.timeout:g} s: {engine.pending.describe(run)}", verdict)
        if received < expectation.received:
            return _too_early(
                expectation, f"after {expectation.timeout:g} s: {received} of {expectation.received} events", verdict
            )
        return verdict

    async def scenario(self, request: Request) -> Response:
        text = request.query_params.get("seq", "")
        if set(request.query_params) != {"seq"} or not (text.isascii() and text.isdigit() and 0 < len(text) < 17):
            refuse("seq, the number of an event, is required and the only parameter")
        suite = await asyncio.to_thread(self._suite, int(text))
        return Response(suite, media_type="application/yaml")

    def _suite(self, seq: int) -> str:
        engine = self._engine
        view = View(engine)
        record = next((item for item in view.about(seq)["events"]), None)
        if record is None:
            raise RequestError(404, {"message": f"event {seq} is not stored"})
        workspace = engine.workspace.in_mode("record")
        event = writer.ReceivedEvent(record["event"], record["source"])
        suite = writer.record_suite([event], workspace)
        return writer.dump(suite, "workspace.yaml")


def _of_destination(expected: Mapping[str, Json], keys: Sequence[str]) -> dict[str, Json]:
    """Return an expectation in which `holds` and `lost` are about the chosen destination."""
    chosen = {name: expected[name] for name in SIMULATED if name in expected} if keys else {}
    return {**expected, **{name: {keys[0]: value} for name, value in chosen.items() if keys[0] not in (value or ())}}


def _check(expected: Mapping[str, Json], engine: Engine) -> None:
    """Raises `RequestError` (400) for an expectation that can never be met, or is empty."""
    if not expected:
        refuse(f"expect is empty; it may have {', '.join(_NAMES)}")
    for name, value in expected.items():
        if name not in _NAMES:
            refuse(f"expect has no member {name[:50]!r}.{did_you_mean(name, _NAMES)} It may have {', '.join(_NAMES)}")
        for path, problem in (*problems(value), *member_problems(name, value, engine.workspace.destinations)):
            refuse(f"expect.{'.'.join(map(str, (name, *path)))}: {problem}")
    for path, problem in held_problems(expected, engine.simulated.workspace):
        refuse(f"{'.'.join(map(str, path))}: {problem}")


def _compare(engine: Engine, expectation: Expectation, keys: Sequence[str]) -> tuple[int, Verdict]:
    """Return the number of received events, and the result of the comparison."""
    view, expected = View(engine, expectation.run or None), _of_destination(expectation.expect, keys)
    places = keys or _destinations(engine, view, expected)
    everywhere = run_results(view, places)
    results = shape_results(everywhere, expected)
    if "violations" in expected:
        results["violations"] = violation_records(view)
    found = [*_differences(expected, everywhere, results), *_held_differences(engine, expectation.run, expected)]
    hide = engine.masker().mask
    differences = [difference.shorten(hide) for difference in found]
    records = [DifferenceRecord([*d.path], d.expected, d.got, str(d)) for d in differences]
    why = [hide(str(cause)) for cause in causes(everywhere)] if differences else []
    message = "; ".join(record.message for record in records)
    return len(view.received), Verdict("failed" if differences else "passed", message, expectation.run, records, why)


def _destinations(engine: Engine, view: View, expected: Mapping[str, Any]) -> list[str]:
    """Return the destinations that the run's events reached or the expectation names; all if events reached none."""
    destinations = engine.workspace.destinations
    named = {key for value in expected.values() if isinstance(value, Mapping) for key in value if key in destinations}
    reached = {destination for destination, _ in view.fate_counts()}
    return [key for key in destinations if key in reached | named] if reached else [*destinations]


def _differences(
    expected: Mapping[str, Any], everywhere: Mapping[str, Any], results: Mapping[str, Any]
) -> Iterator[Difference]:
    yield from unexpected_failures(everywhere, expected)
    comparison = Comparison()
    for name, value in expected.items():
        if name not in SIMULATED and not (name == "failed" and value == ANY):
            yield from comparison.member(name).differences(value, results.get(name, MISSING))


def _held_differences(engine: Engine, run: str, expected: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield the differences from `holds`, which is about the state of the run, and `lost`, which without one is about
    all runs.
    """
    if not any(name in expected for name in SIMULATED):
        return
    workspace, servers = engine.simulated.workspace, engine.simulated
    held = {key: servers.server(to, run).state() for key, to in simulated_destinations(workspace).items()}
    lost = [loss.item() for server in servers.servers(run or None) for loss in list(server.losses)]
    lost = [loss for loss in lost if not run or loss["run"] == run]
    yield from simulated_differences(expected, {"holds": held, "lost": lost}, workspace)


def _too_early(expectation: Expectation, text: str, verdict: Verdict) -> Verdict:
    """Return the verdict of a comparison that timed out before all events had arrived and finished."""
    first = DifferenceRecord(["received"], f"{expectation.received} events, none in progress", text, text)
    return Verdict("failed", text, expectation.run, [first, *verdict.differences], verdict.causes)


__all__ = ["Expectation", "Verdict", "operations"]
