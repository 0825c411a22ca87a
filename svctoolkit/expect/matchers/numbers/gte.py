"""`$gte: VALUE`: at least VALUE. Numbers compare with numbers, strings with strings, ISO 8601 times chronologically.

>>> from svctoolkit.runner import differences
>>> for found in differences({"total": {"$gte": 10}}, {"total": 9}): print(found)
total: expected a number at least 10, got 9
"""

from __future__ import annotations

import operator

from svctoolkit.expect.matchers.numbers._order import order_matcher

matcher = order_matcher("at least", operator.ge)
