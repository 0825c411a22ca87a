"""User transformations, compared with the same code in plain node and Python, and in node's isolated-vm.

One event has 1.7 KB of JSON. `SVCTOOLKIT_ISOLATED_VM` names a folder with isolated-vm in its node_modules. `per core`
counts the CPU time of both sides, the other figures are wall time.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from svctoolkit import transformations
from svctoolkit.transformations import SandboxedTransformation
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import cpu_with_children

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
_TIMED = """
const { code, event, calls, batches } = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const plain = code.replace('export ', '');
const now = () => Number(process.hrtime.bigint()) / 1e9;
const timed = async (call, events, times) => {
  let best = Infinity;
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) {
    const at = now();
    await call(events);
    best = Math.min(best, now() - at);
  }
  const used = process.cpuUsage(before);
  return [best, (used.user + used.system) / 1e6 / times];
};
const measured = async (start) => {
  const begun = now();
  const call = await start();
  await call([event]);
  const first = (now() - begun) * 1000;
  const batch = new Array(200).fill(event);
  await timed(call, batch, 3);
  const warm = await timed(call, [event], calls);
  console.log(JSON.stringify({ first, warm, batch: await timed(call, batch, batches) }));
};
"""
# JSON in and out, as in a server.
NODE = f"""{_TIMED}
measured(async () => {{
  const transformEvent = new Function(plain + '; return transformEvent')();
  return (events) => JSON.parse(JSON.stringify(JSON.parse(JSON.stringify(events)).map((e) => transformEvent(e))));
}});
"""
# A fresh context for each call, as the contract requires.
ISOLATED_VM = f"""{_TIMED}
const ivm = require('isolated-vm');
measured(async () => {{
  const isolate = new ivm.Isolate({{ memoryLimit: 128 }});
  const text = plain + `
;globalThis.__run = (input) => JSON.stringify(JSON.parse(input).map((e) => transformEvent(e)));`;
  const script = await isolate.compileScript(text);
  return async (events) => {{
    const context = await isolate.createContext();
    await script.run(context);
    const run = await context.global.get('__run', {{ reference: true }});
    const out = JSON.parse(await run.apply(undefined, [JSON.stringify(events)], {{ timeout: 4000 }}));
    context.release();
    return out;
  }};
}});
"""


def _timed(call: Callable[[], object], times: int, process: int | None = None) -> tuple[float, float]:
    """The best time of one call and the mean CPU time, in seconds; with `process`, its CPU time as well."""
    best = float("inf")
    before = time.process_time() + (cpu_with_children(process) if process else 0.0)
    for _ in range(times):
        begun = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begun)
    return best, (time.process_time() + (cpu_with_children(process) if process else 0.0) - before) / times


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of the first call; wall and CPU seconds per event, for one event and for a batch of 200."""

    first: float
    warm: Sequence[float]
    batch: Sequence[float]


def sandboxed(code: str, language: str, options: Options) -> Measured:
    """This package; the first call includes everything that it starts and imports."""
    begun = time.perf_counter()
    loaded: SandboxedTransformation = transformations.load(code, language, scope="benchmark")
    loaded.run([EVENT], [{}])
    first = (time.perf_counter() - begun) * 1e3
    process = loaded.workers._free[-1].id
    batch, metadata = [EVENT] * 200, [{}] * 200
    _timed(lambda: loaded.run(batch, metadata), options.many(5, 1))
    warm = _timed(lambda: loaded.run([EVENT], [{}]), options.many(500, 5), process)
    return Measured(first, warm, _timed(lambda: loaded.run(batch, metadata), options.many(40, 5), process))


def plain_python(options: Options) -> Measured:
    """The same function without a sandbox; JSON in and out, as in a server."""
    names: dict[str, Any] = {}
    begun = time.perf_counter()
    exec(PYTHON, names)

    def call(events: Sequence[Any]) -> Any:
        given = json.loads(json.dumps(events))
        return json.loads(json.dumps([names["transformEvent"](event, None) for event in given]))

    call([EVENT])
    first = (time.perf_counter() - begun) * 1e3
    warm = _timed(lambda: call([EVENT]), options.many(300, 5))
    return Measured(first, warm, _timed(lambda: call([EVENT] * 200), options.many(20, 2)))


def in_node(script: str, options: Options, folder: str = ".") -> Measured:
    """The measurements of a script for node."""
    given = {"code": JAVASCRIPT, "event": EVENT, "calls": options.many(300, 5), "batches": options.many(20, 2)}
    command = ["node", "--no-node-snapshot", "-e", script]
    done = subprocess.run(command, cwd=folder, input=json.dumps(given), capture_output=True, text=True, check=True)
    begun = time.perf_counter()
    subprocess.run(["node", "-e", "0"], check=True)
    started = (time.perf_counter() - begun) * 1e3  # node itself has to start as well
    found = json.loads(done.stdout)
    return Measured(found["first"] + started, found["warm"], found["batch"])


def run(options: Options) -> Iterator[Figure]:
    javascript = sandboxed(JAVASCRIPT, "javascript", options)
    node = in_node(NODE, options) if shutil.which("node") else None
    yield from _figures("JavaScript", javascript, "node without a sandbox", node, "node is not installed")
    folder = os.environ.get("SVCTOOLKIT_ISOLATED_VM", ".")
    there = node is not None and os.path.isdir(os.path.join(folder, "node_modules", "isolated-vm"))
    isolated = in_node(ISOLATED_VM, options, folder) if there else None
    yield from _figures("JavaScript", javascript, "isolated-vm", isolated, "not installed: npm install isolated-vm")
    yield from _figures(
        "Python", sandboxed(PYTHON, "python", options), "Python without a sandbox", plain_python(options), ""
    )


def _figures(language: str, ours: Measured, beside: str, theirs: Measured | None, why: str) -> Iterator[Figure]:
    def other(number: Callable[[Measured], float]) -> float | None:
        return None if theirs is None else number(theirs)

    figures: dict[tuple[str, str], Callable[[Measured], float]] = {
        ("first call", "ms"): lambda of: of.first,
        ("one event a call", "us"): lambda of: of.warm[0] * 1e6,
        ("200 events a call", "events/s"): lambda of: 200 / of.batch[0],
        ("200 events a call, per core", "events/s"): lambda of: 200 / of.batch[1],
    }
    for (name, unit), number in figures.items():
        note = "" if theirs is not None else why
        yield Figure(f"{language}, {name}", number(ours), unit, beside, other(number), note)
