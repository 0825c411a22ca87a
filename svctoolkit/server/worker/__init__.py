"""Deliver accepted events: routing, per-destination lanes, attempts, and the outcome of each event.

block -> router -> (event, destination) -> lane of the destination -> attempt -> fate
"""

from __future__ import annotations

from svctoolkit.server.worker.backoff import PROFILES, Backoff, backoff_of
from svctoolkit.server.worker.engine import Engine
from svctoolkit.server.worker.knobs import Knobs
from svctoolkit.server.worker.lost_values import Lost, LostField

__all__ = ["PROFILES", "Backoff", "Engine", "Knobs", "Lost", "LostField", "backoff_of"]
