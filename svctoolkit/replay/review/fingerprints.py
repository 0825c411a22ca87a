"""What an accepted difference may be: the values, a pattern of texts, the change of numbers, or shapes of objects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final, Literal, NamedTuple

import msgspec

from svctoolkit import patterns
from svctoolkit.json_types import Json
from svctoolkit.replay.records.sample import canonical, shape
from svctoolkit.replay.tally.numbers import Numbers
from svctoolkit.replay.tally.tally import Group
from svctoolkit.replay.tally.values import MOST_VALUES, Span, common_begin, common_end, text_of
from svctoolkit.results import ABSENT
from svctoolkit.results.changes import ORDER

_LONGEST = 1000  # characters of a text that is written to a file
#: Long texts are shown as this and a digest.
DIGEST: Final = "digest:"
_SLACK = 1e-6  # of numbers, relative: sums of floating-point numbers vary
_WITH_VALUE: Final = ("text", "number", "boolean", "object", "list")


class Seen(NamedTuple):
    """What an entry is compared with: both values of a change, without secrets, or the stage where an event stopped."""

    before: Json = ABSENT
    after: Json = ABSENT
    stage: str = ""


class Fingerprint(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Which new values are accepted, by one of its members.

    `values` lists them (`any`: all values; `digest:...` for a long text). `pattern` is a regular expression for a whole
    text or number. `difference` and `ratio` are the ranges of `after - before` and `after / before`.
    `shapes` are digests of objects or lists.
    """

    values: tuple[Json, ...] | Literal["any"] = ()
    pattern: str = ""
    difference: tuple[float, ...] = ()
    ratio: tuple[float, ...] = ()
    shapes: tuple[str, ...] = ()

    def covers(self, seen: Seen) -> bool:
        """Return whether a change is accepted. A value that takes too long to match a pattern is not."""
        if self.values == "any" or seen.after is ABSENT:
            return True
        if self.difference or self.ratio:
            return _in_range(seen, self.difference, self.ratio)
        if self.pattern:
            return _matches(self.pattern, seen.after)
        if self.shapes or self.values:
            return identified(seen.after) in (self.shapes or self.values)
        return True

    def problem(self, kind: str, after: str) -> str:
        """Return what is wrong with an entry of this kind, whose new value has this type; empty if nothing is."""
        if self.pattern:
            try:
                re.compile(self.pattern)
            except re.error as error:
                return f"invalid pattern: {error}"
        if kind != "changed" or after not in _WITH_VALUE:
            return ""
        if self.values or self.pattern or self.difference or self.ratio or self.shapes:
            return ""
        return "accepts any new value. Write `values`, `pattern`, `difference` or `ratio`, or `values: any`"


def fingerprint(group: Group) -> Fingerprint:
    """Return what the new values of a group have in common, as narrow as it holds for the next events, too."""
    if group.path.endswith(ORDER) or group.after not in _WITH_VALUE:
        return Fingerprint(values="any") if group.path.endswith(ORDER) else Fingerprint()
    if group.numbers is not None:
        return _of_numbers(group.numbers)
    values = tuple(msgspec.json.decode(text) for text in group.values)
    if group.after in ("object", "list"):
        return Fingerprint(shapes=values)
    if len(values) < MOST_VALUES or any(_is_digest(value) for value in values):
        return Fingerprint(values=values)  # of many long texts only the first ones: a user may write `any`
    return Fingerprint(pattern=_pattern(list(map(text_of, values)), group.span))


def identified(value: Json) -> Json:
    """Return what identifies a value: itself, or a digest of a long text, and of the shape of an object or list.

    The digest of a payload includes its address.
    """
    if isinstance(value, (dict, list)):
        address = str(value.get("endpoint", "")) if isinstance(value, dict) else ""
        return _digest(f"{canonical(shape(value))}{address}")
    if isinstance(value, str) and len(value) > _LONGEST:
        return f"{DIGEST}{_digest(value)}"
    return value


def _is_digest(value: Json) -> bool:
    return isinstance(value, str) and value.startswith(DIGEST)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _matches(pattern: str, value: Json) -> bool:
    try:
        return patterns.search(rf"\A(?:{pattern})\Z", text_of(value))
    except TimeoutError:
        return False


def _of_numbers(numbers: Numbers) -> Fingerprint:
    if numbers.ratio:
        low, _, high = numbers.ratio
        if high - low <= _SLACK * abs(high):  # another unit or currency
            return Fingerprint(ratio=(low, high))
    least, _, greatest = numbers.difference
    return Fingerprint(difference=(least, greatest))


def _in_range(seen: Seen, difference: Sequence[float], ratio: Sequence[float]) -> bool:
    try:
        before, after = float(seen.before), float(seen.after)
        number = after - before if difference else after / before
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return False
    low, high = difference or ratio
    slack = _SLACK * max(1.0, abs(low), abs(high))
    return low - slack <= number <= high + slack


def _pattern(texts: Sequence[str], others: Span | None) -> str:
    """Return a pattern of these and other texts: how they begin and end, and the kinds of characters between."""
    begin = common_begin([*texts, *([others.begin] if others else [])])
    rest = [text[len(begin) :] for text in texts]
    end = common_end(rest)
    if others is not None:
        most = others.shortest - len(begin)
        end = common_end([end, others.end])[-most:] if most else ""
    middles = [text[: len(text) - len(end)] for text in rest]
    letters = {letter for middle in middles for letter in middle}
    lengths = [len(middle) for middle in middles]
    if others is not None:
        outside = Counter(begin + end)
        letters |= {letter for letter, most in others.letters.items() if most > outside[letter]}
        lengths += [length - len(begin) - len(end) for length in (others.shortest, others.longest)]
    kinds = "".join(kind for kind in (r"\d", "a-z", "A-Z") if any(re.match(f"[{kind}]", letter) for letter in letters))
    signs = sorted(letter for letter in letters if not re.match(r"[\da-zA-Z]", letter))
    either = kinds + "".join(map(re.escape, signs))
    return f"{re.escape(begin)}[{either}]{{{min(lengths)},{max(lengths)}}}{re.escape(end)}"
