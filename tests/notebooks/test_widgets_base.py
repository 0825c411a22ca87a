"""The base of explorers: background work, few repaints, and controls that keep no secret."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from svctoolkit import display
from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.secrets import Secret
from svctoolkit.widgets._base import controls as _base


class Heard:
    """The messages of a `Work`."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.failed: list[str] = []
        self.busy: list[bool] = []
        self.work = _base.Work(self.done.append, fail=self.failed.append, busy=self.busy.append)


def test_work_runs_in_a_thread_and_reports_that_it_is_busy() -> None:
    """The call returns at once; the result comes from another thread, between busy and not busy."""
    heard, go = Heard(), threading.Event()

    def slow() -> str:
        go.wait(60)
        return threading.current_thread().name

    heard.work.start(slow)
    assert heard.done == []
    go.set()

    assert heard.work.wait(60)
    assert heard.done == ["svctoolkit-work"]
    assert heard.busy == [True, False]


def test_the_latest_request_wins() -> None:
    """Of several requests during a run only the last is executed, and outdated results are discarded."""
    heard, go, ran = Heard(), threading.Event(), []

    def first() -> str:
        go.wait(60)
        return "first"

    heard.work.start(first)
    for name in ("second", "third", "fourth"):
        heard.work.start(lambda name=name: ran.append(name) or name)
    go.set()

    assert heard.work.wait(60)
    assert ran == ["fourth"]
    assert heard.done == ["fourth"]


@pytest.mark.parametrize(
    ("error", "said"),
    [(UsageError("no <such> thing"), "no &lt;such&gt; thing"), (KeyError("x"), "KeyError: &#x27;x&#x27;")],
)
def test_an_error_is_a_message(error: Exception, said: str) -> None:
    """Our errors by their text, others with their class; never a traceback, and work continues."""
    heard = Heard()

    def broken() -> str:
        raise error

    heard.work.start(broken)
    assert heard.work.wait(60)
    heard.work.start(lambda: "well again")

    assert heard.work.wait(60)
    assert said in heard.failed[0]
    assert 'role="alert"' in heard.failed[0]
    assert "Traceback" not in heard.failed[0]
    assert heard.done == ["well again"]


def test_an_error_while_showing_the_result_is_a_message() -> None:
    """A thread that ended silently would leave the explorer busy."""
    failed: list[str] = []
    work = _base.Work(lambda result: result["missing"], fail=failed.append, busy=lambda _: None)
    work.start(dict)

    assert work.wait(60)
    assert "KeyError" in failed[0]


def test_a_painter_repaints_rarely_and_shows_the_last_change() -> None:
    """10,000 quick changes cause a few repaints, and the last one shows everything."""
    changes, painted = [], []
    painter = _base.Painter(lambda: painted.append(len(changes)), fail=lambda _: None)
    for number in range(10_000):
        changes.append(number)
        painter.poke()

    assert painter.wait(60)
    painter.close()
    assert painted[-1] == 10_000
    assert len(painted) < 10


def test_a_painter_survives_an_error() -> None:
    """The error is shown as a message, and the next change is painted."""
    failed, results = [], iter([ValueError("no"), None])

    def paint() -> None:
        error = next(results)
        if error:
            raise error

    painter = _base.Painter(paint, fail=failed.append, per_second=1000)
    painter.poke()
    assert painter.wait(60)
    painter.poke()

    assert painter.wait(60)
    painter.close()
    assert "ValueError: no" in failed[0]
    assert next(results, "empty") == "empty"


def test_a_password_field_stores_nothing() -> None:
    """The secret goes to the caller; the widget, whose state a saved notebook contains, is empty again."""
    kept: list[Secret] = []
    field = _base.secret("API key", kept.append)
    field.value = "s3cr3t-key"

    assert [secret.reveal() for secret in kept] == ["s3cr3t-key"]
    assert "s3cr3t-key" not in json.dumps(field.get_state(), default=str)
    assert "••••" in field.placeholder


@pytest.mark.parametrize(
    "make", [_base.text, _base.area, lambda label: _base.choice(label, ["a"]), lambda label: _base.number(label, 1),
             _base.checkbox, lambda label: _base.secret(label, print), lambda label: _base.listing(label, ["a"]),
             lambda label: _base.choices(label, ["a"]), _base.clock, lambda label: _base.button(label, print)],
)  # fmt: skip
def test_every_control_has_a_label(make: Any) -> None:
    """Screen readers read the description of a control."""
    assert make("Webhook URL").description == "Webhook URL"


def test_a_field_shows_its_problem_instead_of_its_help() -> None:
    """The problem is announced, escaped, and removed when it is fixed."""
    field = _base.Field(_base.text("URL"), "where events go")
    note = field.box.children[1]
    assert "where events go" in note.value

    field.problem("is <required>")
    assert 'role="alert"' in note.value
    assert "is &lt;required&gt;" in note.value
    field.problem("")
    assert "where events go" in note.value


class Small(_base.Explorer):
    """An explorer with one button."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.button = _base.button("Run", lambda: None)
        super().__init__([_base.bar(self.button)], closing=[lambda: self.ended.append("work")])

    def static(self) -> display.Html:
        return display.page(display.message("small", "info"))

    def __repr__(self) -> str:
        return "small"


def test_an_explorer_has_a_display_for_every_frontend() -> None:
    """Widgets where they run, otherwise HTML, otherwise text."""
    bundle = Small()._repr_mimebundle_()

    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "small" in bundle["text/html"]
    assert bundle["text/plain"] == "small"


def test_marimo_shows_the_static_view() -> None:
    """With a sentence above it. The HTML is a plain string: marimo rejects subclasses."""
    kind, html = Small()._mime_()

    assert (kind, type(html)) == ("text/html", str)
    assert "marimo shows the static view of a Small." in html
    assert "small" in html


def test_closing_ends_work_and_widgets() -> None:
    """No thread and no widget remains."""
    explorer = Small()
    explorer.close()

    assert explorer.ended == ["work"]
    assert explorer.button.comm is None


def test_widgets_are_found_by_name() -> None:
    """Each is a file of the folder; a misspelt name is an error with a suggestion."""
    import svctoolkit.widgets

    assert "DestinationExplorer" in dir(svctoolkit.widgets)
    with pytest.raises(AttributeError, match="Did you mean 'DestinationExplorer'"):
        svctoolkit.widgets.DestinationExplorr  # noqa: B018


def test_without_ipywidgets_the_error_says_what_to_install() -> None:
    """The error has the extra's name, without a traceback of an import."""
    code = (
        "import sys; sys.modules['ipywidgets'] = None; import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'ipywidgets' else find(name, *a)\n"
        "import svctoolkit.widgets as w\n"
        "try: w.DestinationExplorer\n"
        "except w.ConfigError as error: print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert "pip install 'svctoolkit[notebooks]'" in out
    assert ConfigError.__name__ not in out


def test_a_star_import_includes_every_explorer() -> None:
    """`from svctoolkit.widgets import *`, as many notebooks begin."""
    names: dict[str, object] = {}
    exec("from svctoolkit.widgets import *", names)

    assert {"DestinationExplorer", "LiveEvents", "TransformationEditor"} <= set(names)
