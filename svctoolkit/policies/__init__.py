"""Policies: what must hold for everything that reaches destinations, whatever the events and the code are.

>>> policies = Policies.of([{"no_personal": {"kinds": ["email"]}}])
>>> arrival = Arrival("ga4", [{"body": {"JSON": {"params": {"search_term": "jo@mail.example"}}}}])
>>> for breach in policies.check({"type": "track", "event": "Search"}, [arrival]):
...     print(breach)
no_personal: ga4: body.JSON.params.search_term has an e-mail address (Search)
"""

from __future__ import annotations

from svctoolkit.policies._contract import Finding, PolicyKind, Whole, WholeCheck
from svctoolkit.policies.arrivals import Arrival
from svctoolkit.policies.breach import PolicyBreach
from svctoolkit.policies.kinds import KINDS
from svctoolkit.policies.policies import Policies

__all__ = ["KINDS", "Arrival", "Finding", "Policies", "PolicyBreach", "PolicyKind", "Whole", "WholeCheck"]
