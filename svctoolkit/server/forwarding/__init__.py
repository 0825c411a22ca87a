"""Send what a data plane has received to another one: the requests as they arrive, or events that a store holds."""

from svctoolkit.server.forwarding.tee import Tee

__all__ = ["Tee"]
