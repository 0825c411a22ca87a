"""Names of tables and columns as RudderStack forms them, with the reason for each.

>>> names = Names(provider("postgres"))
>>> names.column("context_userIDs"), names.column("1stOrder"), names.column("😀"), names.column("order")
('context_user_i_ds', '_1st_order', '', '_order')
>>> names.reasons("1stOrder")
['snake case: 1st_order', 'a digit may not come first: _1st_order']
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from svctoolkit.warehouse.providers import Provider, provider

_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
_LEADING_UNDERSCORES = re.compile(r"_*")
_NOT_BLENDO = re.compile(r"[^A-Za-z0-9\\$]")
_ORDINAL = r"\d*(?:1ST|2ND|3RD|(?![123])\dTH)(?=\b|[a-z_])|\d*(?:1st|2nd|3rd|(?![123])\dth)(?=\b|[A-Z_])"
#: A word of letters, or a number. A capital starts a word; the last capital of a run belongs to the next word.
_WORDS = rf"[A-Z]?[a-z]+(?=_|[A-Z]|$)|[A-Z]+(?=_|[A-Z][a-z]|$)|[A-Z]?[a-z]+|[A-Z]+|{_ORDINAL}|\d+"
#: Letters with the digits at one of their ends are one word, matched as far left as possible.
_WORDS_WITH_DIGITS = rf"[A-Z]?[a-z]+\d+|[A-Z]+\d+|\d+[A-Z]?[a-z]+|\d+[A-Z]+|{_WORDS}"
_DIVIDING, _JOINING = re.compile(_WORDS), re.compile(_WORDS_WITH_DIGITS)

#: RudderStack's names that an event's table may not use: always, and unless reserved words are kept.
_ALWAYS_OURS = frozenset({"users", "identifies"})
_OURS = frozenset({"tracks", "pages", "screens", "aliases", "groups", "accounts"})
_MOST_NAMES = 50_000  # cached names; events with random keys must not fill the memory


class Names:
    """Forms names for one provider and one set of options. Results are cached.

    - `divide_numbers`: `underscoreDivideNumbers`, every run of digits is a separate word
    - `blendo`: `useBlendoCasing`
    - `keep_reserved`: `skipReservedKeywordsEscaping`
    """

    def __init__(
        self, provider: Provider, *, divide_numbers: bool = False, blendo: bool = False, keep_reserved: bool = False
    ) -> None:
        self.provider = provider
        self._blendo, self._keep_reserved = blendo, keep_reserved
        self._pattern = _DIVIDING if divide_numbers else _JOINING
        self._reserved = frozenset() if keep_reserved else provider.reserved_words
        self.columns: dict[str, str] = {}  # key -> column, read directly on hot paths
        self.own_columns: dict[str, str] = {}
        self._events: dict[str, str] = {}
        self._tables: dict[str, str] = {}

    def column(self, key: str) -> str:
        """Return the column for a joined key (`context_app_name`), or "" if no valid characters are left."""
        return self._remember(self.columns, key, lambda key: self._column(key, []))

    @staticmethod
    def _remember(memory: dict[str, str], key: str, make: Callable[[str], str]) -> str:
        name = memory.get(key)
        if name is None:
            if len(memory) >= _MOST_NAMES:
                memory.clear()
            name = memory[key] = make(key)
        return name

    def reasons(self, key: str) -> list[str]:
        """Return the steps that changed a joined key; empty if it is unchanged."""
        steps: list[str] = []
        self._column(key, steps)
        return steps

    def own(self, name: str) -> str:
        """Return RudderStack's own column or table name in the provider's form."""
        return self.own_columns.get(name) or self._remember(self.own_columns, name, lambda name: self._safe(name, []))

    def event(self, name: str) -> str:
        """Return the value of the column `event`; "" if no valid characters are left."""
        return name.lower().strip() if self._blendo else self._remember(self._events, name, self._snake)

    def table(self, event: str) -> str:
        """Return the table of an event by its value of `event`; "" if it has no table."""
        return self._remember(self._tables, event, self._table)

    def _table(self, event: str) -> str:
        words = self._words(event, [])
        if not words:
            return ""
        table = self._safe(words, [])
        is_ours = table.lower() in _ALWAYS_OURS or (table.lower() in _OURS and not self._keep_reserved)
        return f"_{table}" if is_ours else table

    def _column(self, key: str, steps: list[str]) -> str:
        words = self._words(key, steps)
        return self._safe(words, steps) if words else ""

    def _words(self, key: str, steps: list[str]) -> str:
        """Return `key` in snake or blendo case, cut here if the provider cuts before anything else."""
        name = self._blendo_case(key) if self._blendo else self._snake(key)
        if name != key:
            plain = name[1:] if name[:1] == "_" and name[1:2].isdigit() else name
            if plain != key:
                steps.append(f"{'blendo' if self._blendo else 'snake'} case: {plain}")
            if plain != name:
                steps.append(f"a digit may not come first: {name}")
        return self._cut(name, 63, steps) if self.provider.name_length == 63 else name

    def _snake(self, text: str) -> str:
        joined = _SEPARATORS.sub("_", text).strip("_")
        name = "_".join(self._pattern.findall(joined)).lower()
        if text[:1] == "_":
            name = _LEADING_UNDERSCORES.match(text)[0] + name  # type: ignore[index]  # it also matches an empty string
        return f"_{name}" if name[:1].isdigit() else name

    @staticmethod
    def _blendo_case(text: str) -> str:
        name = _NOT_BLENDO.sub("_", text)
        return (name if name[:1].isalpha() or name[:1] == "_" else f"_{name}").lower()

    def _safe(self, name: str, steps: list[str]) -> str:
        length = self.provider.name_length
        if length == 63:
            name = self._cut(name, length, steps)
        name = name.upper() if self.provider.upper_case else name.lower()
        if name.lower() in self._reserved:
            name = f"_{name}"
            steps.append(f"a reserved word of {self.provider.label}: {name}")
        return self._cut(name, 127, steps) if length else name

    @staticmethod
    def _cut(name: str, length: int, steps: list[str]) -> str:
        if len(name) > length:
            steps.append(f"cut to {length} characters")
        return name[:length]


@lru_cache(maxsize=256)
def names_of(kind: str, divide_numbers: bool, blendo: bool, keep_reserved: bool) -> Names:
    """Return the names of a provider under these options: one shared object per combination, for its cache."""
    return Names(provider(kind), divide_numbers=divide_numbers, blendo=blendo, keep_reserved=keep_reserved)


def namespace(kind: Provider, config_namespace: str, source_name: str) -> str:
    """Return the schema that a destination loads into: its setting `namespace`, else the source's name, sanitized.

    >>> namespace(provider("snowflake"), "", "Web Shop 2"), namespace(provider("rs"), "9 lives", "")
    ('WEB_SHOP_2', '_9_lives')
    """
    words = "_".join(_DIVIDING.findall(_SEPARATORS.sub("_", config_namespace or source_name).strip("_"))).lower()
    if words[:1].isdigit() or words in kind.reserved_words:
        words = f"_{words}"
    name = (words or "stringempty")[:127]
    return name.upper() if kind.upper_case else name
