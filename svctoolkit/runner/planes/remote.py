"""Run scenarios against the Test API of a service at a URL."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from svctoolkit.delivery.view import json_or_text
from svctoolkit.errors import DeliveryError, StillWaiting, ToolkitError, UsageError
from svctoolkit.json_types import Json
from svctoolkit.runner.planes.deletions import deletions_of
from svctoolkit.runner.planes.fates import results_of_records, traces_of_records, violation_record
from svctoolkit.runner.planes.plane import Answer, Plane, Transformed, basic, post
from svctoolkit.runner.planes.pool import Planes
from svctoolkit.runner.planes.traces import Trace
from svctoolkit.runner.suite import format as _format
from svctoolkit.runner.suite.model import Scenario

if TYPE_CHECKING:
    from svctoolkit.policies import Policies, PolicyBreach

_SECONDS = 60.0


def remote_planes(base_url: str, email: str, token: str, *, live: bool = False, limit: float = 10.0) -> Planes:
    """Planes that all use the same service at `base_url`.

    Raises `UsageError` if the service does not respond or rejects the login.
    """
    if not base_url.startswith(("http://", "https://")):
        raise UsageError(f"base URL {base_url}: expected an address like https://api.example.com")
    planes = _Remote(base_url, email, token, live=live, limit=limit)
    try:
        planes.probe(login=bool(email or token))
    except DeliveryError as error:
        planes.close()
        raise UsageError(f"base URL: {error}") from error
    return planes


class _Remote(Planes):
    def __init__(self, base_url: str, email: str, token: str, *, live: bool, limit: float) -> None:
        super().__init__(live=live, limit=limit)
        self._plane = RemotePlane(base_url, email, token)

    def probe(self, *, login: bool) -> None:
        """Check the service once, not in each scenario.

        Raises `DeliveryError` if it is down or rejects the login.
        """
        self._plane.request("GET", "/destination-definitions/WEBHOOK", {}, b"")
        # Any other answer, such as 404 for the unknown destination, shows that the login was accepted.
        if login and self._plane.test("/v0/testDestination/nobody", b"{}", "").status in (401, 403):
            raise DeliveryError("the login was rejected: check --email and SVC_TOKEN", code="ELOGIN")

    @contextmanager
    def open(self, _scenario: Scenario) -> Iterator[Plane]:
        yield self._plane

    def unable(self, scenario: Scenario) -> str:
        """Return why a scenario cannot run at a remote service: its clock, delays and configuration are fixed."""
        if scenario.overrides:
            return "--base-url: the configuration of a remote service cannot be changed"
        if scenario.batch is not None:
            return "--base-url: batching at a remote service cannot be changed"
        if scenario.waits:
            return "--base-url: a remote service runs in real time; `wait` needs the clock of this process"
        if scenario.freeze:
            return "--base-url: the clock of a remote service cannot be frozen"
        if any("://" in key for key in scenario.recorder):
            return "--base-url: requests of user code at a remote service cannot be scripted"
        for step in scenario.steps:
            if step.expect.keys() & {"fetched", "logs", "losses"}:
                return "--base-url: a remote service does not report what user code requests, logs and loses"
            if "after" in json.dumps(step.expect.get("attempts")):
                return "--base-url: a remote service runs in real time; `after` is only exact in this process"
            if step.kind == "transformation":
                return "--base-url: a transformation can only be tested alone in this process"
        return ""

    def close(self) -> None:
        self._plane.close()


class RemotePlane:
    """A service at a URL. One connection is kept open."""

    embedded = False

    def __init__(self, base_url: str, email: str, token: str) -> None:
        import httpx  # 0.1 s, and only remote runs need it

        self.base_url = base_url.rstrip("/")
        self.authorization = basic(email, token)
        # Redirects are not followed: they would carry the credentials to another host.
        self._client = httpx.Client(timeout=_SECONDS, follow_redirects=False, trust_env=True)

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the response. Raises `DeliveryError` without one."""
        import httpx

        try:
            got = self._client.request(method, self.base_url + path, headers=dict(headers), content=body)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DeliveryError(f"no response from {self.base_url}: {error}", code="ENOANSWER") from error
        return Answer(got.status_code, {k.lower(): v for k, v in got.headers.items()}, json_or_text(got.content))

    def test(self, path: str, body: bytes, run: str) -> Answer:
        """Return the response of the Test API.

        Raises `DeliveryError` also for a response of the wrong form: a server that always returns 200 proves nothing.
        """
        from svctoolkit.client import check_results

        answer = post(self, path, body, run)
        if answer.status == 200:
            try:
                check_results(answer.body)
            except ValueError as error:
                text = f"{self.base_url} did not return a Test API response: {error}"
                raise DeliveryError(text, code="EBADMSG") from None
        return answer

    def transform(self, key: str, events: Sequence[Mapping[str, Json]], run: str) -> Transformed:  # noqa: ARG002
        """Raise `UsageError`: a service has no such operation, and scenarios that need it are skipped."""
        raise UsageError(f"transformation {key!r} can only be tested alone in this process, not at {self.base_url}")

    def wait(self, seconds: float, limit: float) -> None:  # noqa: ARG002 - of the protocol
        """Raise `UsageError`: a service runs in real time, and scenarios that wait are skipped."""
        raise UsageError(f"{self.base_url} runs in real time: no scenario can wait {seconds:g} s there")

    def run_results(self, run: str, keys: Sequence[str], limit: float) -> Mapping[str, Json]:
        """Return the results that the data plane reports under `/inspect`.

        Raises `ToolkitError` if it does not support that.
        """
        self._await(run, limit)
        fates, deliveries = self._records(run, keys)
        with self._reading():
            return results_of_records(fates, deliveries, keys)

    def _records(self, run: str, keys: Sequence[str]) -> tuple[list[dict[str, Json]], list[dict[str, Json]]]:
        """Return the fates at `keys`, each with its event, and the deliveries of a run."""
        with self._reading():
            events = {record["number"]: record["event"] for record in self._list("events", run)}
            records = [{**record, "event": events.get(record["number"])} for record in self._list("fates", run)]
            return [record for record in records if record["destination"] in keys], self._list("deliveries", run)

    def _await(self, run: str, limit: float) -> None:
        waited = self._inspect("wait", run=run, timeout=limit)
        if waited.status == 409:
            raise StillWaiting(str(waited.body.get("message", "there are still events in progress")))

    def violations(self, run: str) -> list[dict[str, Json]]:
        with self._reading():
            return [violation_record(record) for record in self._list("violations", run)]

    def received(self, run: str) -> list[dict[str, Json]]:
        with self._reading():
            return [record["event"] for record in self._list("events", run)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn unexpected records, perhaps of another version of this package, into errors."""
        try:
            yield
        except KeyError as error:
            raise self._unclear(f"its records lack {error}") from None
        except (AttributeError, TypeError, ValueError):
            raise self._unclear("its records have an unknown format") from None

    def _unclear(self, reason: str) -> ToolkitError:
        return ToolkitError(f"cannot read the results from {self.base_url}: {reason}")

    def _list(self, kind: str, run: str) -> list[dict[str, Any]]:
        """Return all records of a kind, page by page."""
        records: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self._inspect(kind, run=run, after=after, limit=1000).body
            records += page["items"]
            # A broken server could otherwise keep this loop running forever.
            if page["next"] is not None and page["next"] <= after:
                raise ValueError(f"the page after {after} refers to itself")
            after = page["next"]
        return records

    def _inspect(self, what: str, **query: Any) -> Answer:
        answer = self.request("GET", f"/inspect/{what}?{urlencode(query)}", {"authorization": self.authorization}, b"")
        if answer.status == 404:
            raise self._unclear("it is not a svctoolkit data plane")
        # 409 is an answer here: the run is still in progress at the timeout.
        if answer.status not in (200, 409):
            raise self._unclear(f"it responded with status {answer.status}")
        if not isinstance(answer.body, Mapping):
            raise self._unclear("its response is not an object")
        return answer

    def time(self) -> float:
        """Return the real time: that of a service cannot be changed."""
        return time.time()

    def traces(self, run: str, keys: Sequence[str]) -> Mapping[str, Trace]:
        """Return the traces of what the data plane reports under `/inspect`; nothing if it does not support that."""
        try:
            return traces_of_records(*self._records(run, keys), keys)
        except ToolkitError:
            return {}

    def breaches(self, run: str, policies: Policies) -> Sequence[PolicyBreach]:  # noqa: ARG002 - of the protocol
        """Return nothing: a service does not say which payloads belong to which event."""
        return ()

    def code_records(self, run: str) -> Mapping[str, Sequence[Mapping[str, Json]]]:  # noqa: ARG002 - of the protocol
        """Return nothing: a service does not report what user code requests and logs."""
        return {}

    def delete(
        self, run: str, users: Json, destinations: Sequence[str] | None, limit: float
    ) -> dict[str, dict[str, Json]]:
        """Return the deletions that the data plane reports under `/inspect`."""
        from svctoolkit.server.regulations.parse import users_of

        body = {"regulationType": "suppress_with_delete", "users": users_of(users), "destinationIds": destinations}
        created = post(self, "/v2/regulations", json.dumps(body).encode(), run)
        if created.status != 200:
            raise ToolkitError(f"{self.base_url} refused to delete users: {created.status} {created.body}")
        self._await(run, limit)
        with self._reading():
            return deletions_of(self._inspect(f"regulations/{created.body['id']}").body)

    def held(self, run: str, key: str) -> dict[str, Json]:
        """Return the state that `GET /inspect/held/<destination>` reports.

        Raises `ToolkitError` if the service does not simulate the destination.
        """
        path = f"/inspect/held/{quote(key, safe='')}?{urlencode({'run': run})}"
        answer = self.request("GET", path, {"authorization": self.authorization}, b"")
        self._check_simulated(answer, key)
        with self._reading():
            return dict(answer.body)

    def give(self, run: str, given: Mapping[str, Mapping[str, Json]]) -> None:
        """Give with `POST /admin/held/<destination>`. Raises `ToolkitError` if that fails."""
        for key, state in given.items():
            body = json.dumps({"run": run, "state": state}).encode()
            self._check_simulated(post(self, f"/admin/held/{quote(key, safe='')}", body), key)

    def _check_simulated(self, answer: Answer, key: str) -> None:
        """Raise `ToolkitError` with the reason if the service has no state of a destination."""
        if answer.status == 200:
            return
        says = answer.body.get("message", "") if isinstance(answer.body, Mapping) else ""
        start = "; start the service with `svctoolkit serve --simulate`" if answer.status == 404 else ""
        reason = says or f"it responded with status {answer.status}"
        raise ToolkitError(f"cannot check what {key} holds at {self.base_url}: {reason}{start}")

    def forget(self, run: str) -> None:
        """States at a service stay until it is reset."""

    def script(self, run: str, answers: Mapping[str, Sequence[_format.RecorderAnswer]]) -> None:
        """Script with `POST /admin/recorder/<destination>`. Raises `ToolkitError` if that fails."""
        for key, script in answers.items():
            body = {"run": run, "answers": [_answer(answer) for answer in script]}
            answer = post(self, f"/admin/recorder/{quote(key, safe='')}", json.dumps(body).encode())
            if answer.status != 200:
                says = answer.body.get("message") if isinstance(answer.body, Mapping) else None
                elsewhere = "it is not a svctoolkit data plane" if answer.status in (404, 405) else ""
                reason = says or elsewhere or f"it responded with status {answer.status}"
                raise ToolkitError(f"cannot script the recorder of {self.base_url}: {reason}")

    def set_faults(self, run: str, faults: _format.ScenarioFaults) -> None:
        """Switch with `POST /admin/faults`. Raises `ToolkitError` if that fails."""
        named = [("destination", key, profile) for key, profile in faults.destinations.items()]
        named += [("source", key, profile) for key, profile in faults.sources.items()]
        bodies = [{kind: key, "profile": msgspec.to_builtins(profile), "run": run} for kind, key, profile in named]
        answers = [post(self, "/admin/faults", json.dumps(body).encode()) for body in bodies]
        if not bodies:
            login = {"authorization": self.authorization}
            answers = [self.request("DELETE", f"/admin/faults?run={quote(run)}", login, b"")]
        for answer in answers:
            if answer.status != 200:
                says = answer.body.get("message") if isinstance(answer.body, Mapping) else None
                reason = says or f"it responded with status {answer.status}"
                raise ToolkitError(f"cannot set the faults of {self.base_url}: {reason}")

    def idle_answers(self, run: str, key: str) -> Sequence[int]:  # noqa: ARG002 - of the protocol
        return ()

    def close(self) -> None:
        self._client.close()


def _answer(answer: _format.RecorderAnswer) -> dict[str, Any]:
    """Return a response in the data plane's format."""
    members: dict[str, Any] = msgspec.to_builtins(answer)
    return {**members, "delay": _format.seconds(answer.delay)}
