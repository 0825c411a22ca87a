"""RudderStack's standard libraries, `@rs/...`, work in the sandbox without a network."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import Pipeline, Workspace
from svctoolkit.errors import TransformationError
from svctoolkit.transformations import Library, load, standard
from tests.examples import up_to

#: 512 bits: small enough for a test. Made by openssl, for these tests only.
PUBLIC_KEY = """\
-----BEGIN PUBLIC KEY-----
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKxWSTMje+QqFb10FscAOSF6i9CdPCP8
dfKmCr12AoaTJ1fpeKTviYrOCAUq3VGK4bYwPgTqSTiJ22CWWDbSSIECAwEAAQ==
-----END PUBLIC KEY-----
"""
PRIVATE_KEY = """\
-----BEGIN RSA PRIVATE KEY-----
MIIBOwIBAAJBAKxWSTMje+QqFb10FscAOSF6i9CdPCP8dfKmCr12AoaTJ1fpeKTv
iYrOCAUq3VGK4bYwPgTqSTiJ22CWWDbSSIECAwEAAQJBAKlua6kLSdKYTadlar9b
SM/RW4ROEcKPgqZ8+DIsw27pv0HFEl1XIjj8Y/lItQ/CLdAbO8sSs5rc+OFtt2+L
UAECIQDlIK3c+p+JPd60xASwPQ/UuVKsVACTOU6Z4QkJDQ07UQIhAMCMhx0mTTSu
tmC1fz7YobYkDYSSBgFWk1mpWv1Lc44xAiEAorNe4mDRMnpNj1z121OwzyQ90YLg
2apC50AF03iCIdECIC9GkaoTjGNB/l9yUKLCl7nb0kHZhIXxls4t6bxFOUMRAiBi
03trk1e+0cGxmog1Ans11d3QKine+PryRWhodX/7RA==
-----END RSA PRIVATE KEY-----
"""
#: "Mira € é", encrypted by openssl (PKCS #1 v1.5) for this key
ENCRYPTED = "Q/tBGBxFIssImxG0ovbvBykSHBjWGeJvpSOpELtrC3LYaTwiJbMzs7T1eVon5eH6XG5QFdAF1IcBdDMIBeGr0Q=="
HASH = load(
    """
import { sha256, md5, cyrb53 } from "@rs/hash/v1";
export function transformEvent(event) {
  const { text } = event;
  return { sha256: sha256(text), md5: md5(text), cyrb53: cyrb53(text), seeded: cyrb53(text, 7) };
}
""",
    "javascript",
)


def run(code: str, event: dict[str, Any]) -> Any:
    output = load(code, "javascript").run([event], [{}])[0]
    assert output.error is None
    return output.events[0]


@settings(max_examples=up_to(60), deadline=None)
@given(st.text(st.characters(max_codepoint=0xD7FF)) | st.integers(50, 70).map("a".__mul__))
def test_hashes_use_the_same_bytes_as_rudderstack(text: str) -> None:
    """SHA-256 of UTF-8 with line feeds, MD5 of the low bytes: for any text, and at block boundaries."""
    hashes = HASH.run([{"text": text}], [{}])[0].events[0]

    assert hashes["sha256"] == hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()
    assert hashes["md5"] == hashlib.md5(bytes(ord(letter) & 255 for letter in text)).hexdigest()
    assert 0 <= hashes["cyrb53"] < 2**53


def test_cyrb53_gives_the_published_values() -> None:
    """With and without a seed."""
    hashes = HASH.run([{"text": "a"}, {"text": "b"}], [{}, {}])

    assert [o.events[0]["cyrb53"] for o in hashes] == [7929297801672961, 8684336938537663]
    assert hashes[0].events[0]["seeded"] != hashes[0].events[0]["cyrb53"]


ENCRYPT = """
import { JSEncrypt } from "@rs/encrypt/v1";
export function transformEvent(event) {
  const crypt = new JSEncrypt();
  crypt.setKey(event.key);
  return { text: crypt.decrypt(event.encrypted) };
}
"""


def test_encryption_is_compatible_with_openssl() -> None:
    """Texts encrypted by openssl can be read; own ones can be read, too, and differ each time."""
    code = ENCRYPT.replace("{ text: crypt", "{ again: (k => k.encrypt('Zoë'))(crypt), text: crypt")
    first, second = (run(code, {"key": PRIVATE_KEY, "encrypted": ENCRYPTED}) for _ in range(2))
    public = code.replace("text: crypt.decrypt(event.encrypted)", "")
    other = run(public, {"key": PUBLIC_KEY})

    assert first["text"] == "Mira € é"
    assert first["again"] != second["again"]
    assert run(ENCRYPT, {"key": PRIVATE_KEY, "encrypted": other["again"]}) == {"text": "Zoë"}


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"key": "no key", "encrypted": ENCRYPTED}, False),
        ({"key": PUBLIC_KEY, "encrypted": ENCRYPTED}, False),
        ({"key": PRIVATE_KEY, "encrypted": "AAAA"}, None),
        ({"key": PRIVATE_KEY, "encrypted": "é"}, False),
    ],
)
def test_a_failed_decryption_is_a_value(event: dict[str, str], text: object) -> None:
    """As in RudderStack: false if nothing was tried, null if the key did not fit."""
    assert run(ENCRYPT, event) == {"text": text}


AGENTS = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 "
    "Edg/126.0.1": ("Edge 126.0.1", "Blink", "Windows 10", {}, "amd64"),
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
    "Mobile/15E148 Safari/604.1": (
        "Mobile Safari 17.5",
        "WebKit",
        "iOS 17.5",
        {"vendor": "Apple", "model": "iPhone", "type": "mobile"},
        None,
    ),
    "Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile "
    "Safari/537.36": (
        "Chrome 126.0.0.0",
        "Blink",
        "Android 14",
        {"vendor": "Samsung", "model": "SM-S918B", "type": "mobile"},
        None,
    ),
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0": (
        "Firefox 127.0",
        "Gecko",
        "Ubuntu",
        {},
        "amd64",
    ),
}
PARSE = """
import { UAParser } from "@rs/userAgentParser/v1";
export function transformEvent(event) { return new UAParser().setUA(event.agent).getResult(); }
"""


@pytest.mark.parametrize("agent", AGENTS)
def test_a_user_agent_gives_browser_system_and_device(agent: str) -> None:
    """For common ones; unknown parts are absent."""
    browser, engine, system, device, processor = AGENTS[agent]
    result = run(PARSE, {"agent": agent})

    assert (result["ua"], result["device"], result["cpu"].get("architecture")) == (agent, device, processor)
    assert f"{result['browser']['name']} {result['browser']['version']}" == browser
    assert " ".join(result["os"].values()) == system
    assert result["engine"]["name"] == engine


@settings(max_examples=30, deadline=None)
@given(st.none() | st.integers() | st.text() | st.text("();/ Mozilaprkt5.0_AndroiS", max_size=600))
def test_any_user_agent_has_a_result(agent: Any) -> None:
    """For any text: no exception, and the same five fields."""
    assert set(run(PARSE, {"agent": agent})) == {"ua", "browser", "engine", "os", "device", "cpu"}


@pytest.mark.parametrize(
    ("system", "model", "name"),
    [
        ("iOS", "iPhone13,1", "iPhone 12 Mini"),
        ("watchOS", "Watch6,17", "Apple Watch Series 8 45mm Cellular"),
        ("iPadOS ", "iPad13,17", "iPad Air 5"),
        ("tvOS", "AppleTV6,2", "Apple TV 4K 1"),
        ("iOS", "x86_64", "Simulator"),
        ("iOS", "iPhone99,1", "iPhone99,1"),
        ("Android", "iPhone13,1", None),
        ("iOS", None, None),
    ],
)
def test_apple_devices_have_their_product_names(system: str, model: str | None, name: str | None) -> None:
    """An unknown model keeps its name; other systems have no product name."""
    code = """
import { getLocalizedDeviceModel as name } from "@rs/localizeAppleDeviceModel/v1";
export const transformEvent = (event) => ({ name: name(event) });
"""
    event = {"context": {"os": {"name": system}, "device": {"model": model}}}

    assert run(code, event).get("name") == name


def test_standard_libraries_are_not_covered_and_can_be_replaced() -> None:
    """Coverage counts the user's lines; a user's library with the same name takes precedence; others get a hint."""
    shop = Workspace("shop")
    code = (
        'import { md5 } from "@rs/hash/v1";\nexport function transformEvent(e) { e.event = md5(e.event); return e; }\n'
    )
    shop.transformation("hashed", code=code, language="javascript")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example"}, transformation="hashed")
    pipeline = Pipeline(shop, coverage=True)
    result = pipeline.test_destination("hook", {"type": "track", "event": "e"})

    assert result.data[0].user_transformed_payload["event"] == hashlib.md5(b"e").hexdigest()
    assert len(pipeline.user_code.coverage()) == 1
    own = {"@rs/hash/v1": Library("export const md5 = () => 'mine';", "javascript")}
    assert load(code, "javascript", libraries=own).run([{"event": "e"}], [{}])[0].events[0]["event"] == "mine"
    with pytest.raises(TransformationError, match=r"import from @rs/hsh/v1 failed.*Did you mean '@rs/hash/v1'"):
        load(code.replace("hash/", "hsh/"), "javascript")
    assert len(standard.names()) == 4
