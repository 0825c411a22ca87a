"""Meta's Conversions API: the same server as that of FACEBOOK_PIXEL."""

from __future__ import annotations

from svctoolkit.destinations.facebook_pixel.simulation import simulation

__all__ = ["simulation"]
