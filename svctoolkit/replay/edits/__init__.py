"""What a group is due to: an edit between two revisions of a workspace, or members of an event."""

from __future__ import annotations

from svctoolkit.replay.edits.attribution import attribute
from svctoolkit.replay.edits.find import edits_between
from svctoolkit.replay.edits.missing import explain_missing
from svctoolkit.replay.edits.origins import trace_breaches

__all__ = ["attribute", "edits_between", "explain_missing", "trace_breaches"]
