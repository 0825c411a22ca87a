"""Secrets with their names: placeholders in snapshots, and secrets in files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote_plus

from svctoolkit.json_types import Json
from svctoolkit.secrets._masker import ADDRESSES, pattern_of
from svctoolkit.secrets._secret import is_placeholder
from svctoolkit.secrets._spellings import encoded_spellings, number_of, spellings, strong_parts
from svctoolkit.secrets._words import is_secret_header, is_secret_name

_TOKEN = re.compile(r"\{\{secret:([^{}]+)\}\}")
_SHORTEST = 4  # characters of a secret that is replaced where a credential belongs
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-"
_BASIC = re.compile(r"Basic ([A-Za-z0-9+/]{4,}={0,2})")
_PARAMETER = re.compile(r"(?<=[?&])([^=&#?]+)=([^&#\s\"'<>]+)")
_USERINFO = re.compile(r"(://(?:[^/?#\s\"'<>:@]*:)?)([^/?#\s\"'<>@]+)@")
_QUOTED = re.compile(r'(?<==)"([^"]*)"')
_SIGNATURE = re.compile(r'\b(oauth_signature|PasswordDigest)="[^"]*"')  # in headers of OAuth 1.0a and WSSE
#: What is computed with a secret and changes with it, and its form.
_COMPUTED = {"signature": '[^"]*', "length": r"\d+"}


class Found(NamedTuple):
    """Where a secret is in a text, and its name."""

    start: int
    end: int
    name: str


class NamedSecrets:
    """The secrets of a workspace by name: of the environment variable, or of the setting.

    `mask` replaces a secret by `{{secret:NAME}}`, so that its value never changes a snapshot; `align` compares a value
    with such a snapshot.

    >>> secrets = NamedSecrets([("HOOK_TOKEN", "s3cr3t-token")])
    >>> secrets.mask({"authorization": "Bearer s3cr3t-token"})
    {'authorization': 'Bearer {{secret:HOOK_TOKEN}}'}
    >>> NamedSecrets([("HOOK_TOKEN", "dummy")]).align(["Bearer {{secret:HOOK_TOKEN}}"], ["Bearer dummy"])
    ['Bearer {{secret:HOOK_TOKEN}}']
    """

    def __init__(self, named: Iterable[tuple[str, str]]) -> None:
        self._texts: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}  # by spelling
        self._found: set[str] = set()
        self._encoded: set[str] = set()  # spellings that are part of a longer text in base64
        self._words: dict[str, str] = {}
        self._numbers: dict[int, str] = {}
        for name, text in named:
            if text in self._texts.setdefault(name, []):
                continue
            self._texts[name].append(text)
            self._add(name, text)
        self._spelled = sorted(self._names, key=lambda text: (-len(text), text))
        self._pattern = pattern_of(self._spelled) if self._names else None

    def _add(self, name: str, text: str) -> None:
        is_unset = is_placeholder(text, name)
        parts = [text] if is_unset else [*strong_parts(text)]
        if parts:
            self._found.add(name)
        for part in parts:
            for spelling in spellings(part):
                self._names.setdefault(spelling, name)
            self._encoded.update(encoded_spellings(part))
            if (number := number_of(part)) is not None:
                self._numbers.setdefault(number, name)
        if not parts and len(text) >= _SHORTEST:
            self._words.setdefault(text, name)

    def __contains__(self, name: str) -> bool:
        """Whether `find` finds the secret with this name."""
        return name in self._found

    def __len__(self) -> int:
        """Return the number of secrets that `find` finds."""
        return len(self._found)

    def __reduce__(self) -> tuple[Any, ...]:
        return (NamedSecrets, ((),))

    def __repr__(self) -> str:
        return f"<NamedSecrets: {len(self._texts)}>"

    def find(self, text: str) -> Iterator[Found]:
        """Yield the secrets in a text that cannot occur by chance."""
        if self._pattern is None or len(text) < len(self._spelled[-1]):
            return
        if not any(spelling in text for spelling in self._spelled):
            return
        end = 0
        for match in self._pattern.finditer(text):
            if match.start() < end:
                continue  # in base64 that is replaced already
            start, stop = match.span()
            if match[0] in self._encoded:  # its neighbours depend on the secret, too
                start, stop = _run(text, start, stop, end)
            yield Found(start, stop, self._names[match[0]])
            end = stop

    def text(self, text: str) -> str:
        """A text with `{{secret:NAME}}` for every secret."""
        pieces, done = [], 0
        for found in self.find(text):
            pieces += [text[done : found.start], _token(found.name)]
            done = found.end
        return "".join([*pieces, text[done:]]) if done else text

    def mask(self, value: Json) -> Json:
        """A copy of JSON with `{{secret:NAME}}` for every secret.

        A secret that is an ordinary word is replaced only in credentials: headers, parameters, members like `api_key`.
        """
        return self._mask(value, "")

    def _mask(self, value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            masked = {self.text(key): self._mask(member, key) for key, member in value.items()}
            headers = masked.get("headers")
            if isinstance(headers, dict) and masked.get("body") != value.get("body"):
                masked["headers"] = {
                    key: _token("length") if key.lower() == "content-length" else header
                    for key, header in headers.items()
                }
            return masked
        if isinstance(value, list):
            return [self._mask(item, "") for item in value]
        if isinstance(value, str):
            return self._in_place(self.text(value), name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value in self._numbers:
            return _token(self._numbers[int(value)])
        return value

    def _in_place(self, text: str, name: str) -> str:
        """Replace secrets that are ordinary words in the value of a credential, and in an address."""
        if is_secret_header(name) or is_secret_name(name):
            text = self._credential(text)
        if self._words and (name == "path" or name.lower() in ADDRESSES):
            text = self._in_path(text)
        if "://" not in text:
            return text
        if name.lower() in ADDRESSES:
            for word, owner in self._words.items():
                if "://" in word and text.startswith(word):
                    return _token(owner) + text[len(word) :]
        return _PARAMETER.sub(self._parameter, _USERINFO.sub(self._userinfo, text))

    def _in_path(self, text: str) -> str:
        """Replace whole segments of a path: the id of a webhook may be as short as `1/abc`."""
        for word, owner in self._words.items():
            if "://" not in word and f"/{word}" in text:
                pieces = re.split(rf"(?<=/){re.escape(word)}(?=[/?#]|$)", text)
                text = _token(owner).join(pieces)
        return text

    def _credential(self, text: str) -> str:
        scheme, space, value = text.rpartition(" ")
        if value in self._words:
            return scheme + space + _token(self._words[value])
        if (basic := _BASIC.fullmatch(text)) is not None and (name := self._name_in_basic(basic[1])):
            return f"Basic {_token(name)}"
        text = _QUOTED.sub(self._quoted, text)
        return _SIGNATURE.sub(lambda match: f'{match[1]}="{_token("signature")}"', text)

    def _quoted(self, value: re.Match[str]) -> str:
        return f'"{_token(self._words[value[1]])}"' if value[1] in self._words else value[0]

    def _name_in_basic(self, encoded: str) -> str:
        import base64

        try:
            raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        except ValueError:
            return ""
        words = (word for word in raw.decode("utf-8", "replace").split(":") if word in self._words)
        return next((self._words[word] for word in words), "")

    def _userinfo(self, user: re.Match[str]) -> str:
        owner = self._words.get(user[2]) or self._words.get(unquote_plus(user[2]))
        return f"{user[1]}{_token(owner)}@" if owner else user[0]

    def _parameter(self, pair: re.Match[str]) -> str:
        value = unquote_plus(pair[2])
        if value not in self._words or not is_secret_name(pair[1]):
            return pair[0]
        return f"{pair[1]}={_token(self._words[value])}"

    def align(self, golden: Json, actual: Json) -> Json:
        """`mask(actual)` for a comparison with a snapshot: `{{secret:NAME}}` there stands for any spelling of a value.

        What equals the snapshot stays as it is, even if a secret has this value here.
        """
        return self._align(golden, actual, "")

    def _align(self, golden: Any, actual: Any, name: str) -> Any:
        if isinstance(golden, dict) and isinstance(actual, Mapping):
            keys = {key: self._key_of(golden, key) for key in actual}
            return {keys[key]: self._align(golden.get(keys[key]), member, key) for key, member in actual.items()}
        if isinstance(golden, list) and isinstance(actual, list):
            beyond = [None] * (len(actual) - len(golden))
            return [self._align(*pair, "") for pair in zip([*golden, *beyond], actual, strict=False)]
        if type(golden) is type(actual) and golden == actual:
            return golden
        return golden if self._stands_for(golden, actual) else self._mask(actual, name)

    def _key_of(self, golden: Mapping[str, Any], key: str) -> str:
        if key in golden:
            return key
        return next((written for written in golden if self._stands_for(written, key)), self.text(key))

    def _stands_for(self, golden: Any, actual: Any) -> bool:
        if not isinstance(golden, str) or not isinstance(actual, (str, int, float)) or "{{secret:" not in golden:
            return False
        texts = _TOKEN.split(golden)
        pattern = "".join(self._any_of(text) if at % 2 else re.escape(text) for at, text in enumerate(texts))
        return re.fullmatch(pattern, str(actual), re.DOTALL) is not None

    def _any_of(self, name: str) -> str:
        """A pattern for every spelling of a secret's texts."""
        if name in _COMPUTED:
            return _COMPUTED[name]
        return "(?:" + "|".join(pattern for text in self._texts.get(name, ()) for pattern in _patterns(text)) + "|(?!))"


@lru_cache(1024)
def _patterns(text: str) -> tuple[str, ...]:
    parts = {text, *strong_parts(text)}
    whole = sorted({spelling for part in parts for spelling in spellings(part) if spelling})
    encoded = sorted({spelling for part in parts for spelling in encoded_spellings(part) if spelling})
    run = f"[{re.escape(_BASE64)}]*"
    return (*map(re.escape, whole), f"{run}(?:{'|'.join(map(re.escape, encoded))}){run}") if whole else ("",)


def _run(text: str, start: int, end: int, earliest: int) -> tuple[int, int]:
    """Return the longest run of base64 around a part of it."""
    while start > earliest and text[start - 1] in _BASE64:
        start -= 1
    while end < len(text) and text[end] in _BASE64:
        end += 1
    return start, end


def _token(name: str) -> str:
    return f"{{{{secret:{name}}}}}"
