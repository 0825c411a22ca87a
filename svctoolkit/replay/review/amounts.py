"""What a replay costs, for conditions: `cost>100 or cost_change>10% or over_limit>0`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

COST: Final = "cost"
COST_CHANGE: Final = "cost_change"
OVER_LIMIT: Final = "over_limit"
#: Words of conditions; those of a comparison only if there is an earlier side.
AMOUNTS: Final[Mapping[bool, tuple[str, ...]]] = {
    False: (COST, OVER_LIMIT),
    True: (COST, COST_CHANGE, OVER_LIMIT),
}


class Amounts(NamedTuple):
    """The price of all events together, also at the earlier side of a comparison, and how many limits are exceeded."""

    total: float
    before: float | None
    over_limit: int
    currency: str = ""

    def amount(self, word: str, *, is_share: bool) -> tuple[float, str]:
        """Return the number that a word of a condition means, in percent for a share, and the numbers as text."""
        unit = f" {self.currency}".rstrip()
        if word == OVER_LIMIT:
            return self.over_limit, f"{self.over_limit:,} limit{'s' * (self.over_limit != 1)} exceeded"
        if word == COST or self.before is None:
            return self.total, f"cost is {self.total:,.2f}{unit}"
        change, numbers = self.total - self.before, f"{self.before:,.2f} -> {self.total:,.2f}{unit}"
        if not is_share:
            return change, f"cost changes by {change:+,.2f}{unit} ({numbers})"
        share = 100 * change / self.before if self.before else math.inf if change else 0.0
        return share, f"cost changes by {share:+.3g}% ({numbers})"
