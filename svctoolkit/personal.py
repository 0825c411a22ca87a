"""Detect personal data by the names of members and the form of values. The only definition in this package.

Callers choose the replacement: a mask (replays), or a fake value of the same kind (recorded suites).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote_plus

from svctoolkit.encoded_emails import encoded_ats, encoded_letters, encoded_numbers, encoded_texts, with_plain_ats
from svctoolkit.json_types import Json
from svctoolkit.number_forms import FEWEST_OF_NUMBER, NAMED_PHONE, PHONE, has_card, is_phone, numbers_in
from svctoolkit.readings import base64_texts, json_content, may_carry, readings, spellings_of
from svctoolkit.secrets import MASK, Masker

#: The kind of personal data; "" for a string whose name says nothing.
Kind: TypeAlias = Literal["", "email", "phone", "name", "text", "date", "ip", "user", "anonymous", "device", "place"]
#: Returns the replacement of a string or number of a kind. A value of kind "" may be returned unchanged.
Substitute: TypeAlias = Callable[[Any, Kind], Any]

_NAMES_BY_KIND: dict[Kind, str] = {
    "email": "email emailaddress emailid mail contactemail workemail homeemail personalemail",
    "phone": "phone phonenumber phoneno mobile mobilenumber mobilephone cellphone cell telephone tel homephone "
    "workphone fax faxnumber msisdn",
    "name": "firstname lastname fullname middlename maidenname surname givenname familyname username nickname name "
    "displayname screenname handle login twitter instagram facebook linkedin skype",
    "date": "birthday birthdate dateofbirth dob birthyear",
    "text": "address address1 address2 addressline1 addressline2 homeaddress billingaddress shippingaddress street "
    "streetaddress streetname housenumber apartment city town county state zip zipcode postalcode postcode postal "
    "password passwd ssn socialsecuritynumber nationalid passport passportnumber taxid vatid driverslicense "
    "driverlicense iban bic accountnumber creditcard creditcardnumber cardnumber cvv cvc gender age maritalstatus "
    "avatar photo picture",
    "ip": "ip ipaddress requestip clientip remoteip",
    "user": "userid previousid externalid customerid",
    "anonymous": "anonymousid",
    "device": "deviceid token devicetoken advertisingid idfa idfv gaid adid androidid imei macaddress gclid fbclid "
    "msclkid ttclid fbp fbc",
    "place": "latitude longitude lat lng lon",
}
_KINDS: dict[str, Kind] = {name: kind for kind, names in _NAMES_BY_KIND.items() for name in names.split()}
#: Objects whose `name` and `state` belong to a thing, not a person.
_THINGS = frozenset({
    "", "app", "application", "brand", "browser", "campaign", "category", "checkout", "device", "event", "experiment",
    "item", "items", "library", "list", "network", "order", "os", "page", "plan", "product", "products", "promotion",
    "properties", "screen", "source", "store", "subscription", "variation",
})  # fmt: skip
_OF_THINGS = frozenset({"name", "state", "handle"})
_PUNCTUATION = re.compile(r"[^a-z0-9]")

_ADDRESS = re.compile(r"[^\s<>\"',;:()\[\]{}=&?/]+")  # a run of characters that may contain e-mail addresses
# The end of `logo@2x.png` is not a domain.
_TOP_LEVEL = re.compile(r"\.(?!(?:avif|css|gif|html?|ico|jpe?g|js|json|pdf|png|svg|webp)(?![A-Za-z]))[A-Za-z]{2,}")
_IP = re.compile(
    r"(?:(?<![\w./])|(?<=//))(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)"  # not the version in `Chrome/126.0.0.0`
    r"|(?<![\w:.])(?:(?:[0-9A-Fa-f]{1,4}:){4,7}(?::?[0-9A-Fa-f]{1,4}){1,4}"
    r"|(?:[0-9A-Fa-f]{1,4}:){2,6}:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,5})(?![\w:])"
)
_HASH = re.compile(r"(?:[0-9a-fA-F]{32,128}|[A-Za-z0-9+/_-]{43,88}={0,2})")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_FIELD = re.compile(r"(?:(?<=[?&;\s])|^)([^=&?;\s]+)=([^&#\s]*)")
_IN_FIELD = str.maketrans({"%": "%25", "&": "%26", "#": "%23", " ": "+"})
#: What `lines_with` calls lines in which personal data may be in another spelling.
ENCODED = "encoded"
_MOST_READINGS = 5  # of a text in a text
# A number as a member or an element, too short for a card: `numbers_in` finds nothing else in it.
_JSON_NUMBER = re.compile(rb"(?<=[:,\[])(?:0|[1-9]\d{0,12})(\.\d+)?(?=[,}\]])")
# Percent-encoded at signs, also those that are encoded several times.
_ENCODED = re.compile(rb"(?i:%(?:40|25|EF%BC%A0|EF%B9%AB))")
_PHONE_WORDS = (b"phone", b"mobile", b"cell", b"tel", b"fax", b"msisdn")
_REST_OF_NAME = re.compile(rb'[^"=&]{0,20}(?:"?:|=)')  # of a member, or a field of a form
_MEMBERS = {"d": b"0123456789", "h": b"-", "s": b".", "p": b" ()/"}
_MEMBERS["w"] = b"_" + bytes(range(65, 91)) + bytes(range(97, 123))
# Classes of bytes, for a search that begins with two fixed ones: digits `d`, hyphens `h`, dots `s`, spaces, parentheses
# and slashes `p`, letters `w`, what could begin a digit that is not ASCII `u`, anything else `b`.
_CLASSES = bytes(
    next((ord(name) for name, members in _MEMBERS.items() if byte in members), ord("u" if byte >= 0xD8 else "b"))
    for byte in range(256)
)
# Runs in which telephone and card numbers begin. A day before a letter, as in `2024-05-01T12:00`, does not count.
_STARTS = (re.compile(rb"bd(?!dddhddhddw)[dhsp]{6,}"), re.compile(rb"pd[dhsp]{6,}"))


@lru_cache(maxsize=4096)
def kind_of(name: str, owner: str = "") -> Kind:
    """The kind of data that a member's name implies; `owner` is the enclosing member, empty at the top.

    >>> kind_of("first_name"), kind_of("name", "traits"), kind_of("name", "products"), kind_of("revenue")
    ('name', 'name', '', '')
    """
    plain = _PUNCTUATION.sub("", name.lower())
    around = _PUNCTUATION.sub("", owner.lower())
    if plain in _OF_THINGS and around in _THINGS:
        return ""
    kind = _KINDS.get(plain, "")
    if kind or plain == "type":
        return kind
    return _KINDS.get(around, "")  # `address: {"floor": ...}`, `externalId: [{"id": ..., "type": ...}]`


def replace(value: Json, substitute: Substitute, name: str = "", owner: str = "") -> Json:
    """A copy of a JSON value without personal data; `name` is the member that contains it, `owner` the enclosing one.

    The value of a member with a personal name is replaced completely; e-mail addresses, IP addresses and telephone
    numbers are replaced anywhere in a string. Event names, message ids and other numbers are kept.
    """
    if isinstance(value, Mapping):
        return {key: replace(member, substitute, str(key), name) for key, member in value.items()}
    if isinstance(value, list):
        return [replace(item, substitute, name, owner) for item in value]
    if isinstance(value, bool) or value is None or value == "":
        return value
    kind = kind_of(name, owner)
    if kind:
        return substitute(value, kind)
    return replace_in_text(value, substitute) if isinstance(value, str) else value


def replace_at(path: str, value: Json, substitute: Substitute) -> Json:
    """Like `replace`, for the value at a dotted path."""
    return replace(value, substitute, *names_at(path))


def names_at(path: str) -> tuple[str, str]:
    """The member at a dotted path, and the enclosing one; without indexes, and empty at the top."""
    steps = ["", "", *(step for step in path.split(".") if not step.isdigit())]
    return steps[-1], steps[-2]


def replace_in_text(text: str, substitute: Substitute) -> str:
    """A string with everything that looks like an address or a telephone number replaced. ISO 8601 times are kept.

    What the text says if it is read as JSON, a form, a URL, HTML or base64 is replaced, too.
    """
    return _replace_in_text(text, substitute, _MOST_READINGS)


def _replace_in_text(text: str, substitute: Substitute, depth: int) -> str:
    whole: str = substitute(text, "")
    if whole != text:
        return whole
    if not depth or not may_carry(text):
        return _replace_plain(text, substitute)
    content = json_content(text)
    if content is not None and (replaced := replace(content, substitute)) != content:
        text = json.dumps(replaced, ensure_ascii=False)
    text = _replace_plain(_replace_fields(_replace_base64(text, substitute, depth), substitute, depth), substitute)
    if content is None:
        for spelling in spellings_of(text):
            if (replaced_text := _replace_in_text(spelling, substitute, depth - 1)) != spelling:
                return replaced_text
    return text


def _replace_plain(text: str, substitute: Substitute) -> str:
    """Replace what is plain in a text, or an address with another at sign."""
    plain = with_plain_ats(text)
    if plain != text and (replaced := _replace_addresses(plain, substitute)) != plain:
        text = replaced
    if not any(character.isdigit() or character == "@" for character in text) and "%40" not in text:
        return text
    text = _replace_addresses(text, substitute)
    text = _IP.sub(lambda match: substitute(match[0], "ip"), text)
    return text if _DATE.fullmatch(text) else PHONE.sub(lambda match: substitute(match[0], "phone"), text)


def _replace_addresses(text: str, substitute: Substitute) -> str:
    return _ADDRESS.sub(lambda run: _replace_emails(run[0], substitute), text)


def _replace_fields(text: str, substitute: Substitute, depth: int) -> str:
    """Replace values in a form or in a URL's query. The names say what they are, as those of members do."""

    def of_field(field: re.Match[str]) -> str:
        value = unquote_plus(field[2])
        kind = kind_of(unquote_plus(field[1])) if value else ""
        new = substitute(value, kind) if kind else _replace_in_text(value, substitute, depth - 1)
        return field[0] if new == value else f"{field[1]}={str(new).translate(_IN_FIELD)}"

    return _FIELD.sub(of_field, text) if "=" in text else text


def _replace_base64(text: str, substitute: Substitute, depth: int) -> str:
    """Return a text without base64 that contains personal data."""
    pieces, done = list[str](), 0
    for start, end, decoded in base64_texts(text):
        kinds: list[Kind] = []

        def noted(item: Any, kind: Kind, kinds: list[Kind] = kinds) -> Any:
            new = substitute(item, kind)
            if new != item:
                kinds.append(kind)
            return new

        if _replace_in_text(decoded, noted, depth - 1) != decoded and kinds:
            pieces += [text[done:start], substitute(text[start:end], kinds[0] or "text")]
            done = end
    return "".join([*pieces, text[done:]])


def may_be_personal(text: str, name: str, owner: str, *, encoded: bool = True) -> bool:
    """Whether the value of a member may have an address, a telephone or a card number, or its name says so.

    `encoded`: it may be in another spelling.
    """
    if kind_of(name, owner) or "@" in text or (encoded and may_carry(text)):
        return True
    return len(text) > 8 and (PHONE.search(text) is not None or has_card(text))


def has_email(text: str) -> bool:
    """Whether there is a plain e-mail address anywhere in a text."""
    return any(next(_emails(run[0]), None) for run in _ADDRESS.finditer(text))


def is_email(text: str) -> bool:
    """Whether a text is one e-mail address, or base64 that contains one."""
    text = with_plain_ats(text)
    if any((start, end) == (0, len(text)) and has_email(inner) for start, end, inner in base64_texts(text)):
        return True
    return _ADDRESS.fullmatch(text) is not None and next(_emails(text), None) == (0, len(text))


def _replace_emails(run: str, substitute: Substitute) -> str:
    pieces, done = [], 0
    for start, end in _emails(run):
        pieces += [run[done:start], substitute(run[start:end], "email")]
        done = end
    return "".join([*pieces, run[done:]])


def _emails(run: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each e-mail address in a run without spaces, in time linear in its length.

    An address is `local@domain`, or `local%40domain`, whose domain ends in a top-level domain.
    """
    if "@" not in run and "%40" not in run:
        return
    start = 0
    while start < len(run):
        at = run.find("@", start)
        stop = len(run) if at < 0 else at
        end = 0
        if at > start:
            following = run.find("@", at + 1)
            end = _domain_end(run, at + 1, len(run) if following < 0 else following)
        if not end:
            encoded = run.rfind("%40", start + 1, max(0, _last_dot(run, start, stop) - 1))
            end = _domain_end(run, encoded + 3, stop) if encoded > 0 else 0
        if end:
            yield start, end
        start = end or stop + 1


def _domain_end(run: str, start: int, stop: int) -> int:
    """Return where the domain that begins at `start` ends; 0 without one."""
    dot = _last_dot(run, start + 1, stop)
    match = _TOP_LEVEL.match(run, dot, stop) if dot > start else None
    return match.end() if match else 0


def _last_dot(run: str, start: int, stop: int) -> int:
    """Return the position of the last dot that begins a top-level domain; -1 without one."""
    dot = run.rfind(".", start, stop)
    while dot >= 0 and not _TOP_LEVEL.match(run, dot, stop):
        dot = run.rfind(".", start, dot)
    return dot


def lines_with(kinds: Collection[str], text: bytes, ends: Sequence[int] = ()) -> dict[str, set[int]]:
    """Return which lines of JSON may contain e-mail addresses (`email`), telephone (`phone`) or card numbers (`card`).

    The other lines certainly have none, if they have no escaped characters. `ENCODED` are the lines in which something
    may be in another spelling. To search many lines at once takes a
    hundredth of the time of `replace`. `ends` are where lines end, if the caller knows it.
    """
    lines = _Lines(text, [*kinds, ENCODED], ends)
    if "email" in kinds:
        lines.find("email", b"@")
        for at in encoded_ats(text):
            lines.add_encoded(("email",), at)
    for at in encoded_texts(text):
        lines.add_encoded(kinds, at)
    for at in encoded_letters(text):
        lines.add_encoded((), at)
    if b"%" in text:  # to search for one byte takes a tenth of the time
        for match in _ENCODED.finditer(text):
            lines.add_encoded(kinds if match[0] == b"%25" else ("email",), match.start())
    for at in encoded_numbers(text):
        lines.add_encoded(("phone", "card"), at)
    if "phone" in kinds or "card" in kinds:
        classes = text.translate(_CLASSES)
        for kind in {"phone", "card", ENCODED} & lines.found.keys():
            lines.find(kind, b"u", classes)
        for pattern in _STARTS:
            for run in pattern.finditer(classes):
                start, end = run.span()
                if plain := _JSON_NUMBER.match(text, start + 1):  # numbers differ in each line: caching does not help
                    if not plain[1] and len(plain[0]) >= FEWEST_OF_NUMBER:
                        lines.add_numbers(("named",), start)
                    continue
                # Nearly always there is nothing, and the same runs come again: an IP address, a version.
                if numbers := numbers_in(text[start - 1 : end + 1] if start else b" " + text[: end + 1]):
                    lines.add_numbers(numbers, start)
    return lines.found


class _Lines:
    """Numbers of the lines of a text in which kinds were found, by the position."""

    def __init__(self, text: bytes, kinds: Collection[str], ends: Sequence[int]) -> None:
        self._text, self._known_ends = text, ends
        self.found: dict[str, set[int]] = {kind: set() for kind in kinds}

    @cached_property
    def _ends(self) -> Sequence[int]:
        return self._known_ends or ends_of(self._text.split(b"\n"))

    def add(self, kind: str, position: int) -> None:
        """Add the line of a position."""
        self.found[kind].add(bisect_right(self._ends, position))

    def add_encoded(self, kinds: Collection[str], position: int) -> None:
        """Add the line of a position for these kinds, which are encoded there."""
        for kind in {ENCODED, *kinds} & self.found.keys():
            self.add(kind, position)

    def add_numbers(self, numbers: Collection[str], position: int) -> None:
        """Add the line of a position for the numbers that are there, as `numbers_in` calls them."""
        line = bisect_right(self._ends, position)
        if "card" in numbers and "card" in self.found:
            self.found["card"].add(line)
        if "phone" in self.found and ("phone" in numbers or ("named" in numbers and line in self._naming)):
            self.found["phone"].add(line)

    @cached_property
    def _naming(self) -> set[int]:
        """The lines in which a member may have the name of a telephone number."""
        lower, found = self._text.lower(), set[int]()
        for word in _PHONE_WORDS:
            # Nearly always there is none, which a search from the end finds in half the time.
            at = lower.find(word) if lower.rfind(word) >= 0 else -1
            while at >= 0:
                if _REST_OF_NAME.match(lower, at):
                    found.add(bisect_right(self._ends, at))
                at = lower.find(word, at + 1)
        return found

    def find(self, kind: str, wanted: bytes, text: bytes | None = None) -> None:
        """Add all lines with this text. `text`: another spelling of all lines, of equal lengths."""
        text = self._text if text is None else text
        at = text.find(wanted)
        while at >= 0:
            self.add(kind, at)
            at = text.find(wanted, self._ends[bisect_right(self._ends, at)])


def ends_of(lines: Iterable[bytes]) -> list[int]:
    """Return where each line of a text ends, for `lines_with`: after the line break."""
    return [*accumulate(len(line) + 1 for line in lines)]


def plain_data(value: str | float, name: str, owner: str) -> dict[str, set[str]]:
    """Return the plain personal data in the value of a member, by kind (or `card`); `owner` is the enclosing member.

    The name or the form says what it is: a member called `email` may hold a hash, a mask or a flag, which are not data.
    """
    found: dict[str, set[str]] = {}
    _collect(found, value, name, owner, _MOST_READINGS)
    return found


def _collect(found: dict[str, set[str]], value: Json, name: str, owner: str, depth: int) -> None:
    """Add the plain personal data in a value, and in what its texts say if they are decoded."""
    if isinstance(value, Mapping):
        for key, member in value.items():
            _collect(found, member, str(key), name, depth)
            _collect(found, str(key), "", "", 0)
    elif isinstance(value, list):
        for item in value:
            _collect(found, item, name, owner, depth)
    elif not isinstance(value, bool) and value is not None and not is_hash(text := str(value).strip()):
        _collect_from(found, value, text, kind_of(name, owner))
        for read in readings(value) if depth and isinstance(value, str) and may_carry(value) else ():
            # The readings of a text have all texts in it, but not those in members.
            _collect(found, read, name, owner, 0 if isinstance(read, str) else depth - 1)


def _collect_from(found: dict[str, set[str]], value: Any, text: str, kind: Kind) -> None:
    def collect(item: Any, of: Kind) -> Any:
        if _is_plain(item, of, named=kind == "phone"):
            found.setdefault(of, set()).add(str(item))
        return MASK if of == "ip" else item  # its digits look like a telephone number

    if has_card(text):
        found.setdefault("card", set()).add(text)
    if kind:
        collect(value, kind)
    elif isinstance(value, str):
        _replace_plain(value, collect)


def _is_plain(value: str | float, kind: Kind, *, named: bool) -> bool:
    text = str(value).strip()
    if not text or MASK in text or is_hash(text):
        return False
    if kind == "email":
        return is_email(text) or is_email(text.replace("%40", "@"))
    if kind == "ip":
        return text.count(".") == 3 or text.count(":") > 1
    if kind != "phone":
        return True
    form = NAMED_PHONE if named else PHONE
    return any(is_phone(match[0], named=named) for match in form.finditer(text)) and (named or isinstance(value, str))


def is_hash(text: str) -> bool:
    """Whether a text has the form of a hash, from MD5 to SHA-512, as hexadecimal digits or base64 (not of a text)."""
    return _HASH.fullmatch(text) is not None and next(base64_texts(text), None) is None


def mask(value: Json, kind: Kind) -> Json:
    """A replacement that reveals nothing about the person."""
    return MASK if kind else value


class PersonalMasker(Masker):
    """Masks personal data in addition to what another masker masks."""

    def __init__(self, secrets: Masker) -> None:
        super().__init__(())
        self._secrets = secrets

    def __reduce__(self) -> tuple[Any, ...]:
        return (PersonalMasker, (self._secrets,))

    def mask(self, value: Json) -> Json:
        return replace(self._secrets.mask(value), mask)

    def text(self, text: str) -> str:
        return replace_in_text(self._secrets.text(text), mask)

    def key(self, key: str) -> str:
        return self._secrets.key(key)

    def body(self, text: str) -> str:
        return replace_in_text(self._secrets.body(text), mask)

    def mask_json(self, text: bytes) -> bytes:
        return json.dumps(self.mask(json.loads(text)), ensure_ascii=False).encode("utf-8", "surrogatepass")
