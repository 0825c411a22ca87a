"""Simulated destinations: servers that judge requests, hold what they accept, and report what they lose.

A simulation is declared next to its mapping, in `destinations/<type>/simulation.py` with its rules in `facts.yaml`.

>>> from svctoolkit import simulations
>>> server = simulations.open("MP", {"token": "t1"}, now="2026-08-06T10:00:00Z")
>>> event = {"event": "Signed Up", "properties": {"distinct_id": "anonymous", "$insert_id": "i1", "time": 1786000000}}
>>> server.answer("POST", "https://api.mixpanel.com/import/?strict=1", body=[event])[0]
400
>>> [(loss.what, loss.rule) for loss in server.losses]
[('refused', 'mp.import.distinct_id')]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from svctoolkit.simulations.levels import LEVELS, Level, check_level

if TYPE_CHECKING:
    from svctoolkit.simulations.account import Account
    from svctoolkit.simulations.catalogue import SIMULATIONS, is_simulated, open  # noqa: A004 - called with its module
    from svctoolkit.simulations.checks import Check, Confidence
    from svctoolkit.simulations.credentials import basic, basic_login, bearer, header
    from svctoolkit.simulations.given import given_problems
    from svctoolkit.simulations.judging import Batch, Broken
    from svctoolkit.simulations.losses import Change, Loss
    from svctoolkit.simulations.messages import About, Request, Response, filled, member, object_at, objects
    from svctoolkit.simulations.persons import Merged, Person, Version
    from svctoolkit.simulations.rules import Rule, Rules, load_rules
    from svctoolkit.simulations.server import SimulatedServer, StoredRow
    from svctoolkit.simulations.simulation import Simulation
    from svctoolkit.simulations.tables.rows import Alias, Fold, Row
    from svctoolkit.simulations.tables.spilled import Disk
    from svctoolkit.simulations.visit import Visit

#: Imported on first use: most workspaces simulate nothing, but all of them have a level.
_HOME = {
    "About": "messages",
    "Account": "account",
    "Alias": "tables.rows",
    "Batch": "judging",
    "Broken": "judging",
    "Change": "losses",
    "Check": "checks",
    "Confidence": "checks",
    "Disk": "tables.spilled",
    "Fold": "tables.rows",
    "Loss": "losses",
    "Merged": "persons",
    "Person": "persons",
    "Request": "messages",
    "Response": "messages",
    "Row": "tables.rows",
    "Rule": "rules",
    "Rules": "rules",
    "SIMULATIONS": "catalogue",
    "SimulatedServer": "server",
    "Simulation": "simulation",
    "StoredRow": "server",
    "Version": "persons",
    "Visit": "visit",
    "basic": "credentials",
    "basic_login": "credentials",
    "bearer": "credentials",
    "filled": "messages",
    "given_problems": "given",
    "header": "credentials",
    "is_simulated": "catalogue",
    "load_rules": "rules",
    "member": "messages",
    "object_at": "messages",
    "objects": "messages",
    "open": "catalogue",
}

__all__ = [
    "LEVELS",
    "SIMULATIONS",
    "About",
    "Account",
    "Alias",
    "Batch",
    "Broken",
    "Change",
    "Check",
    "Confidence",
    "Disk",
    "Fold",
    "Level",
    "Loss",
    "Merged",
    "Person",
    "Request",
    "Response",
    "Row",
    "Rule",
    "Rules",
    "SimulatedServer",
    "Simulation",
    "StoredRow",
    "Version",
    "Visit",
    "basic",
    "basic_login",
    "bearer",
    "check_level",
    "filled",
    "given_problems",
    "header",
    "is_simulated",
    "load_rules",
    "member",
    "object_at",
    "objects",
    "open",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return value
