"""Every pattern of the package takes linear time, and the shared parsers agree with the patterns they replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import lexical
from tests.bounded_time.growth import SIZES, superlinear
from tests.bounded_time.patterns import Use, attacks, dynamic, uses

#: Where a pattern is not a constant, and what limits it instead.
DYNAMIC = {
    "mutation.verdict.names_place": "an escaped word, in five lines of a failure",
    "patterns._search": "only compiles; searched with a limit of time",
    "mapping.agents._first_match": "1000 characters of a user agent, and each is parsed once",
    "plans.formats.rudder_cli._catalog.reference_id": "a file of a tracking plan, not an event",
    "plans.schema.formats._pattern": "4096 characters; tested below",
    "policies.tables._pieces": "escaped letters without repetition; `_fits` searches each piece once",
    "project.probes._mentions": "the user's code at an import, not an event",
    "project.report._lines": "the user's code at an import, not an event",
    "project.telling.telling_events": "the user's code at an import, not an event",
    "project.tracked._pattern": "the user's .gitignore and paths, not an event",
    "project.probes._outline": "the user's code at an import, not an event",
    "rudder_cli._shapes.go_pattern": "files of a project, not an event",
    "rudder_cli._shapes.reference": "files of a project, not an event",
    "workspace.rudder_v1._mentions": "2,000 bytes of a file of a project",
    "replay.review.fingerprints._pattern": "one class of characters, no repetition",
    "replay.review.fingerprints.problem": "only compiles; searched with a limit of time",
    "runner.attempts.invariants._places": "an escaped name and one repetition",
    "expect.matchers.texts.regex._problem": "only compiles",
    "expect.matchers.texts.regex._to_the_very_end": "only compiles",
    "sdk.web.cookie.value": "an escaped name and one repetition",
    "secrets._masker._beginnings": "escaped texts",
    "secrets._masker._json_pattern": "escaped texts",
    "secrets._masker.pattern_of": "escaped texts",
    "secrets._named._in_path": "an escaped secret between a slash and the end of its segment",
    "secrets._named._stands_for": "a snapshot of a suite, not an event",
    "simulations.checks._condition": "the rules of a simulation; tested below",
    "simulations.simulation.on": "only compiles a path whose steps are one repetition each",
    "simulations.simulation.register": "only compiles a path whose steps are one repetition each",
    "transformations._trust.imported_libraries": "the user's code, not an event",
    "transformations._program.may_ask": "an escaped name, in the user's code",
}

DESTINATIONS = Path(__file__).parents[2] / "svctoolkit" / "destinations"
_SHORT = st.text(alphabet='a1.@ \t-+eE9_,:;<>()[]"\\/?#%\n\x1f\u00a0é', max_size=12)


def _act(use: Use) -> Callable[[str], Any]:
    pattern, method, is_bytes = use.pattern, getattr(use.pattern, use.method), isinstance(use.pattern.pattern, bytes)

    def act(text: str) -> Any:
        given = text.encode("latin-1", "replace") if is_bytes else text
        if use.method in ("sub", "subn"):
            return method(pattern.pattern[:0], given)
        return list(method(given)) if use.method == "finditer" else method(given)

    return act


@pytest.mark.slow
def test_every_pattern_takes_linear_time() -> None:
    """No text of up to 64 KB makes a pattern of the package backtrack, the way the pattern is used.

    Between 16 and 64 KB, quadratic time is as different from linear as it is beyond.
    """
    slow = []
    for use in uses():
        for prefix, pump, suffix in attacks(use.pattern):
            make = lambda size: prefix + pump * (size // len(pump)) + suffix  # noqa: B023, E731
            problem = superlinear(_act(use), make, SIZES[:-1])
            if problem:
                slow.append(f"{use.where} ({use.method}): {pump!r} after {prefix[:40]!r}: {problem}")
                break

    assert not slow, "\n".join(slow)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expression", "method"),
    [(r"\d+\.?\d*", "fullmatch"), (r"[^\s@]+@[^\s@]+\.[^\s@]+", "fullmatch"), (r"[a-z]+@", "search"), (r"\s+$", "sub")],
)
def test_a_quadratic_pattern_is_found(expression: str, method: str) -> None:
    """The measurement above finds patterns that are known to backtrack."""
    use = Use("here", re.compile(expression), method)

    assert any(
        superlinear(_act(use), lambda size: prefix + pump * (size // len(pump)) + suffix)  # noqa: B023
        for prefix, pump, suffix in attacks(use.pattern)
    )


def _patterns_in(value: Any) -> Iterator[str]:
    """The patterns in the checks of a file of rules."""
    if isinstance(value, dict):
        if isinstance(value.get("matches"), str):
            yield value["matches"]
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _patterns_in(item)


@pytest.mark.slow
def test_patterns_in_the_rules_of_simulations_take_linear_time() -> None:
    """Values of events are compared with them."""
    files = sorted(DESTINATIONS.rglob("facts.yaml"))
    found = {pattern for file in files for pattern in _patterns_in(yaml.safe_load(file.read_text("utf-8")))}
    for use in [Use("rules", re.compile(pattern), "fullmatch") for pattern in sorted(found)]:
        for prefix, pump, suffix in attacks(use.pattern):
            problem = superlinear(_act(use), lambda size: prefix + pump * (size // len(pump)) + suffix)  # noqa: B023
            assert not problem, f"{use.pattern.pattern}: {pump!r} after {prefix[:40]!r}: {problem}"

    assert len(found) > 5


@pytest.mark.slow
def test_patterns_that_are_not_constants_are_known() -> None:
    """A pattern built at run time is listed above, with what limits it."""
    assert {name.removeprefix("svctoolkit.") for name in dynamic()} == set(DYNAMIC)


@given(_SHORT)
def test_a_number_is_what_it_was(text: str) -> None:
    """`is_number` and `leading_number` agree with the backtracking patterns that they replaced."""
    number = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
    leading = re.compile(rf"\s*{number}", re.ASCII).match(text)

    assert lexical.is_number(text) == bool(re.fullmatch(rf"\s*{number}\s*", text, re.ASCII))
    assert lexical.leading_number(text) == (float(leading[0]) if leading else None)


@given(_SHORT | st.emails())
def test_an_email_address_is_what_it_was(text: str) -> None:
    """`is_email` and `is_strict_email` agree with the backtracking patterns that they replaced."""
    strict = r"[^\s@<>(),;:\"\[\]\\]+@[^\s@]+\.[^\s@.]{2,}"

    assert lexical.is_email(text) == bool(re.fullmatch(r"[^\s@]+@[^\s@]+\.[^\s@]+", text))
    assert lexical.is_strict_email(text) == bool(re.fullmatch(strict, text))


@given(st.builds("".join, st.lists(st.sampled_from([*"a1.@:/# \n", "https://", "http:"]), max_size=6)))
def test_a_url_is_what_it_was(text: str) -> None:
    """`is_url` agrees with the pattern that it replaced."""
    assert lexical.is_url(text) == bool(re.fullmatch(r"https?://\S+", text))
