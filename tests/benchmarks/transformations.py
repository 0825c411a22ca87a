"""How fast user transformations are, beside the same code in isolated-vm under node and in plain Python.

`SVCTOOLKIT_ISOLATED_VM` names a folder that has isolated-vm in its node_modules (`npm install isolated-vm`); without it
that row is left out. Everything is measured in one run, so the ratios hold on
a busy machine as well. `events/s per core` counts the CPU time of both sides.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from svctoolkit import transformations
from svctoolkit.transformations import SandboxedTransformation

EVENT: dict[str, Any] = {
    "type": "track",
    "event": "Order Completed",
    "messageId": "6f0c3a52-6f0d-4a3e-9a51-1f6d6b1c2a11",
    "userId": "u-1001",
    "originalTimestamp": "2024-05-01T12:00:00.000Z",
    "context": {
        "ip": "203.0.113.7",
        "locale": "en-GB",
        "library": {"name": "web", "version": "1.2.3"},
        "page": {
            "url": "https://shop.example/checkout/done?step=4&ref=mail",
            "title": "Thank you",
            "path": "/checkout",
        },
        "traits": {
            "email": "ann@example.com",
            "plan": "gold",
            "logins": 42,
            "address": {"city": "Leeds", "zip": "LS1"},
        },
        "userAgent": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124 Safari/537",
    },
    "properties": {
        "order_id": "o-77",
        "total": 119.9,
        "currency": "EUR",
        "products": [
            {
                "product_id": f"p-{n}",
                "name": f"A thing, number {n}",
                "price": 9.5 + n,
                "quantity": n,
                "brand": "Acme",
            }
            for n in range(11)
        ],
    },
}
JAVASCRIPT = """
export function transformEvent(event, metadata) {
  const p = event.properties;
  p.revenue = p.products.reduce((sum, x) => sum + x.price * x.quantity, 0);
  p.brands = [...new Set(p.products.map((x) => x.brand.toLowerCase()))];
  delete event.context.traits.email;
  event.context.ip = '0.0.0.0';
  return event;
}
"""
PYTHON = """
def transformEvent(event, metadata):
    p = event["properties"]
    p["revenue"] = sum(x["price"] * x["quantity"] for x in p["products"])
    p["brands"] = sorted({x["brand"].lower() for x in p["products"]})
    event["context"]["traits"].pop("email", None)
    event["context"]["ip"] = "0.0.0.0"
    return event
"""
# A fresh context for each call, as the contract has it; JSON in and out, as a server needs it.
ISOLATED_VM = """
const ivm = require('isolated-vm');
const { code, event } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const text = code.replace('export ', '') + `
;globalThis.__run = (input) => JSON.stringify(JSON.parse(input).map((e) => transformEvent(e)));`;
(async () => {
  const begun = process.hrtime.bigint();
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const script = await isolate.compileScript(text);
  const call = async (events) => {
    const context = await isolate.createContext();
    await script.run(context);
    const run = await context.global.get('__run', { reference: true });
    const out = JSON.parse(await run.apply(undefined, [JSON.stringify(events)], { timeout: 4000 }));
    context.release();
    return out;
  };
  await call([event]);
  const first = Number(process.hrtime.bigint() - begun) / 1e6;
  const timed = async (events, times) => {
    let best = Infinity;
    const before = process.cpuUsage();
    for (let i = 0; i < times; i++) {
      const at = process.hrtime.bigint();
      await call(events);
      best = Math.min(best, Number(process.hrtime.bigint() - at) / 1e9);
    }
    const used = process.cpuUsage(before);
    return [best, (used.user + used.system) / 1e6 / times];
  };
  const batch = new Array(200).fill(event);
  await timed(batch, 3);
  console.log(JSON.stringify({ first, warm: await timed([event], 300), batch: await timed(batch, 20) }));
})();
"""


def _cpu(process: int) -> float:
    with open(f"/proc/{process}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _timed(call: Callable[[], object], times: int, process: int | None = None) -> tuple[float, float]:
    """The best time of one call and the mean CPU time, in seconds; with `process`, its CPU time as well."""
    best = float("inf")
    before = time.process_time() + (_cpu(process) if process else 0.0)
    for _ in range(times):
        begun = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begun)
    return best, (time.process_time() + (_cpu(process) if process else 0.0) - before) / times


def sandboxed(code: str, language: str) -> dict[str, Any]:
    """Of this package, the first call with everything that it starts and imports."""
    begun = time.perf_counter()
    loaded: SandboxedTransformation = transformations.load(code, language, scope="benchmark")
    loaded.run([EVENT], [{}])
    first = (time.perf_counter() - begun) * 1e3
    process = loaded.workers._free[-1]._process.pid
    batch, metadata = [EVENT] * 200, [{}] * 200
    _timed(lambda: loaded.run(batch, metadata), 5)
    warm = _timed(lambda: loaded.run([EVENT], [{}]), 500, process)
    return {"first": first, "warm": warm, "batch": _timed(lambda: loaded.run(batch, metadata), 40, process)}


def plain_python(code: str) -> dict[str, Any]:
    """The same function without a sandbox; JSON in and out, as a server needs it."""
    names: dict[str, Any] = {}
    exec(code, names)
    one, many = json.dumps([EVENT]), json.dumps([EVENT] * 200)

    def call(text: str) -> str:
        return json.dumps([names["transformEvent"](event, None) for event in json.loads(text)])

    return {"first": 0.0, "warm": _timed(lambda: call(one), 300), "batch": _timed(lambda: call(many), 20)}


def isolated_vm(folder: str) -> dict[str, Any] | None:
    """Of isolated-vm under node, or None where it is not there."""
    if shutil.which("node") is None or not os.path.isdir(os.path.join(folder, "node_modules", "isolated-vm")):
        return None
    given = json.dumps({"code": JAVASCRIPT, "event": EVENT})
    command = ["node", "--no-node-snapshot", "-e", ISOLATED_VM]
    done = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, check=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    node = time.perf_counter()
    subprocess.run(["node", "-e", "0"], check=True)
    measured["first"] += (time.perf_counter() - node) * 1e3  # node itself has to start as well
    return measured


def run() -> Iterator[str]:
    """The table, line by line."""
    rows = {"JavaScript, svctoolkit": sandboxed(JAVASCRIPT, "javascript")}
    if beside := isolated_vm(os.environ.get("SVCTOOLKIT_ISOLATED_VM", ".")):
        rows["JavaScript, isolated-vm"] = beside
    rows |= {"Python, svctoolkit": sandboxed(PYTHON, "python"), "Python, no sandbox": plain_python(PYTHON)}
    yield f"one event is {len(json.dumps(EVENT))} bytes of JSON; a batch is 200 of them"
    yield f"{'':26}{'first ms':>9}{'warm us':>9}{'ratio':>7}{'events/s':>10}{'ratio':>7}{'events/s per core':>19}"
    for name, row in rows.items():
        base = next((rows[other] for other in rows if other[:5] == name[:5] and "svctoolkit" not in other), row)
        warm, rate, per_core = row["warm"][0], 200 / row["batch"][0], 200 / row["batch"][1]
        warm_ratio, rate_ratio = warm / base["warm"][0], rate * base["batch"][0] / 200
        line = f"{name:26}{row['first']:9.0f}{warm * 1e6:9.0f}{warm_ratio:7.2f}{rate:10.0f}{rate_ratio:7.2f}"
        yield f"{line}{per_core:19.0f}"
