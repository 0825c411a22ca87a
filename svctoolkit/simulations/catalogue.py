"""The simulations of all destination types, found next to their mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from importlib import import_module
from pathlib import Path

from svctoolkit.json_types import Json
from svctoolkit.registry import Registry
from svctoolkit.simulations.account import Account
from svctoolkit.simulations.levels import Level, check_level
from svctoolkit.simulations.server import ROWS, SimulatedServer
from svctoolkit.simulations.simulation import Simulation
from svctoolkit.simulations.tables.spilled import Disk

_PACKAGE = "svctoolkit.destinations"


class _Simulations(Registry[Simulation]):
    @cached_property
    def _local(self) -> dict[str, str]:
        folders = [Path(folder) for folder in import_module(_PACKAGE).__path__]
        files = [file for folder in folders for file in folder.glob("[a-z]*/simulation.py")]
        return {file.parent.name.upper(): f"{file.parent.name}.simulation" for file in sorted(files)}


#: The simulations by destination type. Other packages add theirs with an entry point `svctoolkit.simulations`.
SIMULATIONS = _Simulations(
    Simulation,
    package=_PACKAGE,
    attribute="simulation",
    what="simulated destination type",
    group="svctoolkit.simulations",
)


def is_simulated(type: str) -> bool:
    """Whether a destination type has a simulation."""
    return type in SIMULATIONS


def open(
    type: str,
    config: Mapping[str, Json],
    *,
    account: Mapping[str, Json] | None = None,
    now: str | datetime | None = None,
    level: Level = "simulated",
    clock: Callable[[], datetime] | None = None,
    destination: str = "",
    run: str = "",
    rows: int = ROWS,
    disk: Disk | None = None,
) -> SimulatedServer:
    """Return the simulated server of a destination type, with nothing held.

    `config` is a destination's configuration: its keys are the only ones that the account accepts. `account` declares
    what else exists there. `now` stops the clock at that time; it moves on with `advance`. With a `disk`, millions of
    rows need little memory.

    Raises `UnknownName` for a type that is not simulated, `ConfigError` for an unknown level.
    """
    check_level(level)
    if now is not None:
        stopped = datetime.fromisoformat(now) if isinstance(now, str) else now
        clock = lambda: stopped  # noqa: E731
    return SimulatedServer(
        SIMULATIONS[type],
        config,
        account=Account(dict(account or {})),
        level=level,
        destination=destination,
        run=run,
        rows=rows,
        disk=disk,
        **({} if clock is None else {"clock": clock}),
    )
