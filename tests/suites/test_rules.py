"""Expectations and snapshots name the broken rule and do not depend on the wording of a refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from svctoolkit import Workspace, runner
from svctoolkit.expect.snapshots import Snapshots
from svctoolkit.runner import Outcome

WORKSPACE = "destinations: {mail: {type: REFINER, config: {apiKey: key}}}"
SCENARIO = """
scenarios:
  - name: a person is needed
    destination: mail
    event: {type: track, event: E}
    expect: {dest_transform: EXPECTED}
"""


def statuses(folder: Path, expected: str, update: Literal["none", "new"] = "none") -> list[str]:
    """The status of each scenario."""
    suite = runner.loads(
        SCENARIO.replace("EXPECTED", expected), Workspace.loads(WORKSPACE), path=folder / "rules.suite.yaml"
    )
    with runner.open_planes(limit=60) as planes:
        notices = [*runner.run(suite.scenarios, planes, snapshots=Snapshots(update))]
    return [notice.status for notice in notices if isinstance(notice, Outcome)]


def test_an_expectation_names_the_rule(tmp_path: Path) -> None:
    """`rule`, `field` and `expected` of a refused event can be asserted next to its text."""
    rule = "REFINER.missing.userId-or-traits.email"

    assert statuses(tmp_path, f"{{rule: {rule}, field: userId or traits.email, expected: a value}}") == ["passed"]
    assert statuses(tmp_path, "{rule: REFINER.missing.event}") == ["failed"]


def test_a_snapshot_keeps_the_rule_and_not_the_wording(tmp_path: Path) -> None:
    """A snapshot of a refused event contains its rule, so it stays valid when the wording changes.

    It is written if the scenario expects the refusal, so next to its rule.
    """
    expected = "{$all: [{$snapshot: refusal}, {rule: REFINER.missing.userId-or-traits.email}]}"
    statuses(tmp_path, expected, "new")
    (file,) = tmp_path.rglob("*.json")

    assert json.loads(file.read_text()) == [
        {"rule": "REFINER.missing.userId-or-traits.email", "field": "userId or traits.email"}
    ]
    assert statuses(tmp_path, "{$snapshot: refusal}") == ["passed"]
