"""The built-in destination: keeps every request, and responds as scripts and fault profiles say."""

from __future__ import annotations

from svctoolkit.delivery.recorder.answer import Answer, Server
from svctoolkit.delivery.recorder.recorded import Recorded
from svctoolkit.delivery.recorder.recorder import MappingLookup, Recorder

__all__ = ["Answer", "MappingLookup", "Recorded", "Recorder", "Server"]
