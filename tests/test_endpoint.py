"""A destination declares the common parts of its requests once: URL, authorization, headers."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit.destinations import (
    FORM,
    JSON,
    Endpoint,
    Header,
    Param,
    Settings,
    authorization,
    basic,
    basic_key,
    bearer,
    by_setting,
)
from svctoolkit.mapping import Misconfigured
from svctoolkit.secrets import Secret


class HarborSettings(Settings, frozen=True, kw_only=True):
    api_key: Secret = Secret("k3y")
    user: str = "mira"
    region: str = "eu"
    data_center: str = "us"


SETTINGS = HarborSettings()
PARTS = {
    "bearer": (bearer("api_key"), "Bearer k3y"),
    "authorization": (authorization("Token", "api_key"), "Token k3y"),
    "basic of a user": (basic("api_key"), "Basic azN5Og=="),
    "basic of a key alone": (basic_key("api_key"), "Basic azN5"),
    "basic of user and password": (basic("user", "api_key"), "Basic bWlyYTprM3k="),
}


def test_headers_are_in_the_declared_order() -> None:
    """Otherwise requests would differ by some bytes."""
    first = Endpoint("https://harbor.example", JSON, bearer("api_key")).post(SETTINGS, "visits", {})
    second = Endpoint("https://harbor.example", bearer("api_key"), JSON).post(SETTINGS, "visits", {})

    assert list(first.headers) == ["Content-Type", "Authorization"]
    assert list(second.headers) == ["Authorization", "Content-Type"]


def test_each_kind_of_authorization_has_its_header() -> None:
    """Made from the settings."""
    assert {
        name: Endpoint("https://harbor.example", part).get(SETTINGS).headers["Authorization"]
        for name, (part, _) in PARTS.items()
    } == {name: header for name, (_, header) in PARTS.items()}


def test_url_and_parameters_may_depend_on_the_settings() -> None:
    """A region in the URL, a key in the query; the parameters of a request are added."""
    api = Endpoint("https://{region}.harbor.example", Param("key", "{api_key}"), Header("A", "b"))

    payload = api.post(SETTINGS, "visits", {"id": 1}, params={"dry": "1"})

    assert payload.endpoint == "https://eu.harbor.example/visits"
    assert payload.params == {"key": "k3y", "dry": "1"}
    assert payload.headers == {"A": "b"}


def test_a_setting_may_choose_the_url() -> None:
    """If the URL is not made from the setting's text."""
    api = Endpoint(by_setting("region", {"us": "https://harbor.example", "eu": "https://harbor.eu.example"}))

    assert api.get(SETTINGS).endpoint == "https://harbor.eu.example"


@pytest.mark.parametrize("part", [bearer("api_kee"), Header("X-Region", "{regin}"), Param("key", "{api_kee}")])
def test_an_unknown_attribute_gets_a_suggestion(part: Any) -> None:
    """The mistake is in the declaration: the error names the settings class, not our code."""
    with pytest.raises(AttributeError, match=r"which HarborSettings does not have\. Did you mean '(api_key|region)'"):
        Endpoint("https://harbor.example", part).get(SETTINGS)


def test_a_value_without_a_url_rejects_the_event() -> None:
    """With the name of the setting as it is in configurations."""
    api = Endpoint(by_setting("data_center", {"us": "https://harbor.example"}))

    with pytest.raises(Misconfigured, match="dataCenter: expected one of us, got 'mars'"):
        api.get(HarborSettings(data_center="mars"))


def test_a_form_endpoint_sends_forms() -> None:
    """If the endpoint says `FORM`; otherwise a body is JSON."""
    form = Endpoint("https://harbor.example", FORM).post(SETTINGS, "visits", {"id": "1"})
    json = Endpoint("https://harbor.example", JSON).post(SETTINGS, "visits", {"id": "1"})

    assert form.form == {"id": "1"}
    assert not form.json
    assert json.json == {"id": "1"}
    assert not json.form


def test_methods_and_lookups() -> None:
    """PUT, GET and others; a lookup has the same URL and headers, in the form of `context.ask`."""
    api = Endpoint("https://harbor.example", bearer("api_key"))

    assert api.put(SETTINGS, "visits/1", {}).method == "PUT"
    assert api.request(SETTINGS, "DELETE", "visits/1").method == "DELETE"
    assert api.get(SETTINGS).endpoint == "https://harbor.example"
    assert api.lookup(SETTINGS, "people/1") == {
        "method": "GET",
        "url": "https://harbor.example/people/1",
        "headers": {"Authorization": "Bearer k3y"},
    }


def test_requests_have_separate_headers() -> None:
    """Each payload may be changed without affecting others; settings of another account have their own key."""
    api = Endpoint("https://harbor.example", bearer("api_key"))
    dict.update(api.get(SETTINGS).headers, Authorization="")  # type: ignore[arg-type]

    assert api.get(HarborSettings(api_key=Secret("other"))).headers == {"Authorization": "Bearer other"}
    assert api.get(SETTINGS).headers == {"Authorization": "Bearer k3y"}
    assert "k3y" not in repr(api)
