"""Patterns that users write have a limit of time, and an error that names the pattern and its place."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import patterns
from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import ToolkitError
from svctoolkit.replay.review import paths
from svctoolkit.runner import differences
from tests.bounded_time.growth import superlinear

pytest.importorskip("regex")
ENDLESS = "^(a|aa)+$"
TEXT = "a" * 80 + "!"


def test_a_pattern_of_a_suite_is_given_up() -> None:
    """`$regex` that would backtrack for years fails in time, and the difference says why and where."""
    (difference,) = differences({"order": {"note": {"$regex": ENDLESS}}}, {"order": {"note": TEXT}})

    assert "order.note: expected a string matching" in str(difference)
    assert "given up after 1 s: simplify the pattern" in str(difference)


def test_a_pattern_in_settings_is_given_up() -> None:
    """An `eventRegex` that takes too long refuses the event; the refusal names the setting and the pattern."""
    config = {
        "webhookUrl": "https://hooks.slack.example/in",
        "eventTemplateSettings": [{"eventName": ENDLESS, "eventRegex": True, "eventTemplate": "x"}],
    }

    with pytest.raises(ToolkitError) as failure:
        CATALOGUE["SLACK"].payloads({"type": "track", "event": TEXT, "userId": "u"}, config)

    assert "eventTemplateSettings" in str(failure.value)
    assert repr(ENDLESS) in str(failure.value)
    assert "takes more than 1 s" in str(failure.value)


@pytest.mark.parametrize("text", ["", "a{e}", "aa{e}", "aaa", "x1y", "xy", "a\nb"])
@pytest.mark.parametrize("pattern", ["a{e}", r"a\{e}", "a{2}", "a{,2}b?$", "(?<=x)y", "[{e}]", r"(?m)^b", "a{e<=1}"])
def test_patterns_mean_what_they_mean_to_re(pattern: str, text: str) -> None:
    """The engine with a limit agrees with `re`, also where its own dialect has more."""
    assert patterns.search(pattern, text) == bool(re.search(pattern, text))


def test_what_re_rejects_is_rejected() -> None:
    """Constructs that only the other engine has are errors, as before."""
    for pattern in (r"\p{L}", "(?|a|b)", "(", r"\m"):
        with pytest.raises(re.error):
            patterns.search(pattern, "a")


def test_patterns_of_paths_take_linear_time() -> None:
    """A pattern with many `**` is compared with a long path step by step."""
    pattern = "**.a.**.a.**.a.**.b"

    assert not superlinear(lambda path: paths.matches(pattern, path), lambda size: ".a" * (size // 2) + ".c")


@given(st.lists(st.sampled_from(["a", "b", "*", "**"]), min_size=1, max_size=5), st.text(alphabet="ab", min_size=1))
def test_a_path_matches_as_its_pattern_reads(steps: list[str], names: str) -> None:
    """`*` is one step, `**` one or more; what follows the pattern is below the path."""
    if not set(steps) & {"a", "b"}:
        return
    expression = r"\.".join({"*": "[ab]", "**": r"[ab](?:\.[ab])*"}.get(step, step) for step in steps)

    assert paths.matches(".".join(steps), ".".join(names)) == bool(
        re.fullmatch(expression + r"(?:\..+)?", ".".join(names))
    )
