"""What `rudder-cli apply` would create, update and delete, and what a reviewer wants to know about it.

>>> from svctoolkit.apply import changes_between
"""

from __future__ import annotations

from svctoolkit.apply.change import Change, Changes, Detail
from svctoolkit.apply.compare import changes_between

__all__ = ["Change", "Changes", "Detail", "changes_between"]
