"""`svctoolkit simulations` shows how well vendors are simulated, and which rules are old."""

from __future__ import annotations

import json
import re
from datetime import date

import pytest

from svctoolkit.cli import main
from svctoolkit.destinations import definitions
from svctoolkit.lost.survey import survey
from svctoolkit.simulations import SIMULATIONS
from svctoolkit.simulations.rules import LOSSES


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


def test_hints_name_settings_of_their_type() -> None:
    """Most rules by which records get lost have a hint; one that is a setting names a variable of the type."""
    rules = [(type, rule) for type in SIMULATIONS.names() for rule in SIMULATIONS[type].rules.values()]
    lossy = [rule for _, rule in rules if rule.effect in LOSSES]
    variables = {type: set(definitions.get(type).variables) for type in SIMULATIONS.names()}
    named = [
        (type, rule.id, re.split(r": | and | or ", rule.fix["setting"]))
        for type, rule in rules
        if "setting" in rule.fix
    ]

    assert sum(bool(rule.fix) for rule in lossy) > 0.6 * len(lossy)
    assert [(rule, words) for type, rule, words in named if not variables[type].intersection(words)] == []


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """One line for each type, or JSON."""
    assert main(["simulations"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line.split()[:1]][1:-1] == sorted(SIMULATIONS.names())
    assert main(["simulations", "--json"]) == 0
    assert {item["type"] for item in json.loads(capsys.readouterr().out)} == set(SIMULATIONS.names())
