"""Simulated destinations: servers that judge requests, hold what they accept, and report what they lose.

A simulation is declared next to its mapping, in `destinations/<type>/simulation.py` with its rules in `facts.yaml`.

>>> server = open("MP", {"token": "t1"}, now="2026-08-06T10:00:00Z")
>>> event = {"event": "Signed Up", "properties": {"distinct_id": "anonymous", "$insert_id": "i1", "time": 1786000000}}
>>> server.answer("POST", "https://api.mixpanel.com/import/?strict=1", body=[event])[0]
400
>>> [(loss.what, loss.rule) for loss in server.losses]
[('refused', 'mp.import.distinct_id')]
"""

from __future__ import annotations

from svctoolkit.simulations.account import Account
from svctoolkit.simulations.catalogue import SIMULATIONS, is_simulated, open  # noqa: A004 - called with its module
from svctoolkit.simulations.checks import Check, Confidence
from svctoolkit.simulations.credentials import basic, basic_login, bearer, header
from svctoolkit.simulations.losses import Change, Loss
from svctoolkit.simulations.messages import About, Request, Response, filled, member, object_at, objects
from svctoolkit.simulations.rules import LEVELS, Level, Rule, Rules, check_level, load_rules
from svctoolkit.simulations.server import SimulatedServer, StoredRow
from svctoolkit.simulations.simulation import Simulation
from svctoolkit.simulations.table import Alias, Fold, Row
from svctoolkit.simulations.visit import Batch, Broken, Visit

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
    "Fold",
    "Level",
    "Loss",
    "Request",
    "Response",
    "Row",
    "Rule",
    "Rules",
    "SimulatedServer",
    "Simulation",
    "StoredRow",
    "Visit",
    "basic",
    "basic_login",
    "bearer",
    "check_level",
    "filled",
    "header",
    "is_simulated",
    "load_rules",
    "member",
    "object_at",
    "objects",
    "open",
]
