"""Canaries are put wherever a secret can be; no command, report, display, store or export shows one of them."""

from __future__ import annotations

import base64
import copy
import csv
import html
import json
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from svctoolkit import DataPlane, Pipeline, Workspace, widgets
from svctoolkit.agents.tools import TOOLS
from svctoolkit.agents.worker import run as run_tool
from svctoolkit.cli import main
from svctoolkit.cli._main import COMMANDS
from svctoolkit.delivery import Answer, Cassette, Recorder
from svctoolkit.errors import ToolkitError
from svctoolkit.events import track
from svctoolkit.pipeline import Stages
from svctoolkit.plans import Plan
from svctoolkit.replay import compare, replay
from svctoolkit.runner.report.reporters import REPORTERS
from svctoolkit.secrets import Secret

ENVIRONMENT = {
    "CANARY_ENV": "canary01env/+=x",
    "CANARY_SUITE": "canary02suite",
    "CANARY_TOKEN": "canary03token",
    "CANARY_PATH": "canary14path",
}
#: place of the canary -> the text that must appear nowhere
CANARIES = {
    **ENVIRONMENT,
    "a secret key of the definition": "canary04definition",
    "a secret setting of a mapping": "canary05setting",
    "a credential": "canary06credential",
    "a token": "canary07token",
    "the password of a URL": "canary08password",
    "a parameter of a URL": "canary09parameter",
    "a URL that is a credential": "canary10slack",
    "an override": "canary11override",
    "a header of a request": "canary12header",
    "a parameter of the geolocation service": "canary13geo",
    "a key in several lines": "-----BEGIN KEY-----\ncanary15MIIEvQIBA\ncanary16hkiG9w0B\n-----END KEY-----",
    "a number": "8410293847",
    "quotes and escapes": 'it\'s "canary17" <\\é>&/+',
}
#: secrets that are ordinary words, and a text with them that must stay readable everywhere
ORDINARY = {"stage": "user_data", "kind": "track", "team": "data", "media": "application/json", "verb": "identify"}
WORDS = f"words: {' '.join(ORDINARY.values())} :words"
_MANGLED = re.compile(r"words: [^:]{0,90}•|user_•|•_data|application/•|•/json")
SLACK = f"https://hooks.slack.com/services/T0CANARY1/B0CANARY2/{CANARIES['a URL that is a credential']}"
URL = f"https://ann:{CANARIES['the password of a URL']}@hook.example/in?token={CANARIES['a parameter of a URL']}"
#: user code puts its credential everywhere it can
CODE = """
def transformEvent(event, metadata):
    key = getCredential("crm")
    log("with", key)
    lines, number, quoted = getCredential("pem"), int(getCredential("number")), getCredential("quoted")
    for line in lines.split("\\n"):
        log(line)
    print(number, repr(quoted), [quoted], quoted.encode().hex(), quoted.encode().hex().upper())
    log("x" * 4090 + key)
    if event["event"] == "Fails":
        raise ValueError("no answer for " + key)
    if event["event"] == "Fails with a repr":
        raise KeyError(quoted)
    if event["event"] == "Fails at length":
        raise ValueError("y" * 1991 + key)
    event["context"]["asked"] = "https://crm.example/v1?key=" + key
    event["context"]["lines"] = lines.split("\\n")
    event["context"]["numbers"] = [number, float(number), {"n": number}]
    event["context"]["keys"] = {key: 1, quoted: {key: number}}
    event["context"]["texts"] = [repr(quoted), quoted.encode().hex(), str([quoted, lines])]
    return event
"""
WORKSPACE = f"""
workspace: shop
users: [{{email: a@x.example, token: {CANARIES["a token"]}}}, {{email: b@x.example, token: "$(env:CANARY_TOKEN)"}}]
delivery: {{geolocation: "https://geo.example/v1?apikey={CANARIES["a parameter of the geolocation service"]}"}}
sources: {{web: {{destinations: [hook, am, slack, path]}}}}
destinations:
  hook:
    type: WEBHOOK
    transformation: code
    config:
      webhookUrl: {URL}
      webhookMethod: POST
      headers:
      - {{from: x-one, to: {CANARIES["a secret key of the definition"]}}}
      - {{from: x-two, to: "Bearer $(env:CANARY_ENV)"}}
  am: {{type: AM, config: {{apiKey: {CANARIES["a secret setting of a mapping"]}, residencyServer: EU}}}}
  slack: {{type: SLACK, config: {{webhookUrl: "{SLACK}"}}}}
  path: {{type: WEBHOOK, config: {{webhookUrl: "https://path.example/in/$(env:CANARY_PATH)/x", webhookMethod: POST}}}}
transformations: {{code: {{language: python, file: code.py}}}}
credentials: {json.dumps({
    "crm": CANARIES["a credential"], "other": "$(env:CANARY_ENV)", "pem": CANARIES["a key in several lines"],
    "number": CANARIES["a number"], "quoted": CANARIES["quotes and escapes"], **ORDINARY,
})}
"""  # fmt: skip
WAREHOUSE = f"""
workspace: shop
sources: {{web: {{destinations: [wh]}}}}
destinations:
  wh: {{type: POSTGRES, config: {{host: db.example, database: d, user: u, port: "5432",
        password: {CANARIES["a secret key of the definition"]}}}}}
"""
#: an environment in which every secret differs
ENVIRONMENTS = f"""
environments:
  odd:
    destinations:
      hook: {{config: {{headers: [{{from: x-one, to: {CANARIES["an override"]}}}]}}}}
      am: {{config: {{apiKey: other-key}}}}
    credentials: {{crm: other-credential}}
"""
SUITE = f"""
version: 1
workspace: workspace.yaml
scenarios:
- name: one that fails in every way
  destination: hook
  event: {{type: track, event: Order, userId: "$(env:CANARY_SUITE)"}}
  destinationConfig: {{headers: [{{from: x-three, to: {CANARIES["an override"]}}}]}}
  stages: {{send_to_destination: true}}
  expect: {{dest_transform: [{{method: PUT, headers: {{x-three: other}}}}]}}
- name: an error
  destination: hook
  event: {{type: track, event: Fails, userId: u1}}
  expect: {{dest_transform: [{{method: PUT}}]}}
- name: a snapshot
  destination: hook
  event: {{type: track, event: Order, userId: "$(env:CANARY_SUITE)", messageId: m1}}
  expect: {{dest_transform: {{$snapshot: true}}}}
- name: what is sent
  send: {{type: track, event: Order, userId: "$(env:CANARY_SUITE)"}}
  expect: {{delivered: {{hook: [], slack: []}}}}
- name: a request
  request: {{method: GET, path: /health, headers: {{authorization: "Bearer {CANARIES["a header of a request"]}"}}}}
  expect: {{status: 418}}
"""
#: what a workspace can mask: it keeps only hashes of tokens, and a suite has its own secrets
_OF_SUITES = ("CANARY_SUITE", "CANARY_TOKEN", "a token", "an override", "a header of a request")
KNOWN = [text for place, text in CANARIES.items() if place not in _OF_SUITES]
EVENTS = [
    {**track("Order", user_id="u1", properties={"user_data": {"track": "data"}, "note": WORDS}), "messageId": "m1"},
    *(
        {**track(name, user_id=f"u{number}"), "messageId": f"m{number}"}
        for number, name in enumerate(("Fails", "Fails with a repr", "Fails at length"), start=2)
    ),
]


def spellings(secret: str) -> Iterator[str]:
    """The forms of a secret in a file: plain, escaped, in a URL, in base64 at any offset, line by line, cut."""
    if "\n" in secret:
        for line in secret.split("\n")[1:-1]:
            yield from spellings(line)
        return
    yield from (secret, quote(secret, safe=""), json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (repr(secret)[1:-1], repr(secret + "'\"")[1:-4], html.escape(secret), quote(secret, safe="").lower())
    yield from (secret.encode().hex(), secret.encode().hex().upper())
    if not secret.isdigit():
        yield secret[: max(len("canary00"), len(secret) // 2)]
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret.encode()).decode().rstrip("=")
        yield encoded[-(-before * 8 // 6) : (before + len(secret.encode())) * 8 // 6]


PATTERN = {place: re.compile("|".join(map(re.escape, spellings(text)))) for place, text in CANARIES.items()}


def canaries_in(*outputs: str | bytes) -> list[str]:
    """The places of the canaries found in the outputs, and whether ordinary words in them are masked."""
    text = "\n".join(out if isinstance(out, str) else out.decode("latin-1") for out in outputs)
    readable = "\n".join(out if isinstance(out, str) else out.decode("utf-8", "replace") for out in outputs)
    mangled = _MANGLED.search(readable.replace("\\u2022", "•"))
    return [place for place, pattern in PATTERN.items() if pattern.search(text)] + ["an ordinary word"] * bool(mangled)


def write_shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the workspace, its code, a suite and events into a folder that becomes the working directory."""
    monkeypatch.chdir(folder)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    (folder / "workspace.yaml").write_text(WORKSPACE, encoding="utf-8")
    (folder / "code.py").write_text(CODE, encoding="utf-8")
    (folder / "shop.suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "events.ndjson").write_text("".join(json.dumps(e) + "\n" for e in EVENTS), encoding="utf-8")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of `write_shop`."""
    write_shop(tmp_path, monkeypatch)
    return tmp_path


@pytest.fixture
def workspace(shop: Path) -> Workspace:
    return Workspace.load(shop / "workspace.yaml")


#: files that contain secrets for a reason: the inputs, and the private file that an import writes
INPUTS = {"workspace.yaml", "code.py", "shop.suite.yaml", "events.ndjson", "imported/.env", "warehouse.yaml"}


def files(folder: Path) -> list[bytes]:
    """Every file that was written in addition to the inputs."""
    paths = (
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).as_posix() not in INPUTS
    )
    return [path.read_bytes() for path in paths]


def tables(folder: Path) -> list[str]:
    """Every table in the Parquet and DuckDB files, as text: the files are compressed."""
    import duckdb

    shown = [duckdb.read_parquet(str(path)).df().to_csv() for path in folder.rglob("*.parquet")]
    for path in folder.rglob("*.duckdb"):
        with duckdb.connect(str(path), read_only=True) as database:
            names = [name for (name,) in database.execute("SHOW TABLES").fetchall()]
            shown += [database.table(name).df().to_csv() for name in names]
    return shown


#: a resource of a rudder-cli project, in two states: in one of them, each secret is another one
RESOURCE = f"""
version: rudder/v1
kind: destination
metadata: {{name: destination}}
spec:
  id: hook
  display_name: Hook
  type: http
  enabled: true
  definition_version: 1
  config:
    api_url: {URL}
    auth: bearerTokenAuth
    bearer_token: {CANARIES["a secret key of the definition"]}
    method: POST
    format: JSON
    is_default_mapping: true
    headers:
    - {{to: x-api-key, from: {CANARIES["a header of a request"]}}}
    - {{to: x-kind, from: "{{{{ .CANARY_HEADER }}}}"}}
"""


_PROJECTS = ("old", "new", "added")


def write_project(folder: Path) -> None:
    """Write a project of rudder-cli as `old`, as `new` with other settings, and as `added` with one more row."""
    start = "version: rudder/v1\nmetadata: {name: x}\n"
    source = f"{start}kind: event-stream-source\nspec: {{id: web, name: Web, type: javascript}}\n"
    link = "{id: l, source: '#event-stream-source:web', destination: '#destination:hook'}"
    links = f"{start}kind: event-stream-connections\nspec: {{connections: [{link}]}}\n"
    changed = RESOURCE.replace("canary", "other").replace("POST", "PUT").replace("CANARY", "OTHER")
    added = RESOURCE.replace("    headers:", "    headers:\n    - {to: x-one, from: one}")
    for name, text in zip(_PROJECTS, (RESOURCE, changed, added), strict=True):
        (folder / name).mkdir()
        (folder / name / "hook.yaml").write_text(text, encoding="utf-8")
        (folder / name / "source.yaml").write_text(source, encoding="utf-8")
        (folder / name / "links.yaml").write_text(links, encoding="utf-8")


#: command -> its invocations; a new command needs a line here
RUNS: dict[str, list[list[str]]] = {
    "run": [
        ["run", "shop.suite.yaml", *(f"--report={name}=report-{name}" for name in REPORTERS if name != "console")],
        ["run", "shop.suite.yaml", "--report", "console"],
        ["run", "shop.suite.yaml", "--coverage"], ["run", "shop.suite.yaml", "--list"],
        ["run", "shop.suite.yaml", "--update"],
    ],
    "test": [
        [*["test", "destination", key, "--event", "event.json", "--workspace", "workspace.yaml", "--send"], *more]
        for key in ("hook", "am", "slack", "path")
        for more in ([], ["--json"])
    ] + [["test", "source", "web", "--event", "event.json", "--workspace", "workspace.yaml", "--send", *more]
         for more in ([], ["--json"])],
    "transform": [["transform", "code.py", "--event", name] for name in ("event.json", "fails.json")],
    "replay": [
        ["replay", "events.ndjson", "--workspace", "workspace.yaml", "--out", "out", "--html", "replay.html"],
        ["replay", "events.ndjson", "--workspace", "workspace.yaml", "--json"],
        ["replay", "events.ndjson", "--workspace", "workspace.yaml", "--duckdb", "replay.duckdb"],
        ["replay", "events.ndjson", "--workspace", "workspace.yaml", "--forecast"],
        ["replay", "events.ndjson", "--before", "workspace.yaml", "--after", "other.yaml", "--html", "compare.html",
         "--report", "junit=j.xml", "--report", "markdown=s.md", "--report", "github", "--fail-on", "any",
         "--write-accepted", "accepted.yaml", "--reason", "it is right"],
        ["replay", "events.ndjson", "--workspace", "other.yaml", "--out", "out2"],
        ["replay", "--outputs", "out", "out2", "--html", "outputs.html"],
    ],
    "profile": [
        ["profile", "events.ndjson", "--workspace", "workspace.yaml", "--since", "2026-01-01", "--html", "p.html"],
        ["profile", "events.ndjson", "--workspace", "workspace.yaml", "--json"],
    ],
    "trend": [
        ["profile", "events.ndjson", "--workspace", "workspace.yaml", "--history", "h.duckdb"],
        *(["trend", "events.ndjson", "--format", form] for form in ("html", "json")), ["trend", "h.duckdb"],
    ],
    "simulations": [["simulations"]],
    "delete": [
        ["delete", "--dry-run", "--workspace", "workspace.yaml", "--user", "ada", "--to", "am"],
        ["delete", "--dry-run", "--workspace", "workspace.yaml", "--user", "ada", "--to", "am", "--json"],
    ],
    "lost": [
        ["lost", "events.ndjson", "--workspace", "workspace.yaml", "--to", "am", "--html", "lost.html"],
        ["lost", "events.ndjson", "--workspace", "workspace.yaml", "--to", "am", "--markdown", "lost.md", "--json"],
    ],
    "plan": [
        ["plan", "infer", "events.ndjson", "-o", "inferred"],
        ["plan", "check", "events.ndjson", "--plan", "inferred"],
        ["plan", "show", "inferred"],
        ["plan", "diff", "inferred", "inferred", "--events", "events.ndjson"],
    ],
    "warehouse": [
        ["warehouse", "show", "--events", "events.ndjson", "--workspace", "warehouse.yaml"],
        ["warehouse", "export", "dbt", "--events", "events.ndjson", "--workspace", "warehouse.yaml"],
    ],
    "mutate": [
        ["mutate", "shop.suite.yaml", "--all", "--report", "json=m.json", "--report", "junit=m.xml",
         "--report", "html=m.html", "--report", "markdown=m.md", "--report", "github",
         "--write-accepted", "mutations.yaml", "--reason", "it is right"],
    ],
    "record": [["record", "events.ndjson", "-o", "recorded.suite.yaml"]],
    "definitions": [["definitions", "WEBHOOK"]],
    "schema": [["schema", "workspace"]],
    "check": [["check"], ["check", "other.yaml"]],
    "doctor": [["doctor"]],
    "completion": [["completion", "bash"], ["completion", "words", "--", "test", "destination", ""]],
    "init": [["init", "new"]],
    "tour": [["tour"], ["tour", "--event", "event.json"]],
    "import": [["import", "workspace.yaml", "-o", "imported"]],
    "sync": [
        ["import", "workspace.yaml", "-o", "imported"],
        ["sync", "other.yaml", "--project", "imported"],
        ["sync", "other.yaml", "--project", "imported", "--apply", "--secrets"],
    ],
    "docs": [["docs"], ["docs", "security"]],
    "changes": [
        ["changes", "new", "--since", "old", "--events", "events.ndjson"],
        ["changes", "old", "--since", "new"],
        ["changes", "added", "--since", "old", "--events", "events.ndjson", "--source", "web"],
    ],
    "environments": [["environments", "base", "odd", "--workspace", "other.yaml"]],
    "notebooks": [["notebooks", "copies", "--no-open"]],
    "trust": [["trust", "code.py"], ["trust"], ["trust", "--list"], ["trust", "code.py", "--remove"]],
    "secrets": [["secrets", "scan", "."]],  # which are in the inputs
    "conform": [],  # needs a server: see `DISPLAYS` in `test_every_output_is_masked`
    "forward": [],  # needs a data plane: see `test_the_write_key_is_shown_nowhere`
    "held": [],  # asks a data plane, which masks: see `simulations/test_over_http`
    "mcp": [],  # waits for calls: see `test_no_tool_of_an_agent_shows_a_secret`
    "serve": [],  # waits for Ctrl-C: see `test_every_output_is_masked`
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS.names())
def test_no_command_shows_a_secret(
    command: str, shop: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does any file that a command writes: reports of every kind, snapshots, rows, pages, recorded suites."""
    monkeypatch.delenv("CI", raising=False)  # in CI --update is refused
    for name, event in (("event.json", EVENTS[0]), ("fails.json", EVENTS[1])):
        (shop / name).write_text(json.dumps(event), encoding="utf-8")
    (shop / "warehouse.yaml").write_text(WAREHOUSE, encoding="utf-8")
    (shop / "other.yaml").write_text(
        WORKSPACE.replace("webhookMethod: POST", "webhookMethod: PUT") + ENVIRONMENTS, encoding="utf-8"
    )
    if command == "changes":
        write_project(shop)
    for arguments in RUNS[command]:
        code = main(arguments)
        shown = capfd.readouterr()
        assert canaries_in(shown.out, shown.err) == [], arguments
        assert code in (0, 1), (arguments, shown.err)
    for project in _PROJECTS if command == "changes" else ():
        shutil.rmtree(shop / project)
    (shop / "other.yaml").unlink()
    assert canaries_in(*files(shop), *tables(shop)) == []
    assert command != "replay" or sum(WORDS in table for table in tables(shop)) >= 2
    assert (
        not RUNS[command]
        or command
        in (
            "test",
            "transform",
            "changes",
            "definitions",
            "simulations",
            "schema",
            "environments",
            "docs",
            "tour",
            "check",
            "doctor",
            "completion",
            "secrets",
            "trust",
        )
        or files(shop)
    )


def test_no_tool_of_an_agent_shows_a_secret(shop: Path) -> None:
    """Nor does the scenario that one writes."""
    event, scenario = EVENTS[0], {"name": "x", "destination": "am", "event": EVENTS[0], "expect": {"status": 200}}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_destinations", {}),
        ("list_destination_types", {"search": "slack"}),
        *(("explain_destination", {"name": key}) for key in ("hook", "am", "slack", "path")),
        *(("run_event", {"source": "web", "event": event}) for event in EVENTS[:2]),
        *(("lineage", {"destination": key, "event": event}) for key in ("hook", "am")),
        ("find_failures", {"events": EVENTS}),
        ("run_suites", {}),
        ("explain_failure", {"scenario": "shop.suite.yaml::one-that-fails-in-every-way"}),
        ("replay", {"file": "events.ndjson"}),
        ("query_replay", {"file": "events.ndjson", "sql": "select payload, headers from hook", "mask_personal": False}),
        ("write_scenario", {"file": "new.suite.yaml", "event": event}),
        ("write_scenario", {"file": "new.suite.yaml", "scenario": scenario}),
    ]
    assert {tool for tool, _ in calls} == set(TOOLS)
    for tool, arguments in calls:
        answer = run_tool(tool, copy.deepcopy(arguments), shop, Path("workspace.yaml"))
        assert canaries_in(answer.text) == [], (tool, arguments)
        assert answer.is_error == (tool == "write_scenario" and "event" in arguments), answer.text
    assert canaries_in(*files(shop)) == []


def shown_by(value: Any) -> list[str]:
    """What a notebook and a terminal show of an object."""
    bundle = value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {}
    return [repr(value), str(value), *map(str, bundle.values())]


def test_no_object_shows_a_secret(workspace: Workspace) -> None:
    """Workspaces, configurations, results, rows, requests: as text, as HTML, pickled, as a frame."""
    pipeline = Pipeline(workspace)
    stages = Stages(send_to_destination=True)
    results = [
        pipeline.test_destination(key, event, stages=stages) for key in workspace.destinations for event in EVENTS
    ]
    results.append(
        pipeline.test_destination("hook", EVENTS[0], stages=stages,
                                  config={"headers": [{"from": "x", "to": CANARIES["an override"]}]})
    )  # fmt: skip
    objects: list[Any] = [
        workspace, copy.deepcopy(workspace.destinations), *workspace.destinations.values(), *workspace.sources.values(),
        *(destination.config for destination in workspace.destinations.values()), *workspace.users, pipeline,
        *workspace.transformations.values(), workspace.masker, *results, *(entry for r in results for entry in r.data),
        pipeline.recorder, *pipeline.recorder.requests, workspace.transformation("code").run(EVENTS[1]),
    ]  # fmt: skip

    assert [(type(value), canaries_in(*shown_by(value))) for value in objects if canaries_in(*shown_by(value))] == []
    assert canaries_in(*(json.dumps(result.to_masked_dict()) for result in results)) == []
    for text in (json.dumps(results[0].to_masked_dict()), results[0].frame().to_csv(), str(shown_by(results[0]))):
        assert WORDS in text
        assert "user_data" in text.replace(WORDS, "")
    assert canaries_in(*(result.frame().to_csv() for result in results)) == []
    assert canaries_in(workspace.dumps(), pickle.dumps(results), pickle.dumps(workspace.destinations)) == []
    assert any("canary09" in request.request.url for request in pipeline.recorder.requests)  # it is sent anyway


def test_no_replay_shows_a_secret(workspace: Workspace) -> None:
    """Neither a replay nor a comparison."""
    other = Workspace.load("workspace.yaml")
    other.destination("hook").config["headers"][0]["to"] = Secret("another")
    other.destination("hook").config["webhookMethod"] = "PUT"
    single, pair = replay(EVENTS, workspace), compare(EVENTS, workspace, other)

    for result in (single, pair):
        shown = [*shown_by(result), result.to_html(), json.dumps(result.to_dict()), result.frame().to_csv()]
        assert canaries_in(*shown, pickle.dumps(result.frame())) == []


@pytest.mark.parametrize("stored", [False, True])
def test_no_data_plane_shows_a_secret(workspace: Workspace, tmp_path: Path, stored: bool) -> None:
    """Its inspection data, frames and displays, and the file of its store."""
    import httpx

    store = tmp_path / "store.db" if stored else None
    with DataPlane(workspace, store=store) as plane:
        for key in ("hook", "am", "slack", "path"):
            plane.recorder.script(key, Answer(400, {"echo": KNOWN}))
        plane.send(EVENTS, source="web")
        plane.drain()
        headers = {"authorization": f"Bearer {plane.token}"}
        pages = [
            httpx.get(f"{plane.url}/inspect/{name}", headers=headers, timeout=60).text
            for name in ("counts", "events", "deliveries", "fates", "rejected", "dead")
        ]
        views = [plane, plane.received, plane.deliveries, plane.fates, plane.recorder, *plane.deliveries, *plane.fates]
        frames = [view.frame().to_csv() for view in (plane.received, plane.deliveries, plane.fates)]
        config = httpx.get(f"{plane.url}/sourceConfig", auth=(plane.write_key("web"), ""), timeout=60).text

        assert len(plane.deliveries) >= 1
        assert canaries_in(*pages, config) == []
        assert canaries_in(*frames) == []
        assert [type(view) for view in views if canaries_in(*shown_by(view))] == []
    if stored:
        assert canaries_in(*files(tmp_path)) == []


def test_no_cassette_keeps_a_secret(workspace: Workspace, tmp_path: Path) -> None:
    """Neither in requests nor in answers."""
    real = Recorder()
    real.answer("*", Answer(200, {"echo": KNOWN}, {"set-cookie": CANARIES["a credential"]}))
    cassette = Cassette(tmp_path / "crm.json", real, secrets=workspace.secrets)
    pipeline = Pipeline(workspace, transport=cassette)
    for key in workspace.destinations:
        pipeline.test_destination(key, EVENTS[0], stages=Stages(send_to_destination=True))

    text = (tmp_path / "crm.json").read_text(encoding="utf-8")
    assert canaries_in(text) == []
    assert text.count("hook.example") == 1


WRONG: dict[str, Callable[[Workspace], object]] = {
    "a wrong type": lambda w: (
        w.destination("bad", "WEBHOOK", config={"webhookUrl": SLACK, "webhookMethod": 5}) and w.check()
    ),
    "an unknown name": lambda w: Pipeline(w).test_destination("hok", EVENTS[0]),
    "a wrong override": lambda w: Pipeline(w).test_destination(
        "hook", EVENTS[0], config={"headerz": CANARIES["an override"]}
    ),
    "no URL": lambda w: Recorder().answer(f"ftp://ann:{CANARIES['the password of a URL']}@x.example"),
}


@pytest.mark.parametrize("case", WRONG)
def test_no_error_shows_a_secret(case: str, workspace: Workspace) -> None:
    """Mistakes are reported without the value."""
    with pytest.raises(ToolkitError) as caught:
        WRONG[case](workspace)

    assert canaries_in(str(caught.value), repr(caught.value)) == []


def widgets_in(widget: Any) -> list[Any]:
    """A widget and all its children."""
    return [widget, *(inner for child in getattr(widget, "children", ()) for inner in widgets_in(child))]


def _played(playground: Any) -> Any:
    """A playground after calls that contain secrets, some of which stay in the queue."""
    playground.client.track("Order", {"echo": KNOWN})
    playground.client.flush(5)
    playground.state.line.online = False
    playground.state.call("track", "Order", {"echo": KNOWN})
    return playground


@pytest.mark.parametrize("name", dir(widgets))
def test_no_widget_stores_a_secret(name: str, workspace: Workspace, shop: Path) -> None:
    """Neither in its state, which a saved notebook contains, nor in its display without widgets."""
    pytest.importorskip("ipywidgets")
    with DataPlane(workspace) as plane:
        plane.send(EVENTS, source="web")
        plane.drain()
        made = {
            "DestinationExplorer": lambda: widgets.DestinationExplorer(workspace, "hook", event=EVENTS[0]),
            "TransformationEditor": lambda: widgets.TransformationEditor(workspace, "code", events=EVENTS),
            "LiveEvents": lambda: widgets.LiveEvents(plane),
            "DataGrid": lambda: widgets.DataGrid(replay(EVENTS, workspace)),
            "HeldExplorer": lambda: widgets.HeldExplorer(plane),
            "SuiteExplorer": lambda: widgets.SuiteExplorer(shop / "shop.suite.yaml"),
            "PlanExplorer": lambda: widgets.PlanExplorer(Plan("tp", ()), plane),
            "ReplayExplorer": lambda: widgets.ReplayExplorer(EVENTS, workspace),
            "CompareExplorer": lambda: widgets.CompareExplorer(EVENTS, workspace, Workspace.load("workspace.yaml")),
            "SourceExplorer": lambda: widgets.SourceExplorer(workspace, "Braze"),
            "SdkPlayground": lambda: _played(widgets.SdkPlayground(plane)),
        }[name]()
        if hasattr(made, "run"):
            made.run()
        made.wait(60) if hasattr(made, "wait") else None
        state = [json.dumps(widget.get_state(), default=str) for widget in widgets_in(made.root)]
        shown = shown_by(made)
        made.close()

    assert canaries_in(*state, *shown) == []


def test_output_is_safe_for_terminals_spreadsheets_and_workflows(shop: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Escapes and workflow commands in events and logs are shown as text.

    A cell that begins with = is not a formula.
    """
    bad = "\x1b[31mred\x07\n::error::forged\r\n\x9b2J\u202e"
    (shop / "bad.py").write_text(
        "def transformEvent(event, metadata):\n    log(event['event'])\n    event['seen'] = event['event']\n"
        "    if event['userId'] == 'fail':\n        raise ValueError(event['event'])\n    return event\n",
        encoding="utf-8",
    )
    for user in ("u1", "fail"):
        (shop / "bad.json").write_text(json.dumps({**track(bad, user_id=user), "messageId": "m"}), encoding="utf-8")
        main(["transform", "bad.py", "--event", "bad.json"])
        shown = capfd.readouterr().out
        assert "forged" in shown
        assert [c for c in shown if not c.isprintable() and c != "\n"] == []
        assert not re.search(r"^\s*::", shown, re.MULTILINE)

    suite = {"version": 1, "scenarios": [{"name": '=HYPERLINK("x")', "request": {"method": "GET", "path": "/health"},
                                          "expect": {"status": 200}}]}  # fmt: skip
    (shop / "csv.suite.yaml").write_text(json.dumps(suite), encoding="utf-8")
    main(["run", "csv.suite.yaml", "--report", "frame=rows.csv"])
    rows = list(csv.DictReader((shop / "rows.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["title"] for row in rows] == ['\'=HYPERLINK("x")']
