"""A pytest plugin used with nbval: `--outputs FILE` saves the output of each cell as JSON, by notebook."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

CELLS: dict[str, list[Any]] = defaultdict(list)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--outputs", type=Path, required=True)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    outputs = getattr(item, "test_outputs", None)
    if outputs is not None:
        CELLS[item.path.stem].append([dict(output) for output in outputs])


def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.getoption("outputs").write_text(json.dumps(CELLS), encoding="utf-8")
