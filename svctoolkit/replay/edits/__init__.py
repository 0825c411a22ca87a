"""What a group is due to: an edit between two revisions of a workspace, or members of an event."""

from __future__ import annotations

from svctoolkit.replay.edits.attribution import attribute
from svctoolkit.replay.edits.edit import Edit
from svctoolkit.replay.edits.find import edits_between, other_edits, policy_edits
from svctoolkit.replay.edits.missing import explain_missing
from svctoolkit.replay.edits.origins import trace_breaches

__all__ = [
    "Edit",
    "attribute",
    "edits_between",
    "explain_missing",
    "other_edits",
    "policy_edits",
    "trace_breaches",
]
