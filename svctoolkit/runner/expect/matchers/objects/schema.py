"""`$schema: file.json`: a value that is valid under a JSON Schema. The file is relative to the suite; YAML works, too.

>>> from svctoolkit.runner import differences
>>> for difference in differences({"$schema": "no-such-file.json"}, 1): print(difference)
(value): no-such-file.json cannot be used: no-such-file.json: cannot be read: No such file or directory
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, InvalidPlan
from svctoolkit.plans.schema.node import TooMuch
from svctoolkit.runner.expect import resources
from svctoolkit.runner.expect.compare import Comparison
from svctoolkit.runner.expect.difference import Difference
from svctoolkit.runner.expect.matchers import Matcher

_MOST = 50


def _differences(operand: Any, actual: Any, comparison: Comparison) -> Iterator[Difference]:
    path = resources.current().folder / operand
    try:
        checker = _checker(path, path.stat().st_mtime_ns if path.exists() else 0)
        violations = checker.violations(actual)
    except (ConfigError, TooMuch) as error:
        place = ".".join(map(str, comparison.path)) or "(value)"
        text = f"{place}: {operand} cannot be used: {error}"
        yield Difference(comparison.expectation, comparison.path, "", "", text=text)
        return
    for violation in violations[:_MOST]:
        place = ".".join([*map(str, comparison.path), *violation.path.split("/")[1:]]) or "(value)"
        text = f"{place}: {violation.message} ({operand}: {violation.schema_path})"
        yield Difference(comparison.expectation, comparison.path, "", "", text=text)


@lru_cache(maxsize=64)
def _checker(path: Path, _changed: int) -> Any:
    """Return the compiled schema of a file. Raises `InvalidPlan` with every reason why it is invalid."""
    from svctoolkit.plans.schema.compiler import Checker
    from svctoolkit.plans.schema.rewrite import as_2019
    from svctoolkit.plans.schema.strictness import refusals

    document = yamlfile.load(path, error=InvalidPlan)
    schema = as_2019(document.data) if isinstance(document.data, dict) else document.data
    wrong = [document.problem(refusal.path, refusal.message, key=refusal.key) for refusal in refusals(schema)]
    if wrong:
        raise InvalidPlan(yamlfile.cap(wrong))
    return Checker(schema)


def _problem(operand: Any) -> str:
    return "" if isinstance(operand, str) and operand else "must be the path of a JSON Schema"


matcher = Matcher(_differences, _problem)
