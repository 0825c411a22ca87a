"""Malformed suites, workspaces and plans are rejected with exit code 4 and a position: never 3, never a traceback."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit.cli import main
from tests.examples import up_to

FILES: dict[str, Any] = {
    "workspace.yaml": {
        "trackingPlans": {"shop": {"file": "plan.json"}},
        "destinations": {
            "hook": {"type": "WEBHOOK", "config": {"webhookUrl": "https://h.example/in"}},
            "ga": {
                "type": "GA4",
                "simulate": "simulated",
                "config": {"apiSecret": "s", "measurementId": "G-1", "typesOfClient": "gtag"},
            },
        },
        "sources": {"web": {"destinations": ["hook", {"destination": "ga", "enabled": True}], "trackingPlan": "shop"}},
        "delivery": {"timeout": 60, "batch": {"jobs": 20}},
    },
    "s.suite.yaml": {
        "workspace": "workspace.yaml",
        "vars": {"n": 5},
        "fixtures": {
            "o": {"type": "track", "event": "Paid", "userId": "u1", "anonymousId": "a", "properties": {"n": 1}}
        },
        "never": [{"key": "password"}],
        "scenarios": [
            {
                "name": "sent",
                "only": "hook",
                "freeze": {"time": "2026-01-01T12:00:00Z", "ids": "sequence"},
                "recorder": {"hook": [{"status": 503, "delay": "1s"}, {"status": 200}]},
                "send": {"$use": "o", "$set": {"properties.n": "$(n)"}, "$unset": ["anonymousId"]},
                "expect": {"delivered": [{"body": {"properties": {"n": {"$any": [5, 6]}}}}], "attempts": 2},
            },
            {
                "name": "held",
                "only": "ga",
                "send": {"$use": "o"},
                "expect": {"holds": {"events": [{"name": "Paid"}]}, "lost": []},
            },
            {
                "name": "rows",
                "destination": "hook",
                "cases": [{"id": "a", "c": 1}],
                "event": {"$use": "o", "$set": {"properties.c": "$(c)"}},
                "expect": {"dest_transform": {"body": {"JSON": {"properties": {"c": "$(c)"}}}}},
            },
        ],
    },
    "plan.json": {
        "id": "tp",
        "events": [{"name": "Paid", "eventType": "track", "rules": {"properties": {"properties": {"type": "object"}}}}],
    },
}
WORDS = (
    "$use",
    "$set",
    "$any",
    "$not",
    "$regex",
    "name",
    "steps",
    "wait",
    "matrix",
    "generate",
    "calls",
    "x",
    "",
    "config",
)
JUNK = st.sampled_from(
    [None, True, 0, -1, 10**30, 1.5, "", "x", "$(x)", "$(env:", "1h", "any", "*", "hook", "\0", [], {}, [[]]]
)
VALUES = JUNK | JUNK.map(lambda value: [value]) | st.tuples(st.sampled_from(WORDS), JUNK).map(lambda pair: dict([pair]))
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10**6), st.sampled_from(["replace", "remove", "add", "rename"]), st.sampled_from(WORDS), VALUES
    ),
    min_size=1,
    max_size=2,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with the key or index of each of its members."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)


def change(value: Any, number: int, what: str, word: str, new: Any) -> None:
    every = list(places(value))
    if not every:
        return
    container, key = every[number % len(every)]
    if what == "replace":
        container[key] = deepcopy(new)
    elif what == "remove":
        del container[key]
    elif isinstance(container, list):
        container.insert(0, deepcopy(new))
    elif what == "add":
        container[word] = deepcopy(new)
    else:
        container[word] = container.pop(key)


def run(files: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    for name, value in files.items():
        text = json.dumps(value) if name.endswith(".json") else yaml.safe_dump(value, sort_keys=False)
        Path(name).write_text(text, encoding="utf-8")
    code = main(["run", "s.suite.yaml"])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


def check(code: int, out: str) -> None:
    assert code in (0, 1, 4), out
    assert "Traceback" not in out
    assert " broken" not in out
    if code == 4:
        assert re.search(r"(s\.suite\.yaml|workspace\.yaml):\d+:\d+: ", out), out


def test_the_files_are_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise the changes below would show nothing."""
    monkeypatch.chdir(tmp_path)
    code, out = run(FILES, capsys)

    assert code == 0, out


@settings(
    derandomize=True,
    database=None,
    max_examples=up_to(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(name=st.sampled_from(["s.suite.yaml", "s.suite.yaml", "workspace.yaml", "plan.json"]), changes=CHANGES)
def test_malformed_files_are_rejected(
    name: str, changes: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong value, a missing or additional member, another name, anywhere in a suite, a workspace or a plan."""
    monkeypatch.chdir(tmp_path)
    files = deepcopy(FILES)
    for each in changes:
        change(files[name], *each)
    check(*run(files, capsys))


def test_a_version_that_no_database_can_store_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The data plane could not store the violations of such a plan, and its scenarios ran into their limit."""
    monkeypatch.chdir(tmp_path)
    files = deepcopy(FILES)
    files["plan.json"]["version"] = 10**30
    code, out = run(files, capsys)

    assert code == 4
    assert "plan.json:1:" in out
    assert "'version' must be at most" in out


@pytest.mark.parametrize(
    ("path", "new", "said"),
    [
        (("scenarios", 0, "send", "$set"), "text", r"s.suite.yaml:\d+:\d+: \$set must be a map of paths and values"),
        (("scenarios", 0, "send", "$unset"), "text", r"s.suite.yaml:\d+:\d+: \$unset must be a list of paths"),
        (("scenarios", 0, "send", "$unset"), ["properties.²"], r"s.suite.yaml:\d+:\d+: '²' does not exist"),
        (("scenarios", 1, "expect", "holds"), 5, r"s.suite.yaml:\d+:\d+: must be a map of tables"),
        (("scenarios", 1, "expect", "lost"), True, ""),
    ],
)
def test_values_of_the_wrong_kind_have_a_position(
    path: tuple[Any, ...],
    new: Any,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """These were internal errors once."""
    monkeypatch.chdir(tmp_path)
    files = deepcopy(FILES)
    container = files["s.suite.yaml"]
    for step in path[:-1]:
        container = container[step]
    container[path[-1]] = new
    code, out = run(files, capsys)

    check(code, out)
    assert code != 0
    assert re.search(said, out), out
