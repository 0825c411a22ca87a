"""Settings of Mailjet."""

from __future__ import annotations

from svctoolkit.destinations import Rows, Settings
from svctoolkit.secrets import Secret


class MailjetSettings(Settings, frozen=True, kw_only=True):
    api_key: str = ""
    api_secret: Secret = Secret("")
    list_id: str = ""
    contact_properties_mapping: tuple[Rows, ...] = ()
