"""`svctoolkit simulations` shows how well vendors are simulated, and which rules are old."""

from __future__ import annotations

import json
from datetime import date

import pytest

from svctoolkit.cli import main
from svctoolkit.lost.survey import survey
from svctoolkit.simulations import SIMULATIONS


def test_rules_age() -> None:
    """A rule is stale 18 months after its source was read; its type says when that was and what is accepted."""
    now = {each.type: each for each in survey(date(2026, 11, 24))}
    later = {each.type: each for each in survey(date(2029, 1, 1))}

    assert now.keys() == set(SIMULATIONS.names())
    assert now["MP"].oldest == "2026-08-21"
    assert now["MP"].stale == ()
    assert set(later["MP"].stale) == SIMULATIONS["MP"].rules.keys()
    assert sum(now["MP"].rules.values()) == len(SIMULATIONS["MP"].rules)
    assert now["BRAZE"].examples - now["BRAZE"].accepted == 3


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each type, or JSON."""
    assert main(["simulations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.split()[:1]][1:-1] == sorted(SIMULATIONS.names())
    assert main(["simulations", "--json"]) == 0
    assert {item["type"] for item in json.loads(capsys.readouterr().out)} == set(SIMULATIONS.names())
