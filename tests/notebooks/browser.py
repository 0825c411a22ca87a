"""JupyterLab, Voila and marimo with a real browser: servers and pages for the browser tests and the screenshots.

Nothing leaves the machine: the servers listen on 127.0.0.1, and the browser resolves no other name. Each server has its
own configuration, data and runtime folders, so the user's own Jupyter is neither used nor changed.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from tests.data_plane import packages

CHROMIUM = "/usr/bin/chromium"
EXPLORER = ".svc-explorer"
_FLAGS = ("--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1")
_LAB = ("--no-browser", "--ip=127.0.0.1", "--LabApp.news_url=None", "--LabApp.expose_app_in_browser=True")
_VOILA = ("--no-browser", "--Voila.ip=127.0.0.1", "--show_tracebacks=True")
_ROOT = os.geteuid() == 0  # Chromium and Jupyter want explicit permission to run as root
_SECONDS = 60.0
#: Files from other hosts, which the browser refuses, and other JupyterLab extensions that are installed.
_NOT_OURS = re.compile(r"favicon|Failed to load resource|font-awesome|/labextensions/(?!@jupyter-widgets)")
_SETTINGS: dict[str, dict[str, Any]] = {
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True},
    "docmanager-extension/plugin": {"autosave": False},
    "notebook-extension/tracker": {"windowingMode": "none", "scrollPastEnd": False},
}


class Server:
    """A server of notebooks in a separate process, with the notebooks of `folder`. Its files are in `state`."""

    def __init__(self, folder: Path, state: Path, *command: str) -> None:
        self.token, port = secrets.token_hex(16), _free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._log = state / "server.log"
        state.mkdir(parents=True)
        self._settings = state / "settings"
        environment = os.environ | {
            "JUPYTER_TOKEN": self.token,
            "JUPYTER_PLATFORM_DIRS": "1",
            "JUPYTER_CONFIG_DIR": str(state / "config"),
            "JUPYTER_DATA_DIR": str(state / "data"),
            "JUPYTER_RUNTIME_DIR": str(state / "runtime"),
            "IPYTHONDIR": str(state / "ipython"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(state / "workspaces"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        given = [sys.executable, "-m", *command, f"--port={port}"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                given, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def wait(self) -> None:
        """Return when the server answers."""
        deadline = monotonic() + _SECONDS
        while not self._answers():
            assert self._process.poll() is None, f"the server ended: {self._log.read_text()[-2000:]}"
            assert monotonic() < deadline, f"the server does not answer: {self._log.read_text()[-2000:]}"
            Event().wait(0.05)

    def configure(self, theme: str) -> None:
        """Configure JupyterLab for tests: no pop-ups, no autosave, every cell in the page."""
        themes = {"apputils-extension/themes": {"theme": f"JupyterLab {theme.title()}"}}
        for name, settings in (_SETTINGS | themes).items():
            file = self._settings / "@jupyterlab" / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON that its own interface answers."""
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            return json.loads(answer.read() or b"null")

    def stop(self) -> None:
        """End the server and its kernels."""
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/?token={self.token}", timeout=60).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True


class Jupyter:
    """JupyterLab and Voila over the same notebooks, and a browser in front of them."""

    def __init__(self, lab: Server, voila: Server, browser: Browser) -> None:
        self._lab, self._voila, self._browser = lab, voila, browser
        self._contexts: dict[str, BrowserContext] = {}

    @contextmanager
    def lab(
        self,
        name: str,
        shots: Path,
        *,
        theme: str = "light",
        refused: str = "",
        patience: float = _SECONDS,
        **context: Any,
    ) -> Iterator[Sheet]:
        """The notebook in JupyterLab, all cells run. `context` are settings of the page, such as `viewport`.

        The page does not get what `refused` matches. `patience` is in seconds: how long the cells may run.
        """
        self._lab.configure(theme)
        url = f"{self._lab.url}/doc/tree/{name}.ipynb?token={self._lab.token}"
        try:
            with self._sheet(url, shots, context, refused) as sheet:
                sheet.ready()
                sheet.run()
                sheet.shown(patience)
                yield sheet
        finally:
            for session in self._lab.ask("GET", "/api/sessions"):
                self._lab.ask("DELETE", f"/api/sessions/{session['id']}")

    @contextmanager
    def voila(
        self, name: str, shots: Path, *, theme: str = "light", slower: int = 1, **context: Any
    ) -> Iterator[Sheet]:
        """The notebook as a Voila dashboard. `slower`: how many times more time the page's scripts need."""
        url = f"{self._voila.url}/voila/render/{name}.ipynb?token={self._voila.token}&theme={theme}"
        with self._sheet(url, shots, context, slower=slower) as sheet:
            sheet.shown()
            yield sheet

    @contextmanager
    def marimo(self, app: Path, shots: Path, **context: Any) -> Iterator[Sheet]:
        """A marimo notebook as an app, in marimo's own server. The page has no explorer until it is found."""
        server = Server(app.parent, shots / "marimo", "marimo", "run", str(app), "--headless", "--no-token")
        try:
            server.wait()
            with self._sheet(server.url, shots, context) as sheet:
                yield sheet
        finally:
            server.stop()

    @contextmanager
    def blank(self, html: str, **context: Any) -> Iterator[Sheet]:
        """A page with nothing but this HTML. `context` are settings of the page."""
        page = self._context(context).new_page()
        sheet = Sheet(page)
        page.set_content(html)
        yield sheet
        page.close()

    @contextmanager
    def _sheet(
        self, url: str, shots: Path, context: dict[str, Any], refused: str = "", slower: int = 1
    ) -> Iterator[Sheet]:
        """A page at `url`. A failure inside is reported with a picture of the page and its console output."""
        page = self._context(context).new_page()
        sheet = Sheet(page)
        if slower > 1:
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
        if refused:
            page.route(refused, lambda route: route.abort())
        try:
            page.goto(url, wait_until="domcontentloaded", timeout=_SECONDS * 1000)
            yield sheet
            assert not sheet.errors, "the browser's console has errors"
        except (AssertionError, Error) as error:
            picture = shots / "page.png"
            page.screenshot(path=picture)
            raise AssertionError(f"{str(error)[:1500]}\npicture: {picture}\nconsole: {sheet.errors}") from error
        finally:
            page.close()

    def _context(self, settings: dict[str, Any]) -> BrowserContext:
        """One context for all pages with these settings: they share the browser's cache, and JupyterLab is large."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._contexts:
            self._contexts[key] = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
            self._contexts[key].set_default_timeout(60_000)
        return self._contexts[key]


class Stop(NamedTuple):
    """A control that the Tab key reaches: its position in the document, and its name."""

    place: int
    name: str


class Sheet:
    """A page with an explorer. `errors` are those of the page's scripts and console."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.explorer = page.locator(EXPLORER).first
        page.on("console", lambda said: self._heard(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._heard(str(error)))

    def _heard(self, text: str) -> None:
        if not _NOT_OURS.search(text):
            self.errors.append(text[:500])

    def shown(self, patience: float = _SECONDS) -> None:
        """Return when the explorer is visible, or fail with the notebook's error, or after `patience` seconds."""
        failed = self.page.locator('[data-mime-type="application/vnd.jupyter.error"]')
        self.explorer.or_(failed).first.wait_for(timeout=patience * 1000)
        assert failed.count() == 0, f"a cell failed: {failed.first.inner_text()}"

    def ready(self) -> None:
        """Return when JupyterLab's kernel is ready."""
        self.page.wait_for_function(_READY, timeout=_SECONDS * 1000)

    def run(self) -> None:
        """Run JupyterLab's first cell with the keyboard."""
        self.page.locator(".jp-CodeCell .jp-InputPrompt").first.click()
        self.page.keyboard.press("Control+Enter")

    def menu(self, *names: str) -> None:
        """Choose an entry of JupyterLab's menu."""
        self.page.locator(".lm-MenuBar-itemLabel").get_by_text(names[0], exact=True).click()
        for name in names[1:]:
            self.page.locator(".lm-Menu-itemLabel").get_by_text(name, exact=True).last.click()

    def dark(self) -> None:
        """Choose JupyterLab's dark theme."""
        self.menu("Settings", "Theme", "JupyterLab Dark")
        self.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")

    def settle(self) -> None:
        """Return when nothing has changed in the explorer for a short time."""
        self.page.evaluate(_SETTLED, EXPLORER)

    def unrendered(self) -> list[str]:
        """Placeholders of widgets that were not rendered."""
        return self.page.evaluate(_UNRENDERED)

    def nameless(self) -> list[str]:
        """Controls without a name for screen readers."""
        controls = re.findall(r"^\s*- '?(\w+)(?: \"(.*?)\")?", self.explorer.aria_snapshot(), flags=re.M)
        return [role for role, name in controls if role in _ROLES and not name.strip()]

    def skipped(self) -> list[str]:
        """Controls that the Tab key does not reach in document order."""
        names: list[str] = self.page.evaluate(_MARK_STOPS, EXPLORER)
        reached = []
        for _ in names:
            place = self.page.evaluate("() => Number(document.activeElement.dataset.stop ?? -1)")
            reached.append(place)
            self.page.keyboard.press("Tab")
        return [name for place, name in enumerate(names) if place >= len(reached) or reached[place] != place]

    def faint(self) -> list[str]:
        """Texts whose contrast is below 4.5 to 1 (3 to 1 for large ones)."""
        return self.page.evaluate(_FAINT, EXPLORER)

    def accessible(self, *rules: str) -> list[str]:
        """The findings of axe-core in the explorer, by all rules or these.

        It is loaded through the debugger to bypass the page's module loader.
        """
        session = self.page.context.new_cdp_session(self.page)
        axe = (packages.node_clients() / "node_modules/axe-core/axe.min.js").read_text("utf-8")
        session.send("Runtime.evaluate", {"expression": f"(() => {{ const define = undefined; {axe} }})()"})
        options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
        found = self.page.evaluate(_AXE, [EXPLORER, options])
        session.detach()
        return [f"{item['id']}: {item['nodes'][0]['html'][:200]}" for item in found["violations"]]

    def overflowing(self) -> list[str]:
        """Parts that are wider than the explorer and do not scroll."""
        return self.page.evaluate(_OVERFLOWING, EXPLORER)


@contextmanager
def jupyter(folder: Path, state: Path) -> Iterator[Jupyter]:
    """Servers for the notebooks of `folder`, and a browser. They end with the `with` block."""
    root = ["--allow-root"] if _ROOT else []
    lab = Server(folder, state / "lab", "jupyterlab", *_LAB, *root)
    voila = Server(folder, state / "voila", "voila", str(folder), *_VOILA)
    try:
        with sync_playwright() as playwright:
            flags = [*_FLAGS, *(["--no-sandbox"] if _ROOT else [])]
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
            for server in (lab, voila):
                server.wait()
            yield Jupyter(lab, voila, browser)
            browser.close()
    finally:
        for server in (lab, voila):
            server.stop()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


#: A kernel to which the page is really connected: JupyterLab says "idle" even before one exists.
_READY = """() => {
  const context = window.jupyterapp?.shell.currentWidget?.sessionContext, kernel = context?.session?.kernel;
  return context?.isReady && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
_SETTLED = """root => new Promise(done => {
  let waiting = setTimeout(finish, 400);
  const seen = new MutationObserver(() => { clearTimeout(waiting); waiting = setTimeout(finish, 400); });
  function finish() { seen.disconnect(); done(); }
  seen.observe(document.querySelector(root), {subtree: true, childList: true, attributes: true, characterData: true});
})"""
_UNRENDERED = """() => [...document.querySelectorAll('.jp-OutputArea-output, .jupyter-widgets')]
  .filter(e => /Error displaying widget|Loading widget|[Mm]odel not found|^\\w+\\(children=/.test(e.innerText))
  .map(e => e.innerText.slice(0, 200))"""
_ROLES = ("button", "textbox", "combobox", "listbox", "checkbox", "radio", "spinbutton", "slider", "tab", "img", "link")
_STOPS = "a[href], button, input, select, textarea, summary, [tabindex]"
_MARK_STOPS = f"""root => {{
  const seen = e => e.checkVisibility({{visibilityProperty: true}}) && !e.disabled && e.tabIndex >= 0;
  const radio = (e, more) => document.querySelector(`[name="${{e.name}}"]${{more}}`);
  const first = e => e.type !== 'radio' || (radio(e, ':checked') ?? radio(e, '')) === e;  // arrows do the rest
  const stops = [...document.querySelector(root).querySelectorAll('{_STOPS}')].filter(seen).filter(first);
  stops.forEach((e, place) => e.dataset.stop = place);
  stops[0].focus();
  return stops.map(e => `${{e.tagName}} ${{(e.ariaLabel || e.labels?.[0]?.innerText || e.innerText).slice(0, 40)}}`);
}}"""
_FAINT = """root => {
  const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const parsed = colour => {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
  const behind = e => {
    const layers = [];
    for (; e; e = e.parentElement) {
      const layer = parsed(getComputedStyle(e).backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = rgb => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const found = [];
  for (const e of document.querySelector(root).querySelectorAll('*')) {
    const text = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim()).map(n => n.data.trim()).join(' ');
    if (!text || ['STYLE', 'OPTION'].includes(e.tagName) || !e.checkVisibility() || e.closest(':disabled')) continue;
    const style = getComputedStyle(e), back = behind(e), front = over(parsed(style.color), back);
    const [dark, bright] = [light(back), light(front)].sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.6 && style.fontWeight >= 700) ? 3 : 4.5;
    if (contrast < least) found.push(`${contrast.toFixed(1)}: ${text.slice(0, 60)}`);
  }
  return found;
}"""
_AXE = "([root, options]) => axe.run(document.querySelector(root), options)"
_OVERFLOWING = """root => {
  const whole = document.querySelector(root), edge = whole.getBoundingClientRect().right + 1;
  const scrolls = e => e && e !== whole && (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)
    || scrolls(e.parentElement));
  return [...whole.querySelectorAll('*')]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > edge && !scrolls(e.parentElement))
    .map(e => `${e.tagName}.${e.className}: ${(e.innerText || '').slice(0, 60)}`);
}"""
