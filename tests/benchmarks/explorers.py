"""Explorers in JupyterLab with Chromium: from a key to its result, a million events, and many explorers in a notebook.

Figures are compared with the most that is allowed. Latencies depend on how busy the machine is; the CPU time of the
kernel between a key and its result does not. Needs Chromium at /usr/bin/chromium, and the extra `test`.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from tests.benchmarks._figures import Figure, Options
from tests.benchmarks._processes import cpu_of

if TYPE_CHECKING:
    from tests.notebooks.browser import Sheet

_CHROMIUM = Path("/usr/bin/chromium")
_CODE = {
    "javascript": "export function transformEvent(event) {\n  event.event = 'k'.toUpperCase();\n  return event;\n}\n",
    "python": "def transformEvent(event, metadata):\n    event['event'] = 'k'.upper()\n    return event\n",
}
_AFTER = {"javascript": len("'.toUpperCase();"), "python": len("'.upper()")}  # the place for digits, from the end
_EDITOR = """
import svctoolkit
from svctoolkit import events
from svctoolkit.widgets import TransformationEditor

kinds = list(events.samples())
many = [{{**events.sample(kinds[n % len(kinds)]), "messageId": f"m-{{n}}"}} for n in range(200)]
workspace = svctoolkit.Workspace("shop")
workspace.transformation("clean", language="{language}", code={code!r})
workspace.destination("hook", "WEBHOOK", config={{"webhookUrl": "https://h.example"}}, transformation="clean")
editor = TransformationEditor(workspace, "clean", events=many)
editor.wait()
editor._event.value = "all"
editor
"""
_REPLAY = """
import json, os, tempfile
import svctoolkit
from svctoolkit.widgets import ReplayExplorer

workspace = svctoolkit.Workspace("shop")
code = "export function transformEvent(event) {{ event.cents = event.properties.price.toFixed(2); return event }}"
workspace.transformation("cents", language="javascript", code=code)
workspace.destination("hook", "WEBHOOK", config={{"webhookUrl": "https://h.example"}}, transformation="cents")
file = os.path.join(tempfile.mkdtemp(), "events.ndjson")
with open(file, "w") as out:
    for n in range({count}):
        event = {{"type": "track", "event": "Order Completed", "userId": f"u-{{n % 5000}}", "messageId": f"m-{{n}}"}}
        event["properties"] = {{"price": n % 97 if n % 50 else "12 EUR", "note": "x" * 200}}
        out.write(json.dumps(event) + "\\n")
explorer = ReplayExplorer(file, workspace)
explorer
"""
_EMPTY = "from svctoolkit.widgets import DataGrid\n\nDataGrid([])"
_MANY = """
import svctoolkit
from IPython.display import display
from svctoolkit import events
from svctoolkit.widgets import DestinationExplorer, TransformationEditor

workspace = svctoolkit.Workspace("shop")
workspace.transformation("clean", code="def transformEvent(event, metadata):\\n    return event\\n")
workspace.destination("hook", "WEBHOOK", config={{"webhookUrl": "https://h.example"}}, transformation="clean")
event = events.sample("track")
for _ in range({count} // 2):
    display(DestinationExplorer(workspace, "hook", event=event))
    display(TransformationEditor(workspace, "clean"))
"""


def run(options: Options) -> Iterator[Figure]:
    missing = "" if _CHROMIUM.exists() else "Chromium"
    missing = missing or next((name for name in ("playwright", "jupyterlab", "voila") if find_spec(name) is None), "")
    if missing:
        yield Figure("explorers in a browser", None, "ms", note=f"not installed: {missing}")
        return
    from tests.notebooks.browser import jupyter

    languages = list(_CODE)[: options.many(2, 0)]
    events, explorers = options.many(1_000_000, 2000), options.many(20, 2)
    codes = {name: [_EDITOR.format(language=name, code=_CODE[name])] for name in languages}
    codes |= {"replay": [_REPLAY.format(count=events)], "many": [_EMPTY, _MANY.format(count=explorers)]}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with jupyter(written(folder / "notebooks", codes), folder / "state") as servers:
            for language in languages:
                with servers.lab(language, folder) as sheet:
                    yield from _keys(sheet, language, options.many(40, 3))
            with servers.lab("replay", folder, patience=1200) as sheet:
                yield from _replay(sheet, events, options.many(20, 3))
            with servers.lab("many", folder) as sheet:
                yield from _many(sheet, explorers)


def written(folder: Path, codes: Mapping[str, Sequence[str]]) -> Path:
    """Write notebooks with these cells, which print the ID of the kernel's process first; return the folder."""
    import nbformat  # takes seconds

    folder.mkdir()
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for name, sources in codes.items():
        cells = [nbformat.v4.new_code_cell(f"import os\nprint('kernel', os.getpid())\n{code}") for code in sources]
        made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(made, folder / f"{name}.ipynb")
    return folder


def _keys(sheet: Sheet, language: str, count: int) -> Iterator[Figure]:
    """Type digits into a text in the code, and wait until the result of 200 events has them."""
    page, kernel = sheet.page, _kernel(sheet)
    sheet.settle()
    page.get_by_role("textbox", name="Code", exact=True).first.click()
    for key in ("Control+Home", "ArrowDown", "End", *["ArrowLeft"] * _AFTER[language]):
        page.keyboard.press(key)
    latencies, text, before = [], "K", cpu_of(kernel)
    for number in range(count):
        text += str(number % 10)
        page.evaluate(_EXPECT, text)
        page.keyboard.press(text[-1])
        latencies.append(page.evaluate("() => window.svcSeen"))
    kind = "editor" if page.locator(".cm-editor").count() else "text area"
    name = f"{language}, {kind}, key to result of 200 events"
    yield Figure(f"{name}, p50", median(latencies), "ms", "the limit", 250.0)
    yield Figure(f"{name}, CPU of the kernel", (cpu_of(kernel) - before) / count * 1000, "ms", "the limit", 250.0)


def _replay(sheet: Sheet, events: int, count: int) -> Iterator[Figure]:
    """Scroll through the events of the largest group to places that the page does not have yet, and sort them."""
    page, kernel, renderer = sheet.page, _kernel(sheet), _renderer(sheet)
    page.get_by_role("grid", name="Groups").get_by_role("row").filter(has_text="delivered").click()
    page.get_by_text(re.compile(rf"^{events - events // 50:,} rows$")).wait_for(timeout=120_000)
    sheet.settle()
    latencies, before = [], cpu_of(renderer)
    for number in range(count):
        page.evaluate(_EXPECT_ROWS)
        latencies.append(page.evaluate(_SCROLL, (number * 7 % count) / count))
    used = (cpu_of(renderer) - before) / count * 1000
    spent = cpu_of(kernel)
    page.evaluate(_EXPECT_ROWS)
    page.get_by_role("grid", name="Events of the group").get_by_role("button", name="user").click()
    page.evaluate("() => window.svcSeen")
    name = f"replay of {events:,} events"
    yield Figure(f"{name}, a scroll to its rows, p50", median(latencies), "ms", "the limit", 250.0)
    yield Figure(f"{name}, a scroll, CPU of the page", used, "ms", "the limit", 250.0)
    yield Figure(f"{name}, to sort a group, CPU of the kernel", cpu_of(kernel) - spent, "s", "the limit", 2.0)
    yield Figure(f"{name}, browser heap", _heap(sheet), "MiB", "the limit", 1024.0)
    yield Figure(f"{name}, the page's process", _memory(renderer, "VmRSS"), "MiB", "the limit", 1024.0)
    yield Figure(f"{name}, kernel, most", _memory(kernel, "VmHWM"), "MiB", "the limit", 1024.0)


def _many(sheet: Sheet, count: int) -> Iterator[Figure]:
    """Show explorers in a notebook that had none."""
    sheet.settle()
    before = _heap(sheet)
    sheet.page.locator(".jp-CodeCell .jp-InputPrompt").nth(1).click()
    sheet.page.keyboard.press("Control+Enter")
    sheet.page.wait_for_function(_COUNT, arg=count + 1, timeout=120_000)
    sheet.settle()
    after = _heap(sheet)
    yield Figure(f"{count} explorers, their browser heap", after - before, "MiB", "the limit", 50.0)
    yield Figure(f"{count} explorers, heap of the whole page", after, "MiB", "JupyterLab and an empty grid", before)


def _kernel(sheet: Sheet) -> int:
    return int(sheet.page.get_by_text(re.compile(r"^kernel \d+")).first.inner_text().split()[1])


def _renderer(sheet: Sheet) -> int:
    """The process of the page: that with the most CPU time so far, since others show nothing at the time."""
    browser = sheet.page.context.browser
    if browser is None:
        raise RuntimeError("the page has no browser")
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return max((p["cpuTime"], int(p["id"])) for p in processes if p["type"] == "renderer")[1]


def _heap(sheet: Sheet) -> float:
    """MiB of the page's objects after a collection of garbage, those of JupyterLab included."""
    session = sheet.page.context.new_cdp_session(sheet.page)
    session.send("HeapProfiler.enable")
    session.send("HeapProfiler.collectGarbage")
    size = float(session.send("Runtime.getHeapUsage")["usedSize"])
    session.detach()
    return size / 2**20


def _memory(process: int, name: str) -> float:
    """MiB of a process: `VmRSS` now, `VmHWM` at most so far."""
    (found,) = re.findall(rf"^{name}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text(), re.M)
    return int(found) / 1024


_COUNT = (
    "count => document.querySelectorAll('.svc-explorer').length >= count && !document.querySelector('.jp-mod-busy')"
)
_EXPECT = """text => {
  const parts = () => document.querySelectorAll('.svc-explorer .widget-html-content');
  window.svcSeen = new Promise((done) => {
    let pressed;
    addEventListener('keydown', () => { pressed ??= performance.now(); }, { capture: true, once: true });
    const observer = new MutationObserver(() => {
      if (![...parts()].some((part) => part.textContent.includes(text))) return;
      observer.disconnect();
      done(performance.now() - pressed);
    });
    observer.observe(document.querySelector('.svc-explorer'), { subtree: true, childList: true });
  });
}"""
_EXPECT_ROWS = """() => {
  const body = document.querySelector('[aria-label="Events of the group"] .svc-grid-body'), before = body.textContent;
  window.svcSeen = new Promise((done) => {
    const observer = new MutationObserver(() => {
      const isWaiting = [...body.querySelectorAll('[role=gridcell]')].some((cell) => cell.textContent === '…');
      if (isWaiting || body.textContent === before) return;
      observer.disconnect();
      done(performance.now());
    });
    observer.observe(body, { subtree: true, childList: true });
  });
}"""
_SCROLL = """async (share) => {
  const grid = document.querySelector('[aria-label="Events of the group"]'), started = performance.now();
  grid.scrollTop = (0.02 + 0.9 * share) * grid.scrollHeight;
  return (await window.svcSeen) - started;
}"""
