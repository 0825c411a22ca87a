"""What `replay` and `compare` can be told, once for both."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from svctoolkit.delivery import Transport
from svctoolkit.errors import did_you_mean
from svctoolkit.pipeline import Stages
from svctoolkit.replay.engine.progress import Listener

if TYPE_CHECKING:
    from distributed import Client
    from distributed.deploy.cluster import Cluster

F = TypeVar("F", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """How events are run. Whatever is absent has the value of `DEFAULTS`.

    - `destinations`: keys or ids; all enabled ones by default, or those connected to `source`. Events of a data plane
      go where their source is connected, unless the workspace has no sources at all
    - `stages`: user and destination transformation by default. `send_to_destination` needs a workspace in delivery mode
      `record`, one in mode `cassette` with a file, or a `transport` that answers. What answers there also answers the
      requests of user code and the look-ups of mappings
    - `columns`: for rows of CSV, Parquet and DataFrames: path in the event -> column; see `Columns`, also for
      tables of a warehouse
    - `batch`: how many events the user's code gets in one call. Its module keeps its state within a call
    - `sample`: the share of events to run, with the first of each shape in each chunk on top
    - `mask_personal`: hides names, addresses, e-mail addresses and the like in everything that comes out
    - `rows`: false keeps the numbers only. Some ten thousand rows are in memory, the others in a temporary folder until
      the result is gone
    - `out`: a folder for the rows as Parquet, instead of memory. With `resume` a replay in it goes on where it ended;
      where the input has grown or changed, only what is new is run, and what is gone goes there, too
    - `ignore`: paths of payloads that are not compared: `body.JSON.context.library`, `**.timestamp` (`*` is one step);
      `tolerance`: path -> how much a number may be another, beside the larger of both (or 1). `accept`: a file with
      differences that somebody has found right (`accepted.yaml`): they are `accepted` until their last day
    - `workers`: processes of this machine. `scheduler`: the address of a Dask scheduler, its client, or a cluster such
      as `LocalCluster`, instead. For a Dask collection the rows stay on its cluster: see `Replayed.dask`
    - `progress`: a function that gets `Progress`; true or false for a line in the terminal or notebook, or none. By
      default there is one if somebody watches
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
    "workers": 1,
    "scheduler": None,
    "transport": None,
    "progress": None,
}


def complete(options: Options) -> Options:
    """The options with their defaults. Raises `TypeError` for one that is not there."""
    for name in options:
        if name not in DEFAULTS:
            raise TypeError(f"there is no option {name!r}.{did_you_mean(name, DEFAULTS)}")
    return {**DEFAULTS, **options}


def show_options(function: F) -> F:
    """Lets `help` and the completion of notebooks show every option of a function that takes `**options`."""
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
