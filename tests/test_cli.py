"""The command line, run as users start it, and in process for breadth."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import svctoolkit
from svctoolkit import CATALOGUE, Pipeline, Workspace, __version__, events, server
from svctoolkit.cli import COMMANDS, Command, Exit, _terminal, main
from svctoolkit.cli._result import report
from svctoolkit.delivery import Answer
from svctoolkit.errors import DeliveryError, RequestError, Unsupported
from svctoolkit.pipeline import Stages
from svctoolkit.workspace import Person

SHOP = """\
workspace: shop
sources:
  web: {destinations: [hook, off]}
  idle: {enabled: false, destinations: [hook]}
destinations:
  hook:
    id: d1
    name: Orders hook
    type: WEBHOOK
    config: {webhookUrl: "https://hook.example/in", headers: [{from: X-Key, to: hush-hush}]}
  off: {id: d2, type: WEBHOOK, enabled: false, config: {webhookUrl: "https://off.example"}}
"""
PROGRAM = [sys.executable, "-m", "svctoolkit"]
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "SVC_TOKEN")},
    "PYTHONPATH": str(Path(__file__).parent.parent),
}
Run = Callable[..., SimpleNamespace]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workspace, as the current folder."""
    (tmp_path / "workspace.yaml").write_text(SHOP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "SVC_TOKEN", "SVCTOOLKIT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in process."""

    def run(*arguments: str) -> SimpleNamespace:
        code = main(arguments)
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return run


def start(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a user does."""
    options.setdefault("stdin", subprocess.DEVNULL)
    env = {**ENVIRONMENT, **options.pop("env", {})}
    return subprocess.run(
        [*PROGRAM, *arguments], cwd=cwd, env=env, capture_output=True, timeout=60, check=False, **options
    )


# --- general


def test_version_prints_the_version(tmp_path: Path) -> None:
    """`python -m svctoolkit --version`, first of all."""
    done = start("--version", cwd=tmp_path)

    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"svctoolkit {__version__}".encode())


def test_ctrl_c_gives_status_2_at_any_time(tmp_path: Path) -> None:
    """Even in code generated from text, as in dataclasses, where CPython would exit with 130."""
    installed = tmp_path / "interrupted-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: interrupted\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[svctoolkit.cli]\ninterrupted = interrupted:command\n")
    (tmp_path / "interrupted.py").write_text('exec("raise KeyboardInterrupt")')
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT.get("PYTHONPATH", "")])

    done = start("interrupted", cwd=tmp_path, env={"PYTHONPATH": path})

    assert (done.returncode, done.stderr) == (2, b"svctoolkit: interrupted\n")


def test_ctrl_c_while_the_command_line_is_imported_gives_status_2() -> None:
    """The installed command and `python -m svctoolkit` start with a module that imports next to nothing."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["svctoolkit"].partition(":")
    program = f"""
import sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "svctoolkit.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from {module} import {name}
sys.exit({name}())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=ENVIRONMENT, check=False)

    assert (done.returncode, done.stderr) == (2, b"svctoolkit: interrupted\n")


def test_help_lists_every_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--help` has a line for every command, and the exit codes, in the width of the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("--help")

    assert shown.code == 0
    assert all(f"\n  {name} " in shown.out for name in COMMANDS)
    assert {"definitions", "init", "run", "serve", "test"} <= set(COMMANDS)
    assert "5 nothing selected" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS.names())
def test_help_of_a_command_has_examples(run: Run, name: str) -> None:
    """Which the command itself accepts."""
    shown = run(name, "--help")

    assert shown.code == 0
    assert shown.out.startswith(f"usage: svctoolkit {name}")
    assert "examples:\n  svctoolkit " in shown.out


@pytest.mark.parametrize("name", COMMANDS.names())
def test_examples_are_valid_command_lines(name: str) -> None:
    """Every example of a command is accepted by its parser."""
    from svctoolkit.cli import _parser

    for example in COMMANDS[name].examples:
        words = shlex.split(re.split(r" [|&]", example.replace("\\\n", " "))[0])

        command, words = COMMANDS[name], words[1:]
        assert words[0] == name
        if command.commands is not None:
            command, words = command.commands[words[1]], words[1:]
        _parser.of(name, command).parse(words[1:])


def test_help_starts_fast(tmp_path: Path) -> None:
    """`--version` and `--help` load no third-party package, and `--version` does not read each package's metadata."""
    code = (
        "import sys; from svctoolkit.cli import main; main(['--version']);"
        "assert not {'importlib.metadata', 'argparse', 'dataclasses'} & set(sys.modules);"
        "main(['--help']); main(['test', '--help']);"
        "heavy = {'msgspec', 'httpx', 'starlette', 'yaml', 'pandas', 'jsonschema_rs'} & set(sys.modules);"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, check=True)

    assert done.stderr.decode().strip() == "[]"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "command required"),
        (("tset",), "unknown command 'tset'. Did you mean 'test'"),
        (("--versoin",), "unknown option --versoin before the command. Did you mean '--version'?"),
        (
            ("test", "destination", "hook", "--smaple", "track"),
            "unknown option --smaple of svctoolkit test. Did you mean '--sample'",
        ),
        (("test", "--smaple", "track"), "unknown option --smaple of svctoolkit test. Did you mean '--sample'"),
        (("test", "destination", "hook", "--sampl", "track"), "unknown option --sampl of svctoolkit test"),
        (("test", "destinaton", "hook"), "Did you mean 'destination'?"),
        (("test", "destination"), "the following arguments are required: ID"),
        (
            ("test", "destination", "hook"),
            "exactly one event is required: --event FILE (- for standard input), or --sample track",
        ),
        (("test", "destination", "hook", "--sample", "track", "--event", "-"), "exactly one event is required"),
        (
            ("test", "destination", "hook", "--sample", "trakc"),
            "unknown sample event 'trakc'. Did you mean 'track'",
        ),
        (
            ("test", "destination", "hoko", "--sample", "track"),
            "Destination with id hoko not found\nDid you mean 'hook'?",
        ),
        (("test", "source", "wbe", "--sample", "track"), "Source with id wbe not found\nDid you mean 'web'?"),
        (("test", "destination", "hook", "--sample", "track", "--stage", "user=off"), "unknown stage 'user'."),
        (("test", "destination", "hook", "--sample", "track", "--stage", "dest_transform"), "expected STAGE=on"),
        (
            ("test", "destination", "hook", "--sample", "track", "--stage", "dest_transform=no"),
            "expected dest_transform=on",
        ),
        (("test", "destination", "hook", "--sample", "track", "--config", "webhookUrl"), "expected KEY=VALUE"),
        (("test", "destination", "hook", "--sample", "track", "--config", "webhokUrl=x"), "Did you mean 'webhookUrl'?"),
        (
            ("test", "destination", "hook", "--sample", "track", "--config", "headers:=[1"),
            "headers:=:1:3: invalid JSON",
        ),
        (("test", "source", "web", "--sample", "track", "--config", "webhookUrl=x"), "a source has no configuration"),
        (("test", "source", "idle", "--sample", "track"), "Source with idle is disabled"),
        (("test", "destination", "hook", "--sample", "track", "--email", "a@b"), "--email needs --base-url"),
        (
            ("test", "destination", "d", "--sample", "track", "--base-url", "http://x"),
            "--base-url needs an access token",
        ),
        (
            ("test", "destination", "d", "--sample", "track", "--base-url", "http://x", "--email", "a@b"),
            "set SVC_TOKEN",
        ),
        (
            ("test", "destination", "d", "--sample", "track", "--base-url", "x", "--workspace", "y"),
            "give only one of them",
        ),
        (("test", "destination", "d", "--sample", "track", "--workspace", "no.yaml"), "no.yaml"),
        (("test", "destination", "d", "--event", "no.json"), "no.json: cannot be read: No such file or directory"),
        (("test", "destination", "d", "--event", "a\0b"), "cannot be read"),
        (("serve", "--port", "65536"), "'65536' is not a valid port"),
        (("serve", "--live"), "--live needs --workspace FILE"),
        (("serve", "--workspace", "no.yaml"), "no.yaml"),
        (("definitions", "WEBHOK"), "unknown destination type 'WEBHOK'. Did you mean 'WEBHOOK'"),
    ],
)
def test_wrong_usage_is_reported(run: Run, arguments: tuple[str, ...], says: str) -> None:
    """On standard error, with what to write instead; exit code 4."""
    shown = run(*arguments)

    assert shown.code == Exit.USAGE
    assert says in shown.err
    assert shown.err.startswith("svctoolkit: ")
    assert "Traceback" not in shown.err
    assert shown.out == ""


TWO = [{"type": "track", "event": name, "userId": "u1", "messageId": f"m-{name}"} for name in ("A", "B")]
BATCH = """def transformBatch(events, metadata):
    return [{**event, "size": len(events)} for event in events if event["event"] != "C"]
"""


@pytest.mark.parametrize("text", [json.dumps(TWO, indent=1), "\n".join(map(json.dumps, TWO)) + "\n"])
def test_a_list_and_lines_of_events_are_one_call(run: Run, folder: Path, text: str) -> None:
    """`transformBatch` sees them together; a destination gets each."""
    (folder / "two.json").write_text(text)
    (folder / "batch.py").write_text(BATCH)
    transformed = run("transform", "batch.py", "--event", "two.json")
    tested = run("test", "destination", "hook", "--event", "two.json")
    as_json = json.loads(run("test", "destination", "hook", "--event", "two.json", "--json").out)

    assert (transformed.code, tested.code) == (0, 0)
    assert transformed.out.count('"size": 2') == 2
    assert "input 2 of 2" in transformed.out
    assert [f'track "{name}"' in tested.out for name in "AB"] == [True, True]
    assert [result["data"][0]["dest_transformed_payload"][0]["body"]["JSON"]["event"] for result in as_json] == [
        "A",
        "B",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"type": "track",\n  "event": }', "event.json:2:12: invalid JSON: expected value"),
        (b"", "event.json:1:1: invalid JSON"),
        (b"[]", "event.json: an event must be a JSON object"),
        (b'[{"type": "track"}, 5]', "event.json: an event must be a JSON object, {...} (number 2)"),
        (b'{"type": "track"}\n{"type": }', "event.json:2:10: invalid JSON: expected value"),
        (b'{"type": NaN}', "NaN is not a JSON value"),
        (b'{"n": 1e999}', "the number 1e999 is out of range"),
        (b"\xff", "event.json: is not UTF-8: byte 1 is 0xff"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"n": ' + b"9" * 5000 + b"}", "event.json: invalid JSON"),
        (b'{"type": "Track"}', "message type is unsupported"),
        (b"{}", "message type missing or invalid"),
    ],
)
def test_wrong_events_are_reported_with_their_position(run: Run, folder: Path, text: bytes, says: str) -> None:
    """For every unusable event file."""
    (folder / "event.json").write_bytes(text)
    shown = run("test", "destination", "hook", "--event", "event.json")

    assert (shown.code, shown.out) == (Exit.USAGE, "")
    assert says in shown.err


def test_a_missing_workspace_is_reported(run: Run, folder: Path) -> None:
    """The error says how to name one or create one."""
    (folder / "workspace.yaml").unlink()
    shown = run("test", "destination", "hook", "--sample", "track")

    assert shown.code == Exit.USAGE
    assert "give --workspace FILE" in shown.err
    assert "svctoolkit init" in shown.err


# --- test


def test_test_shows_each_stage_and_the_request(run: Run) -> None:
    """Each stage with its status, then the request that would be sent. By default, nothing is sent."""
    shown = run("test", "destination", "hook", "--sample", "track")
    lines = [line.split() for line in shown.out.splitlines()]

    assert shown.code == Exit.OK
    assert lines[0] == ["track", '"Order', 'Completed"']
    assert lines[2] == ["Orders", "hook", "WEBHOOK", "d1"]
    assert lines[3][:2] == ["user_transform", "none"]
    assert lines[4][:2] == ["dest_transform", "ok"]
    assert lines[5][:2] == ["send_to_destination", "off"]
    assert ["POST", "https://hook.example/in"] in lines
    assert "\x1b" not in shown.out


def test_send_shows_the_answer(run: Run) -> None:
    """In delivery mode `record` the output says that nothing left the machine."""
    shown = run("test", "destination", "hook", "--sample", "track", "--send")

    assert shown.code == Exit.OK
    assert "nothing leaves this machine" in shown.out
    assert "\n    answer 200\n" in shown.out


def test_long_bodies_are_cut_on_a_terminal(folder: Path) -> None:
    """The output says so; in a pipe they are complete."""
    shown = terminal("test", "destination", "hook", "--sample", "track", cwd=folder)
    piped = start("test", "destination", "hook", "--sample", "track", cwd=folder).stdout.decode()

    assert "more lines; --json shows all of them" in shown
    assert "request_ip" not in shown
    assert "request_ip" in piped


def test_the_transformed_event_is_shown_without_a_request(run: Run, folder: Path) -> None:
    """If no request shows the result of the user transformation, the event is shown."""
    workspace = Workspace("shop")
    workspace.transformation("upper", lambda event: {**event, "event": event["event"].upper()})
    hook = workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://x.example"}, transformation="upper")
    event, stages = events.track("Signed Up", user_id="u"), Stages.of("user_transform")
    shown = report([Pipeline(workspace).test_destination(hook.id, event, stages=stages)], event, stages, "")
    without = run("test", "destination", "hook", "--sample", "track", "--stage", "dest_transform=off").out

    assert '"event": "SIGNED UP"' in shown
    assert "VersionID" not in without


def test_failures_are_shown_at_their_stage() -> None:
    """An error of user code and a refusal by the destination, with place and status."""
    workspace = Workspace("shop")
    workspace.transformation("boom", lambda event: event["absent"])
    for key, transformation in (("boom", "boom"), ("gone", None)):
        config = {"webhookUrl": f"https://{key}.example"}
        workspace.destination(key, "WEBHOOK", config=config, transformation=transformation)
    pipeline = Pipeline(workspace)
    pipeline.recorder.answer("https://gone.example", Answer(status=404, body={"why": "no such hook"}))
    event, stages = events.track("Signed Up", user_id="u"), Stages(True, True, True)
    results = [pipeline.test_destination(key, event, stages=stages) for key in ("boom", "gone")]
    shown = report(results, event, stages, "")

    assert re.search(r"user_transform +failed .*KeyError: 'absent' \(.*test_cli.py:\d+", shown)
    assert re.search(r"dest_transform +aborted", shown)
    assert re.search(r"send_to_destination +failed .* 404", shown)
    assert '{"why": "no such hook"}' in shown


def test_secrets_are_masked(run: Run) -> None:
    """The output shows the variable, but never the secret."""
    shown = [run("test", "destination", "hook", "--sample", "track", "--send", *more).out for more in ((), ("--json",))]

    assert "hush-hush" not in "".join(shown)
    assert all("x-key" in text for text in shown)


def test_json_prints_the_specified_result(run: Run, tmp_path: Path) -> None:
    """Of a destination, or the array of a source."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps(events.sample("page")))
    one = json.loads(run("test", "destination", "hook", "--event", str(event), "--json").out)
    all_of_it = run("test", "source", "web", "--event", str(event), "--json")
    several = json.loads(all_of_it.out)

    assert one["data"][0]["user_transformed_payload"] == {"error": "Transformation VersionID not found"}
    assert several[0] == one
    assert several[1] == {
        "destinationId": "d2",
        "destinationName": "off",
        "error": "Destination with id d2 is disabled",
    }
    assert all_of_it.code == Exit.FAILED


def test_options_reach_the_test(run: Run) -> None:
    """Stages, configuration and force."""
    stages = ("--stage", "user_transform=off", "--stage", "send_to_destination=on")
    config = ("--config", "webhookUrl=https://other.example/a=b", "--config", 'headers:=[{"from": "A", "to": "b"}]')
    shown = run("test", "destination", "off", "--sample", "track", "--json", "--force", *stages, *config)
    entry = json.loads(shown.out)["data"][0]

    assert shown.code == Exit.OK
    assert set(entry) == {"dest_transformed_payload", "destination_response", "destination_response_status"}
    assert entry["dest_transformed_payload"][0]["endpoint"] == "https://other.example/a=b"


def test_a_source_with_an_untestable_stream_can_be_tested(run: Run, folder: Path) -> None:
    """The stream is mentioned and not a failure next to tested destinations; alone it is one."""
    shop = SHOP.replace("destinations: [hook, off]", "destinations: [hook, stream]")
    (folder / "workspace.yaml").write_text(f"{shop}  stream: {{type: KAFKA}}\n")
    beside = run("test", "source", "web", "--sample", "track")
    (folder / "workspace.yaml").write_text(f"{shop}  stream: {{type: KAFKA}}\n".replace("[hook, stream]", "[stream]"))

    assert beside.code == Exit.OK
    assert "KAFKA cannot be tested" in beside.out
    assert run("test", "source", "web", "--sample", "track").code == Exit.FAILED


def test_an_error_in_the_result_is_exit_code_1(run: Run) -> None:
    """For example, a disabled destination."""
    shown = run("test", "destination", "off", "--sample", "track")

    assert shown.code == Exit.FAILED
    assert "Destination with id d2 is disabled" in shown.out


def test_control_characters_are_escaped(run: Run, folder: Path) -> None:
    """Those in an event or a name never reach the terminal."""
    event = {"type": "track", "event": "\x1b]0;owned\x07\x9b31m", "userId": "u"}
    (folder / "event.json").write_text(json.dumps(event), encoding="utf-8")
    shown = run("test", "destination", "hook", "--event", "event.json")

    assert shown.code == Exit.OK
    assert re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown.out) == []


@pytest.mark.parametrize(("depth", "code"), [(190, 0), (400, 4), (900, 4)])
def test_deep_events_have_the_limit_of_the_server(run: Run, folder: Path, depth: int, code: int) -> None:
    """Up to the server's depth they run; beyond it they are rejected."""
    deep = '{"a": ' * depth + "1" + "}" * depth
    (folder / "event.json").write_text(f'{{"type": "track", "event": "E", "userId": "u", "properties": {deep}}}')
    shown = run("test", "destination", "hook", "--event", "event.json", "--send")

    assert shown.code == code
    assert ("at most 200 levels are allowed" in shown.err) == bool(code)


def test_an_event_can_be_read_from_standard_input(folder: Path) -> None:
    """`--event -`, with or without a byte order mark."""
    event = json.dumps(events.sample("identify")).encode()
    done = start(
        "test", "destination", "hook", "--event", "-", "--json", cwd=folder, input=b"\xef\xbb\xbf" + event, stdin=None
    )

    assert done.returncode == 0
    assert json.loads(done.stdout)["destinationId"] == "d1"


# --- a remote service


@pytest.fixture(scope="module")
def remote() -> Iterator[str]:
    workspace = Workspace("shop", users=[Person.with_token("dev@example.com", "t0ken-of-dev")])
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("web", destinations=["hook"])
    with server.running(workspace) as served:
        yield served.url


def test_a_remote_service_can_be_tested(run: Run, remote: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token comes from SVC_TOKEN, and the output names the service."""
    monkeypatch.setenv("SVC_TOKEN", "t0ken-of-dev")
    shown = run(
        "test", "destination", "hook", "--sample", "track", "--base-url", f"{remote}/", "--email", "dev@example.com"
    )

    assert shown.code == Exit.OK
    assert f"tested by {remote}" in shown.out
    assert "POST https://hook.example/in" in shown.out


def test_a_refused_token_is_exit_code_4(run: Run, remote: str) -> None:
    """It is not shown."""
    login = ("--base-url", remote, "--email", "dev@example.com", "--token", "wr0ng-token")
    shown = run("test", "source", "web", "--sample", "track", *login)

    assert shown.code == Exit.USAGE
    assert "Invalid Authorization Header" in shown.err
    assert "wr0ng" not in shown.err + shown.out


def test_an_unreachable_service_is_exit_code_1(run: Run) -> None:
    """With one line."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    login = ("--base-url", f"http://127.0.0.1:{port}", "--email", "dev@example.com", "--token", "t")
    shown = run("test", "source", "web", "--sample", "track", *login)

    assert shown.code == Exit.FAILED
    assert re.fullmatch(rf"svctoolkit: cannot reach http://127.0.0.1:{port}: connection refused.*\n", shown.err)


# --- definitions


def test_definitions_lists_all_types(run: Run) -> None:
    """With what can be tested."""
    shown = run("definitions")
    rows = {line.split()[0]: line for line in shown.out.splitlines() if line}

    assert shown.code == Exit.OK
    assert rows["WEBHOOK"].endswith("yes")
    assert "no: " in rows["KAFKA"]
    assert len(rows) > 239


def test_definition_shows_the_variables_of_a_type(run: Run) -> None:
    """Kind, required, default, secret; the type's name in any case."""
    shown = run("definitions", "webhook")
    rows = {line.split()[0]: line for line in shown.out.splitlines() if line}

    assert rows["WEBHOOK"] == "WEBHOOK Webhook"
    assert "yes" in rows["webhookUrl"]
    assert "GET" in rows["webhookMethod"]
    assert "secret" in rows["headers"]
    assert "mapping  identify, track, page, screen, group, alias" in shown.out
    assert re.search(r"identify +1 payload +DELETE of identify", shown.out)


def test_examples_of_a_definition_are_printed(run: Run) -> None:
    """--example prints those whose name has the text; without a match, the nearest name."""
    shown = json.loads(run("definitions", "mp", "--example", "two ids are merged").out)

    assert shown["name"] == "with an API secret the two ids are merged"
    assert {"config", "event", "payloads"} <= set(shown)
    assert "unknown example of MP 'two idx'" in run("definitions", "mp", "--example", "two idx").err
    assert "--example needs a type" in run("definitions", "--example", "x").err


def test_docs_lists_and_prints_pages(run: Run) -> None:
    """With their titles; a misspelt page is an error with a suggestion."""
    listed = run("docs").out

    assert re.search(r"^lineage +Lineage$", listed, re.M)
    assert re.search(r"^sdk/values +\S", listed, re.M)
    assert run("docs", "lineage").out.startswith("# Lineage\n")
    assert "unknown page 'linage'. Did you mean 'lineage'?" in run("docs", "linage").err


def test_the_tour_shows_a_finding_and_next_steps(run: Run) -> None:
    """For new users: an order at three destinations, side by side, and what is odd."""
    done = run("tour")

    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines() if line.startswith("  ")}
    assert (done.code, done.err) == (0, "")
    assert rows["total"] == ["133.9", "value", "total", "–"]
    assert rows["revenue"] == ["128", "–", "$amount", "–"]
    found = " ".join(done.out.split())
    assert "Google Analytics counts 133.9 (properties.total, as value), Mixpanel 128 (properties.revenue" in found
    assert "differ by 5.9" in found
    assert "svctoolkit import workspaceConfig.json" in done.out


def test_next_steps_work_for_a_program_outside_the_path(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Started from `.venv`, it prints commands that can be copied."""
    monkeypatch.setattr(sys, "argv", [".venv/bin/svctoolkit", "init", "new"])
    monkeypatch.setenv("PATH", str(folder))

    assert f"next: cd new && {folder}/.venv/bin/svctoolkit run" in run("init", "new").out
    assert f"`. {folder}/.venv/bin/activate`." in " ".join(run("tour").out.split())


@pytest.mark.skipif(os.name != "posix", reason="other shells quote in another way")
def test_next_steps_work_for_a_folder_with_spaces(run: Run) -> None:
    """The line can be copied as it is."""
    assert "next: cd 'my shop' && " in run("init", "my shop").out


def test_the_tour_accepts_the_users_own_event(run: Run, folder: Path) -> None:
    """Destinations that reject it say why; control characters in its values are escaped."""
    event = {"type": "identify", "userId": "u\x1b[31m", "traits": {"email": "mira@mail.example"}}
    (folder / "event.json").write_text(json.dumps(event))
    done = run("tour", "--event", "event.json")

    assert done.code == 0
    assert "traits.email mira@mail.example" in " ".join(done.out.split())
    assert "Google Analytics rejects the event: Google Analytics 4 (GA4) does not accept identify events" in done.out
    assert "\x1b[31m" not in done.out


def test_definitions_can_be_searched(run: Run) -> None:
    """By display name, accepted event types or batching; no match is an error."""
    assert {"GA4", "GOOGLEADS"} <= set(
        re.findall(r"^(\w+) +Google", run("definitions", "--search", "google").out, re.M)
    )
    groups = run("definitions", "--takes", "group", "--batches").out
    assert "\nMP " in groups
    assert "\nGA4 " not in groups
    assert "\nSLACK " not in groups
    assert "KAFKA" in run("definitions", "--category", "streaming").out
    assert "no: device mode only" in run("definitions", "--search", "hotjar", "--mode", "device").out
    assert "unknown event type 'grup'. Did you mean 'group'?" in run("definitions", "--takes", "grup").err
    assert "no destination type matches 'zzz'" in run("definitions", "--search", "zzz").err


def test_definitions_can_be_printed_as_markdown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of testable types; the package has it in its current state."""
    monkeypatch.setattr(CATALOGUE, "_added", {})  # types registered by other tests are not part of the package
    page = (Path(svctoolkit.__file__).parent / "docs" / "catalogue.md").read_text(encoding="utf-8")

    text = run("definitions", "--markdown").out

    assert "| ATTENTIVE_TAG | [Attentive Tag](https://docs.attentive.com/reference) | identify, track | " in text
    assert "| PINTEREST_TAG | " in text
    assert text == page, "run `svctoolkit definitions --markdown > svctoolkit/docs/catalogue.md`"


def test_definitions_of_webhook_sources(run: Run) -> None:
    """The list, one type with its examples, JSON, and the page that the package has in its current state."""
    page = (Path(svctoolkit.__file__).parent / "docs" / "source_catalogue.md").read_text(encoding="utf-8")
    slack = json.loads(run("definitions", "--sources", "slack", "--json").out)

    assert "31 webhook source types" in run("definitions", "--sources").out
    assert "a user who joins is an identify event" in run("definitions", "--sources", "slack").out
    assert "| url_verification | answer " in run("definitions", "--sources", "slack", "--markdown").out
    assert (slack["topic"], slack["topics"][:2]) == ("body.event.type", ["message", "team_join"])
    assert len(json.loads(run("definitions", "--sources", "--json").out)) == 31
    assert "Did you mean 'Shopify'?" in run("definitions", "--sources", "shopify").err
    assert "--takes is about destination types" in run("definitions", "--sources", "--takes", "track").err
    assert run("definitions", "--sources", "--markdown").out == page, (
        "run `svctoolkit definitions --sources --markdown > svctoolkit/docs/source_catalogue.md`"
    )


@pytest.mark.parametrize("name", [(), ("WEBHOOK",)])
def test_definitions_can_be_printed_as_json(run: Run, name: tuple[str, ...]) -> None:
    """The answer of GET /destination-definitions."""
    found = json.loads(run("definitions", *name, "--json").out)
    one = found if name else next(d for d in found if d["name"] == "WEBHOOK")

    assert one["config"]["destConfig"]["defaultConfig"] == ["webhookUrl", "webhookMethod", "headers"]


@pytest.mark.parametrize("columns", [40, 80])
def test_tables_fit_the_terminal(folder: Path, columns: int) -> None:
    """No line is wider than the terminal; in a pipe nothing is cut."""
    shown = terminal("definitions", "BRAZE", cwd=folder, columns=columns)
    piped = start("definitions", "BRAZE", cwd=folder).stdout.decode()

    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()) <= columns
    assert max(len(line) for line in piped.splitlines()) > 100


# --- init


def test_init_writes_a_project_that_passes(folder: Path) -> None:
    """Its suite passes, and its test command works."""
    written = start("init", "made/shop", cwd=folder)
    shop = folder / "made" / "shop"
    checked = start("run", cwd=shop)
    tested = start("test", "destination", "hook", "--sample", "track", "--send", cwd=shop)

    assert (written.returncode, checked.returncode, tested.returncode) == (0, 0, 0), checked.stdout + checked.stderr
    assert {f.name for f in shop.rglob("*.*") if ".svctoolkit" not in f.parts} == {
        "workspace.yaml",
        "orders.suite.yaml",
        "analytics.suite.yaml",
        "_common.yaml",
        "clean.py",
        "README.md",
        "pytest.ini",
        "transformation.d.ts",
        "transformation_types.pyi",
        ".gitignore",
    }
    assert b"next: cd made/shop && svctoolkit run" in written.stdout


def test_init_never_overwrites(run: Run, folder: Path) -> None:
    """If one file exists already, nothing is written."""
    shown = run("init")

    assert shown.code == Exit.USAGE
    assert "workspace.yaml: already exists" in shown.err
    assert [f.name for f in folder.iterdir()] == ["workspace.yaml"]
    assert (folder / "workspace.yaml").read_text(encoding="utf-8") == SHOP


def test_init_is_all_or_nothing(run: Run, folder: Path) -> None:
    """An unwritable folder leaves no half of a project."""
    (folder / "made").mkdir()
    (folder / "made" / "suites").write_text("a file, not a folder", encoding="utf-8")
    shown = run("init", "made")

    assert shown.code == Exit.FAILED
    assert "cannot write a project to made" in shown.err
    assert [f.name for f in (folder / "made").iterdir()] == ["suites"]


# --- serve


def test_serve_prints_its_address_and_an_example(folder: Path) -> None:
    """As soon as it listens; Ctrl-C stops it with exit code 0."""
    command = [*PROGRAM, "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        assert served.stdout is not None
        port = int(served.stdout.readline().rpartition(":")[2])
        lines = iter(served.stdout.readline, "")
        ready = next(line for line in lines if line.startswith("curl ") and "testDestination" in line)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"GET /destination-definitions/WEBHOOK HTTP/1.0\r\n\r\n")
            answer = connection.recv(12)
        served.send_signal(signal.SIGINT)
        _, errors = served.communicate(timeout=60)

    assert answer == b"HTTP/1.1 200"
    assert f"127.0.0.1:{port}/v0/testDestination/hook" in ready
    assert served.returncode == 0
    assert errors == ""


def test_a_port_in_use_is_reported(folder: Path) -> None:
    """In one line."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = start("serve", "--workspace", "workspace.yaml", "--port", str(taken.getsockname()[1]), cwd=folder)

    assert done.returncode == Exit.USAGE
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


# --- exit codes and streams


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (KeyboardInterrupt(), Exit.INTERRUPTED, "interrupted"),
        (RequestError(400, {"message": "no"}), Exit.USAGE, "no"),
        (RequestError(429, {"message": "slow"}), Exit.FAILED, "slow"),
        (RequestError(500, {"message": "oh"}), Exit.FAILED, "oh"),
        (DeliveryError("gone", code="ECONNRESET"), Exit.FAILED, "gone"),
        (Unsupported("not this one"), Exit.USAGE, "not this one"),
        (KeyError("x"), Exit.INTERNAL, "internal error: KeyError: 'x' (test_cli.py:"),
    ],
)
def test_exceptions_become_exit_codes(run: Run, error: BaseException, code: int, says: str) -> None:
    """An exception of a command becomes its exit code and one message. Commands can be added at run time."""

    def fail(_args: Any) -> int:
        raise error

    COMMANDS.add("fail", Command("fails", fail))
    try:
        shown = run("fail")
    finally:
        COMMANDS._added.clear()

    assert shown.code == code
    assert shown.err.startswith(f"svctoolkit: {says}")


def test_a_closed_pipe_ends_the_output(folder: Path) -> None:
    """`| head -1`: nothing on standard error, and the command's own exit code."""
    with subprocess.Popen(
        [*PROGRAM, "definitions", "--json"],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as piped:
        assert piped.stdout is not None
        assert piped.stderr is not None
        piped.stdout.readline()
        piped.stdout.close()
        errors = piped.stderr.read()

    assert (piped.returncode, errors) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_reported(folder: Path) -> None:
    """Output that cannot be written is an error, not a traceback."""
    with open("/dev/full", "wb") as full:
        command = [*PROGRAM, "definitions"]
        done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, check=False)

    assert done.returncode == Exit.FAILED
    assert done.stderr == b"svctoolkit: cannot write the output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_run_of_suites_meets_a_full_disk_or_a_closed_output(folder: Path) -> None:
    """A full disk is an error of its environment; the exit code without a reader is that of the scenarios."""
    (folder / "small.suite.yaml").write_text(SMALL_SUITE)
    codes, said = [], []
    for output in (">/dev/full", "| true", ">&-"):
        command = f"set -o pipefail; {sys.executable} -m svctoolkit run small.suite.yaml {output}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, check=False, text=True
        )
        codes.append(done.returncode)
        said.append(done.stderr)

    assert codes == [Exit.FAILED, Exit.OK, Exit.OK]
    assert said == ["svctoolkit: cannot write the output: No space left on device\n", "", ""]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_report_goes_through_a_pipe_that_stays_one(folder: Path) -> None:
    """A device such as `/dev/stdout` must not be replaced by a file."""
    (folder / "small.suite.yaml").write_text(SMALL_SUITE)
    os.mkfifo(folder / "pipe")
    command = f"cat pipe & {sys.executable} -m svctoolkit run small.suite.yaml --report json=pipe >&2; wait"
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False)

    assert (folder / "pipe").is_fifo()
    assert json.loads(done.stdout)


SMALL_SUITE = """
suite: small
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
sources:
  web: {destinations: [hook]}
scenarios:
  - name: an event arrives
    send: {type: track, event: A, userId: u1}
    expect: {delivered: [{}]}
"""


def test_closed_output_keeps_the_exit_code(folder: Path) -> None:
    """A command whose standard output is closed still returns its exit code."""
    command = f"exec {sys.executable} -m svctoolkit test destination off --sample track >&-"
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (Exit.FAILED, b"")


def test_output_is_utf_8_in_every_locale(folder: Path) -> None:
    """Whatever the environment says."""
    (folder / "event.json").write_text(
        '{"type": "page", "name": "Überblick ✓ \\ud800", "userId": "u"}', encoding="utf-8"
    )
    env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = start("test", "destination", "hook", "--event", "event.json", cwd=folder, env=env)

    assert (done.returncode, done.stderr) == (0, b"")
    assert '"name": "Überblick ✓ ' in done.stdout.decode()


def terminal(*arguments: str, cwd: Path, columns: int = 80, **environ: str) -> str:
    """The output of a command on a terminal."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    env = {**ENVIRONMENT, "COLUMNS": str(columns), "TERM": "xterm", **environ}
    shown = io.BytesIO()
    with subprocess.Popen([*PROGRAM, *arguments], cwd=cwd, env=env, stdout=theirs, stdin=subprocess.DEVNULL) as started:
        os.close(theirs)
        try:
            while data := os.read(ours, 65536):
                shown.write(data)
        except OSError:  # how Linux reports that the other side is closed
            pass
        started.wait()
    os.close(ours)
    return shown.getvalue().decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"TERM": "dumb", "FORCE_COLOR": "1"}, True)],
)
def test_colours_depend_on_terminal_and_environment(folder: Path, environ: dict[str, str], coloured: bool) -> None:
    """On a terminal that supports them, as NO_COLOR, FORCE_COLOR and TERM say."""
    shown = terminal("test", "destination", "hook", "--sample", "page", cwd=folder, **environ)

    assert ("\x1b[" in shown) == coloured


@pytest.mark.parametrize(
    ("environ", "expected"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_in_a_pipe_need_force_color(environ: dict[str, str], expected: bool) -> None:
    """Unless NO_COLOR is set, which wins."""
    assert _terminal.colours(io.StringIO(), environ) is expected


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--backoff", "atempts=3"], "unknown key 'atempts'. Did you mean 'attempts'?"),
        (["--backoff", "attempts=0"], "'attempts' must be 1 or more, not 0"),
        (["--limit", "waiting=1"], "'waiting' must be 20 or more, not 1"),
        (["--limit", "body"], "'body' is not NAME=NUMBER"),
    ],
)
def test_serve_checks_its_options_like_the_file(folder: Path, option: list[str], says: str) -> None:
    """An unknown or invalid setting is reported before anything is served."""
    ran = subprocess.run(
        [*PROGRAM, "serve", *option], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=30
    )

    assert ran.returncode == 4
    assert says in ran.stderr
