"""Mistakes in the fault profiles of a scenario."""

from __future__ import annotations

from svctoolkit.errors import did_you_mean
from svctoolkit.runner.suite.model import Places, Scenario, within


def fault_problems(scenario: Scenario) -> Places:
    """Yield unknown destinations, sources and profiles, and what is wrong in a profile."""
    workspace = scenario.suite.workspace
    profiles = workspace.faults.profiles
    places = (
        ("destinations", scenario.faults.destinations, workspace.destinations),
        ("sources", scenario.faults.sources, workspace.sources),
    )
    for kind, named, items in places:
        for key, profile in named.items():
            if key not in items:
                yield ("faults", kind, key), f"unknown {kind[:-1]} {key!r}.{did_you_mean(key, items)}"
            if not isinstance(profile, str):
                yield from within(("faults", kind, key), profile.problems())
            elif profile not in profiles:
                yield ("faults", kind, key), f"unknown fault profile {profile!r}.{did_you_mean(profile, profiles)}"
