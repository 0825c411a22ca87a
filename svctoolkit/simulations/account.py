"""What a vendor's account has besides events: lists, properties, contract, and whether it is new."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from svctoolkit.json_types import Json


class Account(msgspec.Struct, frozen=True):
    """The declarations of one account. What is not declared exists: an undeclared account refuses nothing.

    With `history: existing`, it is unknown which users the account has already: rules that depend on it do not apply,
    and rows are created on demand.
    """

    declared: Mapping[str, Json] = {}

    @property
    def is_new(self) -> bool:
        """Whether everybody whom the vendor knows came through here."""
        return bool(self.declared.get("history", "new") != "existing")

    def get(self, name: str, default: Json = None) -> Json:
        """Return one declaration, such as `contract`."""
        return self.declared.get(name, default)

    def entry(self, kind: str, id: Json) -> Mapping[str, Json] | None:
        """Return the declaration of one item, such as the list with this id; an empty one if `kind` is not declared.

        None: the account has other items of this kind, and not this one.
        """
        if kind not in self.declared:
            return {}
        items = self.declared[kind] or []
        if isinstance(items, Mapping):
            found = items.get(str(id))
            return None if found is None else found if isinstance(found, Mapping) else {"value": found}
        for item in items:
            if isinstance(item, Mapping) and str(item.get("id", item.get("name"))) == str(id):
                return item
            if not isinstance(item, Mapping) and str(item) == str(id):
                return {"id": item}
        return None
