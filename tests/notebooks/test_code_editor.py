"""The code editor of explorers is built into wheels if npm is available; otherwise there is a text area."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Locator, expect

from svctoolkit.transformations import type_files
from svctoolkit.widgets._base.code_editor.words import functions, metadata
from tests.notebooks import gallery
from tests.notebooks.browser import Jupyter, jupyter
from tests.notebooks.visits import VISITS

ROOT = Path(__file__).parents[2]
HOME = "svctoolkit/widgets/_base/code_editor"
BUNDLE = {f"{HOME}/dist/codemirror.js", f"{HOME}/dist/codemirror.licenses.txt"}


def build(folder: Path, **environment: str) -> tuple[ZipFile, str]:
    """A wheel of this checkout, and the output of its build."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    (wheel,) = folder.glob("*.whl")
    return ZipFile(wheel), done.stdout + done.stderr


@pytest.mark.parametrize("language", ["javascript", "python"])
def test_functions_of_transformations_are_completed(language: str) -> None:
    """Each function declared in the type files, with its parameters and a sentence; and the fields of metadata."""
    offered = functions(language)

    assert {item["label"] for item in offered} == {"log", "fetch", "fetchV2", "geolocation", "getCredential"}
    assert all(item["detail"].startswith("(") and item["info"].endswith(".") for item in offered)
    assert {"sourceId", "destinationName", "receivedAt"} <= set(metadata())
    assert all(f"{name}: " in type_files()["transformation_types.pyi"] for name in metadata())


def test_a_wheel_built_without_npm_works(tmp_path: Path) -> None:
    """It has the text area; the build says in one line what is left out, and why."""
    wheel, output = build(tmp_path, PATH=str(tmp_path))
    names = set(wheel.namelist())

    assert {f"{HOME}/area.py", f"{HOME}/view.js"} <= names
    assert not BUNDLE & names
    assert not [name for name in names if "/bundle/" in name or "node_modules" in name]
    assert "The code editor is not included, a plain text area replaces it: npm is not installed" in output


@pytest.mark.slow
def test_a_wheel_can_be_built_without_the_registry(tmp_path: Path) -> None:
    """Installing this package never requires npm's registry."""
    wheel, output = build(tmp_path, npm_config_registry="http://127.0.0.1:9/", npm_config_cache=str(tmp_path / "cache"))

    assert not BUNDLE & set(wheel.namelist())
    assert "The code editor is not included, a plain text area replaces it: npm ci" in output


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installation of a wheel that was built with npm."""
    assert shutil.which("npm"), "npm is needed"
    folder = tmp_path_factory.mktemp("site")
    wheel, output = build(tmp_path_factory.mktemp("dist"))
    assert set(wheel.namelist()) >= BUNDLE, output
    wheel.extractall(folder)
    return folder


@pytest.mark.slow
def test_the_bundle_comes_with_its_licences(site: Path) -> None:
    """Each package in the bundle has its own text, and the lock file has no others."""
    notices = (site / HOME / "dist" / "codemirror.licenses.txt").read_text()
    locked = json.loads((ROOT / HOME / "bundle" / "package-lock.json").read_text())["packages"]
    packages = re.findall(r"^((?:@[\w-]+/)?[\w-]+) (\d[\w.]*) \(MIT\)$", notices, flags=re.M)

    assert len(packages) >= 15
    assert all(locked[f"node_modules/{name}"]["version"] == version for name, version in packages)
    assert notices.count("Permission is hereby granted") == len(packages)


SECRETS = """
import json
from svctoolkit import Secret, Workspace
from svctoolkit.widgets import TransformationEditor

shop = Workspace("shop", credentials={"crm": Secret("crm-s3cret-value")})
long = "x" * 200 + "crm-s3cret-value"
event = {"type": "track", "userId": "u1", "context": {"key": long, "list": [{"key": "crm-s3cret-value"}]}}
code = "def transformEvent(event, metadata):\\n    raise ValueError(event['context']['key'])\\n"
shop.transformation("keys", code=code)
editor = TransformationEditor(shop, "keys", events=[event])
editor.wait(60)
print(json.dumps(editor._area.editor.get_state(), default=str))
"""


@pytest.mark.slow
def test_secrets_of_events_never_reach_the_page(site: Path) -> None:
    """Neither as the sample for completion, nor in the text of a mark."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-c", SECRETS]
    done = subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=True)
    state = json.loads(done.stdout)

    assert state["sample"]["event"]["context"].keys() == {"key", "list"}
    assert state["problems"][0]["line"] == 2
    assert "crm-s3cret-value" not in done.stdout


@pytest.fixture(scope="module")
def servers(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    """JupyterLab and Voila with kernels that import the installed wheel."""
    folder = gallery.written(tmp_path_factory.mktemp("notebooks"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(site))
        with jupyter(folder, tmp_path_factory.mktemp("jupyter") / "state") as running:
            yield running


def editor_of(explorer: Locator) -> Locator:
    """The text field, once it is an editor."""
    expect(explorer.locator(".cm-editor")).to_be_visible(timeout=60_000)
    return explorer.get_by_role("textbox", name="Code", exact=True)


def leave(code: Locator) -> None:
    """Press Escape and Tab, which leave the editor if no more than two seconds are between them, until they do."""
    for _ in range(30):
        code.page.keyboard.press("Escape")
        code.page.keyboard.press("Tab")
        if not code.evaluate("element => element === document.activeElement"):
            return


def write(explorer: Locator) -> None:
    """Write code with the keyboard alone: complete, indent, check marks, run, and leave."""
    page, code = explorer.page, editor_of(explorer)
    keys = page.keyboard
    options = page.locator(".cm-tooltip-autocomplete li")
    code.focus()
    keys.press("Control+a")
    keys.press("Delete")
    keys.type("def transformEvent(event, metadata):\n")
    keys.press("Tab")  # the line is indented already: Tab adds a second step, Shift+Tab takes it back
    keys.press("Shift+Tab")
    keys.type('event["context"]["')
    expect(options.filter(has_text="library")).to_have_count(1)
    keys.type("li")
    expect(options).to_have_count(1)
    keys.press("Enter")
    expect(code.locator(".cm-line").nth(1)).to_have_text('    event["context"]["library"]')
    keys.press("End")
    keys.type("\ngetCre")
    expect(options.first).to_contain_text("getCredential")
    keys.press("Escape")
    for _ in "getCre":
        keys.press("Backspace")
    keys.type("return evnt")
    expect(explorer.locator(".cm-lintRange-error")).to_have_text("evnt")
    keys.press("F8")
    expect(page.locator(".cm-tooltip .cm-diagnostic")).to_contain_text("evnt")
    keys.press("Escape")
    keys.press("Control+End")
    for _ in "evnt":
        keys.press("Backspace")
    keys.type("{**event, 'done': 'by keyboard'}")
    keys.press("Control+Enter")
    expect(explorer.get_by_text('"by keyboard"').locator("visible=true").first).to_be_visible()
    expect(explorer.locator(".cm-lintRange-error")).to_have_count(0)
    leave(code)
    expect(explorer.get_by_label("Run as I type")).to_be_focused()
    keys.press("Shift+Tab")
    expect(code).to_be_focused()


@pytest.mark.slow
@pytest.mark.parametrize("app", ["lab", "voila"])
def test_code_can_be_written_by_keyboard(servers: Jupyter, tmp_path: Path, app: str) -> None:
    """In JupyterLab and as a dashboard, light and dark; with good contrast, and nothing is cut off at 700 pixels."""
    opened = servers.lab if app == "lab" else servers.voila
    with opened("transformation_editor", tmp_path) as sheet:
        write(sheet.explorer)
        sheet.settle()
        assert (sheet.unrendered(), sheet.nameless(), sheet.faint()) == ([], [], [])
        sheet.page.evaluate("document.body.dataset.jpThemeLight = 'false'") if app == "voila" else sheet.dark()
        expect(sheet.explorer.locator(".cm-editor")).to_have_css("color-scheme", "dark")
        assert app == "voila" or sheet.faint() == []  # a dashboard's page itself stays light
        sheet.page.set_viewport_size({"width": 700, "height": 900})
        assert sheet.overflowing() == []


@pytest.mark.slow
def test_the_editor_loads_in_each_window_of_a_running_kernel(servers: Jupyter, tmp_path: Path) -> None:
    """In further windows of the same kernel, and after reloading."""
    with ExitStack() as windows:
        for _ in range(2):
            sheet = windows.enter_context(servers.lab("transformation_editor", tmp_path))
            editor_of(sheet.explorer)
        sheet.page.reload()
        sheet.ready()
        sheet.run()
        editor_of(sheet.explorer)


VIEW = """async ([view, module, lost]) => {
  const load = (text) => import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
  const { default: { render } } = await load(view);
  const listeners = new Set();
  window.asked = 0;
  const model = {
    get: () => "key", on: (name, call) => listeners.add(call), off: (name, call) => listeners.delete(call),
    send: () => {
      window.asked += 1;
      if (window.asked <= lost) return;
      for (const call of [...listeners]) call({kind: "bundle", key: "key"}, [new TextEncoder().encode(module)]);
    },
  };
  const el = document.body.appendChild(document.createElement("div"));
  render({ model, el }).catch((error) => { window.loaded = error.message; });
}"""
MODULE = "export class Compartment { constructor() { throw new Error('the module is here') } }"


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "seconds"), [(0, 0), (1, 1), (5, 30), (8, 120)])
def test_a_view_asks_until_the_kernel_answers(servers: Jupyter, lost: int, seconds: int) -> None:
    """Lost messages are repeated; after ten seconds the page says that it waits. The page's clock is virtual."""
    view = (ROOT / HOME / "view.js").read_text("utf-8")
    with servers.blank("<body></body>", timezone_id="UTC") as sheet:  # a clock belongs to all pages of a context
        sheet.page.clock.install(time=0)
        sheet.page.clock.pause_at(3600)
        sheet.page.evaluate(VIEW, [view, MODULE, lost])
        sheet.page.clock.run_for(500)
        for second in range(seconds):
            assert sheet.page.evaluate("window.loaded") is None
            assert sheet.page.get_by_text("has not arrived").count() == (second >= 10)
            sheet.page.clock.run_for(1000)
        sheet.page.wait_for_function("window.loaded === 'the module is here'")
        assert sheet.page.evaluate("window.asked") == lost + 1
        assert sheet.page.get_by_role("status").count() == 0


@pytest.mark.slow
def test_a_bundle_that_does_not_load_is_reported(servers: Jupyter) -> None:
    """The text area stays, with the reason."""
    view = (ROOT / HOME / "view.js").read_text("utf-8")
    with servers.blank("<body></body>") as sheet:
        sheet.page.evaluate(VIEW, [view, "export const = broken", 0])
        expect(sheet.page.get_by_role("status")).to_contain_text("The code editor cannot be loaded (")


@pytest.mark.slow
def test_without_its_script_the_editor_is_a_text_area(servers: Jupyter, tmp_path: Path) -> None:
    """If the Jupyter server has no anywidget or refuses its script, typing works as before, without an error."""
    with servers.lab("transformation_editor", tmp_path, refused="**/*extensions/anywidget/**") as sheet:
        VISITS["transformation_editor"](sheet.explorer)
        assert sheet.explorer.locator(".cm-editor").count() == 0
        assert "anywidget" not in sheet.explorer.inner_text()
        sheet.errors.clear()  # JupyterLab's own message about the missing script
