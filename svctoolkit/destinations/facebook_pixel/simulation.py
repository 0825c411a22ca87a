"""Meta's Conversions API: FACEBOOK_PIXEL and FACEBOOK_CONVERSIONS send to the same server."""

from __future__ import annotations

from svctoolkit.destinations._families.meta_conversions import simulation

__all__ = ["simulation"]
