"""Regular expressions that users write, searched with a limit of time.

Their dialect is that of Python's `re`, which cannot be interrupted and holds the interpreter's lock. The package
`regex` matches the same dialect, accepts a timeout, and releases the lock. The engines in linear time (RE2, Rust) lack
look-around and back-references, which suites use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from time import process_time
from typing import Final

SECONDS: Final = 1.0  # CPU time of the process: a process that is suspended does not time out
# What `regex` would read as fuzzy matching: a brace that does not begin a number of repetitions.
_BRACE = re.compile(r"\\.|\{(?!\d*(?:,\d*)?\})", re.DOTALL)


_DEADLINE: ContextVar[float] = ContextVar("deadline")


@contextmanager
def budget(seconds: float) -> Iterator[None]:
    """Limit the CPU time of all searches in the block together: later ones raise `TimeoutError` at once."""
    token = _DEADLINE.set(process_time() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def search(pattern: str, text: str) -> bool:
    """Whether the text contains a match. Raises `re.error` for an invalid pattern, `TimeoutError` after `SECONDS`.

    >>> search("^o-[0-9]+", "o-17"), search("(?<!x)y", "xy")
    (True, False)
    """
    deadline = _DEADLINE.get(None)
    seconds = SECONDS if deadline is None else min(SECONDS, deadline - process_time())
    if seconds <= 0:
        raise TimeoutError
    return _search(pattern)(text, timeout=seconds, concurrent=True) is not None


@lru_cache(maxsize=256)
def _search(pattern: str) -> Callable[..., object]:
    import regex  # imported late: only some suites and settings have patterns

    re.compile(pattern)  # what `re` rejects is invalid, even if `regex` accepts it
    compiled = regex.compile(_BRACE.sub(lambda match: match[0] if match[0][0] == "\\" else r"\{", pattern))
    search: Callable[..., object] = compiled.search
    return search
