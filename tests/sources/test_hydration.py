"""Leads of Facebook are fetched and completed."""

from __future__ import annotations

import pytest

from svctoolkit.errors import InvalidWebhook
from svctoolkit.sources.facebook_lead_ads_native.hydration import lead_request, with_lead

EVENT = {"type": "identify", "anonymousId": "lead-7", "context": {"traits": {"pageId": "page-1", "formId": "form-1"}}}


def test_a_lead_is_requested_with_the_token_of_its_page() -> None:
    assert lead_request(EVENT, "token-1") == {
        "method": "GET",
        "url": "https://graph.facebook.com/v24.0/lead-7",
        "params": {"access_token": "token-1"},
    }


def test_fields_become_traits_and_replace_them() -> None:
    fields = [{"name": "pageId", "values": ["other"]}, {"name": "email", "values": []}, {"name": "x", "values": "y"}]
    assert with_lead(EVENT, {"field_data": fields})["context"] == {"traits": {"pageId": "other", "formId": "form-1"}}
    assert with_lead(EVENT, {"id": "1"}) == EVENT


@pytest.mark.parametrize(("event", "token"), [({"anonymousId": ""}, "token-1"), (EVENT, "")])
def test_an_event_without_an_id_or_a_missing_token_is_refused(event: dict[str, object], token: str) -> None:
    with pytest.raises(InvalidWebhook, match="is required"):
        lead_request(event, token)
