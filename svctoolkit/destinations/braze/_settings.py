"""Settings of Braze."""

from __future__ import annotations

import re

from svctoolkit.destinations import Settings
from svctoolkit.secrets import Secret

_DATA_CENTER = re.compile(r"(US|EU|AU)-(\d\d)", re.IGNORECASE)


class BrazeSettings(Settings, frozen=True, kw_only=True):
    rest_api_key: Secret = Secret("")
    data_center: str = ""
    enable_subscription_group_in_group_call: bool = False
    enable_nested_array_operations: bool = False
    send_purchase_event_with_extra_properties: bool = False
    use_ecommerce_recommended_events: bool = False
    support_dedup: bool = False

    def __post_init__(self) -> None:
        if not self.rest_api_key:
            raise ValueError("restApiKey: is required")
        if not _DATA_CENTER.fullmatch(self.data_center):
            raise ValueError(f"dataCenter: expected one such as US-01, EU-02 or AU-01, got {self.data_center!r}")
