"""The same JSON, and the same class of exception, for the same request on every surface.

HTTP of a data plane and of `running()`, `Pipeline`, `TestApiClient`, the command line, and suites.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from svctoolkit import DataPlane, Pipeline, TestApiClient, Workspace, errors
from svctoolkit.cli import main
from svctoolkit.errors import InvalidConfig, InvalidMessageType, RequestError, ToolkitError, UnknownId, Unsupported
from svctoolkit.pipeline import Stages
from svctoolkit.server import running

EVENT = {"type": "track", "event": "Order Completed", "userId": "u-1", "properties": {"revenue": 5}}
LOGIN = ("dev@example.com", "t-1")
WORKSPACE = """
users: [{email: dev@example.com, token: t-1}]
transformations:
  breaks: {language: python, code: "def transformEvent(event, metadata):\\n raise ValueError('no')\\n"}
  drops: {language: python, code: "def transformEvent(event, metadata):\\n return None\\n"}
  doubles: {language: python, code: "def transformEvent(event, metadata):\\n return [event, event]\\n"}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in, headers: [{from: x-a, to: b}]}}
  breaking: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: breaks}
  dropping: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: drops}
  doubling: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: doubles}
  "off": {type: WEBHOOK, enabled: false, config: {webhookUrl: https://hook.example/in}}
  pixel: {type: FACEBOOK_PIXEL, config: {pixelId: "1", accessToken: x}}
  stream: {type: KAFKA, config: {}}
  wh: {type: POSTGRES, config: {}}
  snowpipe: {type: SNOWPIPE_STREAMING, config: {}}
  center: {type: APPCENTER, config: {}}
  center-code: {type: APPCENTER, config: {}, transformation: doubles}
sources:
  web: {destinations: [hook, "off", stream, wh, snowpipe, center, breaking]}
  quiet: {enabled: false, destinations: [hook]}
  alone: {destinations: []}
"""


class Case(NamedTuple):
    """A request, and the class of the error that it is in Python (None: it has a result)."""

    name: str
    target: str
    error: type[ToolkitError] | None = None
    message: str = ""
    source: bool = False
    event: Any = EVENT
    stage: Any = None
    config: Any = None
    force: Any = False
    status: int = 400
    #: surfaces on which the request cannot be written
    impossible: tuple[str, ...] = ()

    def body(self) -> dict[str, Any]:
        optional = {"stage": self.stage, "destinationConfig": self.config}
        return {"message": self.event, **{name: value for name, value in optional.items() if value is not None}}

    def path(self) -> str:
        query = {False: "", True: "?force=true"}.get(self.force, f"?force={self.force}")
        return f"/v0/test{'Source' if self.source else 'Destination'}/{self.target}{query}"


#: Options of the command line are texts, so that it cannot give a flag another type.
TYPED = ("cli",)
MAPPED = {"user_transform": True, "dest_transform": True, "send_to_destination": True}
CODE = {"user_transform": True, "dest_transform": False, "send_to_destination": False}
NO_MAPPING = (
    "APPCENTER cannot be tested: App Center has no mapping here yet; another package can add one "
    "(see `svctoolkit.destinations`)"
)
CASES = [
    Case("unknown destination", "hok", UnknownId, "Destination with id hok not found", status=404),
    Case("unknown source", "wbe", UnknownId, "Source with id wbe not found", source=True, status=404),
    Case("no type", "hook", InvalidMessageType, "message type missing or invalid", event={"event": "A"}),
    Case("unknown type", "hook", InvalidMessageType, "message type is unsupported", event={"type": "Track"}),
    Case(
        "flag as text",
        "hook",
        RequestError,
        "stage.send_to_destination must be a boolean",
        stage={"send_to_destination": "false"},
        impossible=TYPED,
    ),
    Case(
        "flag as number",
        "web",
        RequestError,
        "stage.user_transform must be a boolean",
        stage={"user_transform": 1},
        source=True,
        impossible=TYPED,
    ),
    Case(
        "unknown stage",
        "hook",
        RequestError,
        "stage has no member 'dest_transfrom'. Did you mean 'dest_transform' or 'user_transform'?",
        stage={"dest_transfrom": True},
        impossible=TYPED,
    ),
    Case("stage as text", "hook", RequestError, "stage must be an object", stage="all", impossible=TYPED),
    Case(
        "force as text",
        "off",
        RequestError,
        "force must be true or false",
        force="yes",
        impossible=TYPED,
    ),
    Case("force as number", "off", RequestError, "force must be true or false", force=2, impossible=TYPED),
    Case(
        "configuration as list",
        "hook",
        RequestError,
        "destinationConfig must be an object",
        config=[1],
        impossible=TYPED,
    ),
    Case(
        "unknown variable",
        "hook",
        InvalidConfig,
        "WEBHOOK has no configuration variable 'webhookUrI'. Did you mean 'webhookUrl' or 'webhookMethod'?",
        config={"webhookUrI": "https://hook.example"},
    ),
    Case("disabled source", "quiet", RequestError, "Source with quiet is disabled", source=True),
    Case(
        "source without destinations",
        "alone",
        RequestError,
        "Source with id alone is not connected to any destination",
        source=True,
    ),
    Case(
        "stream",
        "stream",
        Unsupported,
        "KAFKA cannot be tested: Apache Kafka is a streaming or message-queue destination, and the data-plane server "
        "itself sends the events of these",
    ),
    Case(
        "warehouse",
        "wh",
        Unsupported,
        "POSTGRES cannot be tested: Postgres is a warehouse destination, and the data-plane server itself sends the "
        "events of these",
    ),
    Case("warehouse, code alone", "wh", Unsupported, "POSTGRES cannot be tested: ", stage=CODE),
    Case("warehouse, forced", "wh", Unsupported, "POSTGRES cannot be tested: ", force=True),
    Case("streaming warehouse", "snowpipe", Unsupported, "SNOWPIPE_STREAMING cannot be tested: "),
    Case("no mapping", "center", Unsupported, NO_MAPPING),
    Case("no mapping, all stages", "center", Unsupported, NO_MAPPING, stage=MAPPED),
    Case("no mapping, sending alone", "center", Unsupported, NO_MAPPING, stage={**CODE, "send_to_destination": True}),
    Case("no mapping, code alone", "center-code", stage=CODE),
    Case("no mapping, nothing", "center", stage={**CODE, "user_transform": False}),
    Case("disabled destination", "off"),
    Case("disabled destination, forced", "off", force=True, stage=MAPPED),
    Case("all stages", "hook", stage=MAPPED),
    Case("override", "hook", config={"webhookMethod": "PUT"}),
    Case("failing code", "breaking", stage=MAPPED),
    Case("dropped", "dropping", stage=MAPPED),
    Case("two events", "doubling", stage=MAPPED),
    Case("failing mapping", "pixel", stage=MAPPED),
    Case("nothing to send", "hook", stage={"dest_transform": False, "send_to_destination": True}),
    Case("every destination of a source", "web", source=True, stage=MAPPED),
    Case("disabled source, forced", "quiet", source=True, force=True),
]


class Surfaces(NamedTuple):
    """What the cases run on, started once."""

    plane: httpx.Client
    server: httpx.Client
    pipeline: Pipeline
    client: TestApiClient
    folder: Path


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surfaces]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "workspace.yaml").write_text(WORKSPACE)
    workspace = Workspace.load(folder / "workspace.yaml")
    with (
        DataPlane(workspace) as plane,
        running(workspace) as server,
        httpx.Client(base_url=plane.url, auth=LOGIN, timeout=60) as to_plane,
        httpx.Client(base_url=server.url, auth=LOGIN, timeout=60) as to_server,
        TestApiClient(server.url, *LOGIN) as client,
    ):
        yield Surfaces(to_plane, to_server, Pipeline(workspace), client, folder)


def _over_http(client: httpx.Client, case: Case) -> tuple[int, Any]:
    answer = client.post(case.path(), json=case.body())
    return answer.status_code, answer.json()


def _in_python(tested: Pipeline | TestApiClient, case: Case) -> tuple[int, Any, type[Exception] | None]:
    options: dict[str, Any] = {"stages": case.stage, "force": case.force}
    if not case.source:
        options["config"] = case.config
    try:
        run = tested.test_source if case.source else tested.test_destination
        return 200, run(case.target, case.event, **options).to_dict(), None
    except RequestError as error:
        return error.status, error.body, type(error)


def _on_the_command_line(folder: Path, case: Case, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    (folder / "event.json").write_text(json.dumps(case.event))
    what = "source" if case.source else "destination"
    arguments = ["test", what, case.target, "--event", str(folder / "event.json"), "--json"]
    arguments += ["--workspace", str(folder / "workspace.yaml")]
    for name, value in (case.stage or {}).items():
        arguments += ["--stage", f"{name}={'on' if value else 'off'}"]
    for name, value in (case.config or {}).items():
        arguments += ["--config", f"{name}:={json.dumps(value)}"]
    code = main([*arguments, *(["--force"] if case.force else [])])
    shown = capsys.readouterr()
    if case.error:
        assert code == 4
        assert case.message in shown.err
    return (case.status if case.error else 200), json.loads(shown.out)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_surface_answers_alike(case: Case, surfaces: Surfaces, capsys: pytest.CaptureFixture[str]) -> None:
    """Status, body and class of the exception."""
    status, body = _over_http(surfaces.server, case)
    assert status == (case.status if case.error else 200), body
    if case.error:
        assert body.keys() == {"message"}
        assert body["message"].startswith(case.message)

    assert _over_http(surfaces.plane, case) == (status, body)
    for tested in (surfaces.pipeline, surfaces.client):
        assert _in_python(tested, case) == (status, body, case.error)
    if "cli" not in case.impossible:
        assert _on_the_command_line(surfaces.folder, case, capsys) == (status, body)


@pytest.fixture(scope="module")
def bodies(surfaces: Surfaces) -> dict[str, tuple[int, Any]]:
    return {case.name: _over_http(surfaces.server, case) for case in CASES}


@pytest.mark.parametrize("remote", [False, True])
def test_suites_answer_alike(
    surfaces: Surfaces, bodies: Mapping[str, tuple[int, Any]], remote: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """In process and with `--base-url`: as a raw request with the whole body, as a verified event with the error."""
    scenarios = []
    for case in CASES:
        status, body = bodies[case.name]
        request = {"method": "POST", "path": case.path(), "json": case.body(), "auth": True}
        scenarios.append({"name": case.name, "request": request, "expect": {"status": status, "body": body}})
        is_written = case.force in (True, False) and not case.impossible and case.target not in ("hok", "wbe")
        if case.error not in (None, UnknownId, InvalidMessageType) and is_written:
            scenarios.append(_verified(case, status, body))
    suite = {"version": 1, "workspace": "workspace.yaml", "scenarios": scenarios}
    (surfaces.folder / "all.suite.yaml").write_text(json.dumps(suite))
    arguments = ["run", str(surfaces.folder / "all.suite.yaml")]
    if remote:
        arguments += ["--base-url", str(surfaces.server.base_url), "--email", LOGIN[0], "--token", LOGIN[1]]

    assert main(arguments) == 0, capsys.readouterr().out


def _verified(case: Case, status: int, body: Any) -> dict[str, Any]:
    kind = {"source": case.target} if case.source else {"destination": case.target}
    options = {"stages": case.stage, "destinationConfig": case.config, "force": case.force or None}
    given = {name: value for name, value in options.items() if value is not None}
    expect = {"status": status, "error": body["message"]}
    return {"name": f"{case.name}, verified", **kind, "event": case.event, **given, "expect": expect}


@pytest.mark.parametrize("flag", ["false", "true", 0, 1, None, [], "\ud83d"])
def test_nothing_but_true_sends(flag: Any, surfaces: Surfaces) -> None:
    """Values of the environment are texts: "false" must not send."""
    pipeline = surfaces.pipeline
    with pytest.raises(RequestError, match="must be a boolean"):
        Stages(send_to_destination=flag)
    with pytest.raises(RequestError, match=r"stage\.send_to_destination must be a boolean"):
        pipeline.test_destination("hook", EVENT, stages={"send_to_destination": flag})
    with pytest.raises(RequestError, match="force must be true or false"):
        pipeline.test_destination("off", EVENT, stages=MAPPED, force=flag)


def test_an_unknown_id_suggests_the_nearest(surfaces: Surfaces) -> None:
    """As a note, so that the text is that of the Test API."""
    with pytest.raises(UnknownId) as caught:
        surfaces.pipeline.test_destination("hok", EVENT)

    assert caught.value.__notes__ == ["Did you mean 'hook'?"]
    assert isinstance(caught.value, errors.UnknownName)


def test_explorers_show_what_the_test_api_refuses() -> None:
    """`exploring=True`: rows of warehouses, and the user's code of types without a mapping."""
    pipeline = Pipeline(Workspace.loads(WORKSPACE), exploring=True)

    assert pipeline.test_destination("wh", EVENT).data[0].payloads[0]["table"] == "tracks"
    assert pipeline.test_destination("center", EVENT).unmapped.startswith("App Center has no mapping here yet")
