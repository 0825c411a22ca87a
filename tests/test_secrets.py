"""Secrets never show."""

from __future__ import annotations

import base64
import copy
import json
import pickle
from types import MappingProxyType

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from svctoolkit.errors import ConfigError
from svctoolkit.secrets import MASK, Masker, Secret, is_ordinary, reveal, with_values
from svctoolkit.url_secrets import mask_http


def test_a_secret_is_masked_everywhere() -> None:
    """repr, str, format, f-strings, containers, errors."""
    token = Secret("s3cr3t-value")

    shown = [repr(token), str(token), f"{token:}", f"{[token]}", f"{ {'t': token} }", str(ValueError(token))]

    assert [text for text in shown if "s3cr3t" in text] == []
    assert token.reveal() == "s3cr3t-value"


def test_secrets_are_pickled_without_their_values() -> None:
    """A file with a pickled workspace has none, and says so; other processes of the same run get them."""
    pickled = pickle.dumps([Secret("x1-canary", origin="$(env:X)"), Masker(["x1-canary"])])
    bare, masker = pickle.loads(pickled)

    assert b"x1-canary" not in pickled
    assert (bare.origin, bool(bare), masker.mask("x1-canary")) == ("$(env:X)", False, "x1-canary")
    with pytest.raises(ConfigError, match=r"the secret \$\(env:X\) was pickled without its value"):
        bare.reveal()
    with with_values():
        assert pickle.loads(pickle.dumps(Secret("x1"))) == Secret("x1")
    assert copy.deepcopy(Secret("x1")) == Secret("x1")


def test_secrets_compare_by_value() -> None:
    """Equal texts are equal secrets; a text is not equal to a secret."""
    token = Secret("x1", origin="$(env:X)")

    assert token == Secret("x1")
    assert token != "x1"
    assert (token.origin, hash(token) == hash(Secret("x1")), bool(Secret(""))) == ("$(env:X)", True, False)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("key=s3cr3t-key&x=1", f"key={MASK}&x=1"),
        ("https://x/?k=a%2Fb%3Dc-1234", f"https://x/?k={MASK}"),
        ('{"k": "a/b=c-1234"}', f'{{"k": "{MASK}"}}'),
        ("Basic " + base64.b64encode(b"s3cr3t-key:").decode(), f"Basic {MASK}"),
        ("Basic of life", "Basic of life"),
        (12, 12),
        (None, None),
    ],
)
def test_the_masker_finds_secrets_inside_texts(value: object, shown: object) -> None:
    """Plain, percent-encoded, in JSON text, and in a Basic header."""
    masker = Masker(["s3cr3t-key", "a/b=c-1234"])

    assert masker.mask({"v": [value]}) == {"v": [shown]}


def test_short_values_are_not_masked() -> None:
    """A short secret would mask ordinary words."""
    assert Masker(["abc", "s3cr3t7"]).mask("abcdef s3cr3t7x") == "abcdef s3cr3t7x"


@given(st.text(min_size=8).filter(lambda s: "•" not in s and not is_ordinary(s)), st.text(), st.text())
def test_masked_text_never_contains_the_secret(secret: str, before: str, after: str) -> None:
    """For any surrounding text, except digits around a number."""
    assume(not secret.isdigit() or not (before[-1:].isdigit() or after[:1].isdigit()))
    assert secret not in Masker([secret]).mask(before + secret + after).replace(MASK, "\0")


def test_revealed_converts_nested_values() -> None:
    """A configuration with secrets becomes plain JSON; the original keeps its secrets."""
    config = {"a": [{"b": Secret("x")}], "c": 1}

    assert reveal(config) == {"a": [{"b": "x"}], "c": 1}
    assert isinstance(config["a"][0]["b"], Secret)  # type: ignore[index]


_TEXTS = st.text(max_size=12)
_SECRETS = st.lists(
    st.text(min_size=3, max_size=12)
    | st.sampled_from(["true", "12345678", "null", 'a"b\\c-1234', "s3cr3t-key", "é€ñx-1234", "a/b?c-1234", '":{"-":{"'])
    | st.sampled_from(["nabc-1234", "u00e9-1234", "data", "token"]),
    max_size=3,
)


@given(_SECRETS, st.data())
def test_json_text_is_masked_like_its_value(secrets: list[str], data: st.DataObject) -> None:
    """Masking the text of a JSON value gives the text of the masked value, for any secrets."""
    known = st.sampled_from([*secrets, "x"])
    leaves = st.none() | st.booleans() | st.integers(-9999, 9999) | _TEXTS | known | known.map(lambda s: f"pre{s}post")
    value = data.draw(
        st.recursive(
            leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS | known, inner, max_size=3)
        )
    )
    masker = Masker(secrets)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    assert json.loads(masker.mask_json(text)) == masker.mask(value)


def test_secret_fields_are_masked_in_plain_json() -> None:
    """In any case and depth; an object without secrets is returned as the same object."""
    clean = {"page": {"Url": "https://shop.example/a?ref=x"}, "headers": {"Accept": "*/*"}, "params": {"page": 2}}
    secret = MappingProxyType(
        {"URL": "https://ann:pw@shop.example", "Headers": {"authorization": "Bearer x", "A": "b"}}
    )

    assert mask_http(clean) is clean
    assert json.dumps(mask_http({"a": [1, secret], "PARAMS": {"api_key": "k", "page": 2}}), ensure_ascii=False) == (
        '{"a": [1, {"URL": "https://••••@shop.example", "Headers": {"authorization": "••••", "A": "b"}}], '
        '"PARAMS": {"api_key": "••••", "page": 2}}'
    )
