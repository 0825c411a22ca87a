"""Large code is changed like small code, and finding its changes takes time in proportion to its length."""

from __future__ import annotations

import ast
from pathlib import Path
from time import process_time

import pytest
import tree_sitter
import tree_sitter_javascript

from svctoolkit.edits import Edit, edits_of, javascript, python
from tests.benchmarks import mutate
from tests.examples import some_by_default

ROOT = Path(__file__).parents[2]
EXAMPLES = [
    ROOT / "notebooks" / "shop" / "transformations" / "clean.js",
    ROOT / "notebooks" / "shop" / "transformations" / "clean_v2.js",
    ROOT / "suites" / "examples" / "order_cleanup.py",
    *sorted((ROOT / "tests" / "benchmarks").glob("*.py")),
    *sorted((ROOT / "svctoolkit" / "transformations" / "standard").glob("[hl]*.js")),
]
UNUSUAL = {
    "javascript": """\
class Shop { early(a) { a(); return a; } }
export function transformEvent(event) {
  if (event.a) return 1..toFixed(2); else if (!event.b) { event.c = {x: [-1, ...event.d, `t${1}`]}; } else event();
  switch (event.e) { case "a": return event?.b ?? 3; default: event.g.sort().map(async (x) => { await x; return x; }); }
  return event;
}
""",
    "python": """\
def transformEvent(event, metadata):
    if not(event): return [not(event["a"]), (yield 1), *event.get("b", [])]
    elif event["c"] > 1: event["d"] = '''x'''.strip(); event["e"] = f(x for x in "abc")
    elif event["f"]:
        event["g"] = {"h": -(1), **(event or {}), "i": lambda: "j" + ("k")}
    else:
        while True: break
    async def inner(a):
        if a:
            yield a
    @cached
    def other(b):
        for c in b:
            return "d"
        return b if c else not b
    return event
""",
}


def is_valid(code: str, language: str) -> bool:
    if language == "javascript":
        parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))
        return not parser.parse(code.encode()).root_node.has_error
    try:
        compile(code, "code", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    return True


def all_candidates(code: str, language: str, monkeypatch: pytest.MonkeyPatch) -> list[Edit]:
    with monkeypatch.context() as patch:
        for module in (javascript, python):
            patch.setattr(module._Unit, "allows", lambda *_: True)
        return edits_of(code, language)


@pytest.mark.parametrize("file", some_by_default(EXAMPLES, 6), ids=lambda file: file.name)
def test_the_changes_of_the_examples_are_those_with_which_the_whole_code_parses(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order. Only the smallest part around a change is parsed."""
    language = "javascript" if file.suffix == ".js" else "python"
    code = file.read_text()
    expected = [e for e in all_candidates(code, language, monkeypatch) if is_valid(e.apply(code), language)]

    assert edits_of(code, language) == expected


@pytest.mark.parametrize("language", ["javascript", "python"])
def test_changes_that_do_not_parse_are_not_made(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unusual code: a number with a call, a negation without a space, several statements in a line."""
    code = UNUSUAL[language]
    candidates = all_candidates(code, language, monkeypatch)
    expected = [edit for edit in candidates if is_valid(edit.apply(code), language)]

    assert edits_of(code, language) == expected
    assert 20 < len(expected) < len(candidates)


@pytest.mark.parametrize("language", ["javascript", "python"])
@pytest.mark.parametrize("shape", [mutate.functions, mutate.one_function])
@pytest.mark.parametrize("lines", some_by_default([60, 300], 1))
def test_changes_of_code_that_is_four_times_as_long_cost_about_four_times_as_much(
    language: str, shape: mutate.Shape, lines: int
) -> None:
    """With many functions, and with one. Sixteen times would be quadratic."""
    short, long = (shape(language, length) for length in (lines, 4 * lines))
    spent = [min(seconds(code, language) for _ in range(3)) for code in (short, long)]

    assert len(edits_of(long, language)) > 3.5 * len(edits_of(short, language))
    assert spent[1] < 9 * spent[0]


def seconds(code: str, language: str) -> float:
    started = process_time()
    edits_of(code, language)
    return process_time() - started
