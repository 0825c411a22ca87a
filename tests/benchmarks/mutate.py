"""`svctoolkit mutate` for a project with 30 suites and 500 changes: its code, settings and connections.

Seconds of wall time with two processes and without cached verdicts, compared with the limit of a minute; then what one
change costs, compared with one run of all its suites, which is what a tool that runs everything for each change costs.

Then large code: CPU of finding the changes of code with 3,000 lines, compared with that of 1,500, which should be at
most 2.5 times as much; and of `--sample 20` of 1,500 lines, compared with 150 lines.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import TypeAlias

from svctoolkit.edits import edits_of
from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import best

DESTINATIONS = {
    "hook": "{type: WEBHOOK, transformation: t0, config: {webhookUrl: https://hook.example/in}}",
    "ga4": "{type: GA4, transformation: t1, config: {apiSecret: s3cr3t, measurementId: G-1, typesOfClient: gtag}}",
    "mixpanel": "{type: MP, transformation: t2, config: {token: t0k3n, strictMode: true}}",
    "amplitude": "{type: AM, transformation: t3, config: {apiKey: k3y}}",
    "braze": "{type: BRAZE, transformation: t4, config: {restApiKey: s3cr3t, dataCenter: EU-01}}",
    "crm": "{type: WEBHOOK, transformation: t5, config: {webhookUrl: https://crm.example/in}}",
    "orders": "{type: WEBHOOK, transformation: t6, config: {webhookUrl: https://orders.example/in}}",
    "returns": "{type: WEBHOOK, transformation: t7, config: {webhookUrl: https://returns.example/in}}",
    "audit": "{type: WEBHOOK, transformation: t8, config: {webhookUrl: https://audit.example/in, webhookMethod: PUT}}",
    "stock": "{type: WEBHOOK, transformation: t9, config: {webhookUrl: https://stock.example/in}}",
}
PYTHON = """\
      def transformEvent(event, metadata):
          properties = event.get("properties") or {}
          if properties.get("test"):
              return None
          if properties.get("total", 0) >= 100:
              properties["size"] = "large"
          elif properties.get("total", 0) > 10:
              properties["size"] = "medium"
          properties["cents"] = round(properties.get("total", 0) * 100)
          name = str(event.get("event", ""))
          event["event"] = name.strip().title()
          properties["origin"] = (event.get("context") or {}).get("channel", "web")
          event["properties"] = properties
          return event
"""
JAVASCRIPT = """\
      export function transformEvent(event, metadata) {
        const properties = event.properties || {};
        if (properties.test) {
          return null;
        }
        if (properties.total >= 100) {
          properties.size = 'large';
        } else if (properties.total > 10) {
          properties.size = 'medium';
        }
        properties.cents = Math.round((properties.total || 0) * 100);
        event.event = event.event.trim().toUpperCase();
        properties.origin = (event.context || {}).channel || 'web';
        event.properties = properties;
        return event;
      }
"""
SCENARIOS = """\
  - name: a total of $(total) is $(size)
    cases:
      - {{id: a, total: 100, size: large}}
      - {{id: b, total: 99.99, size: medium}}
      - {{id: c, total: 10, size: {{$absent: true}}}}
    transformation: {code}
    event: {{type: track, event: " order done ", userId: u{n}, properties: {{total: $(total)}}}}
    expect: {{user_transform: {{event: {name}, properties: {{size: $(size), origin: web}}}}}}
  - name: cents
    destination: {destination}
    event: {{type: track, event: order, anonymousId: a{n}, context: {{channel: app}}, properties: {{total: {n}.5}}}}
    expect: {{user_transform: {{properties: {{cents: {cents}, origin: app}}}}}}
  - name: tests are dropped
    transformation: {code}
    event: {{type: track, event: order, userId: u{n}, properties: {{test: true}}}}
    expect: {{user_transform: []}}
  - name: an order is delivered
    source: {source}
    send: {{type: track, event: order, userId: u{n}, anonymousId: a{n}, properties: {{total: 12}}}}
    expect: {{delivered: {{{destination}: [{{method: {method}}}]}}}}
  - name: a test is not delivered
    source: {source}
    send: {{type: track, event: order, userId: u{n}, properties: {{test: true}}}}
    expect: {{delivered: []}}
"""


LARGE = """\
transformations: {{clean: {{language: {language}, file: code}}}}
scenarios:
  - name: an order
    transformation: clean
    event: {{type: track, event: Order Completed, properties: {{total: 20, currency: EUR, price: 3}}}}
    expect: {{user_transform: {{event: Order Completed}}}}
"""
#: Returns code in a language with about a number of lines.
Shape: TypeAlias = Callable[[str, int], str]

_STEPS = {
    "javascript": """\
  if (p.total > {n} && p.currency === 'EUR') {{
    p.size{n} = 'large';
  }} else if (p.quantity <= {n} || !p.coupon) {{
    p.size{n} = (p.name || '').trim() + ' {n}';
  }}
  p.cents{n} = Math.round((p.price || 0) * {n});
""",
    "python": """\
    if p.get("total", 0) > {n} and p.get("currency") == "EUR":
        p["size{n}"] = "large"
    elif p.get("quantity", 0) <= {n} or not p.get("coupon"):
        p["size{n}"] = (p.get("name") or "").strip() + " {n}"
    p["cents{n}"] = round((p.get("price") or 0) * {n})
""",
}
_FUNCTIONS = {
    "javascript": "function step{n}(event) {{\n  const p = event.properties || {{}};\n{body}  return event;\n}}\n",
    "python": 'def step{n}(event):\n    p = event.get("properties") or {{}}\n{body}    return event\n',
}
_ENTRIES = {
    "javascript": "export function transformEvent(event) {{\n{body}  return event;\n}}\n",
    "python": "def transformEvent(event, metadata):\n{body}    return event\n",
}


def functions(language: str, lines: int) -> str:
    """A function for every ten lines, and one that calls all of them."""
    indent, end = ("  ", ";") if language == "javascript" else ("    ", "")
    many = max(1, lines // 10)
    made = [_FUNCTIONS[language].format(n=n, body=_STEPS[language].format(n=n)) for n in range(many)]
    calls = "".join(f"{indent}event = step{n}(event){end}\n" for n in range(many))
    return "".join(made) + _ENTRIES[language].format(body=calls)


def one_function(language: str, lines: int) -> str:
    """All lines in one function."""
    begin = "  const p = event.properties || {};\n" if language == "javascript" else '    p = event["properties"]\n'
    steps = "".join(_STEPS[language].format(n=n) for n in range(lines // 6))
    return _ENTRIES[language].format(body=begin + steps)


def run(options: Options) -> Iterator[Figure]:
    yield from _project(options)
    for language in ("javascript", "python"):
        short, long = options.many(1500, 60), options.many(3000, 120)
        spent = [min(_finding(functions(language, lines), language) for _ in range(3)) for lines in (short, long)]
        yield Figure(f"changes of {long:,} lines, {language}", spent[1], "s CPU", f"{short:,} lines", spent[0])
        few, many = options.many(150, 20), options.many(1500, 60)
        sampled = [_sample(language, lines, options.many(20, 2)) for lines in (few, many)]
        yield Figure(f"sample of {many:,} lines, {language}", sampled[1], "s CPU", f"{few:,} lines", sampled[0])


def _finding(code: str, language: str) -> float:
    started = process_time()
    edits_of(code, language)
    return process_time() - started


def _sample(language: str, lines: int, count: int) -> float:
    """The CPU time of judging `count` changes of code with some lines, and of everything before."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "code").write_text(functions(language, lines))
        (Path(name) / "large.suite.yaml").write_text(LARGE.format(language=language))
        command = [sys.executable, "-m", "svctoolkit", "mutate", "--sample", str(count), "--jobs", "1", "--no-cache"]
        return best(command, 1, Path(name)).cpu


def _project(options: Options) -> Iterator[Figure]:
    suites, changes = options.many(30, 2), options.many(500, 5)
    command = [sys.executable, "-m", "svctoolkit"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scenarios = write(folder, suites)
        report = folder / "mutate.json"
        mutate = [*command, "mutate", "--sample", str(changes), "--jobs", "2", "--report", f"json={report}"]
        cold = best([*mutate, "--no-cache"], 1, folder)
        judged = int(json.loads(report.read_text())["changes"])
        once = best([*command, "run"], 1, folder)
        yield Figure(f"{suites} suites, {judged} changes", cold.wall, "s", "limit", 60)
        all_scenarios = f"run of all {scenarios} scenarios"
        yield Figure("one change", cold.cpu / judged * 1000, "ms CPU", all_scenarios, once.cpu * 1000)
        best(mutate, 1, folder)
        yield Figure("the same again", best(mutate, 1, folder).wall, "s", "first run", cold.wall)


def write(folder: Path, suites: int) -> int:
    """Write the project; return its number of scenarios."""
    (folder / "suites").mkdir()
    keys = list(DESTINATIONS)
    lines = ["sources:"]
    lines += [f"  s{number}: {{destinations: [{key}]}}" for number, key in enumerate(keys)]
    lines += ["destinations:", *(f"  {key}: {written}" for key, written in DESTINATIONS.items()), "transformations:"]
    for number in range(len(keys)):
        language, code = ("javascript", JAVASCRIPT) if number % 2 else ("python", PYTHON)
        lines += [f"  t{number}:", f"    language: {language}", "    code: |", code.rstrip("\n")]
    (folder / "workspace.yaml").write_text("\n".join(lines) + "\n")
    for n in range(suites):
        number = n % len(keys)
        scenarios = SCENARIOS.format(
            n=n,
            code=f"t{number}",
            name="ORDER DONE" if number % 2 else "Order Done",
            cents=n * 100 + 50,
            destination=keys[number],
            source=f"s{number}",
            method="PUT" if keys[number] == "audit" else "POST",
        )
        text = f"workspace: ../workspace.yaml\nscenarios:\n{scenarios}"
        (folder / "suites" / f"n{n}.suite.yaml").write_text(text)
    return suites * 7
