"""`%load_ext svctoolkit` in a real IPython: %%transform, %%suite, %svc, completion and messages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from jupyter_client.manager import start_new_kernel
from traitlets.config import Config

from svctoolkit import DataPlane, Secret, Workspace, events
from svctoolkit.plans import of_service
from tests.notebooks.controls import words

LOWER = "def transformEvent(event, metadata):\n    event['event'] = event['event'].lower()\n    return event\n"
UPPER = "export function transformEvent(event) {\n  return { ...event, event: event.event.toUpperCase() };\n}\n"
SUITE = """\
scenarios:
  - name: names are in lower case
    tags: [names]
    destination: hook
    event: {type: track, event: Order Completed}
    expect: {user_transform: {event: order completed}}
  - name: totals are in euros
    destination: hook
    event: {type: track, event: Order Completed, properties: {total: 1000}}
    expect: {user_transform: {properties: {total: 10}}}
"""


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    made = InteractiveShell(config=Config(HistoryManager={"enabled": False}))
    made.run_line_magic("load_ext", "svctoolkit")
    yield made
    made.run_line_magic("unload_ext", "svctoolkit")


@pytest.fixture
def shop(shell: InteractiveShell) -> Workspace:
    """A workspace in the variable `workspace`."""
    made = Workspace("shop")
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example/"})
    shell.user_ns["workspace"] = made
    return made


@pytest.fixture
def refused(shell: InteractiveShell, capfd: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Run a cell that must fail, and return its message."""

    def told(cell: str) -> str:
        assert not shell.run_cell(cell).success
        out, err = capfd.readouterr()
        assert "Traceback" not in out + err
        return err.strip()

    return told


def ran(shell: InteractiveShell, cell: str) -> Any:
    """The result of a cell."""
    result = shell.run_cell(cell)
    assert result.success
    return result.result


def html(shown: Any) -> str:
    """The text of the HTML that a notebook shows."""
    return words(shown._repr_mimebundle_()["text/html"])


def completed(shell: InteractiveShell, cell: str) -> list[str]:
    """The completions at the end of a cell: its text with each completion inserted."""
    with provisionalcompleter():
        found = list(shell.Completer.completions(cell, len(cell)))
    return [cell[: one.start] + one.text for one in found]


@pytest.mark.parametrize(
    ("code", "language", "became"), [(LOWER, "python", "order completed"), (UPPER, "javascript", "ORDER COMPLETED")]
)
def test_transform_defines_a_transformation_and_shows_its_effect(
    shell: InteractiveShell, shop: Workspace, code: str, language: str, became: str
) -> None:
    """The cell becomes a transformation of the workspace, its language is detected, and its effect is shown."""
    trials = ran(shell, f"%%transform clean\n{code}")

    assert (shop.transformation("clean").code, shop.transformation("clean").language) == (code, language)
    assert f'"Order Completed" "{became}"' in html(trials)
    assert f'~ event: "Order Completed" -> "{became}"' in repr(trials) + str(trials)


def test_running_transform_again_replaces_the_code(shell: InteractiveShell, shop: Workspace) -> None:
    """In place: destinations that use it use the new code."""
    ran(shell, f"%%transform clean --destination hook\n{LOWER}")
    first = shop.transformation("clean")
    ran(shell, f"%%transform clean --language js\n{UPPER}")

    assert shop.transformation("clean") is first
    assert first.code == UPPER
    assert shop.destination("hook").transformation == "clean"


def test_transform_shows_errors_with_the_line_of_the_cell(shell: InteractiveShell, shop: Workspace) -> None:
    """The line of the magic is the first one; there is no traceback."""
    trials = ran(shell, f"%%transform clean\n{LOWER.replace('lower', 'lowr')}")

    assert not trials.ok
    assert "line 3 of the cell" in html(trials)
    assert "▶   3 │     event['event'] = event['event'].lowr()" in str(trials)


def test_transform_accepts_many_kinds_of_samples(shell: InteractiveShell, shop: Workspace, tmp_path: Path) -> None:
    """Events, variables, files and a data plane, several in one call."""
    shop.source("web", destinations=["hook"])
    file = tmp_path / "cart.json"
    file.write_text(json.dumps(events.track("Cart Viewed")))
    shell.user_ns["order"] = events.track("From A Variable")
    shell.user_ns["orders"] = [events.track("First"), events.track("Second")]
    with DataPlane(shop, listen=False) as plane:
        plane.send(events.track("Received", user_id="u1"), source="web")
        shell.user_ns["plane"] = plane
        names = f"--event order --event orders --event 'product viewed' --event {file} --event plane"
        trials = ran(shell, f"%%transform clean {names}\n{LOWER}")

    assert [trial.name for trial in trials] == [
        "order", "2: track Second", "1: track First", "product viewed", "cart.json", "1: track Received u1",
    ]  # fmt: skip
    assert all(trial.status == "ok" for trial in trials)


def test_suite_runs_against_the_workspace(shell: InteractiveShell, shop: Workspace) -> None:
    """A suite without destinations uses the notebook's workspace; differences are shown at the lines of the cell."""
    ran(shell, f"%%transform clean --destination hook\n{LOWER}")
    results = ran(shell, f"%%suite\n{SUITE}")

    assert not results.ok
    assert "1 failed, 1 passed in " in str(results)
    assert "cell:11:51: user_transform.properties.total: expected 10, got 1000" in str(results)
    assert "cell:11:51" in html(results)
    assert "▶ 11 │ expect: {user_transform: {properties: {total: 10}}}" in html(results)
    assert list(results.frame()["status"]) == ["passed", "failed"]


def test_suite_may_have_its_own_workspace(shell: InteractiveShell) -> None:
    """A suite that declares its destinations needs nothing else."""
    suite = (
        "destinations: {a: {type: WEBHOOK, config: {webhookUrl: https://h.example}}}\n"
        "scenarios:\n  - {name: one, destination: a, event: {type: page}, expect: {dest_transform: {method: POST}}}\n"
    )
    results = ran(shell, f"%%suite\n{suite}")

    assert results.ok
    assert len(results.outcomes) == 1


def test_suite_options_select_scenarios_and_show_coverage(shell: InteractiveShell, shop: Workspace) -> None:
    """Tags and words select scenarios; coverage lists what none touches; fail-fast stops."""
    ran(shell, f"%%transform clean --destination hook\n{LOWER}")
    tagged = ran(shell, f"%%suite --tags names --coverage\n{SUITE}")
    worded = ran(shell, f"%%suite -k euros\n{SUITE}")
    first = ran(shell, f"%%suite --fail-fast\n{SUITE.replace('order completed', 'wrong')}")

    assert [outcome.scenario.title for outcome in tagged.outcomes.values()] == ["names are in lower case"]
    assert "event types 1 of 6" in html(tagged)
    assert [outcome.scenario.title for outcome in worded.outcomes.values()] == ["totals are in euros"]
    assert "1 failed, 1 not run in" in str(first)


def test_svc_shows_the_workspace(shell: InteractiveShell, shop: Workspace) -> None:
    """The one in the variable `workspace`."""
    assert ran(shell, "%svc") is shop


def test_svc_chooses_another_workspace(shell: InteractiveShell, shop: Workspace) -> None:
    """From then on transformations are created there, even after the variable has changed."""
    shell.user_ns["other"] = Workspace("first")
    ran(shell, "%svc other")
    shell.user_ns["other"] = Workspace("second")
    ran(shell, f"%%transform clean\n{LOWER}")

    assert list(shell.user_ns["other"].transformations) == ["clean"]
    assert list(shop.transformations) == []


def test_without_a_workspace_one_is_created(shell: InteractiveShell) -> None:
    """The first cell of a notebook may be a transformation; the variable `workspace` has the new workspace."""
    ran(shell, f"%%transform clean\n{LOWER}")

    assert list(shell.user_ns["workspace"].transformations) == ["clean"]


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%transform clean --langage js\nx", "unknown option --langage of %%transform. Did you mean '--language'"),
        ("%%transform clean --language pyton\nx", "expected js or python. Did you mean 'python'"),
        ("%%transform clean --event trak\nx", "unknown event 'trak'. Did you mean 'track'?"),
        ("%%transform clean --event nowhere.json\nx", "nowhere.json: cannot be read: No such file or directory"),
        ("%%transform clean --destination hok\nx", "unknown destination 'hok'. Did you mean 'hook'?"),
        ("%%transform clean --event 'track\nx", "%%transform: No closing quotation"),
        ("%%transform\nx", "%%transform: the following arguments are required: NAME"),
        ("%%transform clean\n\n", "%%transform: the cell is empty"),
        ("%%suite --tag names\nx", "unknown option --tag of %%suite. Did you mean '--tags'?"),
        (f"%%suite --tags nams\n{SUITE}", "none of 2 scenarios is selected. Did you mean 'names'?"),
        ("%%suite\n\n", "%%suite: the cell is empty"),
        (f"%%suite\n{SUITE.replace('destination: hook', 'destination: hok')}", "Did you mean 'hook'?"),
        ("%%suite\nscenarios:\n  - nme: x", "cell:3:5: unknown key 'nme'. Did you mean 'name'?"),
        ("%%suite\nscenarios: [", "cell:2:13: a value is missing here, or a bracket is never closed"),
        ("%svc worksapce", "unknown workspace variable 'worksapce'. Did you mean 'workspace'?"),
        ("%svc In", "%svc: In is a list, not a workspace"),
    ],
)
def test_wrong_usage_is_one_message(
    shell: InteractiveShell, shop: Workspace, refused: Callable[[str], str], cell: str, says: str
) -> None:
    """The cell fails with the mistake and a suggestion; nothing is created, and there is no traceback."""
    told = refused(cell)

    assert told.startswith("UsageError: ")
    assert says in told
    assert list(shop.transformations) == []


def test_a_missing_chosen_workspace_is_reported(
    shell: InteractiveShell, shop: Workspace, refused: Callable[[str], str]
) -> None:
    """A variable that is not a workspace any more is an error, and no other workspace is used."""
    shell.user_ns["other"] = Workspace("other")
    ran(shell, "%svc other")
    shell.user_ns["other"] = 7

    assert "variable other is not a workspace; choose another one with %svc NAME" in refused(f"%%transform a\n{LOWER}")


@pytest.mark.parametrize(
    ("cell", "proposed"),
    [
        ("%%transform cl", "%%transform clean"),
        ("%%transform clean --l", "%%transform clean --language"),
        ("%%transform clean --language ", "%%transform clean --language js"),
        ("%%transform clean --event tr", "%%transform clean --event track"),
        ("%%transform clean --event 'order c", "%%transform clean --event 'order completed'"),
        ("%%transform clean --event ord", "%%transform clean --event order"),
        ("%%transform clean --destination h", "%%transform clean --destination hook"),
        ("%%suite --cov", "%%suite --coverage"),
        ("%%suite\nscenarios:\n  - destination: h", "%%suite\nscenarios:\n  - destination: hook"),
        ("%%suite\nscenarios:\n  - transformation: ", "%%suite\nscenarios:\n  - transformation: clean"),
        ("%%suite\ndestinations: {a: {type: WEBH", "%%suite\ndestinations: {a: {type: WEBHOOK"),
        ("%%suite\nscenarios:\n  - event: {type: scr", "%%suite\nscenarios:\n  - event: {type: screen"),
        ("%%suite\nscen", "%%suite\nscenarios:"),
        ("%%suite\nscenarios:\n  - name: a\n    exp", "%%suite\nscenarios:\n  - name: a\n    expect:"),
        ("%svc wor", "%svc workspace"),
        ("x = 1\n%svc wor", "x = 1\n%svc workspace"),
    ],
)
def test_names_are_completed(shell: InteractiveShell, shop: Workspace, cell: str, proposed: str) -> None:
    """Transformations, destinations, types, events, options, keys: each where it fits."""
    shop.transformation("clean", code=LOWER)
    shell.user_ns["order"] = events.track("A B")

    assert proposed in completed(shell, cell)


@pytest.mark.slow
def test_completion_in_a_magic_offers_only_its_arguments(shell: InteractiveShell, shop: Workspace) -> None:
    """No Python names instead of a destination; other cells are completed as usual."""
    assert completed(shell, "%%transform a --destination ") == ["%%transform a --destination hook"]
    assert "workspace" in completed(shell, "works")


def test_completion_creates_no_workspace(shell: InteractiveShell) -> None:
    """Pressing Tab changes nothing."""
    completed(shell, "%%transform a --destination ")

    assert "workspace" not in shell.user_ns


def test_a_secret_never_shows(shell: InteractiveShell, shop: Workspace) -> None:
    """A secret that the code logs, returns or raises is masked."""
    shop.credentials["crm"] = Secret("crm-s3cret-value")
    code = (
        "def transformEvent(event, metadata):\n    key = getCredential('crm')\n    log(key)\n"
        "    if event['type'] == 'page':\n        raise ValueError(key)\n    return {**event, 'key': key}\n"
    )
    trials = ran(shell, f"%%transform leaky --event track --event page\n{code}")

    assert "crm-s3cret-value" not in html(trials) + str(trials)
    assert "••••" in html(trials)


def test_event_dicts_are_shown_as_trees(shell: InteractiveShell) -> None:
    """Samples, built events and those of a file stay dicts; other dicts look as usual, and all do after %unload_ext."""
    shown = shell.display_formatter.format
    lines = [
        events.sample("order completed"),
        events.track("<b>Paid</b>", user_id="u1"),
        {"type": "page", "userId": "u"},
    ]
    others = [{}, {"type": "page"}, {"type": ["page"], "userId": "u"}, {"userId": "u", "type": "bot"}, {"messageId": 1}]

    trees = [shown(line)[0] for line in lines]
    titles = ["track Order Completed", "track <b>Paid</b>", "page"]
    assert [words(tree["text/html"]).startswith(title) for tree, title in zip(trees, titles, strict=True)] == [True] * 3
    assert "<b>Paid" not in trees[1]["text/html"]
    assert [tree["text/plain"][:8] for tree in trees] == ["{'type':"] * 3
    assert all("text/html" not in shown(other)[0] for other in others)
    shell.run_line_magic("unload_ext", "svctoolkit")
    assert "text/html" not in shown(lines[0])[0]


def test_loading_gives_frames_their_accessor(shell: InteractiveShell) -> None:
    """After %load_ext a DataFrame of events has `df.svc`."""
    frame = ran(shell, "import pandas\npandas.DataFrame([{'type': 'track', 'event': 'A'}]).svc.flatten()")

    assert list(frame["event"]) == ["A"]


def test_reloading_registers_once(shell: InteractiveShell, shop: Workspace) -> None:
    """After %reload_ext each name is offered once; after %unload_ext the magics are removed."""
    shell.run_line_magic("reload_ext", "svctoolkit")
    proposed = completed(shell, "%svc work")
    shell.run_line_magic("unload_ext", "svctoolkit")

    assert proposed == ["%svc workspace"]
    assert shell.find_cell_magic("transform") is None
    shell.run_line_magic("load_ext", "svctoolkit")


def test_the_magics_need_no_widgets() -> None:
    """In a plain IPython, without ipywidgets, all three work."""
    code = (
        "import sys; sys.modules['ipywidgets'] = None\n"
        "from IPython.core.interactiveshell import InteractiveShell as S\n"
        "shell = S.instance(); shell.run_line_magic('load_ext', 'svctoolkit')\n"
        f"done = [shell.run_cell(cell).success for cell in ({'%%transform clean' + chr(10) + LOWER!r}, '%svc')]\n"
        "assert done == [True, True]"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).returncode == 0


@pytest.fixture(scope="module")
def execute() -> Iterator[Callable[[str], list[dict[str, Any]]]]:
    """Run a cell in a real kernel; return the messages that a notebook would show, then the reply."""
    manager, client = start_new_kernel(kernel_name="python3")

    def execute(cell: str) -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []
        reply = client.execute_interactive(cell, output_hook=seen.append, timeout=60)
        return [*seen, reply]

    execute.client = client  # type: ignore[attr-defined]
    execute("%load_ext svctoolkit")
    yield execute
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_in_a_kernel_the_output_has_html(execute: Callable[[str], list[dict[str, Any]]]) -> None:
    """A cell has one result with HTML and text."""
    (shown,) = [m["content"] for m in execute(f"%%transform clean\n{LOWER}") if m["msg_type"] == "execute_result"]

    assert "order completed" in shown["data"]["text/html"]
    assert '~ event: "Order Completed" -> "order completed"' in shown["data"]["text/plain"]


@pytest.mark.slow
def test_in_a_kernel_wrong_usage_fails_without_a_traceback(execute: Callable[[str], list[dict[str, Any]]]) -> None:
    """The message is text, and the reply an error, so that "run all cells" stops there."""
    *shown, reply = execute("%%transform clean --langage js\nx")

    assert [m["content"]["text"] for m in shown if m["msg_type"] == "stream"] == [
        "UsageError: unknown option --langage of %%transform. Did you mean '--language' or '--plan'?\n"
    ]
    assert "error" not in [m["msg_type"] for m in shown]
    assert reply["content"]["status"] == "error"


@pytest.mark.slow
def test_in_a_kernel_names_are_completed(execute: Any) -> None:
    """By Tab, as in a notebook."""
    execute(f"%%transform clean\n{LOWER}")
    reply = execute.client.complete("%%transform cl", reply=True, timeout=60)

    assert reply["content"]["matches"] == ["clean"]


@pytest.mark.slow
def test_in_a_kernel_a_long_suite_shows_its_progress(execute: Callable[[str], list[dict[str, Any]]]) -> None:
    """While a run takes long, the output of the cell shows the progress; in the end it is empty."""
    suite = """\
transformations:
  busy:
    language: javascript
    code: "export function transformEvent(e) { const end = Date.now() + 700; while (Date.now() < end); return e }"
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://h.example}}}
scenarios:
  - name: slow
    transformation: busy
    event: {type: page}
    expect: {user_transform: {type: page}}
  - name: quick
    cases: [{id: a}, {id: b}]
    destination: hook
    event: {type: page}
    expect: {dest_transform: {method: POST}}
"""
    shown = execute(f"%%suite\n{suite}")
    progress = [m for m in shown if m["msg_type"] in ("display_data", "update_display_data")]

    assert "1 of 3 scenarios finished" in progress[0]["content"]["data"]["text/html"]
    assert progress[-1]["content"]["data"]["text/html"] == ""
    assert "3 passed" in next(m for m in shown if m["msg_type"] == "execute_result")["content"]["data"]["text/plain"]


PROGRESS = """
from itertools import count
from svctoolkit.replay.engine.progress import Meter, listener
meter = Meter(listener(None), 10, clock=count().__next__)
for position in range(%d):
    meter.add(1, 0, position)
    meter.report()
meter.finish()
"""


@pytest.mark.slow
def test_in_a_kernel_a_replay_leaves_no_progress_behind(execute: Callable[[str], list[dict[str, Any]]]) -> None:
    """A long one shows it while it runs; the saved notebook has none; a short one never shows it, nor does one with
    `SVCTOOLKIT_PROGRESS=off`.
    """
    kinds = ("display_data", "update_display_data")
    off = f"import os; os.environ['SVCTOOLKIT_PROGRESS'] = 'off'\n{PROGRESS % 3}\ndel os.environ['SVCTOOLKIT_PROGRESS']"
    cells = PROGRESS % 3, PROGRESS % 0, off
    long, short, hidden = ([m for m in execute(cell) if m["msg_type"] in kinds] for cell in cells)

    assert "<progress" in long[0]["content"]["data"]["text/html"]
    assert long[-1]["content"]["data"] == {"text/plain": "", "text/html": ""}
    assert short == hidden == []


def test_transform_can_show_violations(shell: InteractiveShell, shop: Workspace, tmp_path: Path) -> None:
    """`--plan` with a key of the workspace's plans, or a path: a verdict for each event, above the results."""
    schema = {"properties": {"properties": {"properties": {"colour": {}}, "required": ["colour"]}}}
    rules = [{"name": "Order Completed", "eventType": "track", "rules": schema}]
    shop.tracking_plan("mine", of_service({"id": "tp", "events": rules}))
    (tmp_path / "plan.json").write_text(json.dumps({"id": "tp", "events": rules}))

    for plan in ("mine", tmp_path / "plan.json"):
        with capture_output() as output:
            ran(shell, f"%%transform clean --plan {plan}\n{LOWER}")
        assert "must have required property 'colour'" in output.stdout
    with capture_output() as output:
        ran(shell, f"%%transform clean\n{LOWER}")
    assert "required property" not in output.stdout


MANY = """%%transform clean --events {}
def transformEvent(event, metadata):
    n = event["properties"]["n"]
    if n % 10 == 0:
        return None
    if n % 10 == 1:
        raise ValueError(f"bad {{n}}")
    if n % 2:
        event["properties"]["items"] = [{{"p": "x"}}, {{"p": "x"}}]
    return event
"""


def test_results_of_many_events_are_counted(shell: InteractiveShell, shop: Workspace, tmp_path: Path) -> None:
    """Changed, dropped, failed, unchanged, by field and by error; from a list, a frame or a file."""
    items = [{"p": 1}, {"p": 2}]
    many = [{"type": "track", "event": "E", "userId": "u", "properties": {"n": n, "items": items}} for n in range(1200)]
    shell.user_ns["many"] = [*many, {"no": "event"}]
    shell.user_ns["frame"] = pd.DataFrame(many)
    file = tmp_path / "many.ndjson"
    file.write_text("\n".join(map(json.dumps, many)), encoding="utf-8")

    counted = [ran(shell, MANY.format(name)) for name in ("many", "frame", file)]
    for result in counted:
        assert result.counts == {"changed": 480, "unchanged": 480, "dropped": 120, "failed": 120}
        assert [tuple(row)[:3] for row in result.frame().to_numpy()] == [
            ("changed", "~ properties.items.*.p", 480),
            ("dropped", "no event returned", 120),
            ("failed", "ValueError: bad … (clean.py:6:9)", 120),
        ]
    assert [result.rejected for result in counted] == [1, 0, 0]
    assert "480 changed" in html(counted[0])
    assert "line 7 of the cell" in html(counted[0])
    assert shop.transformations["clean"].code


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ("mani", "Did you mean 'many'"),
        ("nowhere.ndjson", "nowhere.ndjson"),
        ("number", "not int"),
        ("many --event track", "use either --event, to show events one by one"),
    ],
)
def test_invalid_events_are_reported(
    shell: InteractiveShell, shop: Workspace, refused: Callable[[str], str], events: str, says: str
) -> None:
    """Before anything is changed."""
    shell.user_ns |= {"many": [], "number": 7}

    assert says in refused(MANY.format(events))
    assert not shop.transformations


ASSERTIONS = """\
%%mutate clean
(event,) = clean.run({"type": "track", "event": "Order Completed", "total": 200}).events
assert event["event"] == "order completed"
"""


def test_mutate_marks_the_lines_that_no_assertion_checks(shell: InteractiveShell, shop: Workspace) -> None:
    """In the code as text and as HTML, with each change; a variable with the transformation sees the changes, too.

    The code is as before afterwards.
    """
    code = LOWER.replace("    return", "    event['cents'] = event['total'] * 100\n    return")
    ran(shell, f"%%transform clean --event track\n{code}")
    shell.user_ns["clean"] = shop.transformation("clean")

    shown = ran(shell, ASSERTIONS)
    text = shown._repr_mimebundle_()["text/plain"].splitlines()

    assert text[0].startswith("10 changes, 6 noticed (60 %), 4 not")
    assert "✓   2 │     event['event'] = event['event'].lower()" in text
    assert "!   3 │     event['cents'] = event['total'] * 100" in text
    assert "        literal: 100 -> 10  (no assertion fails)" in text
    assert '<mark title="' in shown._repr_mimebundle_()["text/html"]
    assert "line 3: assert event[" in html(shown)
    assert shop.transformation("clean").code.rstrip() == code.rstrip()


def test_mutate_accepts_scenarios(shell: InteractiveShell, shop: Workspace) -> None:
    """The cell is a suite if it has scenarios; they use the workspace of the notebook."""
    ran(shell, f"%%transform clean --event track --destination hook\n{LOWER}")
    shown = ran(shell, "%%mutate clean\n" + SUITE.partition("  - name: totals")[0])

    assert shown.percent == 100
    assert "cell::names-are-in-lower-case" in html(shown)


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ("%%mutate clean\n  ", "the cell is empty"),
        ("%%mutate clean\n1 + 1", "the cell asserts nothing"),
        ("%%mutate clean\nassert 1 == 2", "the cell fails already, line 2: assert 1 == 2"),
        ("%%mutate clean\nassert (", "line 2: '(' was never closed"),
        ("%%mutate clen\nassert 1", "Did you mean 'clean'?"),
    ],
)
def test_mistakes_of_mutate_are_messages(
    shell: InteractiveShell, shop: Workspace, refused: Callable[[str], str], cell: str, error: str
) -> None:
    """A cell that is empty, asserts nothing or fails already, and an unknown transformation; nothing is changed."""
    shop.transformation("clean", code=LOWER)

    assert error in refused(cell)
