"""Completion in the cells of the magics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from IPython.core.completer import SimpleCompletion

from svctoolkit import runner

_ARGUMENT = re.compile(r"""(?:[^\s'"]++|'[^']*+'?|"[^"]*+"?)++""")


def split(before: str) -> tuple[list[str], str]:
    """The words before the cursor's word, and that word with its quote."""
    *_, (text, end) = [("", len(before)), *((match[0], match.end()) for match in _ARGUMENT.finditer(before))]
    text = text if end == len(before) else ""
    return before[: len(before) - len(text)].split(), text


def keys(*, inside: bool) -> list[str]:
    """The top-level keys of a suite, or its nested keys."""
    shapes = ("Scenario", "Expect") if inside else ("Suite",)
    return [f"{key}:" for shape in shapes for key in runner.schema()["$defs"][shape]["properties"]]


# Any: IPython's result
def matches(text: str, names: Iterable[str], *, files: bool = False) -> dict[str, Any]:
    """The completions that start with `text`, for IPython. If there are any, only they are suggested, plus `files`."""
    bare = text.strip("'\"").lower()
    matches = [name for name in names if name.strip("'").lower().startswith(bare)]
    return {
        "completions": [SimpleCompletion(name, type="svctoolkit") for name in matches],
        "matched_fragment": text,
        "suppress": True,
        "do_not_suppress": {"IPCompleter.file_matcher"} if files else set(),
        "ordered": True,
    }
