"""Settings of Google Ads Offline Conversions."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import msgspec

from svctoolkit.destinations import Rows, Settings
from svctoolkit.destinations._families.google_ads import account_number

_METHODS = {"click": ":uploadClickConversions", "call": ":uploadCallConversions", "store": "/offlineUserDataJobs"}


class OfflineConversionsSettings(Settings, frozen=True, kw_only=True):
    customer_id: str | int
    sub_account: bool = False
    login_customer_id: str | int = ""
    events_to_offline_conversions_type_mapping: tuple[Rows, ...] = ()
    events_to_conversions_names_mapping: tuple[Rows, ...] = ()
    custom_variables: tuple[Rows, ...] = ()
    user_identifier_source: str = msgspec.field(name="UserIdentifierSource", default="none")
    conversion_environment: str = "none"
    default_user_identifier: Literal["email", "phone"] = "email"
    hash_user_identifier: bool = True
    validate_only: bool = False

    @cached_property
    def customer(self) -> str:
        return account_number(self.customer_id)

    @cached_property
    def kinds(self) -> dict[str, list[str]]:
        """The kinds of conversions by event name in lower case."""
        kinds: dict[str, list[str]] = {}
        for row in self.events_to_offline_conversions_type_mapping:
            if row.to in _METHODS:
                kinds.setdefault(row.from_.strip().lower(), []).append(row.to)
        return kinds

    @cached_property
    def conversions(self) -> dict[str, str]:
        """The names of conversions in Google Ads by event name in lower case."""
        return {row.from_.strip().lower(): row.to for row in self.events_to_conversions_names_mapping if row.to}

    @cached_property
    def variable_rows(self) -> list[Rows]:
        return [row for row in self.custom_variables if row.from_ and row.to]

    @cached_property
    def action_query(self) -> str:
        """The query for all configured conversion actions."""
        return _query("conversion_action", self.conversions.values())

    @cached_property
    def variable_query(self) -> str:
        """The query for all configured custom variables."""
        return _query("conversion_custom_variable", (row.to for row in self.variable_rows))


def _query(resource: str, names: Iterable[str]) -> str:
    escaped = (name.replace("\\", "\\\\").replace("'", "\\'") for name in dict.fromkeys(names))
    fields = ", ".join(f"{resource}.{field}" for field in ("name", "resource_name", "owner_customer"))
    listed = ", ".join(f"'{name}'" for name in escaped)
    return f"SELECT {fields} FROM {resource} WHERE {resource}.name IN ({listed})"
