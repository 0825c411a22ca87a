"""`pytest -n N` gives each worker a share of the test files, so that each file is imported once.

Other values of `--dist` do what pytest-xdist does: each worker collects all tests, which takes seconds in each. Shares
are equal in the CPU seconds of `seconds.json`, which `python -m tests.cpu FILE --seconds` writes. It need not be right:
a file without an entry counts for little.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

SECONDS = Path(__file__).parent / "seconds.json"
#: CPU seconds of a file that is not listed there.
OTHERWISE = 0.3
PATTERNS = ("test_*.py", "*.suite.yaml")
#: What a worker gets from the process that starts it: the test files, and those of its share.
ALL, MINE = "test files", "share"


class Shares:
    """Distributes the files, in the process that starts the workers."""

    def __init__(self, shares: list[list[str]]) -> None:
        self._shares = shares
        self._free = list(range(len(shares)))
        self._of: dict[str, int] = {}
        self._session: pytest.Session | None = None
        self._collected = 0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Each worker runs all that it has collected."""
        from xdist.scheduler import EachScheduling

        return EachScheduling(config, log)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        share = self._free.pop(0)
        self._of[node.gateway.id] = share
        node.workerinput[ALL] = [path for paths in self._shares for path in paths]
        node.workerinput[MINE] = self._shares[share]

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._collected += len(ids)

    def pytest_runtest_logstart(self) -> None:
        """Percentages are of all tests; pytest-xdist takes the number of one worker for it."""
        if self._session:
            self._session.testscollected = self._collected

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController, error: object) -> None:
        """The share of a worker that crashed goes to the one that replaces it."""
        if error:
            self._free.append(self._of[node.gateway.id])


class Share:
    """Ignores the files of the other workers. The first worker also collects files that are not test files of ours."""

    def __init__(self, paths: Iterable[str], mine: Iterable[str], is_first: bool) -> None:
        self._mine = frozenset(mine)
        self._others = frozenset(paths) - self._mine
        self._is_first = is_first

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        path = str(collection_path)
        if path in self._mine or collection_path.is_dir():
            return None
        return True if path in self._others or not self._is_first else None


def register(config: pytest.Config) -> None:
    """Share the files if this run has workers and no other `--dist`, and files enough."""
    workerinput: dict[str, Any] | None = getattr(config, "workerinput", None)
    if workerinput is not None:
        if MINE in workerinput:
            share = Share(workerinput[ALL], workerinput[MINE], is_first=workerinput["workerid"] == "gw0")
            config.pluginmanager.register(share)
        return
    workers = getattr(config.option, "numprocesses", None) or 0
    files = files_of(config.args)
    if workers > 1 and config.getoption("dist") == "load" and len(files) > 5 * workers:
        seconds = json.loads(SECONDS.read_text(encoding="utf-8"))
        names = {file: os.path.relpath(file, config.rootpath).replace(os.sep, "/") for file in files}
        costs = {str(file): seconds.get(name, OTHERWISE) for file, name in names.items()}
        config.pluginmanager.register(Shares(divided(costs, workers)))


def files_of(arguments: Iterable[str]) -> list[Path]:
    """The test files in the folders and files of a command line."""
    paths = [Path(argument.partition("::")[0]).absolute() for argument in arguments]
    folders = [path for path in paths if path.is_dir()]
    inside = [file for folder in folders for pattern in PATTERNS for file in folder.rglob(pattern)]
    return sorted({*inside, *(path for path in paths if path.is_file())})


def divided(costs: dict[str, float], number: int) -> list[list[str]]:
    """`number` lists of nearly equal costs: the most expensive file that is left goes to the cheapest list."""
    shares: list[list[str]] = [[] for _ in range(number)]
    sums = [0.0] * number
    for name in sorted(costs, key=lambda name: (-costs[name], name)):
        cheapest = sums.index(min(sums))
        shares[cheapest].append(name)
        sums[cheapest] += costs[name]
    return shares
