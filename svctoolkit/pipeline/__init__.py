"""Runs events through the three stages, in this order:

    event -> user_transform -> [event] -> dest_transform -> [payload] -> send_to_destination -> response

`Pipeline` has the same two calls as the Test API and its client, and returns the same results.
"""

from __future__ import annotations

from svctoolkit.pipeline.alone import transform_alone
from svctoolkit.pipeline.api import Pipeline
from svctoolkit.pipeline.fates import Fate, Passage, pass_many
from svctoolkit.pipeline.outside import lookup_at, server_of
from svctoolkit.pipeline.route import Route, route
from svctoolkit.pipeline.run import run, run_many
from svctoolkit.pipeline.simulated import HeldChanges, Simulated, read_request, state_run
from svctoolkit.pipeline.stages.stages import Stages
from svctoolkit.pipeline.warehouses import Warehouses, check_runs

__all__ = [
    "Fate",
    "HeldChanges",
    "Passage",
    "Pipeline",
    "Route",
    "Simulated",
    "Stages",
    "Warehouses",
    "check_runs",
    "lookup_at",
    "pass_many",
    "read_request",
    "route",
    "run",
    "run_many",
    "server_of",
    "state_run",
    "transform_alone",
]
