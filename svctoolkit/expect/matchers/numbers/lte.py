"""`$lte: VALUE`: at most VALUE. Numbers compare with numbers, strings with strings, ISO 8601 times chronologically.

>>> from svctoolkit.runner import differences
>>> for found in differences({"total": {"$lte": 10}}, {"total": 11}): print(found)
total: expected a number at most 10, got 11
"""

from __future__ import annotations

import operator

from svctoolkit.expect.matchers.numbers._order import order_matcher

matcher = order_matcher("at most", operator.le)
