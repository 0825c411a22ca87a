"""What vendors would lose of events before anything is sent: refused, dropped, cut and folded records, with the rules.

>>> from svctoolkit import events
>>> order = {**events.track("Order Completed", user_id="ada"), "messageId": "order:42:completed"}
>>> for loss in find_losses([order], "mixpanel"):
...     print(loss.what, loss.rule, loss.events, loss.path)
refused mp.import.insert_id 1 messageId
"""

from __future__ import annotations

from svctoolkit.lost.api import find_losses
from svctoolkit.lost.model import LossReport
from svctoolkit.lost.names import type_named
from svctoolkit.lost.rules import LostRule, Received
from svctoolkit.lost.search import Searched, SearchedRule, search_losses

__all__ = [
    "LossReport",
    "LostRule",
    "Received",
    "Searched",
    "SearchedRule",
    "find_losses",
    "search_losses",
    "type_named",
]
