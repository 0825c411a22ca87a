"""The pipeline in process has the same calls and results as the Test API."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import deepcopy
from time import perf_counter, sleep
from typing import Any

import pytest

from svctoolkit import Pipeline, Workspace, events
from svctoolkit.delivery import Answer, HttpRequest, HttpResponse
from svctoolkit.destinations import CATALOGUE, Context, DestinationType, Payload, Settings
from svctoolkit.errors import InvalidConfig, InvalidMessageType, RequestError, ToolkitError, UnknownName, Unsupported
from svctoolkit.events import Event
from svctoolkit.pipeline import Stages, run_many

EVENT = events.sample("track")
ALL = Stages(send_to_destination=True)


def shop(transform: Callable[..., Any] | None = None, **options: Any) -> Pipeline:
    """A workspace with one source and one WEBHOOK destination with `transform`."""
    workspace = Workspace("shop")
    if transform:
        workspace.transformation("clean", transform)
        options["transformation"] = "clean"
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"}, **options)
    workspace.source("web", destinations=["hook"])
    return Pipeline(workspace)


def test_by_default_nothing_is_sent() -> None:
    """Two stages run; the fields of the third are absent, and the recorder has no request."""
    pipeline = shop()
    result = pipeline.test_destination("hook", EVENT)

    assert list(result.to_dict()["data"][0]) == ["user_transformed_payload", "dest_transformed_payload"]
    assert len(pipeline.recorder.requests) == 0


def test_sent_requests_are_recorded() -> None:
    """`send_to_destination` makes one real request, and its answer is in the result."""
    pipeline = shop()
    result = pipeline.test_destination("hook", EVENT, stages=ALL)

    (recorded,) = pipeline.recorder.requests
    assert (recorded.request.method, recorded.request.url) == ("POST", "https://hook.example/in")
    assert result.data[0].destination_response_status == [200]
    assert result.ok


def test_a_transformation_may_return_several_events() -> None:
    """Each is an entry of `data`, in order."""
    pipeline = shop(lambda event: [{**event, "event": name} for name in ("A", "B", "C")])
    result = pipeline.test_destination("hook", EVENT, stages=ALL)

    assert [e.user_transformed_payload["event"] for e in result.data] == ["A", "B", "C"]
    assert [r.json["event"] for r in pipeline.recorder.requests] == ["A", "B", "C"]


def test_a_mapping_is_prepared_once_until_something_changes() -> None:
    """All events use the same route; a configuration or credential changed in place creates another one."""
    pipeline = shop(lambda event: event)
    hook = pipeline.workspace.destination("hook")

    first = pipeline.route(hook)
    assert pipeline.route(hook) is first
    assert pipeline.route(hook, {"webhookMethod": "GET"}) is not first
    assert pipeline.route(hook) is first

    hook.config["webhookUrl"] = "https://hook.example/other"
    second = pipeline.route(hook)
    (payload,) = second.mapping.payloads(EVENT)
    assert (second is first, payload["endpoint"]) == (False, "https://hook.example/other")

    pipeline.workspace.credentials["key"] = "s3cr3t-of-the-crm"
    third = pipeline.route(hook)
    assert third.masker.mask("s3cr3t-of-the-crm") != second.masker.mask("s3cr3t-of-the-crm")


@pytest.mark.parametrize("nothing", [None, []])
def test_a_dropped_event_ends_the_pipeline(nothing: Any) -> None:
    """One entry says so, later stages are aborted, nothing is sent."""
    pipeline = shop(lambda event: nothing)
    result = pipeline.test_destination("hook", EVENT, stages=ALL)

    assert result.to_dict()["data"] == [
        {
            "user_transformed_payload": {"error": "event dropped by user_transformation"},
            "dest_transformed_payload": {"error": "error encountered in user_transformation stage. Aborting."},
            "destination_response": {"error": "error encountered in dest_transformation stage. Aborting."},
        }
    ]
    assert result.data[0].dropped
    assert len(pipeline.recorder.requests) == 0


def test_an_error_in_user_code_names_its_line() -> None:
    """Class, text and place of the error are in the result; the later stages are aborted."""
    result = shop(lambda event: event["properties"]["nope"]).test_destination("hook", EVENT)

    error = result.to_dict()["data"][0]["user_transformed_payload"]["error"]
    assert error.startswith("KeyError: 'nope' (")
    assert "test_pipeline.py:" in error


@pytest.mark.parametrize("wrong", ["text", 3, [1], [{}, None]])
def test_a_result_that_is_not_an_event_is_an_error(wrong: Any) -> None:
    """Text, numbers, and lists of them."""
    result = shop(lambda event: wrong).test_destination("hook", EVENT)

    assert "a transformation must return an event (an object)" in result.data[0].error


def _cycle(event: dict[str, Any]) -> dict[str, Any]:
    event["me"] = event
    return event


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (lambda event: {**event, "at": object()}, "TypeError: an event must be JSON"),
        (lambda event: {(1, 2): "x"}, "TypeError: an event must be JSON"),
        (_cycle, "ValueError: an event must not be nested more than 200 levels deep"),
        (lambda event: sys.exit(3), "SystemExit: 3"),
    ],
)
def test_results_that_are_not_json_are_errors_of_the_event(transform: Callable[..., Any], text: str) -> None:
    """Objects, odd keys, cycles, and code that tries to exit the process."""
    assert shop(transform).test_destination("hook", EVENT).data[0].error.startswith(text)


def test_a_transformation_changes_only_its_copy() -> None:
    """The caller's event stays unchanged."""
    before = deepcopy(EVENT)
    shop(lambda event: event["properties"].clear()).test_destination("hook", EVENT)

    assert before == EVENT


def test_a_transformation_may_request_metadata() -> None:
    """A second parameter is a function that returns the event's source and destination."""
    result = shop(lambda event, metadata: {**event, "meta": metadata(event)}).test_source("web", EVENT)

    meta = result[0].data[0].user_transformed_payload["meta"]
    assert (meta["sourceId"], meta["destinationId"], meta["destinationType"]) == ("web", "hook", "WEBHOOK")


def test_disabling_takes_effect_at_once() -> None:
    """A disabled destination has the specified result; `force` runs it anyway."""
    pipeline = shop()
    pipeline.workspace.destination("hook").enabled = False

    assert pipeline.test_destination("hook", EVENT).to_dict() == {
        "destinationId": "hook",
        "destinationName": "hook",
        "error": "Destination with id hook is disabled",
    }
    assert pipeline.test_destination("hook", EVENT, force=True).data


def test_a_disabled_source_is_refused_unless_forced() -> None:
    """With the specified text; with `force` every connected destination runs."""
    pipeline = shop()
    pipeline.workspace.source("web").enabled = False

    with pytest.raises(RequestError, match=r"^Source with web is disabled$"):
        pipeline.test_source("web", EVENT)
    assert len(pipeline.test_source("web", EVENT, force=True)) == 1


def test_a_source_without_destinations_is_refused() -> None:
    """Even if it has connections that are disabled."""
    pipeline = shop()
    pipeline.workspace.source("web").connections[0].enabled = False

    with pytest.raises(RequestError, match="Source with id web is not connected to any destination"):
        pipeline.test_source("web", EVENT)


def test_an_untestable_destination_does_not_stop_the_others() -> None:
    """Its element has the reason; the other one is complete."""
    pipeline = shop()
    pipeline.workspace.destination("lake", "S3", config={})
    pipeline.workspace.source("both", destinations=["lake", "hook"])
    first, second = pipeline.test_source("both", EVENT).to_dict()

    assert set(first) == {"destinationId", "destinationName", "error"}
    assert second["data"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p: p.test_destination("hok", EVENT), UnknownName, "Did you mean 'hook'"),
        (lambda p: p.test_source("wbe", EVENT), UnknownName, "Did you mean 'web'"),
        (lambda p: p.test_destination("hook", {}), InvalidMessageType, "message type missing"),
        (lambda p: p.test_destination("hook", EVENT, config={"webhookUlr": "x"}), InvalidConfig, "webhookUrl"),
        (lambda p: p.test_destination("hook", EVENT, config={"webhookUrl": 3}), InvalidConfig, "webhookUrl"),
    ],
)
def test_mistakes_of_the_caller_are_raised(call: Callable[[Pipeline], Any], error: type, text: str) -> None:
    """Unknown names, types and variables never become a result."""
    with pytest.raises(error, match=text):
        call(shop())


def test_types_without_a_mapping_are_unsupported() -> None:
    """For example, an object store is a known type but cannot be tested."""
    pipeline = shop()
    pipeline.workspace.destination("bucket", "S3", config={})

    with pytest.raises(Unsupported):
        pipeline.test_destination("bucket", EVENT)


def test_user_code_runs_for_types_without_a_mapping() -> None:
    """Later stages are off whatever is requested, since there is no mapping and nothing to send."""
    workspace = Workspace("shop")
    workspace.transformation("clean", lambda event: {**event, "event": "Cleaned"})
    tags = workspace.destination("tags", "GTM", transformation="clean")
    pipeline = Pipeline(workspace)
    [[result]] = run_many([EVENT], pipeline.route(tags), ALL, pipeline.sender(), [pipeline.context])

    assert result.to_dict() == {"user_transformed_payload": {**EVENT, "event": "Cleaned"}}
    assert len(pipeline.recorder.requests) == 0


def test_a_config_argument_overrides_single_settings() -> None:
    """The others come from the stored configuration, which is not changed."""
    pipeline = shop()
    result = pipeline.test_destination("hook", EVENT, config={"webhookMethod": "PUT"})

    payload = result.data[0].dest_transformed_payload[0]
    assert (payload["method"], payload["endpoint"]) == ("PUT", "https://hook.example/in")
    assert pipeline.workspace.destination("hook").config == {"webhookUrl": "https://hook.example/in"}


def test_the_transport_is_an_argument() -> None:
    """Any callable that answers a request can replace the network; text that is not JSON stays text."""

    def teapot(request: HttpRequest, *, timeout: float) -> HttpResponse:
        return HttpResponse(418, {"content-type": "text/plain"}, b"short and stout")

    result = Pipeline(shop().workspace, transport=teapot).test_destination("hook", EVENT, stages=ALL)

    assert result.data[0].destination_response == ["short and stout"]
    assert result.data[0].destination_response_status == [418]
    assert not result.ok


def test_sending_without_a_payload_is_reported() -> None:
    """`dest_transform` off and `send_to_destination` on."""
    result = shop().test_destination("hook", EVENT, stages=Stages.of("send_to_destination"))

    assert result.to_dict()["data"] == [
        {"destination_response": {"error": "nothing to send: dest_transform is off, so there is no payload"}}
    ]


def test_unknown_stages_are_rejected() -> None:
    """A misspelt stage is not silently off."""
    with pytest.raises(ValueError, match="unknown stage 'dest_transfrom'"):
        Stages.of("dest_transfrom")


class _Settings(Settings):
    url: str = "https://own.example"


def test_a_bug_in_a_mapping_is_an_error_of_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any exception becomes the stage's error; the run continues."""
    kind = DestinationType("Own", _Settings)

    @kind.on("track")
    def send(event: Event, settings: _Settings, context: Context) -> Payload:
        return Payload(endpoint=settings.url, json={"n": event.raw["nope"], "at": context.clock().isoformat()})

    monkeypatch.setattr(CATALOGUE, "_added", {"OWN_TEST": kind})
    pipeline = shop()
    pipeline.workspace.destination("own", "OWN_TEST")
    result = pipeline.test_destination("own", EVENT, stages=ALL)

    error = result.data[0].dest_transformed_payload["error"]
    assert error.startswith("the Own mapping failed on this event: KeyError: 'nope' (")
    assert isinstance(result.data[0].destination_response, dict)


def test_all_errors_share_a_base_class() -> None:
    """`except ToolkitError` catches everything that is raised on purpose."""
    assert all(issubclass(e, ToolkitError) for e in (UnknownName, Unsupported, RequestError, InvalidMessageType))


def test_look_ups_use_the_transport() -> None:
    """Queries of a mapping are answered by the recorder; a refusal is the event's error, with the answer."""
    workspace = Workspace()
    workspace.destination("desk", "ZENDESK", config={"domain": "shop", "email": "a@b.example", "apiToken": "tok-12345"})
    pipeline = Pipeline(workspace)
    pipeline.recorder.answer("shop.zendesk.com", Answer(503, body={"error": "later"}))
    somebody = events.identify("u1", traits={"name": "Ada", "email": "ada@example.com", "plan": "pro"})
    result = pipeline.test_destination("desk", somebody)

    assert "answers 503" in result.data[0].error
    assert [r.request.method for r in pipeline.recorder.requests] == ["GET"]
    assert "tok-12345" not in result.data[0].error


def test_a_recorded_destination_answers_like_its_server() -> None:
    """In mode `record` the answer has the documented form of the type."""
    workspace = Workspace()
    workspace.destination("slack", "SLACK", config={"webhookUrl": "https://hooks.slack.com/services/a"})
    result = Pipeline(workspace).test_destination("slack", events.sample("track"), stages=ALL)

    assert result.data[0].destination_response == ["ok"]


def test_stages_have_their_time() -> None:
    """In milliseconds, without other stages; events of one call have a share each."""
    workspace = Workspace()
    workspace.transformation("slow", lambda event: sleep(0.05) or event)
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example"}, transformation="slow")
    pipeline = Pipeline(workspace)
    pipeline.recorder.answer("*", Answer(delay=0.1))
    given = [events.track("Order", user_id=f"u{number}") for number in range(4)]
    begun = perf_counter()
    alone = pipeline.test_destination("hook", given[0], stages=Stages(send_to_destination=True)).data[0].milliseconds
    between = perf_counter()
    route = pipeline.route(workspace.destination("hook"))
    together = run_many(given, route, Stages(), pipeline.sender(route), [pipeline.context] * 4)
    end = perf_counter()

    assert list(alone) == ["user_transform", "dest_transform", "send_to_destination"]
    assert alone["user_transform"] >= 50
    assert alone["send_to_destination"] >= 100
    assert alone["dest_transform"] > 0
    assert sum(alone.values()) <= (between - begun) * 1000
    shares = [results[0].milliseconds["user_transform"] for results in together]
    assert min(shares) >= 50
    assert sum(shares) <= (end - between) * 1000
