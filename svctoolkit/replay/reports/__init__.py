"""Reports of replays for other programs. To add a report, add a module here that defines `report`.

Other packages can register reports with an entry point in the group `svctoolkit.replay.reports`.
"""

from __future__ import annotations

from svctoolkit.registry import Registry
from svctoolkit.replay.reports._contract import Report

__all__ = ["REPORTS", "Report"]

REPORTS: Registry[Report] = Registry(Report, package=__name__, attribute="report", what="report")
