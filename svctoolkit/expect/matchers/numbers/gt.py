"""`$gt: VALUE`: more than VALUE. Numbers compare with numbers, strings with strings, ISO 8601 times chronologically.

>>> from svctoolkit.runner import differences
>>> for found in differences({"total": {"$gt": 10}}, {"total": 10}): print(found)
total: expected a number more than 10, got 10
"""

from __future__ import annotations

import operator

from svctoolkit.expect.matchers.numbers._order import order_matcher

matcher = order_matcher("more than", operator.gt)
