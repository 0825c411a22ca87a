"""Each change of user code is one plausible mistake, stated in one line with its position."""

from __future__ import annotations

import pytest

from svctoolkit.edits import edits_of


def texts(code: str, language: str) -> list[str]:
    return [f"{edit.line} {edit.kind}: {edit.text}" for edit in edits_of(code, language)]


def function(line: str) -> str:
    return f"export async function transformEvent(event) {{ {line} }}"


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("return a > 9;", {"boundary: a > 9 -> a >= 9", "comparison: a > 9 -> a <= 9", "literal: a > 9 -> a > 10"}),
        ("return a === b;", {"comparison: a === b -> a !== b"}),
        ("return !a;", {"negation: !a -> a"}),
        ("return a && b;", {"condition: a && b -> a || b"}),
        ("return a ?? b;", {"condition: a ?? b -> a"}),
        ("return a + b;", {"arithmetic: a + b -> a - b"}),
        ('return a + "x";', {'text: a + "x" -> a', 'literal: a + "x" -> a + ""'}),
        ("return a ? b : c;", {"swapped branches: a ? b : c -> a ? c : b"}),
        ("if (a) return b; else return c;", {"swapped branches: (a) -> (!(a))", "removed return: return b; -> removed",
                                             "removed return: return c; -> removed"}),
        ("return event.total;", {"property: event.total -> event.total_x"}),
        ("return event?.b;", {"property: event?.b -> event?.b_x", "optional chaining: event?.b -> event.b"}),
        ("return {total};", {"property: total -> total_x: total"}),
        ("return await a;", {"dropped await: await a -> a"}),
        ("return 10n;", {"literal: return 10n; -> return 1n;"}),
        ("return a.trim();", {"operation: a.trim() -> a"}),
        ("return Math.round(a);", {"operation: Math.round -> Math.floor"}),
        ("a(); return event;", {"removed statement: a(); -> removed", "early return: return event at once"}),
        ("return /a/gi;", {"text: /a/gi -> /a/"}),
        ("console.log(1 + 2); return event;", {"early return: return event at once"}),
        ("return event; a();", {"early return: return event at once"}),
    ],
)  # fmt: skip
def test_changes_of_javascript(line: str, changes: set[str]) -> None:
    """Operators, literals, statements and names; nothing in log lines, nothing after a return."""
    assert set(texts(function(line), "javascript")) == {f"1 {change}" for change in changes}


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("return a > 10", {"boundary: a > 10 -> a >= 10", "comparison: a > 10 -> a <= 10", "literal: 10 -> 1"}),
        ("return a in b", {"comparison: a in b -> a not in b"}),
        ("return not a", {"negation: not a -> a"}),
        ("return a or b", {"condition: a or b -> a and b"}),
        ("return a * b", {"arithmetic: a * b -> a / b"}),
        ("return b if a else c", {"swapped branches: b if a else c -> c if a else b"}),
        ('return event["a"]', {'property: event["a"] -> event["a_x"]'}),
        ('return event.get("a")', {'property: event.get("a") -> event.get("a_x")'}),
        ('return {"a": b}', {'property: "a" -> "a_x"'}),
        ("return a.upper()", {"operation: a.upper() -> a.lower()"}),
        ("return a.strip()", {"operation: a.strip() -> a"}),
        ("return round(a)", {"operation: round(a) -> int(a)"}),
        ("return [b for b in a if b]", {"negation: b -> not (b)"}),
        ("return True", {"literal: True -> False"}),
        ('"""What it does: 1 + 1."""', set()),
        ("print(1 + 1)", set()),
        ('raise ValueError("no")', {'removed statement: raise ValueError("no") -> removed'}),
    ],
)
def test_changes_of_python(line: str, changes: set[str]) -> None:
    """The same in Python; docstrings, log lines and error messages stay."""
    code = f"async def transformEvent(event, metadata):\n    {line}\n"

    assert set(texts(code, "python")) == {f"2 {change}" for change in changes}


@pytest.mark.parametrize(
    ("line", "change", "language"),
    [
        ('return a.indexOf("x") !== -1', "lastIndexOf", "javascript"),
        ('return a.indexOf("x") >= 0', "lastIndexOf", "javascript"),
        ('return a.replaceAll(/x/g, "y")', "replace(", "javascript"),
        ("return /x/g.test(a)", "/x/ ", "javascript"),
        ("return a.split(/x/g)", "/x/", "javascript"),
        ("a.sort(); return event", "a.sort() -> a", "javascript"),
        ("return void 0", "void 1", "javascript"),
        ("return 1e30", "1e+30", "javascript"),
        ("a.append(b); return event", "a.append(b) -> a", "python"),
        ('assert a, "no"', '"no" -> ""', "python"),
        ("return event.copy()", "event.copy() -> event", "python"),
    ],
)
def test_a_change_that_no_test_can_notice_is_not_made(line: str, change: str, language: str) -> None:
    """It would do the same as the code, or as another change."""
    code = function(line) if language == "javascript" else f"def transformEvent(event):\n    {line}\n"
    changed = [edit.apply(code) for edit in edits_of(code, language)]

    assert not [text for text in texts(code, language) if change in text]
    assert len(changed) == len({*changed} - {code})


def test_operators_are_found_next_to_comments() -> None:
    """Words of a comment between two operands are none of them."""
    code = 'def transformEvent(event):\n    return (event  # brand and shop\n            and event["b"])\n'
    (changed,) = [edit.apply(code) for edit in edits_of(code, "python") if edit.kind == "condition"]

    assert changed == code.replace("            and", "            or")


@pytest.mark.parametrize("language", ["javascript", "python", None])
def test_code_that_does_not_parse_has_no_changes(language: str | None) -> None:
    """Its suites are red anyway."""
    assert texts("function (", language or "") == texts("", language or "") == []


def test_positions_count_bytes_of_other_alphabets_correctly() -> None:
    """The text before a change may have characters of several bytes."""
    (edit, *_) = [
        e for e in edits_of(function('const a = "äöü€"; return 7;'), "javascript") if e.text == "return 7 -> return 8"
    ] or [
        e
        for e in edits_of(function('const a = "äöü€"; return 7;'), "javascript")
        if e.kind == "literal" and "8" in e.text
    ]

    assert edit.apply(function('const a = "äöü€"; return 7;')) == function('const a = "äöü€"; return 8;')
