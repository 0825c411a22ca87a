"""Latency, errors, closed connections and periods without service, at random but repeatable."""

from __future__ import annotations

from svctoolkit.delivery.faults.injector import Fault, FaultInjector, FaultState, Kind
from svctoolkit.delivery.faults.profile import Down, Errors, Faults, FaultSettings, Latency, Lognormal, Normal

__all__ = [
    "Down",
    "Errors",
    "Fault",
    "FaultInjector",
    "FaultSettings",
    "FaultState",
    "Faults",
    "Kind",
    "Latency",
    "Lognormal",
    "Normal",
]
