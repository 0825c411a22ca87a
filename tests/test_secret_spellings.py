"""A secret is found in every spelling, and an ordinary word is never taken for one."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from svctoolkit import Pipeline, Workspace
from svctoolkit.events import track
from svctoolkit.secrets import MASK, Masker, NamedSecrets, Secret, is_credential, is_ordinary

TOKEN = 'it\'s <a> "t0ken" & more\\of/it+é='
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq9w0\nhkiG9w0BAQEFAASCBK\n-----END PRIVATE KEY-----\n"
ACCOUNT = json.dumps(
    {"type": "service_account", "project_id": "shop", "private_key": PEM, "client_secret": "c1-s3cr3t"}
)

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps(text))[3:-3],
    "JSON with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "repr": lambda text: repr(text)[1:-1],
    "repr of an error": lambda text: repr(KeyError(text)),
    "repr in a list": lambda text: str([text, "'\""]),
    "HTML": html.escape,
    "HTML with single quotes": lambda text: html.escape(text, quote=False),
    "URL": lambda text: quote(text, safe=""),
    "path of a URL": quote,
    "form": quote_plus,
    "encodeURIComponent": lambda text: quote(text, safe="!'()*"),
    "URL in lower case": lambda text: re.sub("%..", lambda code: code[0].lower(), quote(text, safe="")),
    "URL in a URL": lambda text: quote(quote(text, safe=""), safe=""),
    "hex": lambda text: text.encode().hex(),
    "upper-case hex": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 after one byte": lambda text: base64.b64encode(b":" + text.encode()).decode(),
    "base64 after two bytes": lambda text: base64.b64encode(b"u:" + text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "XML": lambda text: html.escape(text).replace("&#x27;", "&apos;"),
    "JSON in HTML": lambda text: html.escape(json.dumps(text)[1:-1]),
    "CSV": lambda text: text.replace('"', '""'),
    "SQL": lambda text: text.replace("'", "''"),
    "ascii": lambda text: ascii(text)[1:-1],
    "bytes": lambda text: repr(text.encode())[2:-1],
    "JSON in a URL": lambda text: quote(json.dumps(text)[1:-1]),
    "JSON in base64": lambda text: base64.b64encode(json.dumps(text)[1:-1].encode()).decode(),
    "lower case": str.lower,
    "a Basic header": lambda text: "Basic " + base64.b64encode(f"{text}:".encode()).decode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("secret", [TOKEN, "sk-4f9a1c77", PEM])
def test_a_secret_is_found_in_every_spelling(secret: str, spelling: str) -> None:
    """In a text and in JSON; and its name takes its place in a snapshot."""
    text = f"before {SPELLINGS[spelling](secret)} after"
    masker, named = Masker([secret]), NamedSecrets([("TOKEN", secret)])

    masked = masker.text(text)
    assert MASK in masked
    assert masked[:7] + masked[-6:] == "before  after"
    assert MASK in json.loads(masker.mask_json(json.dumps([text], ensure_ascii=False).encode()))[0]
    assert "{{secret:TOKEN}}" in str(named.mask(text))
    assert {found.name for found in named.find(text)} == {"TOKEN"}


@pytest.mark.parametrize("line", PEM.split("\n")[1:3])
def test_each_line_of_a_key_is_secret(line: str) -> None:
    """Code logs keys line by line; the first and the last line are not secret."""
    for key in (PEM, PEM.replace("\n", "\\n"), ACCOUNT, PEM.replace("\n", "\r\n")):
        assert Masker([key]).text(f"line: {line}") == f"line: {MASK}"
        assert Masker([key]).text("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-4f9a1c77d2 ", "\tsk-4f9a1c77d2", '"sk-4f9a1c77d2"', "Bearer sk-4f9a1c77d2", "ann:sk-4f9a1c77d2",
        "https://sk-4f9a1c77d2@db.example", "https://hook.example/in/sk-4f9a1c77d2", "https://hook.example/in?page=2&sig=sk-4f9a1c77d2",
        "postgresql://ann:sk-4f9a1c77d2@db.example:5432/shop", "AccountName=shop;AccountKey=sk-4f9a1c77d2;Suffix=core",
        "Basic " + base64.b64encode(b"ann:sk-4f9a1c77d2").decode(),
    ],
)  # fmt: skip
def test_a_credential_inside_a_secret_is_secret_itself(secret: str) -> None:
    """Code trims and splits settings. The ordinary words next to the credential stay readable."""
    words = "ann, hook.example, db.example, in, page, shop, AccountName, core, Bearer, Basic"

    assert Masker([secret]).text(f"k: sk-4f9a1c77d2, {words}") == f"k: {MASK}, {words}"
    assert NamedSecrets([("K", secret)]).mask(["sk-4f9a1c77d2"]) == ["{{secret:K}}"]


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer production", "ann:production", "shop-4711:user_data_v2", "region=eu-central-1;bucket=user_data_v2",
        "https://hook.example/in/a81kd02lx?team=data",
    ],
)  # fmt: skip
def test_an_ordinary_word_inside_a_secret_is_not_masked(secret: str) -> None:
    """Only the whole secret is, and what is a credential in it."""
    text = "production data of the team ann in user_data_v2 and eu-central-1 on hook.example"

    assert Masker([secret]).text(text) == text


def test_the_credentials_of_a_json_secret_are_secret_themselves() -> None:
    """The other members of a service account are not."""
    masker = Masker([ACCOUNT])

    assert masker.mask(json.loads(ACCOUNT)) == {**json.loads(ACCOUNT), "private_key": MASK, "client_secret": MASK}


@pytest.mark.parametrize(
    ("secret", "value", "shown"),
    [
        ("8410293847", 8410293847, MASK),
        ("8410293847", 8410293847.0, MASK),
        ("8410293847", {"key": [8410293847, 8410293848]}, {"key": [MASK, 8410293848]}),
        ("0008410293847", 8410293847, MASK),
        ("84102938475610293847", 84102938475610293847, MASK),
        ("84102938475610293847", float("84102938475610293847"), MASK),
        ("84102938475610293847", "84102938475610300000", MASK),
        ("8410293847", "sent 8,410,293,847 times", f"sent {MASK} times"),
        ("8410293847", "1784102938472", "1784102938472"),
        ("8410293847", 1784102938472, 1784102938472),
        ("1234567", 1234567, 1234567),
        ("8410293847", True, True),
    ],
)
def test_a_secret_of_digits_is_found_as_a_number(secret: str, value: object, shown: object) -> None:
    """`Number(key)` and `int(key)`; a longer number that contains its digits is another number."""
    masker = Masker([secret])

    assert masker.mask(value) == shown
    assert json.loads(masker.mask_json(json.dumps(value).encode())) == shown


@pytest.mark.parametrize("secret", [TOKEN, "sk-4f9a1c77d2", PEM.split("\n")[1]])
def test_the_beginning_of_a_secret_is_hidden_where_a_text_is_cut(secret: str) -> None:
    """From four characters on, in every spelling."""
    masker = Masker([secret])
    for spelled in (secret, quote(secret), base64.b64encode(secret.encode()).decode()):
        for length in range(4, len(spelled) - 1):
            shown = masker.cut_text(f"no answer for {spelled[:length]}… (not an Error)")
            assert shown.startswith("no answer for ")
            assert spelled[:4] not in shown
    assert masker.cut_text(f"ends in {secret[:3]}…") == f"ends in {secret[:3]}…"
    assert masker.cut_text(f"not cut: {secret[:6]}") == f"not cut: {secret[:6]}"


ORDINARY = [
    "track", "data", "user_data", "identify", "Order Completed", "production", "marketing", "application/json",
    "text/html; charset=utf-8", "application/vnd.api+json", "https://hook.example/in",
    "https://api.shop.example/v1/events",
    "2026-01-15", "20260115", "2026-01-15T10:00:00Z", "1234567", "10.20.30.40", "custom_properties", "tttttttt",
    "--------", "analytics", "subscription", "Bearer", "db.internal.example",
    "localhost", "us-east-1", "eu-central-1", "europe-west4",
    "12345678", "1234567890", "/var/run/secrets", "./data/events", "<HOOK_API_KEY>", "",
]  # fmt: skip
SECRETS = [
    "abcdefghijkl", "qwertyuiop", "br-secret-1", "shop-token-12a", "us-office-2",
    "sk-4f9a1c77", "canary01token", "b7c2e5aa-91f4-4be2-8c1d-2f3a44c0d9e8", "hWf3kQ9ZR2uT1mXcV7bN0A", "84102938",
    "correct-horse-battery-staple", "!@#$%^&*()_+", "https://hook.example/in/a81kd02lx", "https://u:pw@hook.example/in",
    "xkqzvbnmwrtp", "密码密码测试一二", PEM, ACCOUNT,
]  # fmt: skip


@pytest.mark.parametrize("word", ORDINARY)
def test_ordinary_words_are_never_masked(word: str) -> None:
    """Neither in texts, nor in keys, nor in values: a secret like this is hidden only where a credential belongs."""
    masker = Masker([word])
    event = {"event": f"a {word}", word: {"user_data": word, f"x_{word}": [word, 20260115, 1234567]}}

    assert is_ordinary(word)
    assert masker.mask(event) == event
    assert json.loads(masker.mask_json(json.dumps(event).encode())) == event
    assert NamedSecrets([("X", word)]).mask(event) == event


@pytest.mark.parametrize("secret", SECRETS)
def test_what_cannot_occur_by_chance_is_masked_anywhere(secret: str) -> None:
    """Random texts, long numbers, phrases of four words, addresses with a random part."""
    assert not is_ordinary(secret)
    assert Masker([secret]).mask({"note": f"a {secret}", "list": [secret]}) == {"note": f"a {MASK}", "list": [MASK]}


def test_a_word_is_masked_where_a_credential_belongs() -> None:
    """In members whose names say so, in headers with and without a scheme."""
    value = {"api_key": "production", "headers": {"Authorization": "Bearer production"}, "stage": "production"}

    assert Masker(["production"]).mask(value) == {
        "api_key": MASK, "headers": {"Authorization": MASK}, "stage": "production",
    }  # fmt: skip


def test_a_key_is_masked_only_if_all_of_it_is_a_secret() -> None:
    """A name that merely contains one stays; a URL or a sentence as a key does not."""
    masker = Masker(["sk-4f9a1c77"])

    assert masker.mask({"sk-4f9a1c77": 1, "x_sk-4f9a1c77": 2, "https://x.example/?k=sk-4f9a1c77": 3}) == {
        MASK: 1, "x_sk-4f9a1c77": 2, f"https://x.example/?k={MASK}": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("X-Team", "data", False),
        ("Content-Type", "application/json", False),
        ("X-Event-Kind", "track", False),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", False),
        ("X-Schema", "com.acme.events.OrderCompletedV2", False),
        ("X-Region", "eu-central-1", False),
        ("Authorization", "data", True),
        ("X-Api-Key", "production", True),
        ("Cookie", "a=b", True),
        ("X-Shop", "Bearer x", True),
        ("X-Shop", "sk_live_51H8xyzab", True),
        ("X-Shop", "b7c2e5aa-91f4-4be2-8c1d-2f3a44c0d9e8", True),
    ],
)
def test_a_header_of_a_webhook_is_secret_only_if_it_looks_like_a_credential(
    name: str, value: str, secret: bool
) -> None:
    """By its name or by its value; other values stay readable everywhere, also in other destinations."""
    shop = Workspace()
    hook = shop.destination(
        "hook", "WEBHOOK", config={"webhookUrl": "https://h.example", "headers": [{"from": name, "to": value}]}
    )
    row = hook.config["headers"][0]

    assert isinstance(row["to"], Secret) is secret
    assert (value in shop.secrets()) is secret
    assert (value in shop.dumps()) is not secret
    result = Pipeline(shop).test_destination("hook", track("Order", user_id="u1"))
    assert (value in str(result.to_masked_dict()["data"][0]["dest_transformed_payload"])) is not secret
    assert is_credential(value) is (secret and name == "X-Shop")
