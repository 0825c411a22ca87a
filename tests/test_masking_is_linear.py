"""Masking takes time linear in the size of a text: no event can stall the process that displays it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from svctoolkit import personal
from svctoolkit.secrets import Masker, NamedSecrets
from svctoolkit.url_secrets import is_secret_name, mask_http, mask_url, url_secrets

_SIZE = 8_000  # characters
_TIMES = 8
_QUADRATIC = _TIMES * _TIMES / 2  # eight times the text takes 8 times the CPU if linear, 64 times if quadratic


def cpu(action: Callable[[], object]) -> float:
    """Return the CPU seconds of the fastest of three runs."""
    spent = []
    for _ in range(3):
        started = time.process_time()
        action()
        spent.append(time.process_time() - started)
    return min(spent)


def growth(action: Callable[[str], object], pump: Callable[[int], str]) -> float:
    """Return how many times the CPU grows when the text is `_TIMES` times as long."""
    small, large = pump(_SIZE), pump(_SIZE * _TIMES)
    return cpu(lambda: action(large)) / max(cpu(lambda: action(small)), 0.001)


def mask_personal(text: str) -> object:
    return personal.replace({"note": text}, personal.mask)


URLS: dict[str, Callable[[int], str]] = {
    "letters in the query": lambda n: "https://app.example/cb?state=" + "x" * n,
    "dots and letters": lambda n: "https://" + "ab." * (n // 3),
    "dashes in the host": lambda n: "https://" + "a-" * (n // 2),
    "many secret parameters": lambda n: "https://app.example/?" + "token=1&" * (n // 8),
    "many equal signs": lambda n: "https://app.example/?" + "=" * n,
    "many ampersands": lambda n: "https://app.example/?" + "&" * n,
    "a long name of a parameter": lambda n: "https://app.example/?" + "a_" * (n // 2) + "=1",
    "at signs": lambda n: "https://" + "a@" * (n // 2),
    "letters before a scheme": lambda n: "a" * n + "://x",
    "many URLs": lambda n: "https://a.example/?token=x " * (n // 26),
    "colons and slashes": lambda n: "://" * (n // 3),
}
PEOPLE: dict[str, Callable[[int], str]] = {
    "letters after an at sign": lambda n: "x@" + "a" * n,
    "letters before an at sign": lambda n: "a" * n + "@",
    "hexadecimal digits": lambda n: "@ " + "0123456789abcdef" * (n // 16),
    "base64": lambda n: "@ " + "QUJD+/" * (n // 6),
    "dots": lambda n: "a@" + "." * n,
    "dots and letters": lambda n: "1" + "a." * (n // 2),
    "encoded at signs": lambda n: "a%40." * (n // 5) + "1",
    "at signs": lambda n: "a@" * (n // 2),
    "digits": lambda n: "1" * n,
    "digits and spaces": lambda n: "1 " * (n // 2),
    "colons": lambda n: "a1:" * (n // 3),
    "parts of IP addresses": lambda n: "1.2.3." * (n // 6),
    "ampersands": lambda n: "&#0" * (n // 3) + "\uff20",
    "base64 and slashes": lambda n: "/TWFpbCBmb3Igb" * (n // 14),
    "base64 and dots": lambda n: ".TWFpbCBmb3Igbw" * (n // 15),
    "base64 of at signs": lambda n: "QGFAYUBh" * (n // 8),
    "base64 of addresses": lambda n: "YUBiLmRlICAg" * (n // 12),
}


@pytest.mark.parametrize("text", URLS)
def test_urls_are_masked_in_linear_time(text: str) -> None:
    """Whatever an event has as its page's URL."""
    assert growth(mask_url, URLS[text]) < _QUADRATIC
    assert growth(lambda url: mask_http({"context": {"url": url}}), URLS[text]) < _QUADRATIC
    assert growth(lambda url: [*url_secrets(url)], URLS[text]) < _QUADRATIC


@pytest.mark.parametrize("text", PEOPLE)
def test_personal_data_is_masked_in_linear_time(text: str) -> None:
    """Whatever text an event has: e-mail addresses are found without a search at every position."""
    assert growth(mask_personal, PEOPLE[text]) < _QUADRATIC
    assert growth(personal.is_email, PEOPLE[text]) < _QUADRATIC
    searched = lambda value: personal.lines_with(["email"], json.dumps({"q": value}, ensure_ascii=False).encode())  # noqa: E731
    assert growth(searched, PEOPLE[text]) < _QUADRATIC


SECRET = "sk-4f9a1c77d2e8b6"
TEXTS: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "x" * n,
    "secrets": lambda n: f"{SECRET} " * (n // 18),
    "beginnings of a secret": lambda n: "sk-4f9a1" * (n // 8),
    "base64": lambda n: "c2stNGY5YTFjNzdk" * (n // 16),
    "ellipses": lambda n: "sk-4…" * (n // 5),
    "digits": lambda n: "8410293847" * (n // 10),
    "parameters": lambda n: "?key=a&token=data" * (n // 17),
    "quotes": lambda n: 'x="' * (n // 3),
}


@pytest.mark.parametrize("text", TEXTS)
def test_known_secrets_are_masked_in_linear_time(text: str) -> None:
    """By a masker, in bodies, at cuts, and for snapshots."""
    masker = Masker([SECRET, "8410293847", "data"])
    named = NamedSecrets([("KEY", SECRET), ("NUMBER", "8410293847"), ("WORD", "data")])

    for action in (masker.text, masker.cut_text, masker.body, named.text):
        assert growth(action, TEXTS[text]) < _QUADRATIC
    assert growth(lambda t: named.mask({"authorization": t, "url": f"https://x.example/{t}"}), TEXTS[text]) < _QUADRATIC


@pytest.mark.parametrize("name", ["monkey", "turkey", "compass", "bypass", "author", "MONKEY", "keyboard"])
def test_a_word_that_ends_like_a_credential_is_not_one(name: str) -> None:
    """The last word of a name decides, and a word begins at a separator or at a capital letter."""
    assert not is_secret_name(name)
    assert mask_url(f"https://shop.example/?{name}=plain") == f"https://shop.example/?{name}=plain"


@pytest.mark.parametrize("name", ["key", "api_key", "apiKey", "APIKEY", "restAPIKey", "X-Api-Key", "userToken", "sig"])
def test_a_name_that_ends_in_a_credential_is_one(name: str) -> None:
    """In every spelling of names: snake case, camel case, headers."""
    assert mask_url(f"https://shop.example/?{name}=plain") == f"https://shop.example/?{name}=••••"


def test_tokens_in_the_fragment_of_a_url_are_masked() -> None:
    """OAuth servers put tokens behind the `#`."""
    assert (
        mask_url("https://app.example/cb#access_token=abc&state=1")
        == "https://app.example/cb#access_token=••••&state=1"
    )
    assert [*url_secrets("https://app.example/cb?page=2#access_token=abc")] == ["abc", "abc"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("from a@b.example, c%40d.example", "from ••••, ••••"),
        ("a@b@c.example", "a@••••"),
        ("a@b.c.1x", "a@b.c.1x"),
        ("@b.example", "@b.example"),
        ("a%40b%40c.example.", "••••."),
    ],
)
def test_addresses_are_found_in_a_text(text: str, masked: str) -> None:
    """With the longest domain that ends in a top-level domain; what surrounds them stays."""
    assert personal.replace_in_text(text, personal.mask) == masked
