"""Delivery modes: what responds to a workspace's requests. To add one, add a file here with a `mode`.

Other packages can register modes through the entry point group `svctoolkit.delivery.modes`.
"""

from __future__ import annotations

from svctoolkit.delivery.modes._contract import Mode, Setting
from svctoolkit.registry import Registry

__all__ = ["MODES", "Mode", "Setting"]

MODES: Registry[Mode] = Registry(Mode, package=__name__, attribute="mode", what="delivery mode")
