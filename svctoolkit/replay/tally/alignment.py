"""Align the elements of two lists, so that an inserted element does not shift the others.

>>> from svctoolkit.results.changes import changes
>>> before, after = [{"sku": "a", "n": 1}, {"sku": "b"}], [{"sku": "c"}, {"sku": "a", "n": 2}, {"sku": "b"}]
>>> for change in changes(before, after, pairing=align): print(change)
~ 0.n: 1 -> 2
+ 0: {"sku": "c"}
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

from svctoolkit.json_codec import encode
from svctoolkit.json_types import Json
from svctoolkit.results.changes import Pairs

#: Members that identify an element of a list.
_IDENTITIES = (
    "id", "messageId", "sku", "product_id", "productId", "item_id", "$insert_id", "key", "code", "name", "email",
)  # fmt: skip
_LIKE = 0.3  # minimum likeness of two elements to count as one that has changed
_NEAR = 0.3  # bonus for elements at the same index
_MOST_PAIRS = 2500  # maximum number of pairs to compare for likeness


def align(before: Sequence[Json], after: Sequence[Json]) -> Pairs:
    """Return the pairs of indexes of matching elements in two lists, in the order of `before`.

    Elements match if they are equal, have the same identity, or are similar.
    """
    pairs = _equal(before, after)
    for find in (_same_identity, _alike):
        left, right = {i for i, _ in pairs}, {j for _, j in pairs}
        own = [i for i in range(len(before)) if i not in left]
        others = [j for j in range(len(after)) if j not in right]
        if not own or not others:
            break
        pairs += find(before, after, own, others)
    return sorted(pairs)


def _equal(before: Sequence[Any], after: Sequence[Any]) -> Pairs:
    """Pair equal elements; those at the same index first, so that elements that did not move do not seem to."""
    old, new = [encode(item) for item in before], [encode(item) for item in after]
    pairs = [(i, i) for i, (a, b) in enumerate(zip(old, new, strict=False)) if a == b]
    fixed = {i for i, _ in pairs}
    waiting: dict[bytes, deque[int]] = defaultdict(deque)
    for j, text in enumerate(new):
        if j not in fixed:
            waiting[text].append(j)
    for i, text in enumerate(old):
        if i not in fixed and waiting.get(text):
            pairs.append((i, waiting[text].popleft()))
    return pairs


def _same_identity(before: Sequence[Any], after: Sequence[Any], own: list[int], others: list[int]) -> Pairs:
    waiting: dict[Any, deque[int]] = defaultdict(deque)
    for j in others:
        for identity in _identities(after[j]):
            waiting[identity].append(j)
    taken: set[int] = set()
    pairs: Pairs = []
    for i in own:
        free = (j for identity in _identities(before[i]) for j in waiting.get(identity, ()) if j not in taken)
        found = next(free, None)
        if found is not None:
            taken.add(found)
            pairs.append((i, found))
    return pairs


def _identities(item: Any) -> Iterator[tuple[str, str]]:
    if isinstance(item, dict):
        for name in _IDENTITIES:
            value = item.get(name)
            if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
                yield name, str(value)


def _alike(before: Sequence[Any], after: Sequence[Any], own: list[int], others: list[int]) -> Pairs:
    if len(own) * len(others) > _MOST_PAIRS:
        return [(i, i) for i in sorted({*own} & {*others})]
    scores = ((_likeness(before[i], after[j]) + (_NEAR if i == j else 0.0), i, j) for i in own for j in others)
    ranked = sorted((-score, abs(i - j), i, j) for score, i, j in scores if score >= _LIKE)
    left, right, pairs = set[int](), set[int](), list[tuple[int, int]]()
    for _, _, i, j in ranked:
        if i not in left and j not in right:
            left.add(i)
            right.add(j)
            pairs.append((i, j))
    return pairs


def _likeness(one: Any, other: Any) -> float:
    """Return 0 for values with nothing in common, 1 for equal values."""
    if isinstance(one, dict) and isinstance(other, dict):
        if not one and not other:
            return 1.0
        common = [key for key in one if key in other]
        equal: float = sum(one[key] == other[key] for key in common)
        return (equal + 0.5 * (len(common) - equal)) * 2 / (len(one) + len(other))
    return 0.2 if type(one) is type(other) else 0.0
