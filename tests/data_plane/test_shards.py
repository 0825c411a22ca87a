"""Several data planes behind one address: the configuration of nginx on the page of the data plane, with nginx."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server.serving import listening_at

pytestmark = pytest.mark.slow  # for nginx

PAGE = Path(__file__).parent.parent.parent / "svctoolkit" / "docs" / "data-plane.md"
USERS, EVENTS = 24, 20


@pytest.fixture
def planes() -> Iterator[list[DataPlane]]:
    workspace = "sources: {web: {writeKey: web, destinations: [hook]}}\n"
    workspace += 'destinations: {hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}}'
    with DataPlane(Workspace.loads(workspace)) as one, DataPlane(Workspace.loads(workspace)) as two:
        yield [one, two]


@pytest.fixture
def address(planes: list[DataPlane], tmp_path: Path) -> Iterator[str]:
    """The address of nginx with the page's configuration in front of the planes."""
    socket = listening_at("127.0.0.1", 0)
    port = socket.getsockname()[1]
    socket.close()
    (text,) = re.findall(r"^```nginx\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    ports = {"8090": port, "8091": urlsplit(planes[0].url).port, "8092": urlsplit(planes[1].url).port}
    assert set(re.findall(r"\b\d{4}\b", text)) == set(ports)
    text = re.sub(r"\b\d{4}\b", lambda written: str(ports[written[0]]), text)
    paths = "".join(f"{kind}_temp_path {tmp_path};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    head = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}}\n"
    (tmp_path / "nginx.conf").write_text(f"{head}http {{ access_log off; {paths}\n{text}}}\n")
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with subprocess.Popen([program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            ends = time.monotonic() + 60
            while True:
                try:
                    httpx.get(f"{url}/health", timeout=60)
                    break
                except httpx.TransportError:
                    assert process.poll() is None, (tmp_path / "errors").read_text()
                    assert time.monotonic() < ends
                    time.sleep(0.05)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def send(url: str, user: str) -> None:
    """Send a user's events in order, as an SDK in a browser does; each third request is repeated."""
    headers = {"AnonymousId": base64.b64encode(user.encode()).decode()}
    with httpx.Client(headers=headers, auth=("web", ""), timeout=60) as client:
        for n in range(EVENTS):
            event = {"anonymousId": user, "event": f"{n}", "messageId": f"{user}-{n}"}
            for _ in range(2 if n % 3 == 0 else 1):
                assert client.post(f"{url}/v1/track", json=event).status_code == 200


def delivered(plane: DataPlane) -> dict[str, list[int]]:
    """The numbers of the events that were delivered, in order, by user."""
    by_user: dict[str, list[int]] = {}
    for delivery in plane.delivered:
        user, _, n = delivery.message_id.rpartition("-")
        by_user.setdefault(user, []).append(int(n))
    return by_user


def test_every_user_has_one_plane(planes: list[DataPlane], address: str) -> None:
    """Both planes have users, and no user is at both; a user's events are in order, and repeated ones arrive once."""
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(send, address, f"u{n}") for n in range(USERS)]:
            future.result()
    for plane in planes:
        plane.drain()
    one, two = map(delivered, planes)

    assert one
    assert two
    assert not set(one) & set(two)
    assert one | two == {f"u{n}": list(range(EVENTS)) for n in range(USERS)}


def test_a_server_has_one_plane(planes: list[DataPlane], address: str) -> None:
    """Requests without the header, with events of many users, all go to the plane of the sender's address."""
    for n in range(EVENTS):
        batch = [{"type": "track", "event": "e", "userId": f"u{u}", "messageId": f"u{u}-{n}"} for u in range(USERS)]
        assert httpx.post(f"{address}/v1/batch", json={"batch": batch}, auth=("web", ""), timeout=60).status_code == 200
    for plane in planes:
        plane.drain()

    assert sorted(map(len, map(delivered, planes))) == [0, USERS]
    assert all(numbers == list(range(EVENTS)) for plane in planes for numbers in delivered(plane).values())


def test_users_of_a_stopped_plane_wait(planes: list[DataPlane], address: str) -> None:
    """Their requests fail, so that SDKs send them again; the other plane does not get them."""
    send(address, "u1")
    (home,) = [plane for plane in planes if plane.received]
    (other,) = [plane for plane in planes if plane is not home]
    home.stop()
    headers = {"AnonymousId": base64.b64encode(b"u1").decode()}
    answers = [
        httpx.post(
            f"{address}/v1/track",
            json={"anonymousId": "u1", "event": "e"},
            headers=headers,
            auth=("web", ""),
            timeout=60,
        )
        for _ in range(3)
    ]

    assert [answer.status_code for answer in answers] == [502, 502, 502]
    assert not other.received
