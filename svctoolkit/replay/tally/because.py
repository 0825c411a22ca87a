"""The edits between two workspaces that a group of differences is due to."""

from __future__ import annotations

from typing import Literal

import msgspec

How = Literal["needed", "enough", "together", "earlier", "unknown"]


class Editing(msgspec.Struct, frozen=True):
    """One edit between two workspaces: a line of code, a setting, a rule. Without it, `examples` of a group are not in
    the group. An edit of code has its `file` and first `line`.
    """

    what: str
    examples: int
    file: str = ""
    line: int = 0


class Because(msgspec.Struct, frozen=True):
    """The edits that a group is due to, as measured with `examples` of its events.

    `how` is `needed` (without any one of the edits fewer events are in the group), `enough` (each edit alone has the
    same effect), `together` (only several edits at once have it), `earlier` (no edit: a policy that the earlier side
    breaks, too) or `unknown` (the time for the search was over).
    """

    how: How
    edits: list[Editing]
    examples: int

    @property
    def text(self) -> str:
        """`because of clean.js:9 and setting measurementId`."""
        if self.how == "together":
            return "because of several edits together"
        if self.how == "earlier":
            return "not new: also on the earlier side"
        if self.how == "unknown":
            return "no cause found in time"
        names = [
            edit.what
            if edit.examples == self.examples
            else f"{edit.what} ({edit.examples} of {self.examples} examples)"
            for edit in self.edits
        ]
        if self.how == "enough" and len(names) > 1:
            return f"because of {' or '.join(names)}: each is enough"
        return f"because of {' and '.join(names)}"
