"""The fields of a contact at Emarsys, by number."""

from __future__ import annotations

import msgspec

EMAIL_FIELD = 3


class Field(msgspec.Struct, frozen=True):
    """The trait for one field of a contact."""

    trait: str = msgspec.field(name="rudderProperty", default="")
    number: str = msgspec.field(name="emersysProperty", default="")
