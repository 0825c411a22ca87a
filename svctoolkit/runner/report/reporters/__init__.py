"""Reporters of a run. To add one, add a file here: its `reporter` is a class like `Reporter`.

Other packages add reporters with an entry point in the group `svctoolkit.reporters`.
"""

from __future__ import annotations

from svctoolkit.registry import Registry
from svctoolkit.runner.report.reporters._contract import Output, Reporter

REPORTERS: Registry[type[Reporter]] = Registry(
    type, package=__name__, group="svctoolkit.reporters", attribute="reporter"
)

__all__ = ["REPORTERS", "Output", "Reporter"]
