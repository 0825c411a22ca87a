"""Serving over HTTPS, and the log of requests."""

from __future__ import annotations

import json
import re
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.errors import ConfigError
from svctoolkit.server import Tls
from tests.test_delivery import CERTIFICATE, KEY


def test_https_with_a_machine_readable_log(tmp_path: Path) -> None:
    """The printed address has the token; each request is a line of JSON without keys; SIGTERM ends it cleanly."""
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    command = [sys.executable, "-m", "svctoolkit", "serve", "--port", "0", "--log", "json"]
    command += ["--tls-cert", "cert.pem", "--tls-key", "key.pem"]
    context = ssl.create_default_context(cadata=CERTIFICATE)
    context.check_hostname = False
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True) as served:
        assert served.stdout is not None
        shown = ""
        while "testDestination" not in shown:
            shown += served.stdout.readline()
        url, token = re.search(r"page +(https://127\.0\.0\.1:\d+)/#token=(\S+)", shown).groups()  # type: ignore[union-attr]
        with httpx.Client(base_url=url, verify=context, timeout=60) as client:
            page = client.get("/", headers={"Accept": "text/html"})
            counts = client.get("/inspect/counts", headers={"Authorization": f"Bearer {token}"})
            sent = client.post("/v1/batch", auth=("web", ""), json={"batch": [{"type": "track"}]})
        served.send_signal(signal.SIGTERM)
        _, log = served.communicate(timeout=60)
    lines = [json.loads(line) for line in log.splitlines()]

    assert (page.status_code, counts.status_code, sent.status_code, served.returncode) == (200, 200, 400, 0)
    requests = [
        (line["method"], line["path"], line["status"]) for line in lines if line["logger"] == "svctoolkit.access"
    ]
    assert requests == [("GET", "/", 200), ("GET", "/inspect/counts", 200), ("POST", "/v1/batch", 400)]
    assert token not in log


@pytest.mark.parametrize(("certificate", "key"), [("", ""), (CERTIFICATE, CERTIFICATE), (CERTIFICATE, "no PEM")])
def test_an_unusable_certificate_is_reported(tmp_path: Path, certificate: str, key: str) -> None:
    """With its file, before the server listens."""
    (tmp_path / "cert.pem").write_text(certificate)
    (tmp_path / "key.pem").write_text(key)

    with pytest.raises(ConfigError, match=r"cannot serve with the certificate of .*cert\.pem"):
        DataPlane(Workspace(), tls=Tls(tmp_path / "cert.pem", tmp_path / "key.pem"))
    with pytest.raises(ConfigError, match="No such file"):
        DataPlane(Workspace(), tls=Tls(tmp_path / "none.pem"))
