"""The options that `replay` and `compare` share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from svctoolkit.delivery import Transport
from svctoolkit.errors import did_you_mean
from svctoolkit.pipeline import Stages
from svctoolkit.policies import Policies
from svctoolkit.replay.engine.progress import Listener

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster

F = TypeVar("F", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """How events are run. Options that are absent have the value in `DEFAULTS`.

    - `destinations`: keys or ids; by default all enabled ones, or those connected to `source`. Events of a data plane
      go to the destinations that their source is connected to, unless the workspace has no sources at all
    - `stages`: user and destination transformation by default, and `send_to_destination` for destinations that the
      workspace simulates, in delivery mode `record`: simulated servers answer. `Stages()` leaves it off. Otherwise,
      `send_to_destination` requires a workspace in delivery mode `record`, one in mode `cassette` with a file, or a
      `transport` that answers. The same transport also answers the requests of user code and the look-ups of mappings
    - `columns`: for rows of CSV, Parquet and DataFrames: path in the event -> column; see `Columns`, also for
      warehouse tables
    - `batch`: how many events each call of the user code gets. Module state is kept within a call
    - `sample`: the share of events to run; the first event of each shape in each chunk is always added
    - `mask_personal`: hides names, postal and e-mail addresses and other personal data in all output
    - `rows`: false keeps only the counts. Up to 50,000 rows are kept in memory, the rest in a temporary folder that is
      removed with the result
    - `out`: a folder for the rows as Parquet, instead of memory. With `resume`, an interrupted replay in this folder
      continues. If the input has changed, only new parts are run, and rows of removed parts are deleted
    - `ignore`: paths of payloads that are not compared: `body.JSON.context.library`, `**.timestamp` (`*` is one step);
      `tolerance`: path -> how much a number may differ, relative to the larger of both (or 1). `accept`: a file of
      reviewed differences (`accepted.yaml`), which are reported as `accepted` until they expire
    - `policies`: a file of policies, or `Policies`: what must hold for everything that arrives (on the later side), in
      addition to the `policies` of the workspace
    - `releases`: name of a version -> its day (ISO 8601), marked in pictures of days. By default the `releases` of the
      workspace, or without any, the first days of app versions (`context.app.version`)
    - `history`: a DuckDB file to which counts of all events are added when the run is complete: `svctoolkit.history`
    - `workers`: processes on this machine. `scheduler`: use a cluster instead: the address of a Dask scheduler, its
      client, or a cluster object such as `LocalCluster`. Rows of a Dask collection stay on its cluster: see
      `Replayed.dask`
    - `progress`: a function that gets `Progress`; true or false for a line in the terminal or notebook, or none. By
      default the line appears only in an interactive session
    """

    destinations: Sequence[str] | None
    source: str | None
    stages: Stages | None
    columns: Mapping[str, str] | None
    batch: int
    sample: float
    mask_personal: bool
    rows: bool
    out: Path | str | None
    resume: bool
    ignore: Sequence[str]
    tolerance: Mapping[str, float]
    accept: Path | str | None
    policies: Policies | Path | str | None
    releases: Mapping[str, str] | None
    history: Path | str | None
    workers: int
    scheduler: str | Client | Cluster | None
    transport: Transport | None
    progress: bool | Listener | None


DEFAULTS: Options = {
    "destinations": None,
    "source": None,
    "stages": None,
    "columns": None,
    "batch": 200,
    "sample": 1.0,
    "mask_personal": False,
    "rows": True,
    "out": None,
    "resume": False,
    "ignore": (),
    "tolerance": {},
    "accept": None,
    "policies": None,
    "releases": None,
    "history": None,
    "workers": 1,
    "scheduler": None,
    "transport": None,
    "progress": None,
}


def complete(options: Options) -> Options:
    """Return the options with their defaults. Raises `TypeError` for an unknown option."""
    for name in options:
        if name not in DEFAULTS:
            raise TypeError(f"unknown option {name!r}.{did_you_mean(name, DEFAULTS)}")
    return {**DEFAULTS, **options}


def show_options(function: F) -> F:
    """Decorate a function with `**options` so that `help` and notebook completion show every option."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    kinds = Options.__annotations__
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kinds[name].__forward_arg__)
        for name, default in DEFAULTS.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
    function.__doc__ = f"{function.__doc__}\n{Options.__doc__}"
    return function
