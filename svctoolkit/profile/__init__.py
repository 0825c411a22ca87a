"""Profile events before running them: fields by event name, missing shares, mixed types, new shapes, volumes.

>>> from svctoolkit.profile import profile
>>> print(profile([{"type": "track", "event": "Paid", "properties": {"total": 2}}]))
1 event, 1 name
  Paid  1
    event             text
    properties.total  integer
    type              text
"""

from __future__ import annotations

from svctoolkit.profile.api import profile, read_history
from svctoolkit.profile.model import Profile

__all__ = ["Profile", "profile", "read_history"]
