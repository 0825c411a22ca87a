"""User code through the pipeline and the command line, as real teams write it, in both languages."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from svctoolkit import Pipeline, Secret, Workspace, events
from svctoolkit.cli import main
from svctoolkit.delivery import Answer
from svctoolkit.errors import ConfigError, InvalidWorkspace, TransformationError
from svctoolkit.server import serving
from svctoolkit.transformations import Limits, code_is_trusted, layers
from svctoolkit.transformations._layers import layers_of
from svctoolkit.workspace import Transformation
from svctoolkit.workspace._code import _Code

EVENT = events.sample("track")
JS = """
import { shout } from 'text';
export async function transformEvent(event, metadata) {
  log('got', event.event);
  const answer = await fetchV2('https://crm.example/users/' + event.userId, { headers: { key: getCredential('crm') } });
  return { ...event, event: shout(event.event), crm: answer.body.level, from: metadata(event).sourceName };
}
"""
PY = """
from text import shout
def transformEvent(event, metadata):
    log('got', event['event'])
    answer = fetchV2('https://crm.example/users/' + event['userId'], {'headers': {'key': getCredential('crm')}})
    known = {'crm': answer['body']['level'], 'from': metadata(event)['sourceName']}
    return {**event, 'event': shout(event['event']), **known}
"""
LIBRARY = {
    "javascript": "export function shout(text) { return text.toUpperCase() }",
    "python": "def shout(text):\n    return text.upper()\n",
}


def shop(code: str, language: Any) -> Pipeline:
    workspace = Workspace.loads(
        json.dumps(
            {
                "workspace": "shop",
                "sources": {"web": {"name": "Web shop", "destinations": ["hook"]}},
                "destinations": {
                    "hook": {"type": "WEBHOOK", "config": {"webhookUrl": "https://b.example"}, "transformation": "code"}
                },
                "transformations": {"code": {"language": language, "code": code}},
                "libraries": {"text": {"language": language, "code": LIBRARY[language]}},
                "credentials": {"crm": "$(env:CRM)"},
            }
        ),
        environ={"CRM": "crm-s3cret"},
    )
    return Pipeline(workspace)


@pytest.mark.parametrize(("code", "language"), [(JS, "javascript"), (PY, "python")])
def test_code_has_everything_in_the_contract(code: str, language: str) -> None:
    """Libraries, credentials, metadata, logs and the recorder work through the pipeline.

    Requests stay on this machine.
    """
    pipeline = shop(code, language)
    pipeline.recorder.answer("crm.example", Answer(body={"level": "gold"}))
    result = pipeline.test_source("web", EVENT)[0]

    made = result.data[0].user_transformed_payload
    (asked,) = pipeline.recorder.requests
    assert (made["event"], made["crm"], made["from"]) == ("ORDER COMPLETED", "gold", "Web shop")
    assert [log.text for log in result.data[0].logs] == ["got Order Completed"]
    assert (asked.request.url, asked.request.headers["key"]) == ("https://crm.example/users/u-1001", "crm-s3cret")


def test_a_credential_is_masked_in_results() -> None:
    """Code that puts a credential into its event sends it, but no display of the result shows it."""
    code = "export function transformEvent(e) { return {...e, k: 'Bearer ' + getCredential('crm')} }"
    pipeline = shop(code, "javascript")
    result = pipeline.test_destination("hook", EVENT)

    assert "crm-s3cret" in json.dumps(result.to_dict())
    assert "crm-s3cret" not in repr(result) + json.dumps(result.to_masked_dict()) + result.frame().to_csv()
    assert "crm-s3cret" not in repr(pipeline.workspace) + pipeline.workspace.dumps()


def test_changed_code_takes_effect_at_once() -> None:
    """The next event sees the new code, the new library, the new credential."""
    pipeline = shop("export function transformEvent(e) { return {...e, v: 1} }", "javascript")
    first = pipeline.test_destination("hook", EVENT).data[0].user_transformed_payload["v"]
    pipeline.workspace.transformations["code"].code = "export function transformEvent(e) { return {...e, v: 2} }"
    second = pipeline.test_destination("hook", EVENT).data[0].user_transformed_payload["v"]
    pipeline.workspace.credentials["crm"] = Secret("other")
    pipeline.workspace.transformations[
        "code"
    ].code = "export function transformEvent(e) { return {...e, v: getCredential('crm')} }"
    third = pipeline.test_destination("hook", EVENT).data[0].user_transformed_payload["v"]

    assert (first, second, third) == (1, 2, "other")


def test_code_that_cannot_be_loaded_is_an_error_of_each_event() -> None:
    """Name, text and place of the mistake; the later stages are aborted."""
    pipeline = shop("export function transformEvent(event) {\n  return event\n", "javascript")
    data = pipeline.test_destination("hook", EVENT).to_dict()["data"]

    assert data[0]["user_transformed_payload"]["error"].startswith("SyntaxError: ")
    assert "(code.js:" in data[0]["user_transformed_payload"]["error"]
    assert data[0]["dest_transformed_payload"] == {"error": "error encountered in user_transformation stage. Aborting."}


def test_a_reference_to_remote_code_is_a_clear_error() -> None:
    """It says what to do."""
    workspace = Workspace.loads(
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: 'https://b.example'}, transformation: t}}\n"
        "transformations: {t: {versionId: v1}}"
    )

    error = Pipeline(workspace).test_destination("hook", EVENT).data[0].error
    assert error == "ConfigError: the code of transformation 't' is in RudderStack only: give it as `code` or `file`"


def test_a_transformation_can_run_alone(tmp_path: Path) -> None:
    """`workspace.transformation("clean").run(event)` returns events, logs or an error."""
    (tmp_path / "clean.py").write_text(
        "def transformEvent(event, metadata):\n    print('hello')\n    return event['a']\n"
    )
    workspace = Workspace(folder=tmp_path)
    workspace.transformation("clean", file=Path("clean.py"))

    good = workspace.transformation("clean").run({"type": "track", "a": {"type": "page"}})
    bad = workspace.transformation("clean").run({"type": "track"})
    assert (good.events, good.error, [log.text for log in good.logs]) == (({"type": "page"},), None, ["hello"])
    assert bad.error is not None
    assert (bad.error.name, bad.error.where) == ("KeyError", "clean.py:3:12")
    with pytest.raises(InvalidWorkspace, match=r"nope\.py: cannot be read|nope\.py"):
        workspace.transformation("other", file=Path("nope.py"))


def test_a_transformation_without_a_workspace_is_an_error() -> None:
    """Its libraries, credentials and network belong to a workspace, and the error says where to get one."""
    alone = Transformation("mark", "id", "mark", code="def transformEvent(event, metadata):\n    return event\n")

    with pytest.raises(ConfigError, match=r"'mark' has no workspace: use workspace.transformation\('mark'\)"):
        alone.run({"type": "track"})


def test_a_file_name_gives_the_language(tmp_path: Path) -> None:
    """A file may be passed as a text, and its extension decides."""
    (tmp_path / "clean.js").write_text("export function transformEvent(event) { return { ...event, seen: true } }")
    workspace = Workspace(folder=tmp_path)
    made = workspace.transformation("clean", file="clean.js")

    assert (made.language, made.file) == ("javascript", Path("clean.js"))
    assert made.run({"type": "track"}).events == ({"type": "track", "seen": True},)


def test_limits_come_from_the_workspace() -> None:
    """A limit in the file applies to each call; exceeding it is an error of that event."""
    pipeline = shop("export function transformEvent(e) { for (;;); }", "javascript")
    pipeline.workspace.limits = Workspace.loads("limits: {time: 0.3, memory: 64}").limits

    error = pipeline.test_destination("hook", EVENT).data[0].error
    assert "timed out. One call may take 0.3 s." in error


def test_executed_lines_are_counted() -> None:
    """With `coverage`, each executable line has its count, by file."""
    code = "export function transformEvent(e) {\n  if (e.never) {\n    e.x = 1;\n  }\n  return e;\n}"
    pipeline = Pipeline(shop(code, "javascript").workspace, coverage=True)
    pipeline.test_destination("hook", EVENT)
    pipeline.test_destination("hook", EVENT)

    hits = pipeline.user_code.coverage()["code.js"]
    assert (hits[2], hits[3], hits[5]) == (2, 0, 2)


def test_geolocation_uses_the_configured_service() -> None:
    """`geolocation(ip)` is one request to `<service>/geoip/<ip>`, answered by the recorder here."""
    code = "export async function transformEvent(e) { return {...e, geo: (await geolocation('203.0.113.7')).country} }"
    pipeline = shop(code, "javascript")
    pipeline.workspace.delivery.geolocation = "https://geo.example/"
    pipeline.recorder.answer("geo.example", Answer(body={"country": "DE"}))
    made = pipeline.test_destination("hook", EVENT).data[0].user_transformed_payload

    assert made["geo"] == "DE"
    assert pipeline.recorder.requests[0].request.url == "https://geo.example/geoip/203.0.113.7"


def test_without_the_essential_layers_only_loopback_is_served() -> None:
    """The error lists the missing layers and gives advice."""
    weak = layers_of({"limits": "set"})

    with pytest.raises(ConfigError, match=r"--trust-code(.|\n)*missing: seccomp"):
        serving.check_sandbox(lambda: weak)


def test_this_machine_has_the_essential_layers() -> None:
    """The sandbox is complete on machines that run the tests, and describes itself."""
    assert layers().essential
    assert "holds: seccomp" in str(layers())


def test_code_that_hangs_while_loading_delays_no_other() -> None:
    """One transformation's top level loops until its timeout; another one of the workspace is answered meanwhile."""
    workspace = Workspace(limits=Limits(time=3.0))
    for key, code in {"hangs": "while (true) {}", "works": "export const transformEvent = (e) => e"}.items():
        workspace.transformation(key, code=code, language="javascript")
        workspace.destination(key, "WEBHOOK", config={"webhookUrl": "https://b.example"}, transformation=key)
    pipeline = Pipeline(workspace)
    results: list[Any] = []
    hanging = Thread(target=lambda: results.append(pipeline.test_destination("hangs", EVENT)))
    hanging.start()

    error = pipeline.test_destination("works", EVENT).data[0].error
    assert (error, hanging.is_alive()) == ("", True)
    hanging.join()
    assert "timed out" in results[0].data[0].error


def test_only_errors_of_the_code_itself_are_final() -> None:
    """A limit exceeded while loading may have been the machine's fault, so it is retried later."""
    now = [0.0]
    loads: list[str] = []

    def load(kind: str) -> Any:
        loads.append(kind)
        raise TransformationError("no", kind=kind)

    for kind, times in {"syntax": 1, "error": 1, "time": 2, "memory": 2, "crash": 2, "sandbox": 3}.items():
        loads.clear()
        code = _Code("", lambda kind=kind: load(kind), clock=lambda: now[0])  # type: ignore[misc]
        for seconds in (0.0, 0.5, 2.0, 6.0):
            now[0] = seconds
            assert code.run([EVENT], [{}])[0].error is not None
        assert (kind, len(loads)) == (kind, times)


def test_a_workspace_file_can_trust_its_code() -> None:
    """`limits: {trust: true}` is read and written back."""
    workspace = Workspace.loads("limits: {trust: true}")

    assert workspace.limits.trust
    assert Workspace.loads(workspace.dumps()).limits == workspace.limits


def test_workspaces_never_share_a_scope() -> None:
    """Not even a workspace at the memory address of a deleted one, or a copy, whose code may change."""
    scopes = {Workspace("same").scope for _ in range(50)}
    workspace = Workspace("same")
    copies = [copy.copy(workspace), copy.deepcopy(workspace), pickle.loads(pickle.dumps(workspace))]

    assert len(scopes) == 50
    assert workspace.in_mode("live").scope == workspace.scope  # the same workspace, and the same workers
    assert len({workspace.scope, *(each.scope for each in copies[1:])}) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")
@pytest.mark.parametrize(
    ("call", "layer", "name"),
    [
        ("prlimit64", "limits", "clean.py"),
        pytest.param("seccomp", "seccomp", "clean.py", marks=pytest.mark.slow),
    ],
)
def test_a_machine_without_a_lock_runs_only_trusted_code(call: str, layer: str, name: str, tmp_path: Path) -> None:
    """The error says what is missing and what to do; with --trust-code it runs, with a note."""
    (tmp_path / name).write_text("def transformEvent(e, m): return e")
    command = [sys.executable, "-m", "tests.denied", call, sys.executable, "-m", "svctoolkit", "transform", name]
    # Other tests trust code, perhaps the same.
    trust = {"SVCTOOLKIT_TRUST_STORE": str(tmp_path / "trust")}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **trust}

    refused, trusted = (
        subprocess.run([*command, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        for options in ([], ["--trust-code"])
    )

    assert (refused.returncode, refused.stdout) == (4, "")
    assert f"the sandbox on this machine lacks {layer} (linux" in refused.stderr
    assert "--trust-code" in refused.stderr
    assert (trusted.returncode, "no changes" in trusted.stdout) == (0, True)
    assert trusted.stderr.count(f"note: user transformations run here in a sandbox without {layer}") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")
@pytest.mark.parametrize("command", [["svctoolkit", "run"], ["pytest", "-q"]], ids=["run", "pytest"])
def test_suites_on_a_machine_without_a_lock(command: list[str], tmp_path: Path) -> None:
    """They are refused once, with advice; with --trust-code they pass, and missing layers are reported once."""
    (tmp_path / "workspace.yaml").write_text(
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: 'https://b.example'}, transformation: t}}\n"
        "transformations: {t: {language: python, code: 'def transformEvent(e, m): return e'}}\n"
    )
    (tmp_path / "orders.suite.yaml").write_text(
        "workspace: workspace.yaml\nscenarios:\n  - name: passes\n    destination: hook\n"
        "    event: {type: track, event: A, userId: u}\n    expect: {user_transform: {event: A}}\n"
    )
    whole = [sys.executable, "-m", "tests.denied", "seccomp", sys.executable, "-m", *command, "orders.suite.yaml"]
    # Other tests trust code, perhaps the same.
    trust = {"SVCTOOLKIT_TRUST_STORE": str(tmp_path / "trust")}
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), **trust}

    refused, trusted = (
        subprocess.run([*whole, *options], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        for options in ([], ["--trust-code"])
    )

    assert refused.returncode == 4
    assert refused.stderr.count("svctoolkit trust workspace.yaml") == 1
    assert "1 failed" not in refused.stdout
    assert trusted.returncode == 0
    assert (trusted.stdout + trusted.stderr).count("in a sandbox without seccomp") == 1


def cli(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "svctoolkit", *args], cwd=cwd, capture_output=True, text=True, timeout=60
    )


def test_the_transform_command_shows_output_changes_logs_and_time(tmp_path: Path) -> None:
    """One event through a file: its result, the changes by path, and the log."""
    code = "export function transformEvent(e) { log('seen'); e.properties.total = 1; delete e.channel; return e }"
    (tmp_path / "clean.js").write_text(code)
    done = cli("transform", "clean.js", cwd=tmp_path)

    assert done.returncode == 0
    for line in ["info: seen", "  ~ properties.total: 133.9 -> 1", '  - channel: "web"', '  "type": "track",']:
        assert line in done.stdout.splitlines()
    assert " ms, including sandbox start" in done.stdout


def test_output_of_code_is_escaped_on_the_terminal(tmp_path: Path) -> None:
    """Escapes and CI commands are shown as text: in logs, events, changes and errors."""
    evil = "\\u001b[2J\\n::error::no\\u202e\\u009b1m"
    (tmp_path / "logs.js").write_text(
        f"export function transformEvent(e) {{ log('{evil}'); return {{ ...e, event: '{evil}', ['{evil}']: 1 }} }}"
    )
    (tmp_path / "fails.js").write_text(f"export function transformEvent(e) {{ throw new Error('{evil}') }}")

    for name in ("logs.js", "fails.js"):
        lines = cli("transform", name, cwd=tmp_path).stdout.splitlines()
        assert any("::error::no" in line for line in lines)
        assert not any(line.lstrip().startswith("::") for line in lines)
        assert not set("".join(lines)) & set("\x1b\x9b\u202e")


@pytest.mark.parametrize(
    ("name", "code", "code_of_exit", "says"),
    [
        ("a.py", "def transformEvent(event, metadata):\n    return None\n", 0, "dropped  the transformation returned"),
        (
            "a.py",
            "def transformEvent(event, metadata):\n    return 1/0\n",
            1,
            "ZeroDivisionError: division by zero (a.py:2",
        ),
        ("a.rb", "", 4, "not a transformation; expected a .py, .js or .mjs file"),
        ("a.py", None, 4, "a.py: cannot be read: No such file"),
    ],
)
def test_the_transform_command_has_exit_codes(
    tmp_path: Path, name: str, code: str | None, code_of_exit: int, says: str
) -> None:
    """A drop is not a failure; an error in the code is 1, a wrong file is 4."""
    if code is not None:
        (tmp_path / name).write_text(code)
    done = cli("transform", name, cwd=tmp_path)

    assert done.returncode == code_of_exit
    assert says in done.stdout + done.stderr


def test_watching_runs_again_after_each_change(tmp_path: Path) -> None:
    """After each save the new outcome is shown; a mistake in between does not end the watch."""
    file = tmp_path / "clean.py"
    texts = [
        "def transformEvent(e, m):\n    return 'one'\n",
        "def transformEvent(",
        "def transformEvent(e, m):\n    return None\n",
    ]
    file.write_text(texts[0])
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "svctoolkit", "transform", "clean.py", "--watch"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    seen: list[str] = []
    for text, wanted in zip([*texts[1:], ""], ["TypeError", "SyntaxError", "dropped"], strict=True):
        while not seen or wanted not in seen[-1]:
            seen.append(process.stdout.readline())
            assert seen[-1], "".join(seen)
        file.write_text(text)
    process.terminate()
    process.stdout.close()
    process.wait(60)

    assert sum(line.startswith("--- ") for line in seen) >= 3


def test_trust_applies_to_one_command(tmp_path: Path) -> None:
    """Later code in this process is not trusted because of it."""
    (tmp_path / "clean.py").write_text("def transformEvent(e, m): return e")

    assert main(["transform", str(tmp_path / "clean.py"), "--trust-code"]) == 0
    assert not code_is_trusted()
