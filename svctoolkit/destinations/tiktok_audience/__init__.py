"""Tiktok Audience: adds users to audiences and removes them.

It accepts only audience lists and warehouse records, which have no mapping here. Events are rejected, as by
RudderStack.
"""

from __future__ import annotations

from svctoolkit.destinations import Answer, DestinationType, Settings


class TikTokAudienceSettings(Settings, frozen=True, kw_only=True):
    advertiser_id: str = ""
    is_hash_required: bool = True


destination = DestinationType(
    "Tiktok Audience",
    TikTokAudienceSettings,
    docs="https://business-api.tiktok.com/portal/docs?id=1739566528222210",
    names=("tiktok_audience",),
    takes="audience lists and records",
    answers=[
        Answer("success", 200, {"code": 0, "message": "OK", "data": {}}),
        Answer("bad key", 200, {"code": 40105, "message": "Access token is incorrect or has been revoked"}),
        Answer("rate limit", 200, {"code": 40100, "message": "App reaches the QPS limit"}),
        Answer("invalid field", 200, {"code": 40002, "message": "advertiser_ids: missing data"}),
    ],
)
