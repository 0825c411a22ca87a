"""Settings of Klaviyo."""

from __future__ import annotations

from typing import Literal

from svctoolkit.destinations import Settings, Tags
from svctoolkit.secrets import Secret


class KlaviyoSettings(Settings, frozen=True, kw_only=True):
    private_api_key: Secret
    #: missing in configurations stored before v2 existed, which means v1; v3 is not on RudderStack's form yet
    api_version: Literal["v1", "v2", "v3"] | None = None
    enforce_email_as_primary: bool = False
    flatten_properties: bool = False
    list_id: str = ""
    consent: Tags = Tags()

    @property
    def is_older(self) -> bool:
        """Whether the account uses the first version of the API."""
        return self.api_version in (None, "v1")
