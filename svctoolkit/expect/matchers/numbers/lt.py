"""`$lt: VALUE`: less than VALUE. Numbers compare with numbers, strings with strings, ISO 8601 times chronologically.

>>> from svctoolkit.runner import differences
>>> for found in differences({"total": {"$lt": 10}}, {"total": 10}): print(found)
total: expected a number less than 10, got 10
"""

from __future__ import annotations

import operator

from svctoolkit.expect.matchers.numbers._order import order_matcher

matcher = order_matcher("less than", operator.lt)
