"""Delivery modes: what answers the requests of a workspace. To add one is to add a file here, with a `mode`.

Other packages add theirs with an entry point in the group `svctoolkit.delivery.modes`.
"""

from __future__ import annotations

from svctoolkit.delivery.modes._contract import Mode, Setting
from svctoolkit.registry import Registry

__all__ = ["MODES", "Mode", "Setting"]

MODES: Registry[Mode] = Registry(Mode, package=__name__, attribute="mode", what="delivery mode")
