"""Rich display of a Test API client. Its token is never shown."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.client._client import TestApiClient
from svctoolkit.display import Html
from svctoolkit.displayed import shows


@shows(TestApiClient)
def client(item: TestApiClient) -> Html:
    """Show the server's URL and the e-mail address."""
    facts = display.facts({"address": item.base_url, "e-mail address": item.email})
    return display.page(display.section("Test API client", facts))
