"""Settings of Mailchimp."""

from __future__ import annotations

from svctoolkit.destinations import Settings
from svctoolkit.secrets import Secret


class MailchimpSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret
    audience_id: str
    datacenter_id: str
    enable_merge_fields: bool = False
