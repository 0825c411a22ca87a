"""What expectations match, and the reported differences."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import svctoolkit.expect.matchers
from svctoolkit import runner
from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.headers import Headers
from svctoolkit.expect.paths import is_in
from svctoolkit.expect.snapshots import ScenarioSnapshots, Snapshots
from svctoolkit.runner import differences
from svctoolkit.secrets import Masker

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


_WALK = pkgutil.walk_packages(svctoolkit.expect.matchers.__path__, "")
MODULES = [m.name for m in _WALK if not m.ispkg and "_" not in (m.name[0], m.name.partition(".")[2][:1])]


@pytest.mark.parametrize(
    "name",
    [
        *(f"expect.matchers.{name}" for name in MODULES),
        *("expect.compare", "expect.paths", "expect.expectation", "runner.suite.select", "runner.suite.cases"),
    ],
)
def test_every_matcher_is_documented_by_an_example(name: str) -> None:
    """And the examples are true."""
    found = doctest.testmod(import_module(f"svctoolkit.{name}"))

    assert found.attempted > 0
    assert found.failed == 0


@settings(deadline=None)
@given(JSON)
def test_a_value_matches_itself(value: Any) -> None:
    """Plain, and with $exact; keys that look like matchers need $literal."""
    assert differences({"$literal": value}, value) == []
    assert differences({"$exact": {"$literal": {"a": value}}}, {"a": value}) == []


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("xyz"), JSON, min_size=1))
def test_an_object_is_a_subset(expected: dict[str, Any], more: dict[str, Any]) -> None:
    """Other keys are ignored unless $exact is used: then each additional key is reported."""
    actual = {**expected, **more}

    assert differences({"$literal": expected}, actual) == []
    assert [d.path for d in differences({"$exact": {"$literal": expected}}, actual)] == [(key,) for key in more]


@pytest.mark.parametrize(
    ("expected", "actual", "matches"),
    [
        (10, 10.0, True),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        ("10", 10, False),
        (None, "", False),
        ({}, {"a": 1}, True),
        ({}, [], False),
        ([], [1], False),
        ([1, 2], [2, 1], False),
        ({"a": None}, {}, False),
        ({"$exact": {"a": {}}}, {"a": {"b": 1}}, False),
        ({"$exact": {"a": {"$type": "object"}}}, {"a": {"b": 1}}, True),
        ({"a": {"$absent": True}}, {}, True),
        ({"a": {"$absent": False}}, {}, False),
        ({"a": {"$absent": False}}, {"a": None}, True),
        ({"a": {"$any": [1, {"$absent": True}]}}, {}, True),
        ({"a": {"$any": [1, 2]}}, {"a": 2}, True),
        ({"$contains": {"sku": "A"}}, [{"sku": "B"}, {"sku": "A", "n": 1}], True),
        ({"$contains": ["b", "a"]}, ["a", "b", "c"], True),
        ({"$contains": "b"}, "abc", True),
        ({"$contains": 5}, "5", False),
        ({"$contains": "b"}, None, False),
        ({"$length": 2}, {"a": 1, "b": 2}, True),
        ({"$length": 3}, "abc", True),
        ({"$length": {"$any": [1, 2]}}, [1, 2], True),
        ({"$length": 1}, 1, False),
        ({"$regex": "^a$"}, "a", True),
        ({"$regex": "1"}, 1, False),
        ({"$regex": "o", "$length": 3}, "foo", True),
        ({"$regex": "o", "$length": 4}, "foo", False),
        ({"$literal": {"$regex": "x"}}, {"$regex": "x", "more": 1}, True),
        ({"$os": "iOS", "n": 1}, {"$os": "iOS", "n": 1}, True),
        ({"$os": "iOS"}, {"$os": "iOS"}, True),
        ({"$unordered": [1, 2]}, [2, 1], True),
        ({"$unordered": [1, 1]}, [1, 2], False),
        ({"$unordered": [1]}, [1, 2], False),
        ({"$unordered": [{}, {"a": 1}]}, [{"a": 1}, {"b": 1}], True),
        ({"$type": "uuid"}, "6b0f6c1a-0000-4000-8000-000000000001", True),
        ({"$type": "datetime"}, "2026-01-15T10:01:30.120Z", True),
        ({"$type": "datetime"}, "2026-01-15", False),
        ({"$type": "date"}, "2026-01-15", True),
        ({"$type": "url"}, "https://hook.example/in", True),
        ({"$type": "url"}, "hook.example", False),
        ({"$type": "integer"}, True, False),
        ({"$type": "integer"}, 1.5, False),
        ({"$type": "number"}, 1.5, True),
        ({"$type": "null"}, None, True),
        ({"a": {"$type": "null"}}, {}, False),
        ({"$type": "array"}, [], True),
        ({"$approx": 100}, 100.00005, True),
        ({"$approx": 100}, 100.001, False),
        ({"$approx": 0}, 1e-10, True),
        ({"$approx": 0}, 1e-6, False),
        ({"$approx": 1}, True, False),
        ({"$approx": 1}, "1", False),
        ({"$approx": 1}, float("inf"), False),
        ({"$approx": 10, "$tol": 0.5}, 10.5, True),
        ({"$approx": 10, "$tol": 0.5}, 9.5, True),
        ({"$approx": 10, "$tol": 0.5}, 10.51, False),
        ({"$approx": 10, "$tol": 0}, 10, True),
        ({"$approx": 10, "$tol": 0}, 10.00001, False),
        ({"$approx": 0.3, "$tol": 0.1}, 0.4, True),
        ({"$approx": 10, "$tol": 5}, "10", False),
        ({"$each": {"n": 1}}, [{"n": 1}, {"n": 1, "m": 2}], True),
        ({"$each": {"n": 1}}, [{"n": 1}, {"n": 2}], False),
        ({"$each": 1}, {"a": 1, "b": 1}, True),
        ({"$each": 1}, {"a": 1, "b": 2}, False),
        ({"$each": 1}, 1, False),
        ({"$each": 1}, [], False),
        ({"$each": 1}, {}, False),
        ({"$each": 1, "$length": {"$gte": 0}}, [], True),
        ({"$only": {"a": {}}}, {"a": {"b": 1}}, True),
        ({"$only": {"a": {}}}, {"a": {}, "b": 1}, False),
        ({"$only": {"a": 1}}, {"a": 2}, False),
        ({"$only": {"a": 1}}, [], False),
        ({"$anywhere": "4111"}, {"a": [{"b": "x 4111 y"}]}, True),
        ({"$anywhere": "4111"}, {"a": [{"4111": 1}]}, True),
        ({"$anywhere": "4111"}, {"a": 4111}, True),
        ({"$anywhere": "4111"}, {"a": 41110}, False),
        ({"$anywhere": {"b": 1}}, {"a": [{"b": 1, "c": 2}]}, True),
        ({"$anywhere": {"b": 1}}, {"a": [{"b": 2}]}, False),
        ({"$not": {"$anywhere": "4111"}}, {"a": ["4111"]}, False),
        ({"$not": {"$anywhere": "4111"}}, {"a": ["5"]}, True),
        ({"$starts": "ab"}, "abc", True),
        ({"$starts": "bc"}, "abc", False),
        ({"$starts": "1"}, 1, False),
        ({"$ends": "bc"}, "abc", True),
        ({"$ends": "ab"}, "abc", False),
        ({"$ends": "1"}, 1, False),
        ({"$gt": 1}, 1.5, True),
        ({"$gt": 1}, 1, False),
        ({"$gt": 1}, "2", False),
        ({"$gt": 0}, True, False),
        ({"$gt": "2026-01-01"}, "2026-01-01T00:00:01Z", True),
        ({"$gt": "2026-01-01T12:00:00+02:00"}, "2026-01-01T10:00:00Z", False),
        ({"$conforms": "Order Done"}, {}, False),
        ({"$schema": "no-such-file.json"}, {}, False),
        ({"$gte": 1}, 1, True),
        ({"$gte": 1}, 0.9, False),
        ({"$lt": "b"}, "a", True),
        ({"$lt": "b"}, "b", False),
        ({"$lte": 2}, 2, True),
        ({"$lte": 2}, 2.1, False),
        ({"$lte": 2**60}, 2**60 + 1, False),
        ({"$gte": 1, "$lt": 5}, 5, False),
        ({"$json": {"a": 1}}, '{"a": 1, "b": 2}', True),
        ({"$json": {"a": 1}}, '{"a": 2}', False),
        ({"$json": None}, "null", True),
        ({"$json": 1}, "{", False),
        ({"$json": {"a": 1}}, {"a": 1}, False),
        ({"$keys": ["b", "a"]}, {"a": 1, "b": 2}, True),
        ({"$keys": ["a"]}, {"a": 1, "b": 2}, False),
        ({"$keys": ["a", "b"]}, {"a": 1}, False),
        ({"$keys": ["a"]}, ["a"], False),
        ({"$keys": {"$contains": "a"}}, {"a": 1, "b": 2}, True),
        ({"$keys": {"$length": 3}}, {"a": 1, "b": 2}, False),
        ({"a": {"$not": 1}}, {"a": 2}, True),
        ({"a": {"$not": {"$regex": "^x"}}}, {"a": "xy"}, False),
        ({"a": {"$not": {"$regex": "^x"}}}, {"a": "yx"}, True),
        ({"a": {"$not": {"$regex": "^x"}}}, {}, False),
        ({"a": {"$not": {"$absent": False}}}, {}, True),
        ({"a": {"$not": {"$absent": False}}}, {"a": 1}, False),
        ({"a": {"$not": {"$regex": "^x"}}}, {"a": 5}, False),
        ({"a": {"$not": {"$contains": "x"}}}, {"a": {"b": "x"}}, False),
        ({"a": {"$not": {"$contains": "x"}}}, {"a": ["y"]}, True),
        ({"a": {"$not": {"$any": [1, {"$starts": "x"}]}}}, {"a": []}, False),
        ({"a": {"$not": {"$any": [1, {"$starts": "x"}]}}}, {"a": "y"}, True),
        ({"a": {"$not": {"$all": [{"$starts": "x"}, {"$regex": "y$"}]}}}, {"a": []}, False),
        ({"a": {"$not": {"$all": [{"$starts": "x"}, {"$regex": "y$"}]}}}, {"a": "zy"}, True),
        ({"a": {"$not": {"b": 1}}}, {"a": {"b": 2}}, True),
        ({"a": {"$not": {"b": 1}}}, {"a": {"bb": 2}}, False),
        ({"a": {"$not": {"b": 1}}}, {"a": "text"}, False),
        ({"a": {"$not": {"b": {"$absent": True}}}}, {"a": {"b": 1}}, True),
        ({"a": {"$not": [1]}}, {"a": "text"}, False),
        ({"a": {"$not": [1]}}, {"a": [2]}, True),
        ({"a": {"$not": None}}, {"a": {}}, True),
        ({"a": {"$not": {"$absent": True}}}, {"a": 1}, True),
        ({"a": {"$not": {"$gt": 5}}}, {"a": None}, False),
        ({"a": {"$not": {"$type": "string"}}}, {"a": 1}, True),
        ({"a": {"$any": [{"$absent": True}, {"$not": 1}]}}, {}, True),
        ({"$regex": "^A$"}, "A\n", False),
        ({"$regex": "^A[$]$"}, "A$", True),
        ({"$regex": r"^A\$"}, "A$ and more", True),
        ({"$regex": "(?m)^A$"}, "A\nB", True),
        ({"$regex": "[]$]x"}, "$x", True),
        ({"$query": {"p.*.sku": ["A", "B"]}}, {"p": [{"sku": "A"}, {"sku": "B"}]}, True),
        ({"$query": {"p.1.sku": "A"}}, {"p": [{"sku": "A"}, {"sku": "B"}]}, False),
        ({"$query": {"p.-1.sku": "B"}}, {"p": [{"sku": "A"}, {"sku": "B"}]}, True),
        ({"$query": {"p.2.sku": "B"}}, {"p": [{"sku": "A"}, {"sku": "B"}]}, False),
        ({"$snapshot": True}, {"a": 1}, False),
        ({"$unique": True}, [1, 2, "1"], True),
        ({"$unique": True}, [1, 2, 1], False),
        ({"$unique": "sku"}, [{"sku": "A", "n": 1}, {"sku": "A", "n": 2}], False),
        ({"$unique": "sku"}, [{"sku": "A", "n": 1}, {"sku": "B", "n": 1}], True),
        ({"$unique": True}, {"a": 1}, False),
        ({"$unique": True}, [], False),
        ({"$unique": True, "$length": 0}, [], True),
        ({"$unique": "sku"}, [{"skuu": "A"}], False),
        ({"$unordered": [1]}, {"0": 1}, False),
        ({"$sha256": "a"}, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", True),
        ({"$sha1": "a"}, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8", True),
        ({"$md5": "a"}, "a", False),
        ({"$base64": "a"}, "YQ==", True),
        ({"$url": "a b"}, "a%20b", True),
        ({"a": {"$not": {"$url": "a b"}}}, {"a": 1}, False),
        ({"a": {"$not": {"$url": "a b"}}}, {"a": "b"}, True),
    ],
)
def test_matching_rules(expected: Any, actual: Any, matches: bool) -> None:
    """One line each: the expected value, the actual value, and whether they match."""
    assert (differences(expected, actual) == []) is matches


def test_unordered_finds_every_possible_pairing() -> None:
    """An element that fits a broad expectation can still be paired with a narrow one."""
    narrow: list[dict[str, Any]] = [{}, {"a": 1}, {"a": 1, "b": 2}]

    for expected in permutations(narrow):
        assert differences({"$unordered": list(expected)}, [{"a": 1, "b": 2}, {"c": 3}, {"a": 1}]) == []


def test_every_difference_is_found() -> None:
    """In objects, and in lists of equal and of different length."""
    expected = {"a": 1, "b": [1, 2], "c": [1], "d": {"e": "x"}}
    actual = {"a": 2, "b": [1, 3], "c": [2, 3], "d": {}}

    assert [str(d) for d in differences(expected, actual)] == [
        "a: expected 1, got 2",
        "b.1: expected 2, got 3",
        "c: expected 1 element, got 2: [2,3]",
        "c.0: expected 1, got 2",
        'd.e: expected "x", got nothing',
    ]


def test_lists_of_different_length_are_aligned() -> None:
    """A missing or additional element does not make all later ones differ."""
    letters = [{"n": n} for n in "abcdef"]
    changed = [*letters[2:4], {"n": "X"}, letters[5]]

    assert [str(d) for d in differences(letters, letters[1:])] == [
        f"(value): expected 6 elements, got 5 (missing: expected element 0): {json_line(letters[1:])}"
    ]
    assert [str(d) for d in differences(letters, changed)][1:] == ['2.n: expected "e", got "X"']
    assert [d.expectation for d in differences(letters, changed)] == [(), (4, "n")]


def test_unordered_shows_the_nearest_candidate() -> None:
    """Of the unpaired elements, the one with the fewest differences, each with its path."""
    expected = [{"id": 1, "name": "a"}, {"id": 2, "name": "b", "plan": "pro"}]
    (difference,) = differences(
        {"$unordered": expected}, [{"id": 9}, {"id": 2, "name": "c", "plan": "pro"}, expected[0]][1:]
    )

    assert difference.expectation == ("$unordered", 1)
    assert difference.got.endswith('; nearest: 0.name: expected "b", got "c"')


def test_header_names_match_in_any_case() -> None:
    """In a subset, in an exact object, negated, and as the path of a query."""
    headers = Headers({"authorization": "Bearer x", "accept": "*/*"})

    assert differences({"Authorization": "Bearer x"}, headers) == []
    assert differences({"Authorization": {"$absent": True}}, headers) != []
    assert differences({"$exact": {"AUTHORIZATION": "Bearer x", "Accept": "*/*"}}, headers) == []
    assert [d.path for d in differences({"$only": {"Authorization": {}}}, headers)][-1] == ("accept",)
    assert differences({"$query": {"Accept": "*/*"}}, headers) == []


def test_a_misspelt_key_gets_a_suggestion() -> None:
    """The nearest actual key is named."""
    assert "Did you mean 'revenue'?" in str(differences({"revenu": 1}, {"revenue": 1})[0])


@pytest.mark.parametrize(
    ("written", "meant"),
    [("$regexx", "$regex"), ("$regx", "$regex"), ("$tpye", "$type"), ("$Any", "$any"), ("$lenght", "$length")],
)
def test_a_misspelt_matcher_is_a_problem(written: str, meant: str) -> None:
    """A key one edit away from a matcher's name is a mistake, also deep inside another matcher."""
    ((path, message),) = runner.problems({"a": {"$all": [{written: "x"}, 1]}})

    assert path == ("a", "$all", 0, written)
    assert message.startswith(f"unknown matcher {written!r}. Did you mean {meant}?")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"$absent": 1}, "$absent must be true or false"),
        ({"$all": []}, "$all must be a list of at least one expectation"),
        ({"$any": {}}, "$any must be a list of at least one alternative"),
        ({"$approx": "1"}, "$approx must be a number"),
        ({"$approx": True}, "$approx must be a number"),
        ({"$approx": 1, "$tol": -1}, "$tol must be a number (0 or more)"),
        ({"$approx": 1, "$tol": True}, "$tol must be a number (0 or more)"),
        ({"$tol": 1}, "$tol can only be used together with $approx"),
        ({"$ends": 1}, "$ends must be a non-empty string"),
        ({"$ends": ""}, "$ends must be a non-empty string"),
        ({"$starts": 1}, "$starts must be a non-empty string"),
        ({"$starts": ""}, "$starts must be a non-empty string"),
        ({"$contains": ""}, "$contains must not be empty: every string and list would match"),
        ({"$contains": []}, "$contains must not be empty: every string and list would match"),
        ({"$anywhere": ""}, "$anywhere must not be empty: everything would match"),
        ({"$only": {}}, "$only must be an object with at least one member"),
        ({"$only": []}, "$only must be an object with at least one member"),
        ({"$keys": {}}, "$keys must be a list of names, or an expectation of it"),
        ({"$length": {}}, "$length must be a number (0 or more)"),
        ({"$regex": ""}, "$regex must be a pattern (a non-empty string)"),
        ({"$gt": True}, "$gt must be a number, a string or a time"),
        ({"$lte": []}, "$lte must be a number, a string or a time"),
        ({"$keys": "a"}, "$keys must be a list of names, or an expectation of it"),
        ({"$length": -1}, "$length must be a number (0 or more)"),
        ({"$length": True}, "$length must be a number (0 or more)"),
        ({"$query": {}}, "$query must be an object of paths and their expected values"),
        ({"$regex": 1}, "$regex must be a pattern (a non-empty string)"),
        ({"$regex": "("}, "$regex must be a valid pattern: missing ), unterminated subpattern at position 0"),
        ({"$snapshot": "a/b"}, "$snapshot must be true, or a name of letters, digits, _ . and -"),
        ({"$snapshot": False}, "$snapshot must be true, or a name of letters, digits, _ . and -"),
        (
            {"$type": "uid"},
            "$type must be one of string, number, integer, boolean, null, object, array, uuid, datetime, ",
        ),
        ({"$unique": 1}, "$unique must be true or a path"),
        ({"$unordered": {}}, "$unordered must be a list"),
        ({"$sha256": ["a"]}, "$sha256 must be a text or a number"),
        (
            {"$regex": "a", "b": 1},
            "the matcher $regex cannot be combined with other keys. For a key of this name use $literal",
        ),
    ],
)
def test_an_invalid_operand_is_a_problem(expected: Any, message: str) -> None:
    """The message says what the matcher accepts, and where the operand is."""
    (place, text), *_ = runner.problems([expected])

    assert place == (0, next(key for key in expected if key[0] == "$" and key in message))
    assert text.startswith(message)


@pytest.mark.parametrize(
    "expected",
    [
        {"$os": "Android", "$set": {"$email": "a@b.example", "$ltv": 5}, "$insert_id": {"$type": "uuid"}, "$ip": 0},
        {"$literal": {"$regexx": "x", "deep": {"$typ": 1}}},
    ],
)
def test_keys_of_payloads_are_not_matchers(expected: Any) -> None:
    """Keys may begin with `$`; one that looks like a matcher needs `$literal`."""
    assert list(runner.problems(expected)) == []


def test_long_texts_are_shown_where_they_differ() -> None:
    """Two long texts with a common beginning are cut to the part that differs."""
    (found,) = differences("a" * 500 + "X" + "b" * 500, "a" * 500 + "Y" + "b" * 500)

    assert found.expected != found.got
    assert len(str(found)) < 400


def test_values_are_shown_on_one_line() -> None:
    """Line ends, escape sequences and depth do not affect a report."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]

    assert "\n" not in str(differences("a", "b\nc\x1b[31m\u202e")[0])
    assert "nested too deep" in str(differences(1, deep)[0])


def test_foreign_objects_compare_themselves() -> None:
    """In Python, an expectation may contain any object with `==`."""

    class Even:
        def __eq__(self, other: object) -> bool:
            return isinstance(other, int) and other % 2 == 0

        __hash__ = None  # type: ignore[assignment]

    assert differences({"n": Even()}, {"n": 4}) == []
    assert differences({"n": Even()}, {"n": 5}) != []


@settings(deadline=None)
@given(JSON, JSON)
def test_comparing_never_fails(expected: Any, actual: Any) -> None:
    """Any expected and actual values give a list of differences, which is empty only if they match."""
    if not list(runner.problems(expected)):
        found = differences(expected, actual)

        assert all(str(d) for d in found)


def test_a_secret_at_a_cut_stays_masked() -> None:
    """Long values are cut after secrets are masked, so no part of a secret remains at either end."""
    hide = Masker(["s3cr3t-of-the-shop"]).mask
    end = differences({"a": 1}, {"a": "x" * 150 + "s3cr3t-of-the-shop and more"}, hide=hide)
    begin = "y" * 100 + "s3cr3t-of-the-shop"
    part = differences({"a": begin + "z" * 100}, {"a": begin + "w" * 100}, hide=hide)

    assert not [found for found in map(str, end + part) if "s3c" in found or "shop" in found]
    assert str(end[0]).endswith("…")


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ({"$type": "integer"}, "x", 'n: expected an integer, got "x"'),
        ({"$type": "string"}, 1, "n: expected a string, got 1"),
        ({"$type": "null"}, 1, "n: expected null, got 1"),
    ],
)
def test_a_type_has_its_article(expected: Any, actual: Any, said: str) -> None:
    """The message is a sentence, not a pattern."""
    assert [str(difference) for difference in differences({"n": expected}, {"n": actual})] == [said]


def test_values_that_a_negated_matcher_cannot_judge_are_reported() -> None:
    """Null is neither more nor less than three, so "not more than three" proves nothing."""
    (difference,) = differences({"n": {"$not": {"$gt": 3}}}, {"n": None})

    assert "null, which $gt does not apply to" in str(difference)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"$absent": 1}, "$absent must be true or false"),
        ({"$all": []}, "$all must be a list of at least one expectation"),
        ({"$any": {}}, "$any must be a list of at least one alternative"),
        ({"$anywhere": ""}, "$anywhere must not be empty: everything would match"),
        ({"$approx": True}, "$approx must be a number"),
        ({"$contains": []}, "$contains must not be empty: every string and list would match"),
        ({"$ends": ""}, "$ends must be a non-empty string"),
        ({"$gt": None}, "$gt must be a number, a string or a time"),
        ({"$keys": "id"}, "$keys must be a list of names, or an expectation of it: {$contains: email}"),
        ({"$length": -1}, "$length must be a number (0 or more)"),
        ({"$only": {}}, "$only must be an object with at least one member"),
        ({"$query": []}, "$query must be an object of paths and their expected values"),
        ({"$regex": ""}, "$regex must be a pattern (a non-empty string)"),
        ({"$regex": ".*"}, "$regex must not match every string: to accept any string, write {$type: string}"),
        ({"$starts": ""}, "$starts must be a non-empty string"),
        ({"$tol": 1}, "$tol can only be used together with $approx"),
        ({"$unique": False}, "$unique must be true or a path"),
        ({"$contains": {"$regexx": "x"}}, "unknown matcher '$regexx'. Did you mean $regex? For a key of this "
         "name use $literal"),
        ({"$json": {"$lenght": 1}}, "unknown matcher '$lenght'. Did you mean $length? For a key of this "
         "name use $literal"),
        ({"$each": 1, "id": 2}, "the matcher $each cannot be combined with other keys. For a key of this "
         "name use $literal"),
    ],
)  # fmt: skip
def test_a_wrong_operand_is_reported(expected: Any, said: str) -> None:
    """The whole sentence: what the matcher accepts."""
    assert [text for _, text in runner.problems(expected)] == [said]


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ({"$gt": 1}, "a", 'expected a number more than 1, got "a"'),
        ({"$lt": "b"}, 1, 'expected a string less than "b", got 1'),
        ({"$lte": 1}, 2, "expected a number at most 1, got 2"),
        ({"$gte": 1}, 0, "expected a number at least 1, got 0"),
        ({"$snapshot": True}, 0, "expected a snapshot, got no folder for snapshots"),
        ({"$type": "url"}, "ftp://a.example/", 'expected a url, got "ftp://a.example/"'),
        ({"$type": "url"}, "https:///path", 'expected a url, got "https:///path"'),
        ({"$type": "url"}, "http://a.example", ""),
        ({"$type": "datetime"}, "2026-01-01", 'expected a datetime, got "2026-01-01"'),
        ({"$type": "date"}, "2026-01-01", ""),
        ({"$not": {"$not": {"$starts": "x"}}}, {}, 'expected not {"$not":{"$starts":"x"}}, got an object, which '
         "$starts does not apply to; use $anywhere to look inside"),
        ("x" * 158, "", 'expected "' + "x" * 158 + '", got ""'),
        ("x" * 159, "", 'expected "' + "x" * 158 + '…, got ""'),
        ("x" * 158, "x" * 157 + "y", 'expected "' + "x" * 158 + '", got "' + "x" * 157 + 'y"'),
        ({"$gte": "2026-01-01T00:00:00Z"}, "x", 'expected a time at least "2026-01-01T00:00:00Z", got "x"'),
        ({"$unique": True}, 1, "expected a list, got 1"),
        ({"$unique": True}, [], "expected elements to compare, got none"),
        ({"$contains": [{"a": 1}]}, [{"a": 2}], 'expected an element {"a":1}, got [{"a":2}]'),
        ({"$contains": "x"}, 1, 'expected a string or list with "x", got 1'),
        ({"$each": "x"}, [], 'expected at least one that is "x", got none (to allow that, add '
         "$length: {$gte: 0} to $each)"),
        ({"$each": "x"}, 1, "expected a list or an object, got 1"),
        ({"$keys": ["a"]}, [], "expected an object, got []"),
        ({"$keys": ["b", "a"]}, {"c": 1, "d": 2}, "expected the members b, a, got c, d"),
        ({"$keys": ["a"]}, {}, "expected the members a, got none"),
        ({"$keys": {"$contains": "a"}}, {"c": 1, "d": 2}, 'expected members matching {"$contains":"a"}, got c, d'),
        ({"$not": {"$unique": "a"}}, [{}], 'expected not {"$unique":"a"}, got fewer than two elements, so no '
         "duplicates are possible"),
        ({"$json": {"a": 1}}, "x", 'expected a string of JSON, got "x"'),
        ({"$json": None}, "null", ""),
        ({"$approx": 1}, True, "expected about 1, got true"),
        ({"$contains": 5}, "5", 'expected a list with 5, got "5"'),
        ({"$not": "x"}, None, ""),
        ({"$not": [1]}, "x", 'expected not [1], got a string, and a list is negated'),
        ({"$not": {"a": 1}}, True, 'expected not {"a":1}, got true or false, and an object is negated'),
        ({"$not": {"a": 1}}, 1.5, 'expected not {"a":1}, got a number, and an object is negated'),
        ({"$not": {"a": 1}}, {"b": 1}, 'expected not {"a":1}, got nothing, so there is nothing to negate (at a)'),
        ({"$not": {"$starts": "x"}}, [1], 'expected not {"$starts":"x"}, got a list, which $starts does not apply to; '
         "use $anywhere to look inside"),
        ({"$not": {"$starts": "x"}}, 1, 'expected not {"$starts":"x"}, got a number, which $starts does not apply to'),
    ],
)  # fmt: skip
def test_texts_of_differences(expected: Any, actual: Any, said: str) -> None:
    """Whole sentences."""
    texts = [str(d).removeprefix("n: ") for d in differences({"n": expected}, {"n": actual})]

    assert texts == ([said] if said else [])


@pytest.mark.parametrize("matcher", ["$not", "$json", "$each", "$exact", "$length"])
def test_mistakes_inside_a_matcher_are_reported(matcher: str) -> None:
    """Wherever it contains expectations; also in lists, and at paths."""
    wrong = {"$type": "strin"}
    places = [{matcher: wrong}, {"$any": [{matcher: wrong}]}, {"$query": {"a.b": {matcher: wrong}}}]

    assert [[str(path[-1]) for path, _ in runner.problems(place)] for place in places] == [["$type"]] * 3


def test_an_element_without_the_path_is_not_unique() -> None:
    """It has no value to compare."""
    found = [(d.path, d.expected, d.got) for d in differences({"$unique": "sku"}, [{"sku": 1}, {}])]

    assert found == [((1, "sku"), "a value", "nothing")]


def test_a_missing_value_cannot_be_negated() -> None:
    """Neither as a value nor by a matcher; only "is not absent" can."""
    texts = [str(d) for e in ("x", {"$starts": "x"}) for d in differences({"n": {"$not": e}}, {})]

    assert texts == [f"n: expected not {e}, got nothing, so there is nothing to negate"
                     for e in ('"x"', '{"$starts":"x"}')]  # fmt: skip
    assert [str(d) for d in differences({"n": {"$not": {"$absent": True}}}, {})] == [
        'n: expected not {"$absent":true}, got nothing'
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "inner"),
    [
        ("ABC", "XABd", [("2", '"C"', "3")]),  # one more at the front
        ("AbC", "ABXC", []),  # one more in the middle, and a changed one: the pairs cannot be known
        ("ABC", "AXBc", [("2", '"C"', "3")]),
        ("ABCD", "ABD", []),
        ("ABCD", "BcD", [("2", '"C"', "1")]),
        ("A", "XYA", []),
    ],
)
def test_lists_of_different_lengths_are_aligned(expected: str, actual: str, inner: list[tuple[str, str, str]]) -> None:
    """Matching elements are anchors, so one additional element is one difference, not many."""
    first, *others = differences(list(expected), list(actual))

    assert str(first).partition(" got ")[0] == f"(value): expected {len(expected)} element{'s' * (len(expected) > 1)},"
    assert [(str(d.expectation[-1]), d.expected, str(d.path[-1])) for d in others] == inner


def test_the_place_of_a_difference_inside_a_matcher() -> None:
    """The caret is below the missing element, or below the operand if that is not a list."""
    many, one = (differences({"$contains": operand}, [1])[0].expectation for operand in ([1, 2], 2))

    assert (many, one) == (("$contains", 1), ("$contains",))


def test_a_path_with_a_star_needs_a_value() -> None:
    """A rule to ignore it applies only if one of the elements has the path."""
    assert is_in(["a", "*", "b"], {"a": [{"b": 1}, {}]})
    assert not is_in(["a", "*", "b"], {"a": [{"c": 1}]})
    assert not is_in(["a", "*", "b"], {"a": []})
    assert is_in(["a", "0", "b"], {"a": [{"b": None}]})
    assert is_in(["b"], {"a": [{"b": None}]})
    assert not is_in(["a", "c"], {"a": {"b": 1}, "c": 2})


def test_snapshots_track_their_files(tmp_path: Path) -> None:
    """An unreadable one is a difference, and a file that was compared is not reported as unused."""
    (tmp_path / "a.x.json").write_text("{", encoding="utf-8")
    (tmp_path / "old.json").write_text("1", encoding="utf-8")
    run = Snapshots()
    store = ScenarioSnapshots(run, tmp_path, "a.", Masker([]))
    found = list(Comparison(snapshots=store).differences({"$snapshot": "x"}, 1))

    assert "expected a snapshot in" in str(found[0])
    assert "got a file that cannot be read: " in str(found[0])
    assert run.find_unused(tmp_path) == [tmp_path / "old.json"]


@pytest.mark.parametrize(("update", "written"), [("none", 0), ("new", 1), ("all", 1)])
def test_a_snapshot_is_a_readable_file(tmp_path: Path, update: Any, written: int) -> None:
    """It is written on request, and then compared."""
    run = Snapshots(update)
    store = ScenarioSnapshots(run, tmp_path, "a.", Masker([]))
    comparison = Comparison(path=("delivered", 0), snapshots=store)
    found = [str(d) for d in comparison.differences({"$snapshot": True}, {"n": 1})]
    assert [*tmp_path.iterdir()] == []  # a step that fails does not write it
    for snapshot in store.pending:
        store.write(snapshot)

    assert len(run.new_files) == written
    assert found == (
        [] if written else ["delivered.0: expected a snapshot, got no snapshot yet: --update=new writes it"]
    )
    assert [oct(path.stat().st_mode)[-3:] for path in tmp_path.iterdir()] == ["644"] * written
    assert [path.name for path in tmp_path.iterdir()] == ["a.delivered.0.json"] * written


def test_what_must_not_be_anywhere_is_located() -> None:
    """`$not: {$anywhere: ...}` fails with each place where the value is, not with the whole payload."""
    body = {"a": [{"card": "4111 1111"}, {"n": 1}], "note": "4111"}
    found = [str(difference) for difference in differences({"body": {"$not": {"$anywhere": "4111"}}}, {"body": body})]

    assert found == [
        'body.a.0.card: expected not {"$anywhere":"4111"}, got "4111 1111"',
        'body.note: expected not {"$anywhere":"4111"}, got "4111"',
    ]
