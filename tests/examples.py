"""How many examples Hypothesis tries: up to 30 by default; in `.ci/run` as many as a test wants, or 100."""

from __future__ import annotations

import os

#: `.ci/run` sets it, and runs the tests with examples twice: among the default tests, and like this.
THOROUGH = bool(os.environ.get("TESTS_THOROUGH"))
FEW, MANY = 30, 100
DEFAULT = MANY if THOROUGH else FEW


def up_to(thorough: int) -> int:
    """`max_examples` of a test that tries `thorough` examples in `.ci/run`."""
    return thorough if THOROUGH else min(thorough, FEW)
