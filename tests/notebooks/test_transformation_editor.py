"""TransformationEditor shows code and, while typing, its effect on events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Secret, Workspace, events
from svctoolkit.errors import ConfigError
from svctoolkit.plans import Plan, Rule
from svctoolkit.transformations import Limits
from svctoolkit.widgets import TransformationEditor
from tests.notebooks.controls import click, control, fill, shown, words
from tests.notebooks.scripts import without_tools

LOWER = {
    "javascript": "export function transformEvent(event) {\n  log('saw', event.type);\n"
    "  event.event = event.event.toLowerCase();\n  return event;\n}\n",
    "python": "def transformEvent(event, metadata):\n    log('saw', event['type'])\n"
    "    event['event'] = event['event'].lower()\n    return event\n",
}
WRONG = {
    "javascript": "export function transformEvent(event) {\n  return evnt;\n}\n",
    "python": "def transformEvent(event, metadata):\n    return evnt\n",
}
SYNTAX = {
    "javascript": "export function transformEvent(event) {\n  return (event;\n}\n",
    "python": "def transformEvent(event, metadata):\n    return (event\n",
}
DROP = "def transformEvent(event, metadata):\n    return None if event['type'] == 'page' else event\n"


@pytest.fixture
def shop() -> Workspace:
    workspace = Workspace("shop")
    workspace.transformation("clean", code=LOWER["python"])
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://h.example/"}, transformation="clean")
    return workspace


@pytest.fixture
def editors() -> Iterator[Any]:
    """A factory for editors, which closes them."""
    made = []

    def editor(*given: Any, **more: Any) -> TransformationEditor:
        made.append(TransformationEditor(*given, **more))
        assert made[-1].wait()
        return made[-1]

    yield editor
    for one in made:
        one.close()


def typed(editor: TransformationEditor, code: str) -> str:
    """The display after `code` was typed."""
    fill(editor, "Code", code)
    assert editor.wait()
    return words(shown(editor))


@pytest.mark.parametrize("language", ["javascript", "python"])
def test_typing_shows_the_effect_of_the_code(editors: Any, language: str) -> None:
    """Changed values, log, output and time appear without pressing a button."""
    editor = editors(language=language)
    text = typed(editor, LOWER[language])

    assert 'event "Order Completed" "order completed"' in text
    assert "info: saw track" in text
    assert " ms 1 change" in text
    assert "<del" in shown(editor)
    assert "<ins" in shown(editor)
    assert 'messageId : "6b0f6c1a' in text


@pytest.mark.parametrize("language", ["javascript", "python"])
@pytest.mark.parametrize(("wrong", "says"), [(WRONG, "evnt"), (SYNTAX, "SyntaxError")])
def test_an_error_is_shown_at_its_line(editors: Any, language: str, wrong: dict[str, str], says: str) -> None:
    """The message has the error and its line, and that line is marked among its neighbours."""
    editor = editors(language=language)
    text = typed(editor, wrong[language])

    line = wrong[language].splitlines()[1]
    assert says in text
    assert "line 2" in text
    assert f"<mark>▶   2 │ {line}</mark>" in shown(editor)
    assert "Traceback" not in text


def test_after_an_error_the_fixed_code_runs(editors: Any) -> None:
    """The error disappears as soon as the code is right."""
    editor = editors(language="python")
    before = typed(editor, WRONG["python"])
    after = typed(editor, LOWER["python"])

    assert "✗ failed" in before
    assert "✗" not in after


def test_after_quick_changes_the_last_one_is_shown(editors: Any) -> None:
    """Fast typing shows the result of the last text."""
    editor = editors(language="python")
    for word in ("one", "two", "three"):
        fill(editor, "Code", f"def transformEvent(event, metadata):\n    log('{word}')\n    return event\n")
    assert editor.wait()

    assert [log.text for log in editor.state.trials[0].output.logs] == ["three"]


def test_typing_never_waits_for_the_code(editors: Any, shop: Workspace) -> None:
    """Slow code runs outside the kernel's main thread; its timeout is shown as an error."""
    shop.limits = Limits(time=0.5)
    editor = editors(shop, "clean")
    fill(editor, "Code", "def transformEvent(event, metadata):\n    while True: pass\n")
    was_busy = not editor.wait(0)
    assert editor.wait()

    assert was_busy
    assert "✗ failed" in words(shown(editor))


def test_a_dropped_event_says_so(editors: Any) -> None:
    """It is an outcome, not an error."""
    editor = editors(language="python")
    fill(editor, "Event", "page")
    text = typed(editor, DROP)

    assert "⊘ dropped" in text
    assert "the event is dropped" in text


def test_all_events_can_be_shown(editors: Any) -> None:
    """Each has a row that can be opened."""
    editor = editors(language="python")
    fill(editor, "Event", "all")
    text = typed(editor, DROP)

    assert "page ⊘ dropped 0" in text
    assert "identify ✓ ok 1 no change" in text
    assert shown(editor).count("<details") >= len(events.samples())


def test_several_events_from_one_are_compared_with_it(editors: Any) -> None:
    """Each returned event is compared with the input."""
    editor = editors(language="python")
    text = typed(editor, "def transformEvent(event, metadata):\n    return [event, {**event, 'copy': True}]\n")

    assert "2 events, 1 change" in text
    assert "Nothing changed, 1 of 2" in text
    assert "what changed, 2 of 2" in text


def test_events_of_a_data_plane_can_be_used(editors: Any, shop: Workspace) -> None:
    """Received events, the newest first; refreshing shows later ones."""
    shop.source("web", destinations=["hook"])
    with DataPlane(shop, listen=False) as plane:
        plane.send(events.track("Cart Viewed", user_id="u1"), source="web")
        editor = editors(shop, "clean", events=plane)
        first = control(editor, "Event").options
        plane.send(events.track("Order Completed", user_id="u2"), source="web")
        click(editor, "Refresh events")
        assert editor.wait()

        assert [label for label, _ in first] == ["1: track Cart Viewed u1"]
        assert control(editor, "Event").options[0][0] == "2: track Order Completed u2"
        assert '"Cart Viewed" "cart viewed"' in words(shown(editor))


def test_a_data_plane_without_events_shows_a_message(editors: Any, shop: Workspace) -> None:
    """Instead of a result."""
    with DataPlane(shop, listen=False) as plane:
        editor = editors(shop, "clean", events=plane)

        assert "no events yet" in words(shown(editor))


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (events.track("A B"), "event"),
        ([events.track("A B"), events.page("Home")], "2: page Home"),
        ({"mine": events.track("A B")}, "mine"),
    ],
)
def test_own_events_can_be_passed(editors: Any, given: Any, label: str) -> None:
    """One event, a list, or events by name."""
    editor = editors(events=given)

    assert control(editor, "Event").options[0][0] == label


def test_saving_replaces_the_code_in_the_workspace(editors: Any, shop: Workspace) -> None:
    """Nothing changes before the button is pressed; then destinations use the new code."""
    editor = editors(shop, "clean")
    typed(editor, DROP)
    before = shop.transformation("clean").code
    click(editor, "Save to workspace")

    assert before == LOWER["python"]
    assert shop.transformation("clean").code == DROP
    assert "saved as 'clean' in workspace shop: used by hook" in words(shown(editor))


def test_saving_repeatedly_needs_no_confirmation(editors: Any, shop: Workspace) -> None:
    """The editor may replace what it saved itself."""
    editor = editors(shop, "clean")
    for code in (DROP, LOWER["python"], DROP):
        typed(editor, code)
        click(editor, "Save to workspace")

    assert shop.transformation("clean").code == DROP


def test_code_saved_elsewhere_is_replaced_after_confirmation(editors: Any, shop: Workspace) -> None:
    """The first press says that there is other code; the second one replaces it."""
    editor = editors(shop, "clean")
    shop.transformation("clean").code = "# changed meanwhile"
    click(editor, "Save to workspace")
    told, kept = words(shown(editor)), shop.transformation("clean").code
    click(editor, "Save to workspace")

    assert "different code for 'clean'. Press the button again" in told
    assert kept == "# changed meanwhile"
    assert shop.transformation("clean").code == LOWER["python"]


def test_a_new_name_creates_a_new_transformation(editors: Any, shop: Workspace) -> None:
    """The old one is kept."""
    editor = editors(shop, "clean")
    fill(editor, "Name", "lower")
    click(editor, "Save to workspace")

    assert sorted(shop.transformations) == ["clean", "lower"]
    assert "no destination uses it yet" in words(shown(editor))


def test_the_code_can_be_written_to_a_file(editors: Any, tmp_path: Path) -> None:
    """The command line and workspaces read it from there."""
    editor = editors(language="python")
    typed(editor, DROP)
    fill(editor, "File", str(tmp_path / "drop.py"))
    click(editor, "Write to file")

    assert (tmp_path / "drop.py").read_text() == DROP
    assert [path.name for path in tmp_path.iterdir()] == ["drop.py"]


def test_a_different_file_is_replaced_after_confirmation(editors: Any, tmp_path: Path) -> None:
    """Writing over other code takes a second press."""
    file = tmp_path / "drop.py"
    file.write_text("# precious")
    editor = editors(language="python")
    fill(editor, "File", str(file))
    click(editor, "Write to file")
    kept = file.read_text()
    click(editor, "Write to file")

    assert kept == "# precious"
    assert "def transformEvent" in file.read_text()


@pytest.mark.parametrize(
    ("name", "says"),
    [("", "a file name is required"), ("clean.txt", ".js, .mjs or .py"), ("taken/x.py", "cannot be written")],
)
def test_an_unwritable_file_is_a_message(editors: Any, tmp_path: Path, name: str, says: str) -> None:
    """No file and no traceback: the message has the reason."""
    (tmp_path / "taken").write_text("a file, no folder")
    editor = editors()
    fill(editor, "File", str(tmp_path / name) if name else "")
    click(editor, "Write to file")

    assert "⚠ Warning:" in words(shown(editor))
    assert says in words(shown(editor))
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_transformation_in_a_file_stays_in_it(editors: Any, tmp_path: Path) -> None:
    """Once written to its file and saved, the workspace still refers to the file."""
    (tmp_path / "clean.py").write_text(LOWER["python"])
    shop = Workspace("shop", folder=tmp_path)
    shop.transformation("clean", file=Path("clean.py"))
    editor = editors(shop, "clean")
    typed(editor, DROP)
    click(editor, "Write to file")
    click(editor, "Save to workspace")

    assert (tmp_path / "clean.py").read_text() == DROP
    assert "file: clean.py" in shop.dumps()


def test_code_can_be_saved_without_its_file(editors: Any, tmp_path: Path) -> None:
    """The workspace then contains the new code, so that it can be saved; the file is unchanged."""
    (tmp_path / "clean.py").write_text(LOWER["python"])
    shop = Workspace("shop", folder=tmp_path)
    shop.transformation("clean", file=Path("clean.py"))
    editor = editors(shop, "clean")
    typed(editor, DROP)
    click(editor, "Save to workspace")

    assert (tmp_path / "clean.py").read_text() == LOWER["python"]
    assert Workspace.loads(shop.dumps()).transformation("clean").code == DROP


def test_without_a_workspace_there_is_no_save_button(editors: Any) -> None:
    """The editor offers only what is possible."""
    assert control(editors(), "Save to workspace").layout.display == "none"


def test_another_language_has_its_own_template(editors: Any) -> None:
    """Unedited code is replaced by that of the language; edited code is kept."""
    editor = editors()
    fill(editor, "Language", "python")
    start = control(editor, "Code").value
    typed(editor, DROP)
    fill(editor, "Language", "javascript")
    assert editor.wait()

    assert start.startswith("def transformEvent")
    assert control(editor, "Code").value == DROP


def test_live_code_runs_only_on_request(editors: Any, shop: Workspace) -> None:
    """In mode live the code's requests are really sent, so typing does not run it."""
    shop.delivery = replace(shop.delivery, mode="live")
    editor = editors(shop, "clean")
    before = shown(editor)
    fill(editor, "Code", DROP)
    idle = editor.wait(0)
    unchanged = shown(editor) == before
    click(editor, "Run")
    assert editor.wait()

    assert idle
    assert unchanged
    assert "Nothing changed" in words(shown(editor))


def test_a_secret_never_shows(editors: Any) -> None:
    """A secret that code puts into its event, its log and its error is masked in every display."""
    shop = Workspace("shop", credentials={"crm": Secret("crm-s3cret-value")})
    code = (
        "def transformEvent(event, metadata):\n    key = getCredential('crm')\n    log(key)\n"
        "    if event['type'] == 'page':\n        raise ValueError(key)\n    return {**event, 'key': key}\n"
    )
    editor = editors(shop, language="python")
    fill(editor, "Event", "all")
    typed(editor, code)
    bundle = editor._repr_mimebundle_()

    assert "crm-s3cret-value" not in shown(editor) + repr(editor) + str(bundle)
    assert shown(editor).count("••••") >= 3


def test_a_python_function_cannot_be_edited(shop: Workspace) -> None:
    """A transformation that is a Python object has no text; the error says where to change it."""
    shop.transformation("mine", lambda event: event)

    with pytest.raises(ConfigError, match="is a Python function; edit it where it is defined"):
        TransformationEditor(shop, "mine")


def test_the_display_without_widgets(editors: Any) -> None:
    """A saved notebook has code and result as HTML without scripts, a terminal has text."""
    editor = editors(language="python")
    typed(editor, LOWER["python"])
    bundle = editor._repr_mimebundle_()

    assert {"text/plain", "text/html"} <= bundle.keys()
    assert "def transformEvent" in bundle["text/html"]
    assert "<script" not in without_tools(bundle["text/html"])
    assert '~ event: "Order Completed" -> "order completed"' in bundle["text/plain"]


def test_every_control_is_labelled(editors: Any) -> None:
    """Screen readers and keyboards find each control by its own label."""
    editor = editors(Workspace("shop"))
    labels = ["Name", "Language", "Code", "Run as I type", "Run", "Event", "Refresh events", "File"]

    assert [label for label in labels if not control(editor, label)] == []


def test_payloads_are_shown_next_to_the_code(editors: Any, shop: Workspace) -> None:
    """Of all destinations that use the code, or of a chosen one; made from the draft's output."""
    shop.destination("other", "WEBHOOK", config={"webhookUrl": "https://other.example/"})
    editor = editors(shop, "clean")
    first = words(shown(editor))
    typed(editor, "def transformEvent(event, metadata):\n    return {**event, 'event': 'DRAFTED'}\n")
    fill(editor, "Payloads for", ("hook", "other"))
    assert editor.wait()
    second = words(shown(editor))
    third = typed(editor, WRONG["python"])

    assert "Payload for" not in third
    assert "Payload for hook" in first
    assert "Payload for other" not in first
    assert 'event : "order completed"' in first.partition("Payload for hook")[2]
    assert 'event : "DRAFTED"' in second.partition("Payload for other")[2]
    assert "https://other.example/" in second


def test_a_refusal_of_a_destination_shows_the_reason(editors: Any) -> None:
    """In place of a payload."""
    shop = Workspace("shop")
    shop.transformation("clean", code="def transformEvent(event, metadata):\n    return event\n")
    shop.destination("braze", "BRAZE", config={"restApiKey": "k-1", "dataCenter": "US-01"}, transformation="clean")
    order = {"order_id": "o-1", "products": [{"product_id": "p-1", "price": 12.5, "quantity": 1}]}
    editor = editors(shop, "clean", events=events.track("Order Completed", user_id="u1", properties=order))

    assert "✗ Error: needs a value at properties.currency" in words(shown(editor)).partition("Payload for braze")[2]


SECTION = {"type": "object", "properties": {"voucher": {"type": "string"}}, "required": ["voucher"]}
SCHEMA = {"type": "object", "properties": {"properties": SECTION}, "required": ["properties"]}
PLAN = Plan("orders", (Rule("track", "Order Completed", SCHEMA),))


def test_violations_are_shown_when_a_plan_is_chosen(editors: Any, shop: Workspace) -> None:
    """Those of the event as it came; without a plan there are none."""
    editor = editors(shop, "clean", plan=PLAN)
    asked = words(shown(editor))
    fill(editor, "Tracking plan", None)
    assert editor.wait()

    assert "orders: 1 violation" in asked
    assert "voucher" in asked
    assert "violation" not in words(shown(editor))


def test_many_events_are_counted_against_the_saved_code(editors: Any, shop: Workspace) -> None:
    """The numbers of changed, dropped and failed events, and of those with other results than with the saved code."""
    many = [events.track("a b" if number % 3 else "A B", properties={"n": number}) for number in range(600)]
    editor = editors(shop, "clean", many=many)
    code = "    if event['properties']['n'] == 7:\n        raise ValueError('seven')\n    return event\n"
    typed(editor, "def transformEvent(event, metadata):\n" + code)
    click(editor, "Run over all events")
    assert editor.wait(120)
    text = words(shown(editor))
    result = editor.state.comparison

    assert result.draft.counts == {"unchanged": 599, "failed": 1}
    assert result.saved.counts == {"unchanged": 400, "changed": 200}
    assert result.differing == 201  # one that failed, and 200 with capital letters
    assert "600 events, 1 failed; 201 differ from the saved version" in text
    assert "failed 1 0" in text
    assert "ValueError: seven" in text
    assert "properties.n is 7 1 of 1 0 of 500" in text  # what the failing event has in common, compared with a sample
    assert "600 events" in words(editor.static())


def test_counting_can_be_cancelled(editors: Any, shop: Workspace) -> None:
    """Partial counts stay, and a new count can begin."""

    def endless() -> Iterator[dict[str, Any]]:
        for number in count():
            if number == 2_000:
                click(editor, "Cancel")
            yield events.track("A B")

    editor = editors(shop, "clean", many=endless())
    click(editor, "Run over all events")
    assert editor.wait(120)

    assert "cancelled after" in words(shown(editor))
    assert editor.state.comparison.draft.events > 0
    assert not control(editor, "Run over all events").disabled


def test_unreadable_events_are_a_message(editors: Any, shop: Workspace) -> None:
    """The counts show that the file is missing; everything else works."""
    editor = editors(shop, "clean", many="nowhere.ndjson")
    click(editor, "Run over all events")
    assert editor.wait(60)

    assert "nowhere.ndjson" in words(shown(editor))
    assert "✓ ok" in words(shown(editor))


LOST = """export function transformEvent(event) {
  const total = Number(event.properties.missing);
  return [{ ...event, total, seen: new Set([1]), list: [undefined, -1 / 0], ip: undefined, when: new Date(0) }];
}
"""


def test_values_lost_in_json_are_reported(editors: Any) -> None:
    """Non-finite numbers, a set and an array hole are named with their replacement; JSON values are not."""
    editor = editors(language="javascript")
    before = words(shown(editor))
    text = words(typed(editor, LOST)).partition("JSON cannot represent every value")[2]

    assert "JSON cannot represent" not in before
    for row in ("total NaN null", "seen a Set {}", "list.0 undefined null", "list.1 -Infinity null"):
        assert row in text
    assert "when" not in text.partition("becomes")[2].partition("Side by side")[0]
    assert editor.state.trials[0].output.events[0]["when"] == "1970-01-01T00:00:00.000Z"


def test_live_code_is_not_run_twice(editors: Any, shop: Workspace) -> None:
    """Requests that are really sent are sent once; lost values are reported by the same run."""
    shop.delivery = replace(shop.delivery, mode="live")
    editor = editors(shop, language="javascript")
    fill(editor, "Code", LOST)
    click(editor, "Run")
    assert editor.wait()

    assert editor.state.trials[0].status == "ok"
    assert "total NaN null" in words(shown(editor))
