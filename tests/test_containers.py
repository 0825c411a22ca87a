"""What `.github/container` describes, and the Testcontainers module: checked without Docker, as far as that goes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from svctoolkit import DataPlane
from svctoolkit.errors import ConfigError
from svctoolkit.server.serving import listening_at
from tests.http_server import HttpServer

FOLDER = Path(__file__).parent.parent / ".github" / "container"
TOKEN = "a-token-of-some-length"
WORKSPACE = """
workspace: shop
sources: {web: {writeKey: web, destinations: [hook]}}
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}}
transformations: {}
"""


#: Runs a command as user 10001 without capabilities; files of root belong to that user, and their modes count.
AS_USER = """
import ctypes, os, sys
uid, gid = os.getuid(), os.getgid()
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):  # CLONE_NEWUSER
    raise OSError(ctypes.get_errno(), "unshare")
for file, text in ("setgroups", "deny"), ("uid_map", f"10001 {uid} 1"), ("gid_map", f"10001 {gid} 1"):
    with open(f"/proc/self/{file}", "w") as writer:
        writer.write(text)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def instructions(name: str) -> list[str]:
    """What follows an instruction of the last stage of the image."""
    text = (FOLDER / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    stage = text[text.rindex("\nFROM ") :]
    return re.findall(rf"^{name} +(.+)$", stage, re.MULTILINE)


def compose() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return services


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder like that of the example: a workspace, which other users may read and nobody may change."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "workspace.yaml").write_text(WORKSPACE)
    folder.chmod(0o555)
    return folder


@contextmanager
def container(project: Path, data: Path) -> Iterator[int]:
    """Run the image's ENTRYPOINT and CMD as a user without rights; gives the port once the HEALTHCHECK succeeds."""
    data.mkdir()
    as_user = [sys.executable, "-c", AS_USER] if os.geteuid() == 0 else []
    socket = listening_at("127.0.0.1", 0)
    port = socket.getsockname()[1]
    socket.close()
    (entry,), (command,), (health,) = map(instructions, ("ENTRYPOINT", "CMD", "HEALTHCHECK"))
    arguments = [argument.replace("/data", str(data)) for argument in [*json.loads(entry), *json.loads(command)]]
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(data),
        "SVCTOOLKIT_TOKEN": TOKEN,
    }
    check = json.loads(health.partition("CMD ")[2].replace("8091", str(port)))
    with subprocess.Popen(
        [*as_user, *arguments, "--port", str(port)], cwd=project, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            ends = time.monotonic() + 120
            while subprocess.run([*as_user, *check], env=environment, capture_output=True).returncode:
                assert process.poll() is None, "the container ended"
                assert time.monotonic() < ends, "the HEALTHCHECK does not succeed"
                time.sleep(0.1)
            yield port
        finally:
            process.terminate()
            output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert TOKEN not in output


def test_the_image_serves_without_rights(project: Path, tmp_path: Path) -> None:
    """As an unprivileged user in a folder that it cannot change; the example's programs send and find an order."""
    services = compose()
    with container(project, tmp_path / "data") as port:
        for name in ("shop", "check"):
            url = services[name]["environment"]["DATA_PLANE_URL"].replace("plane:8091", f"127.0.0.1:{port}")
            environment = {"DATA_PLANE_URL": url, "SVCTOOLKIT_TOKEN": TOKEN, "WRITE_KEY": "web"}
            program = FOLDER / Path(services[name]["command"][1]).name
            done = subprocess.run(
                [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, done.stderr

    assert done.stdout == "passed\n"
    assert sorted(file.name for file in project.iterdir()) == ["workspace.yaml"]


def test_the_image_is_for_a_user_without_rights() -> None:
    """A numeric user, so that Kubernetes can check it; the files outside /data and /tmp are root's."""
    assert instructions("USER") == ["10001"]
    assert "--uid 10001" in instructions("RUN")[0]
    assert instructions("VOLUME") == ["/data"]
    assert instructions("EXPOSE") == ["8091"]
    assert "chown bench /data" in instructions("RUN")[0]


def test_the_names_in_the_compose_file_agree() -> None:
    """Services wait for others that exist, are reached by their names, and mount files that are there."""
    services = compose()
    plane = services["plane"]

    assert plane["read_only"] is True
    assert plane["tmpfs"] == ["/tmp"]
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        url = urlsplit(service["environment"].get("DATA_PLANE_URL", "http://plane:8091"))
        assert (url.hostname, url.port) == ("plane", int(instructions("EXPOSE")[0]))
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in ("./", "events") or (FOLDER / source).is_file()
    assert services["shop"]["depends_on"]["plane"]["condition"] == "service_healthy"


@pytest.mark.parametrize("token", ["short", "with a space in it", "not-only-ascii-ä-ö-ü"])
def test_a_token_that_can_be_guessed_is_an_error(token: str, project: Path) -> None:
    """Before anything is served."""
    done = subprocess.run(
        [sys.executable, "-m", "svctoolkit", "serve", "--port", "0"],
        cwd=project,
        env={**os.environ, "SVCTOOLKIT_TOKEN": token},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 4
    assert "SVCTOOLKIT_TOKEN needs 16 or more ASCII characters" in done.stderr
    assert token not in done.stderr


class Docker(HttpServer):
    """A Docker engine that runs a data plane of this process instead of the one container."""

    created: dict[str, Any]
    plane: DataPlane | None = None

    def start(self) -> None:
        folder = next(bind.partition(":")[0] for bind in self.created["HostConfig"]["Binds"])
        token = dict(each.split("=", 1) for each in self.created["Env"])["SVCTOOLKIT_TOKEN"]
        self.plane = DataPlane(Path(folder) / "workspace.yaml", host="0.0.0.0", token=token)

    def stop(self) -> None:
        if self.plane:
            self.plane.stop()
        self.plane = None

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        what = re.sub(r"^/v[\d.]+", "", urlsplit(path).path)
        if what == "/version":
            return 200, {"ApiVersion": "1.44", "Version": "25", "MinAPIVersion": "1.24"}
        if what == "/containers/create":
            self.created = json.loads(body)
            return 201, {"Id": "c0ffee", "Warnings": []}
        if what == "/containers/c0ffee/start":
            self.start()
            return 204, None
        if method == "DELETE":
            self.stop()
            return 204, None
        if what == "/containers/c0ffee/json":
            assert not self.plane or self.plane.url
            port = urlsplit(self.plane.url).port if self.plane else 0
            ports = {"8091/tcp": [{"HostIp": "0.0.0.0", "HostPort": str(port)}]}
            state = {"Status": "running", "Running": True}
            return 200, {"Id": "c0ffee", "Image": "i", "State": state, "NetworkSettings": {"Ports": ports}}
        if what.startswith("/images/"):
            return 200, {"Id": "i", "RepoTags": ["svctoolkit:latest"]}
        return 404, {"message": f"no {what}"}


class _Handler(BaseHTTPRequestHandler):
    server: Docker
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, value = self.server.answer(self.command, self.path, body)
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Docker]:
    """An engine at `DOCKER_HOST`."""
    with Docker(("127.0.0.1", 0), _Handler) as engine:
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{engine.server_address[1]}")
        thread = threading.Thread(target=engine.serve_forever, daemon=True)
        thread.start()
        yield engine
        engine.stop()
        engine.shutdown()
        thread.join()


def test_a_container_of_testcontainers(docker: Docker, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts with the workspace and a token, waits until it is ready, and compares what has arrived."""
    from testcontainers.core.config import ConnectionMode, testcontainers_config

    from svctoolkit.testcontainers import DataPlaneContainer

    monkeypatch.setattr(testcontainers_config, "ryuk_disabled", True)
    monkeypatch.setattr(testcontainers_config, "connection_mode_override", ConnectionMode.docker_host)
    event = {"type": "track", "event": "Order Completed", "userId": "u1"}
    delivered = {"delivered": {"hook": [{"body": {"event": "Order Completed"}}]}}
    with DataPlaneContainer(project) as plane:
        sent = httpx.post(f"{plane.url}/v1/batch", json={"batch": [event]}, auth=("web", ""), timeout=60)
        plane.expect(delivered)
        with pytest.raises(AssertionError, match=r"delivered\.hook: expected 0 elements, got 1"):
            plane.expect({"delivered": {"hook": []}})
        with pytest.raises(ConfigError, match="the data plane answers 400"):
            plane.expect({"deliverd": []})
        ran = docker.plane

    assert sent.status_code == 200
    assert ran is not None
    assert docker.plane is None
    host = docker.created["HostConfig"]
    assert docker.created["Image"] == "svctoolkit"
    assert docker.created["Cmd"] == ["--workspace", "workspace.yaml"]
    assert host["Binds"] == [f"{project}:/shop:ro"]
    assert (host["ReadonlyRootfs"], host["CapDrop"], host["Tmpfs"]) == (True, ["ALL"], {"/tmp": ""})


def test_a_folder_without_a_workspace_is_an_error(tmp_path: Path) -> None:
    """Before Docker is asked for anything."""
    from svctoolkit.testcontainers import DataPlaneContainer

    with pytest.raises(ConfigError, match=r"workspace\.yaml is missing: give the folder of a project"):
        DataPlaneContainer(tmp_path)


@pytest.mark.slow  # for node
def test_the_documented_client_for_javascript(project: Path, tmp_path: Path) -> None:
    """The two files on the page pass against a data plane whose destination is down at first, and fail without it."""
    page = (FOLDER.parents[1] / "svctoolkit" / "docs" / "containers.md").read_text(encoding="utf-8")
    for name, code in re.findall(r"^```js file=(\S+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(code, encoding="utf-8")
    with DataPlane(project / "workspace.yaml", host="0.0.0.0", token=TOKEN) as plane:
        port = urlsplit(plane.url).port
        environment = {**os.environ, "DATA_PLANE_URL": f"http://127.0.0.1:{port}", "SVCTOOLKIT_TOKEN": TOKEN}
        command = ["node", "--test", "orders.test.mjs"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        attempts = [fate.attempts for fate in plane.fates]
        wrong = environment | {"SVCTOOLKIT_TOKEN": f"not-{TOKEN}"}
        refused = subprocess.run(command, cwd=tmp_path, env=wrong, capture_output=True, text=True, timeout=120)

    assert done.returncode == 0, done.stdout
    assert attempts == [2]
    assert refused.returncode == 1
