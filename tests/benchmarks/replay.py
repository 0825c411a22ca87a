"""A replay of events of 2 KB through one JavaScript transformation to one destination, with the time of each step.

It is compared with a script for node that reads the same file, runs the same code, and makes the same payloads. Each
run is a new process; `per core` is by the CPU time of all processes, including their start. `--events` sets the number.
`gzip, as of an SDK` has the members that SDKs add, in a compressed file; its script for node writes the bodies.
Destinations share the transformation; each makes a request for every event, except those that batch them.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import Spent, spent
from tests.benchmarks.transformations import EVENT, JAVASCRIPT

if TYPE_CHECKING:
    from svctoolkit import Workspace

NODE = f"""
{JAVASCRIPT.replace("export ", "")}
const lines = require('readline').createInterface({{ input: require('fs').createReadStream(process.argv[1]) }});
let size = 0;
lines.on('line', (line) => {{
  const event = transformEvent(JSON.parse(line));
  size += JSON.stringify({{ method: 'POST', endpoint: 'https://hook.example/in', body: {{ JSON: event }} }}).length;
}});
"""
NODE_GZIP = f"""
{JAVASCRIPT.replace("export ", "")}
const fs = require('fs'), [file, out] = process.argv.slice(1), to = fs.openSync(out, 'w');
const text = fs.createReadStream(file).pipe(require('zlib').createGunzip());
let bodies = '', count = 0;
const write = () => {{ fs.writeSync(to, bodies); bodies = '' }};
require('readline').createInterface({{ input: text }}).on('line', (line) => {{
  bodies += JSON.stringify(transformEvent(JSON.parse(line))) + '\\n';
  if (++count % 200 === 0) write();
}}).on('close', write);
"""
_HUBSPOT = {
    "hubspotEvents": [
        {
            "rsEventName": "Order Completed",
            "hubspotEventName": "order",
            "eventProperties": [{"from": "total", "to": "amount"}, {"from": "order_id", "to": "order"}],
        }
    ]
}
DESTINATIONS: list[tuple[str, dict[str, Any]]] = [
    ("WEBHOOK", {"webhookUrl": "https://hook.example/in"}),
    ("SEGMENT", {"writeKey": "w-1"}),
    ("MP", {"token": "t-1", "dataResidency": "us", "persistence": "none"}),
    ("GA4", {"apiSecret": "s-1", "measurementId": "G-1", "typesOfClient": "gtag"}),
    ("HS", {"authorizationType": "newPrivateAppApi", "apiVersion": "newApi", "accessToken": "t-1", **_HUBSPOT}),
    ("AM", {"apiKey": "k-1"}),
    ("BRAZE", {"restApiKey": "k-1", "dataCenter": "EU-01"}),
    ("FACEBOOK_PIXEL", {"pixelId": "p-1", "accessToken": "t-1", "advancedMapping": True}),
    ("KLAVIYO", {"privateApiKey": "k-1", "publicApiKey": "p-1", "apiVersion": "v2", "flattenProperties": True}),
    ("CUSTOMERIO", {"siteID": "s-1", "apiKey": "k-1"}),
]
STEPS = ("read", "user_transform", "dest_transform", "rows")
Task = tuple[Spent, dict[str, Any]]


def run(options: Options) -> Iterator[Figure]:
    count = options.large
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, half = written(folder / "events.ndjson", count), written(folder / "half.ndjson", count // 2)
        one, small = task(file), task(half)
        node = spent(["node", "-e", NODE, str(file)]) if shutil.which("node") else None
        script = "a script for node"
        note = "" if node else "node is not installed"
        yield Figure("1 process", rate(one, count), "events/s", script, node and count / node.wall, note)
        yield Figure("1 process, per core", per_core(one, count), "events/s", script, node and count / node.cpu, note)
        yield from steps("1 process", one[1], count, *STEPS)
        yield _of_sdk(folder, count)
        three = task(file, destinations=3)
        yield Figure("3 destinations, per core", per_core(three, count), "events/s", "one", per_core(one, count))
        yield from steps("3 destinations", three[1], count, *STEPS)
        rows = task(file, out=folder / "out")
        yield Figure(
            "with rows as Parquet, per core", per_core(rows, count), "events/s", "numbers only", per_core(one, count)
        )
        yield from steps("with rows as Parquet", rows[1], count, "rows", "write")
        two = task(file, workers=2)
        yield Figure("2 processes", rate(two, count), "events/s", "1 process", rate(one, count))
        yield Figure("2 processes, per core", per_core(two, count), "events/s", "1 process", per_core(one, count))
        yield _with_dask(file, count, rate(two, count))
        yield Figure(f"largest process, {count:,} events", one[0].peak, "MiB", f"{count // 2:,} events", small[0].peak)


def _of_sdk(folder: Path, count: int) -> Figure:
    plain, file = written(folder / "sdk.ndjson", count, _add_members), folder / "sdk.ndjson.gz"
    file.write_bytes(gzip.compress(plain.read_bytes(), 6))
    there = shutil.which("node") is not None
    # in turns, because the speed of a machine that does something else changes
    ours, theirs = [], []
    for _ in range(3):
        ours.append(per_core(task(file), count))
        if there:
            theirs.append(count / spent(["node", "-e", NODE_GZIP, str(file), str(folder / "bodies")]).cpu)
    note = "" if there else "node is not installed"
    return Figure(
        "gzip, as of an SDK, per core", max(ours), "events/s", "a script for node", max(theirs, default=None), note
    )


def _add_members(_number: int, line: str) -> str:
    """Return the event with an empty object, a null and `integrations`: most events have them."""
    added = '"channel": "web", "integrations": {"All": true}, "context": {"campaign": {}, "screen": null, '
    return line.replace('"context": {', added, 1)


def _with_dask(file: Path, count: int, beside: float) -> Figure:
    if find_spec("distributed") is None:
        return Figure("Dask, 2 processes", None, "events/s", note="not installed: pip install 'svctoolkit[dask]'")
    return Figure("Dask, 2 processes", rate(task(file, dask=True), count), "events/s", "2 processes", beside)


def rate(of: Task, count: int) -> float:
    return count / float(of[1]["elapsed"])


def per_core(of: Task, count: int) -> float:
    return count / of[0].cpu


def steps(run: str, told: dict[str, Any], count: int, *names: str) -> Iterator[Figure]:
    """Wall time of the steps, per event."""
    spent = {name: seconds / count * 1e6 for name, seconds in told["seconds"].items()}
    for name in names:
        yield Figure(f"{run}: {name}", spent[name], "us", "all steps", sum(spent.values()))


def written(file: Path, count: int, change: Callable[[int, str], str] = lambda _, line: line) -> Path:
    """Write a file with events of two kilobytes that differ in their ids and prices; `change` gets number and line."""
    product = {"product_id": "p-NUMBER", "name": "A thing, number N", "price": "PRICE", "quantity": 1, "brand": "Acme"}
    properties = {**EVENT["properties"], "products": [product] * 12}
    event = {**EVENT, "messageId": "6f0c3a52-6f0d-4a3e-9a51-NUMBER", "userId": "u-NUMBER", "properties": properties}
    text = json.dumps(event).replace('"PRICE"', "PRICE") + "\n"
    with file.open("w", encoding="ascii") as lines:
        for number in range(count):
            line = text.replace("NUMBER", f"{number:012d}").replace("PRICE", f"{number % 9973 / 100}")
            lines.write(change(number, line))
    return file


def task(
    file: Path,
    *,
    workers: int = 1,
    dask: bool = False,
    out: Path | None = None,
    destinations: int = 1,
    policies: Sequence[Mapping[str, Json]] = (),
    compares: bool = False,
) -> Task:
    """Time of a replay of a file, and its own report; with `compares`, of a comparison of two equal workspaces."""
    options = {
        "workers": workers, "dask": dask, "out": out and str(out), "destinations": destinations, "compares": compares,
    }  # fmt: skip
    given = json.dumps({"file": str(file), "policies": policies, **options})
    done = spent([sys.executable, "-m", "tests.benchmarks.replay", given])
    return done, json.loads(done.output)


def main(
    file: str,
    workers: int,
    dask: bool,
    out: str | None,
    destinations: int,
    compares: bool,
    policies: Sequence[Mapping[str, Json]],
) -> None:
    """The benchmark's own process."""
    from svctoolkit.policies import Policies
    from svctoolkit.replay import compare, replay

    workspace = _workspace(destinations)
    if compares:
        same = compare(
            file, _workspace(destinations, comment="// as before\n"), workspace, policies=Policies.of(policies)
        )
        print(json.dumps({"elapsed": same.elapsed, "seconds": dict(same.seconds), "counts": {}}))
        return
    with _cluster() if dask else nullcontext() as cluster:
        scheduler = cluster.scheduler_address if dask else None
        where = {"out": out, "workers": workers, "scheduler": scheduler}
        done = replay(file, workspace, rows=False, policies=Policies.of(policies), progress=False, **where)
    if any(set(counts) != {"delivered"} for counts in done.counts.values()):
        raise RuntimeError(f"not all events make requests: {done.counts}")
    print(json.dumps({"elapsed": done.elapsed, "seconds": dict(done.seconds), "counts": done.counts}))


def _workspace(destinations: int, comment: str = "") -> Workspace:
    from svctoolkit import Workspace

    workspace = Workspace("shop")
    workspace.transformation("order", language="javascript", code=comment + JAVASCRIPT)
    for type, config in DESTINATIONS[:destinations]:
        workspace.destination(type.lower(), type, config=config, transformation="order")
    return workspace


def _cluster() -> Any:
    from distributed import LocalCluster

    return LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
