"""The JavaScript client and example in the documentation work as printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Backoff
from tests.data_plane import packages
from tests.http_server import HttpServer

pytestmark = pytest.mark.slow
_DOCS = Path(__file__).parents[2] / "svctoolkit" / "docs" / "data-plane.md"
_SDK = "node_modules/@rudderstack/analytics-js/dist/npm/modern/bundled/esm/index.mjs"
_SHOP = """<!doctype html><title>Shop</title><button>Order</button>
<script type="module">
import { RudderAnalytics } from "/sdk.mjs";
const parameters = new URLSearchParams(location.search), url = parameters.get("dataPlane");
const client = new RudderAnalytics();
client.load(parameters.get("key"), url, { configUrl: url });
document.querySelector("button").addEventListener("click", () => client.track("Order Completed", { total: TOTAL }));
</script>"""


@pytest.fixture
def shop() -> Iterator[HttpServer]:
    """A page with the real client for browsers; `total` is the order total that the server reports."""
    script = (packages.node_clients() / _SDK).read_bytes()

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_script = self.path == "/sdk.mjs"
            body = script if is_script else _SHOP.replace("TOTAL", str(self.server.total)).encode()  # type: ignore[attr-defined]
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript" if is_script else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    with HttpServer(("127.0.0.1", 0), Shop) as server:
        server.total = 20  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize(("total", "passes"), [(20, True), (21, False)])
def test_the_documented_example_works(
    shop: HttpServer, workspace: Workspace, tmp_path: Path, total: int, passes: bool
) -> None:
    """A page with the real client, a fault and an expectation: it passes; with another total it fails and says why."""
    client, example = re.findall(r"^```js\n(.*?)^```$", _DOCS.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    launch = {"executablePath": packages.chromium(), "args": ["--no-sandbox"]}
    (tmp_path / "bench.mjs").write_text(client)
    (tmp_path / "order.spec.mjs").write_text(example)
    (tmp_path / "playwright.config.mjs").write_text(
        f"export default {{ use: {{ launchOptions: {json.dumps(launch)} }} }};"
    )
    (tmp_path / "node_modules").symlink_to(packages.node_clients() / "node_modules")
    shop.total = total  # type: ignore[attr-defined]
    with DataPlane(workspace, backoff=Backoff(scale=0)) as plane:
        addresses = {"SHOP_URL": f"http://127.0.0.1:{shop.server_port}", "BENCH_URL": plane.url}
        run = subprocess.run(
            ["node", "node_modules/@playwright/test/cli.js", "test", "--reporter=line"],
            cwd=tmp_path, env={**os.environ, **addresses, "BENCH_TOKEN": plane.token},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        names = [received.name for received in plane.received]

    assert (run.returncode == 0) is passes, run.stdout + run.stderr
    assert names == ["Order Completed"]
    assert ("properties.total: expected 20, got 21" in run.stdout) is not passes, run.stdout
