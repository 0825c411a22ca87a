"""The Test API over real HTTP behaves as design and specification say."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace, events
from svctoolkit.client import TestApiClient
from svctoolkit.pipeline import Pipeline
from svctoolkit.server import Running, app, ask, banner, call, demo, running
from svctoolkit.workspace import Person

LOGIN = ("dev@example.com", "pass:word")
EVENT: dict[str, Any] = {"type": "track", "event": "E", "userId": "u1", "context": {"traits": {"plan": "plus"}}}


def workspace() -> Workspace:
    made = Workspace("shop", users=[Person.with_token(*LOGIN)])
    made.transformation("twice", lambda event: [event, {**event, "event": "F"}])
    made.transformation("broken", lambda event: event["nothing"])
    config = {"webhookUrl": "https://hook.example/in"}
    made.destination("hook", "WEBHOOK", id="dst1", name="Hook", config=config)
    made.destination("twice", "WEBHOOK", config=config, transformation="twice")
    made.destination("broken", "WEBHOOK", config=config, transformation="broken")
    made.destination("off", "WEBHOOK", config=config, enabled=False)
    made.destination("s3", "S3")
    made.destination("dst1", "WEBHOOK", id="hook-2", config=config)  # its key is the id of another one
    made.source("web", id="src1", destinations=["hook", "off", "s3"])
    made.source("alone", destinations=[])
    made.source("quiet", destinations=["hook"], enabled=False)
    return made


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(workspace()) as started:
        yield started


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, auth=LOGIN, timeout=60) as made:
        yield made


def post(client: httpx.Client, path: str, message: Any = EVENT, **members: Any) -> httpx.Response:
    return client.post(f"/v0/{path}", json={"message": message, **members})


def test_a_destination_result_has_the_specified_fields(client: httpx.Client) -> None:
    """testDestination answers with the destination and one entry of data; stages that were not requested are absent."""
    answer = post(client, "testDestination/dst1")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    result = answer.json()
    assert list(result) == ["destinationId", "destination", "destinationName", "data"]
    assert (result["destinationId"], result["destination"], result["destinationName"]) == ("dst1", "WEBHOOK", "Hook")
    assert list(result["data"][0]) == ["user_transformed_payload", "dest_transformed_payload"]
    assert result["data"][0]["user_transformed_payload"] == {"error": "Transformation VersionID not found"}
    assert result["data"][0]["dest_transformed_payload"][0]["body"]["JSON"] == EVENT


def test_nothing_is_sent_by_default(server: Running, client: httpx.Client) -> None:
    """Missing stages or flags mean user_transform and dest_transform, and no delivery."""
    server.pipeline.recorder.clear()
    post(client, "testDestination/dst1")
    post(client, "testDestination/dst1", stage={})

    assert server.pipeline.recorder.requests == ()


def test_sending_returns_the_destinations_answer(server: Running, client: httpx.Client) -> None:
    """With send_to_destination the response and its status are in the entry, and the request was made."""
    server.pipeline.recorder.clear()
    entry = post(client, "testDestination/dst1", stage={"send_to_destination": True}).json()["data"][0]

    assert entry["destination_response_status"] == [200]
    assert len(entry["destination_response"]) == len(server.pipeline.recorder.requests) == 1


def test_every_event_of_a_transformation_is_an_entry(client: httpx.Client) -> None:
    """A transformation that returns two events gives two entries of data, in order."""
    data = post(client, "testDestination/twice").json()["data"]

    assert [entry["user_transformed_payload"]["event"] for entry in data] == ["E", "F"]


def test_a_failing_transformation_aborts_the_later_stages(client: httpx.Client) -> None:
    """Stage rule 4, to the letter."""
    entry = post(client, "testDestination/broken", stage={"send_to_destination": True}).json()["data"][0]

    assert "KeyError" in entry["user_transformed_payload"]["error"]
    assert entry["dest_transformed_payload"] == {"error": "error encountered in user_transformation stage. Aborting."}
    assert entry["destination_response"] == {"error": "error encountered in dest_transformation stage. Aborting."}


def test_an_id_takes_precedence_over_a_key(client: httpx.Client) -> None:
    """The path takes an id; a key works if no id is equal."""
    assert post(client, "testDestination/dst1").json()["destinationName"] == "Hook"
    assert post(client, "testDestination/hook").json()["destinationId"] == "dst1"


def test_a_disabled_destination_needs_force(client: httpx.Client) -> None:
    """Without force it has the specified result; with force=true or 1 the event is processed."""
    refused = {"destinationId": "off", "destinationName": "off", "error": "Destination with id off is disabled"}
    for query in ("", "?force=false", "?force=0"):
        answer = post(client, f"testDestination/off{query}")
        assert (answer.status_code, answer.json()) == (200, refused)
    for query in ("?force=true", "?force=True", "?force=1"):
        assert "data" in post(client, f"testDestination/off{query}").json()


def test_a_source_gives_one_result_per_destination(client: httpx.Client) -> None:
    """testSource runs every connected destination; a disabled and an untestable one do not stop the others."""
    answer = post(client, "testSource/src1")

    assert answer.status_code == 200
    hook, off, s3 = answer.json()
    assert hook == post(client, "testDestination/dst1").json()
    assert off == post(client, "testDestination/off").json()
    assert list(s3) == ["destinationId", "destinationName", "error"]


def test_configuration_is_overridden_key_by_key(client: httpx.Client) -> None:
    """destinationConfig replaces single variables for this request only."""
    config = {"webhookMethod": "PUT"}
    entry = post(client, "testDestination/dst1", destinationConfig=config).json()["data"][0]
    after = post(client, "testDestination/dst1").json()["data"][0]

    payload = entry["dest_transformed_payload"][0]
    assert (payload["method"], payload["endpoint"]) == ("PUT", "https://hook.example/in")
    assert after["dest_transformed_payload"][0]["method"] == "POST"


REFUSED = [
    ("testDestination/nope", {}, 404, "Destination with id nope not found"),
    ("testSource/nope", {}, 404, "Source with id nope not found"),
    ("testSource/alone", {}, 400, "Source with id alone is not connected to any destination"),
    ("testSource/quiet", {}, 400, "Source with quiet is disabled"),
    ("testDestination/dst1", {"message": None}, 400, "message type missing or invalid"),
    ("testDestination/dst1", {"message": "track"}, 400, "message type missing or invalid"),
    ("testDestination/dst1", {"message": {}}, 400, "message type missing or invalid"),
    ("testDestination/dst1", {"message": {"type": 1}}, 400, "message type missing or invalid"),
    ("testDestination/dst1", {"message": {"type": "Track"}}, 400, "message type is unsupported"),
    ("testSource/src1", {"message": {"type": "merge"}}, 400, "message type is unsupported"),
    ("testDestination/dst1", {"stage": None}, 400, "stage must be an object"),
    ("testDestination/dst1", {"stage": []}, 400, "stage must be an object"),
    ("testDestination/dst1", {"stage": {"user_transform": 1}}, 400, "stage.user_transform must be a boolean"),
    ("testDestination/dst1", {"stage": {"dest_transform": None}}, 400, "stage.dest_transform must be a boolean"),
    (
        "testDestination/dst1",
        {"stage": {"send_to_destinaton": True}},
        400,
        "stage has no member 'send_to_destinaton'. Did you mean 'send_to_destination'?",
    ),
    (
        "testDestination/dst1",
        {"destinationconfig": {}},
        400,
        "the body has no member 'destinationconfig'. Did you mean 'destinationConfig'?",
    ),
    ("testDestination/dst1", {"destinationConfig": []}, 400, "destinationConfig must be an object"),
    ("testDestination/dst1", {"destinationConfig": None}, 400, "destinationConfig must be an object"),
    (
        "testDestination/dst1",
        {"destinationConfig": {"webhookUrll": "x"}},
        400,
        "WEBHOOK has no configuration variable 'webhookUrll'. Did you mean 'webhookUrl'?",
    ),
    ("testSource/src1", {"destinationConfig": {}}, 400, "destinationConfig is accepted only by testDestination"),
    ("testDestination/dst1?force=yes", {}, 400, "force must be true or false"),
    ("testDestination/dst1?force=", {}, 400, "force must be true or false"),
    ("testDestination/dst1?force=true&force=false", {}, 400, "force must be true or false"),
]


@pytest.mark.parametrize(("path", "members", "status", "message"), REFUSED)
def test_a_wrong_request_is_rejected(
    client: httpx.Client, path: str, members: dict[str, Any], status: int, message: str
) -> None:
    """Every refusal has its status and the reason, in the specified words if there are any."""
    answer = client.post(f"/v0/{path}", json={"message": EVENT, **members})

    assert (answer.status_code, answer.json()) == (status, {"message": message})


def test_an_absent_message_is_rejected(client: httpx.Client) -> None:
    """Like a message without a type."""
    answer = client.post("/v0/testDestination/dst1", json={})

    assert (answer.status_code, answer.json()) == (400, {"message": "message type missing or invalid"})


def test_an_unsupported_type_is_a_clear_error(client: httpx.Client) -> None:
    """An event stream cannot be tested, and the answer says so."""
    answer = post(client, "testDestination/s3")

    assert answer.status_code == 400
    assert "object-storage" in answer.json()["message"]


def test_the_checks_come_in_order(client: httpx.Client, server: Running) -> None:
    """Of several mistakes, the first in this order is reported: login, type and size, JSON, id, message, stage."""
    wrong, wrong_stage = {"message": {"type": "x"}, "stage": 1}, {"message": EVENT, "stage": 1}
    text = {"content-type": "text/plain"}

    assert httpx.post(f"{server.url}/v0/testDestination/nope", content="{", headers=text, timeout=60).status_code == 401
    assert client.post("/v0/testDestination/nope", content="{", headers=text).status_code == 415
    assert client.post("/v0/testDestination/nope", content="{").status_code == 400
    assert client.post("/v0/testDestination/nope", json=wrong).status_code == 404
    assert client.post("/v0/testDestination/dst1", json=wrong).json()["message"] == "message type is unsupported"
    assert client.post("/v0/testDestination/dst1", json=wrong_stage).json()["message"] == "stage must be an object"


def basic(text: str | bytes, scheme: str = "Basic") -> str:
    raw = text if isinstance(text, bytes) else text.encode()
    return f"{scheme} {base64.b64encode(raw).decode()}"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic",
        "Basic !!!",
        "Basic ZGV2",
        "Bearer abc",
        basic("dev@example.com"),
        basic("dev@example.com:"),
        basic("dev@example.com:wrong"),
        basic("other@example.com:pass:word"),
        basic("DEV@example.com:pass:word"),
        basic(":"),
        basic(b"\xff\xfe:\x00"),
        basic("dev@example.com:pass:word", "Digest"),
        basic("dev@example.com:pass:word") + "=",
        "Basic " + "A" * 30_000,
    ],
)
def test_invalid_credentials_are_a_401(server: Running, header: str | None) -> None:
    """Whatever is wrong with them, the answer is the same and asks for Basic."""
    headers = {} if header is None else {"authorization": header}
    answer = httpx.post(f"{server.url}/v0/testDestination/dst1", json={"message": EVENT}, headers=headers, timeout=60)

    assert (answer.status_code, answer.json()) == (401, {"message": "Invalid Authorization Header"})
    assert answer.headers["www-authenticate"].startswith("Basic")


def test_a_service_access_token_has_an_empty_user_name() -> None:
    """A user without an e-mail address is a service token; an empty user name gives access to nothing else."""
    text = "users: [{token: serv1ce}, {email: dev@example.com, token: pers0nal}]\ndestinations: {hook: {type: WEBHOOK, "
    served = Workspace.loads(text + "config: {webhookUrl: https://hook.example}}}", environ={})

    with running(served) as started:
        statuses = {
            login: httpx.post(
                f"{started.url}/v0/testDestination/hook",
                json={"message": EVENT},
                headers={"authorization": basic(login)},
                timeout=60,
            ).status_code
            for login in (":serv1ce", ":pers0nal", ":", "dev@example.com:serv1ce", "dev@example.com:pers0nal")
        }
        with TestApiClient(started.url, "", "serv1ce") as api:
            assert api.test_destination("hook", EVENT).ok

    assert [login for login, status in statuses.items() if status == 200] == [":serv1ce", "dev@example.com:pers0nal"]
    assert set(statuses.values()) == {200, 401}
    assert Workspace.loads(served.dumps(), environ={}).users == served.users


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/v0/testDestination/dst1", 401), ("GET", "/nothing", 404), ("GET", "/v0/testDestination/dst1", 405)],
)
def test_a_refusal_uses_no_thread(method: str, path: str, status: int) -> None:
    """A process waits for its threads at exit, so Ctrl-C during a refusal would hang."""
    application, threads = app(Workspace("shop")), set[str]()

    threading.setprofile(lambda *_: threads.add(threading.current_thread().name))
    try:
        answer = asyncio.run(call(application, method, path, {}, b""))
    finally:
        threading.setprofile(None)  # type: ignore[arg-type]  # typeshed has no None

    assert (answer.status, threads) == (status, set())


def test_two_authorization_headers_are_a_401(server: Running) -> None:
    """The server does not guess which one counts."""
    headers = [("authorization", basic("dev@example.com:pass:word"))] * 2

    assert httpx.post(f"{server.url}/v0/testSource/src1", headers=headers, timeout=60).status_code == 401


def test_the_scheme_is_not_case_sensitive(server: Running) -> None:
    """`basic` equals Basic, and a token may contain colons."""
    headers = {"authorization": basic("dev@example.com:pass:word", "bASIC")}
    answer = httpx.post(f"{server.url}/v0/testDestination/dst1", json={"message": EVENT}, headers=headers, timeout=60)

    assert answer.status_code == 200


def test_the_definitions_are_public(server: Running) -> None:
    """destination-definitions is a list, needs no login, and has the variables of each type."""
    answer = httpx.get(f"{server.url}/destination-definitions", timeout=60)

    assert answer.status_code == 200
    found = {definition["name"]: definition for definition in answer.json()}
    assert {"webhookUrl", "webhookMethod", "headers"} <= set(found["WEBHOOK"]["config"]["destConfig"]["defaultConfig"])
    assert httpx.get(f"{server.url}/destination-definitions/WEBHOOK", timeout=60).json() == found["WEBHOOK"]


@pytest.mark.parametrize("path", ["/destination-definitions", "/destination-definitions/WEBHOOK"])
def test_unchanged_definitions_are_a_304(client: httpx.Client, path: str) -> None:
    """With the ETag of an earlier answer the body is empty; another ETag gets all of it."""
    etag = client.get(path).headers["etag"]

    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = client.get(path, headers={"if-none-match": known})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", etag)
    assert client.get(path, headers={"if-none-match": '"other"'}).status_code == 200
    assert client.head(path).headers["etag"] == etag


def test_an_unknown_definition_is_a_404_with_a_suggestion(client: httpx.Client) -> None:
    """The message names the nearest type."""
    answer = client.get("/destination-definitions/WEBHOK")

    assert answer.status_code == 404
    assert answer.json()["message"].endswith("Did you mean 'WEBHOOK'?")


def test_unknown_paths_and_methods_are_json(client: httpx.Client) -> None:
    """404 and 405 have a message, and 405 lists the allowed methods."""
    nothing, wrong = client.get("/v0/nothing"), client.get("/v0/testDestination/dst1")

    assert nothing.status_code == 404
    assert "/v0/nothing" in nothing.json()["message"]
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.json() == {"message": "GET is not allowed here, only POST"}


def test_changes_of_the_workspace_take_effect_at_once() -> None:
    """A destination that is disabled while the server runs is disabled for the next request."""
    shop = workspace()
    with running(shop) as server, httpx.Client(base_url=server.url, auth=LOGIN, timeout=60) as client:
        before = post(client, "testDestination/dst1").json()
        shop.destination("hook").enabled = False
        after = post(client, "testDestination/dst1").json()

    assert "data" in before
    assert after["error"] == "Destination with id dst1 is disabled"


def test_the_documentation_is_complete_and_self_contained(client: httpx.Client) -> None:
    """/docs has every operation, and loads no external resources."""
    page, document = client.get("/docs"), client.get("/openapi.json").json()

    assert page.headers["content-type"].startswith("text/html")
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in page.text
            assert path in page.text
    assert "src=" not in page.text
    assert "http://" not in page.text.replace("http://www.w3.org", "").replace("http://json-schema.org/", "")
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_documented_examples_work(client: httpx.Client) -> None:
    """They can be sent, and are answered with the documented answers."""
    with running(demo(lambda: "t")[0]) as server:
        for path, methods in client.get("/openapi.json").json()["paths"].items():
            if "post" not in methods:
                continue
            example = methods["post"]["requestBody"]["content"]["application/json"]["example"]
            place = path.replace("{destination_id}", "hook").replace("{source_id}", "web")
            answer = httpx.post(server.url + place, json=example, auth=("demo@svctoolkit.example", "t"), timeout=60)
            assert answer.status_code == 200
            assert answer.json() == methods["post"]["responses"]["200"]["content"]["application/json"]["example"]


def test_the_demo_token_is_new_and_shown_only_in_the_banner() -> None:
    """The embedded workspace has no default password, and stores its token as a hash."""
    (first, token), (_, other) = demo(), demo()

    assert token != other
    assert token not in repr(first)
    with DataPlane(first) as plane:
        assert token in banner(plane, token)
        assert token not in banner(plane)


def test_the_banner_has_the_write_key_of_each_source_and_a_line_to_copy() -> None:
    """A first request that needs no look into the workspace file; further sources are counted."""
    workspace = Workspace("shop")
    for n in range(14):
        workspace.source(f"s{n}", write_key=f"key-of-{n}", enabled=n != 1, destinations=[])
    with DataPlane(workspace) as plane:
        said = banner(plane)

    assert "  write key      s0   key-of-0\n                 s1   key-of-1  (disabled)\n" in said
    assert "key-of-11" in said
    assert "  and 2 more\n" in said
    assert f"curl {plane.url}/v1/batch -u key-of-0: -H 'Content-Type: application/json'" in said


@pytest.mark.slow
def test_the_banner_has_working_requests() -> None:
    """They can be copied: an event, a test; and the token gives access to `/admin`."""
    workspace, token = demo()
    with DataPlane(workspace) as plane:
        said = banner(plane, token)
        sent = subprocess.run(said[said.index("curl") :], shell=True, capture_output=True, text=True, check=True)
        answer = httpx.post(
            f"{plane.url}/admin/sources/web",
            json={"enabled": False},
            headers={"Authorization": f"Bearer {plane.token}"},
            timeout=60,
        )
        plane.drain()

        assert sent.stdout.startswith("ok")
        assert '"destination":"WEBHOOK"' in sent.stdout
        assert [fate.status for fate in plane.fates] == ["delivered", "filtered"]
        assert plane.token in said
        assert answer.json() == {"enabled": False}


def test_a_workspace_without_users_says_so_when_served() -> None:
    """No user can log in to it, so the banner says how to add users."""
    with DataPlane(Workspace()) as plane:
        assert "add `users`" in banner(plane)


def test_sample_events_pass_unchanged(client: httpx.Client) -> None:
    """Through a webhook."""
    for event in events.samples().values():
        entry = post(client, "testDestination/dst1", event).json()["data"][0]
        assert entry["dest_transformed_payload"][0]["body"]["JSON"] == json.loads(json.dumps(event))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("testDestination/dst1", {"message": EVENT}),
        ("testDestination/hook-2", {"message": EVENT, "stage": {"dest_transform": False}}),
        ("testDestination/hook", {"message": EVENT, "stage": {"user_transform": False}}),
        ("testDestination/twice", {"message": EVENT, "stage": {"user_transform": False}}),
        ("testDestination/off", {"message": EVENT}),
        ("testDestination/off?force=true", {"message": EVENT}),
        ("testDestination/off?force=maybe", {"message": EVENT}),
        ("testDestination/off?force=1&force=0", {"message": EVENT}),
        ("testDestination/s3", {"message": EVENT}),
        ("testDestination/no%20such%2Fone", {"message": EVENT}),
        ("testDestination/hook", {"message": {"type": "tracked"}}),
        ("testDestination/hook", {"message": []}),
        ("testDestination/hook", {"message": EVENT, "stages": {}}),
        ("testDestination/hook", [EVENT]),
        ("testDestination/hook", None),
        ("testSource/src1", {"message": EVENT}),
        ("testSource/alone", {"message": EVENT}),
        ("testSource/quiet", {"message": EVENT}),
        ("testSource/nobody", {"message": EVENT}),
    ],
)
def test_in_process_tests_equal_those_over_http(client: httpx.Client, path: str, body: Any) -> None:
    """Suites get the same status, headers and body without HTTP."""
    content = b"" if body is None else json.dumps(body).encode()
    over = client.post(f"/v0/{path}", content=content, headers={"content-type": "application/json"})
    direct = ask(Pipeline(workspace()), f"/v0/{path}", content)

    assert direct is not None
    assert (direct.status, direct.json) == (over.status_code, over.json())
    assert direct.headers.items() <= over.headers.items()
    assert direct.headers.keys() >= {"content-type", "content-length"}


@pytest.mark.parametrize(
    ("path", "members"),
    [
        ("testDestination/twice", {}),
        ("testDestination/hook", {"stage": {"send_to_destination": True}}),
        ("testDestination/hook", {"destinationConfig": {"webhookMethod": "PUT"}}),
        ("testDestination/hook", {"message": {**EVENT, "properties": {"text": "x" * 70_000}}}),
    ],
)
def test_slow_tests_are_left_to_the_application(path: str, members: dict[str, Any]) -> None:
    """User code, deliveries, other settings and large events have a time limit, which only the application enforces."""
    body = json.dumps({"message": EVENT, **members}).encode()

    assert ask(Pipeline(workspace()), f"/v0/{path}", body) is None
