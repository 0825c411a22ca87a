"""Which edit between two revisions of a workspace a group of differences is due to."""

from __future__ import annotations

from svctoolkit.replay.edits.attribution import attribute
from svctoolkit.replay.edits.find import edits_between

__all__ = ["attribute", "edits_between"]
