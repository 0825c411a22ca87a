"""One change of a source text."""

from __future__ import annotations

from dataclasses import dataclass, field

_SHOWN = 36  # characters of each side in a report


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces the bytes from `start` to `end` of a source text by `new`.

    `line`, from 1, is where it is, `statement` where the innermost statement begins that has it: a run that did not
    reach that line did not reach the change. `statement` is 0 outside of functions: such code runs whenever the file is
    loaded. `text` is the change in one line, `words` the names in that line of code, which identify it in an error.
    """

    kind: str
    start: int
    end: int
    new: str
    line: int
    statement: int
    text: str
    # its order differs between processes, and the cache compares the rest by `repr`
    words: frozenset[str] = field(default=frozenset(), repr=False)

    def apply(self, code: str) -> str:
        """Return the changed code."""
        raw = code.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()


def arrow(before: str, after: str) -> str:
    """Return both sides in one line; of long ones the part that differs.

    >>> arrow("a  > b", "")
    'a > b -> removed'
    >>> arrow('metadata(event).get("sourceId") == "shop"', 'metadata(event).get("sourceId") != "shop"')
    '…rceId") == "shop" -> …rceId") != "shop"'
    """
    before, after = " ".join(before.split()), " ".join(after.split())
    if len(before) > _SHOWN and after:
        begin = _same(before, after)
        if begin > 12:
            before, after = f"…{before[begin - 8 :]}", f"…{after[begin - 8 :]}"
    return f"{_short(before)} -> {_short(after) or 'removed'}"


def _same(a: str, b: str) -> int:
    """Return the number of equal characters at the beginning."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def other_number(text: str) -> str:
    """Return a number that differs from the one in `text`: a tenth of round ones, else one more; 1 becomes 0.

    >>> [other_number(text) for text in ("100", "0", "1", "0.5", "7", "1e30", "10n")]
    ['10', '1', '0', '1.5', '8', '0', '1n']
    """
    if text.endswith("n"):  # JavaScript's integers of any size
        return f"{other_number(text[:-1])}n"
    try:
        value = float(text) if any(c in text for c in ".eE") and not text.lower().startswith("0x") else int(text, 0)
    except ValueError:
        return "0"
    if isinstance(value, int) and value >= 10 and value % 10 == 0:
        return str(value // 10)
    return "0" if value == 1 or value == value + 1 else str(value + 1)


#: Comparisons with their boundary and their opposite.
COMPARISONS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "===": ("!==",),
    "!==": ("===",),
    "is": ("is not",),
    "is not": ("is",),
    "in": ("not in",),
    "not in": ("in",),
}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*", "//": "/"}
