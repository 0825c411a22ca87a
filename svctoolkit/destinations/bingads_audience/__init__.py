"""BingAds Audience: customer match lists of Microsoft Advertising, through its Bulk API.

It accepts only audience lists from a warehouse, which the data-plane server uploads as files; they have no mapping
here. Events are refused, as in RudderStack.
"""

from __future__ import annotations

from svctoolkit.destinations import DestinationType, Settings


class BingAdsSettings(Settings, frozen=True, kw_only=True):
    customer_account_id: str
    customer_id: str
    audience_id: str


destination = DestinationType(
    "BingAds Audience",
    BingAdsSettings,
    docs="https://learn.microsoft.com/en-us/advertising/bulk-service/customer-list",
    names=("bingads_audience",),
    takes="audience lists",
)
