"""Tests do not depend on the speed of the machine: httpx gives up after 5 seconds unless it is told otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
LEAST = 30  # seconds
CALLS = {"get", "head", "options", "post", "put", "patch", "delete", "request", "stream", "Client", "AsyncClient"}


def impatient(source: str) -> Iterator[int]:
    """The lines with a call of httpx that waits for less than half a minute."""
    for call in ast.walk(ast.parse(source)):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="httpx"), attr=name)) if name in CALLS:
                limits = [each.value for each in call.keywords if each.arg == "timeout"]
                if not any(isinstance(limit, ast.Constant) and (limit.value or LEAST) >= LEAST for limit in limits):
                    yield call.lineno


def test_requests_of_tests_wait_for_a_slow_machine() -> None:
    """At least half a minute."""
    found = [
        f"{file.relative_to(TESTS)}:{line}"
        for file in sorted(TESTS.rglob("*.py"))
        if "attacks" not in file.parts
        for text in [file.read_text(encoding="utf-8")]
        if "httpx" in text  # to parse all files takes seconds
        for line in impatient(text)
    ]

    assert found == []


def test_short_limits_are_found() -> None:
    """The default, and those that are given; None is no limit."""
    lines = ["httpx.get(url)", "httpx.Client(timeout=5)", "httpx.get(url, timeout=60)", "httpx.get(url, timeout=None)"]

    assert [line for line in lines if [*impatient(line)]] == lines[:2]
