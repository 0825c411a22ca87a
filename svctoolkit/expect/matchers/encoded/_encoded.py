"""What the matchers of encoded texts have in common."""

from __future__ import annotations

from collections.abc import Iterator

from svctoolkit.expect.compare import Comparison, json_line
from svctoolkit.expect.difference import Difference
from svctoolkit.expect.encodings import ENCODINGS, encode, operand_problem, text_of
from svctoolkit.json_types import Json


def encoded_differences(name: str, operand: Json, actual: Json, comparison: Comparison) -> Iterator[Difference]:
    """Yield a difference unless `actual` is the operand, encoded as `name` says."""
    text = text_of(encode(operand))
    encoded = ENCODINGS[name](text)
    if actual != encoded:
        clear = ", the text itself" if actual == text else ""
        expected = f"{json_line(encoded)}, the ${name} of {json_line(text)}"
        yield comparison.difference(expected, actual, got=f"{json_line(actual)}{clear}")


def encoded_problem(operand: Json) -> str:
    """Return why the operand cannot be encoded, or an empty string."""
    return operand_problem(encode(operand))
