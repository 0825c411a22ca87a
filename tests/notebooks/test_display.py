"""The HTML blocks of notebook displays: no scripts, everything escaped, readable without styles."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import display, events
from svctoolkit.delivery import HttpRequest, HttpResponse
from tests.pace import within

HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"
EVENT = {"type": "track", "event": "Order Completed", "context": {"ip": "203.0.113.7"}, "properties": {"total": 1.5}}
VOID = {"br", "col", "img", "input"}


class Page(HTMLParser):
    """Parses HTML: tags that are open at the end, the tags found, the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


def parts(text: str) -> dict[str, display.Html]:
    """Every block, with `text` in every place for texts."""
    request = HttpRequest("POST", f"https://hook.example/{text}", {text: text}, text.encode())
    return {
        "tree": display.tree({text: [text, {text: text}]}, text),
        "diff": display.diff({"a": text}, {"a": f"{text}b", text: 1}, left=text, right=text),
        "strip": display.strip([display.Step(text, "failed", 1.2, text)]),
        "exchange": display.exchange(request, HttpResponse(500, {text: text}, text.encode())),
        "table": display.table([text], [[text], [display.pill(text, "ok")]], caption=text),
        "opening table": display.table([text], [[text]], inside=[display.message(text)]),
        "message": display.message(text, "error"),
        "code": display.code(text, text),
        "facts": display.facts({text: text}),
        "section": display.section(text, text),
        "more": display.more(text, text),
        "columns": display.columns(text, text),
        "page": display.page(text),
    }


@pytest.mark.parametrize("name", parts(""))
def test_outside_values_are_escaped(name: str) -> None:
    """No block lets markup of its values through, and each closes what it opens."""
    page = Page(parts(HOSTILE)[name])

    assert page.open == []
    assert not {"script", "img"} & page.tags
    assert "alert(1)" in page.text


TEXTS = st.text(max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | TEXTS,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXTS, v, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_every_json_value_has_a_tree_and_a_diff(value: Any) -> None:
    """The markup is well-formed for any JSON."""
    for html in (display.tree(value, "value"), display.diff(value, [value])):
        assert Page(html).open == []


def test_blocks_are_not_escaped_twice() -> None:
    """Blocks can be nested in other blocks; plain text cannot inject markup."""
    shown = display.section("<b>", display.pill("200", "ok"))

    assert 'class="pill ok"' in shown
    assert "&lt;b&gt;" in shown
    assert "&amp;" not in shown


def test_a_large_tree_shows_its_outer_levels() -> None:
    """Of 30,000 members some 2,000 are shown, including each object of the top level, with the number left out."""
    html = display.tree({f"key{i}": list(range(3_000)) for i in range(10)}, "large")

    assert html.count("<li>") <= 2_001
    assert all(f"key{i}" in html for i in range(10))
    assert re.search("… [0-9,]+ more", html)


def test_a_large_tree_is_fast() -> None:
    """100,000 members in under a quarter of a second of CPU."""
    value = {f"key{i}": {f"inner{j}": j for j in range(100)} for i in range(1_000)}
    with within(0.25):
        display.tree(value, "large")


def test_a_deep_tree_is_cut() -> None:
    """Nesting beyond the limit of browsers is not an error."""
    value: Any = "bottom"
    for _ in range(500):
        value = {"a": value}

    assert display.tree(value, "deep").count("<details") < 100


def test_a_long_text_is_cut() -> None:
    """A text of a megabyte is shown in part, and the missing length is given."""
    assert "more characters" in display.tree({"text": "x" * 1_000_000}, "long")
    assert len(display.tree({"text": "x" * 1_000_000}, "long")) < 10_000


def test_a_diff_marks_words_with_del_and_ins() -> None:
    """Removed text is in <del>, new text in <ins>, and lines have a sign: no colour is needed to read it."""
    html = display.diff({"a": "one two", "b": 1}, {"a": "one three", "b": 1, "c": 2}, left="event", right="payload")

    assert "<del>two</del>" in html
    assert "<ins>three</ins>" in html
    assert re.search(r"2 −", html)
    assert re.search(r"4 \+", html)


def test_the_order_of_keys_is_not_a_difference() -> None:
    """JSON objects have no order."""
    html = display.diff({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1})

    assert "no difference" in html
    assert "<del>" not in html


def test_unchanged_runs_are_folded() -> None:
    """A long event with one change shows the change and its surroundings; the rest can be opened."""
    event = events.sample("track")
    html = display.diff(event, {**event, "userId": "somebody else"})

    assert html.count("unchanged lines</summary>") == 1
    assert html.count("<tr>") < 15


def test_a_diff_of_large_values_is_bounded() -> None:
    """Two lists of 20,000 different lines: under two seconds of CPU, and the diff says what is left out."""
    with within(2):
        html = display.diff([f"a{i}" for i in range(20_000)], [f"b{i}" for i in range(20_000)])

    assert "not compared" in html


def test_a_diff_has_a_text_form() -> None:
    """Without HTML it has the unified form."""
    assert display.diff_text({"a": 1}, {"a": 2}).splitlines()[-3:] == ['-  "a": 1', '+  "a": 2', " }"]
    assert display.diff_text({"a": 1}, {"a": 1}) == ""


@pytest.mark.parametrize("status", ["ok", "none", "dropped", "failed", "aborted", "disabled"])
def test_a_status_has_a_sign_and_a_word(status: Any) -> None:
    """It can be read without colours."""
    text = Page(display.strip([display.Step("dest_transform", status, 12.34, "a note")])).text

    assert re.search(rf"dest_transform \S {status} 12.3 ms", text)
    assert "a note" in text


def test_an_exchange_reads_without_styles() -> None:
    """Method, URL, headers and body of the request, status and body of the answer, in semantic markup."""
    request = HttpRequest("POST", "https://hook.example/in", {"content-type": "application/json"}, b'{"a": {"b": 1}}')
    html = display.exchange(request, HttpResponse(429, {"retry-after": "3"}, b"slow down"))

    text = Page(html).text
    assert all(word in text for word in ("POST", "https://hook.example/in", "content-type", "429", "retry-after"))
    assert '<th scope="row">content-type</th>' in html
    assert "slow down" in text
    assert "<details" in html


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"a=1&b=2", '<th scope="row">a</th><td>1</td>'),
        (b"\xff\xfe", "2 bytes, no text"),
        (b"", "no body"),
        (b"<a>1</a>", "&lt;a&gt;1&lt;/a&gt;"),
        (b"[1, 2", "[1, 2"),
    ],
)
def test_a_body_is_shown_by_its_type(body: bytes, shown: str) -> None:
    """Forms are a table, texts are text, bytes are counted."""
    assert shown in display.exchange(HttpRequest("POST", "https://hook.example/", {}, body))


def test_a_table_says_what_it_leaves_out() -> None:
    """200 rows are shown; numbers are right-aligned, with separators."""
    html = display.table(["n", "name"], ([i, f"row {i}"] for i in range(1234)))

    assert html.count("<tr>") == 1 + 200 + 1
    assert "1,034 more rows are not shown" in html
    assert '<th scope="col" class="figure">n</th><th scope="col">name</th>' in html


@pytest.mark.parametrize(("kind", "role"), [("ok", "status"), ("info", "status"), ("error", "alert")])
def test_messages_are_announced(kind: Any, role: str) -> None:
    """A screen reader reads errors at once, other messages in turn; each has a word."""
    html = display.message("first\nsecond", kind)

    assert f'role="{role}"' in html
    assert "first<br>second" in html
    assert Page(html).text.strip()[0] in "✓ℹ✗"


def test_code_can_be_selected_with_one_click_and_reached_by_keyboard() -> None:
    """The block is focusable and labelled, and selects as a whole."""
    page = display.page(display.code("curl https://hook.example", "curl"))

    assert 'tabindex="0"' in page
    assert 'aria-label="curl code' in page
    assert "user-select:all" in page


def test_a_page_has_one_small_style_for_light_and_dark() -> None:
    """Its colours are those of JupyterLab or VS Code if available, otherwise those of the system's scheme."""
    page = display.page(*parts("x").values())
    style = page[page.index("<style>") : page.index("</style>")]

    assert len(style) < 9_000
    assert all(word in style for word in ("--jp-layout-color1", "--vscode-editor-background", "prefers-color-scheme"))
    assert "url(" not in page
    assert "<script" not in page


def test_a_bundle_contains_no_json() -> None:
    """JupyterLab would show JSON instead of the HTML."""
    assert set(display.bundle(display.page("x"), "x")) == {"text/plain", "text/html"}


def test_an_exchange_shows_the_body_and_folds_the_headers() -> None:
    """The body is visible; headers can be opened."""
    request = HttpRequest("POST", "https://hook.example/in", {"x-key": "1", "accept": "*/*"}, b'{"total": 2}')
    page = display.exchange(request)

    assert page.index("total") < page.index("2 headers") < page.index("x-key")
    assert "<details" in page[: page.index("2 headers")]
    assert " open" not in page[page.rindex("<details", 0, page.index("2 headers")) : page.index("2 headers")]
