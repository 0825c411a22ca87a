"""How many examples Hypothesis tries: up to 30 by default; in `.ci/run` as many as a test wants, or 100."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

import pytest

#: `.ci/run` sets it, and runs the tests with examples twice: among the default tests, and like this.
THOROUGH = bool(os.environ.get("TESTS_THOROUGH"))
FEW, MANY = 30, 100
DEFAULT = MANY if THOROUGH else FEW


def up_to(thorough: int) -> int:
    """`max_examples` of a test that tries `thorough` examples in `.ci/run`."""
    return thorough if THOROUGH else min(thorough, FEW)


def some_by_default(values: Collection[Any], number: int) -> list[Any]:
    """Parameters of a test: the first `number` run by default, the others like slow tests. All make the same claim."""
    slow = [value if type(value) is tuple else (value,) for value in values]  # a NamedTuple is one argument
    return [*list(values)[:number], *(pytest.param(*value, marks=pytest.mark.slow) for value in slow[number:])]
