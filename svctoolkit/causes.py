"""Why an event failed, as data. The texts for users are derived from it in this module only.

Cause
├── Refusal     a mapping does not accept the event, or the destination's settings do not allow it
├── CodeError   the user's transformation failed
└── Rejection   the destination answered with an error, or did not answer

Stores, frames, replays and reports keep a cause as data, and it can be restored from JSON:

>>> cause = Refusal("missing", field="userId", expected="a value")
>>> cause.text, cause.rule("MP")
('needs a value at userId', 'MP.missing.userId')
>>> cause_from_json(cause_to_json(cause)) == cause
True
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from svctoolkit.json_types import Json

RefusalKind: TypeAlias = Literal[
    "missing",  # the event has no value where the destination needs one
    "misfit",  # the value does not fit
    "not-configured",  # a setting maps values, but has no entry for this one
    "unsupported",  # the type accepts no such events, or only with a setting
    "misconfigured",  # a setting is missing or wrong for this event
    "not-found",  # the object does not exist in the destination's account
    "lookup-failed",  # a lookup that the mapping needs failed
    "fault",  # the mapping itself failed: a bug in this package, or in a custom destination
]
#: What a refusal depends on besides event and settings: the secrets of a connected account, an answer of the
#: destination to a lookup, the current time.
Need: TypeAlias = Literal["account", "lookup", "clock"]
_MAX_VALUE = 200  # characters of JSON text
_INDEX = re.compile(r"\.\d+(?=\.|$)")


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="cause", tag="refusal"):
    """Why a mapping does not accept an event.

    `field` is the path in the event (several are joined by ` or `) and `setting` the variable of the destination's
    configuration that decides; at least one of them is given, unless the kind is `fault`. `expected` is what the rule
    requires, `value` the actual value, as JSON text of at most 200 characters. `subject` is what is unsupported, `why`
    a clause that explains. `case` distinguishes rules with the same kind, field and setting. `status` is the HTTP
    status of a failed lookup, `where` the line of a faulty mapping. `needs` is set if the same event may be accepted
    with another account, another answer to a lookup, or at another time.
    """

    kind: RefusalKind
    field: str = ""
    setting: str = ""
    expected: str = ""
    value: str | None = None
    subject: str = ""
    why: str = ""
    case: str = ""
    status: int = 0
    where: str = ""
    needs: Need | Literal[""] = ""

    def rule(self, type: str) -> str:
        """The id of the broken rule at a destination type: unique, and independent of the wording.

        It consists of the type, the kind and the setting or field, without the numbers of list elements.
        """
        return ".".join(part for part in (type, self.kind, _slug(self._place), self.case) if part)

    @property
    def _place(self) -> str:
        if self.kind in ("missing", "misfit") or not self.setting:
            return "" if self.kind == "unsupported" else self.field
        return self.setting

    @property
    def text(self) -> str:
        """The refusal as a sentence, for users."""
        return _TEXTS[self.kind](self) + _clause("; ", _depends(self))

    @property
    def template(self) -> str:
        """The sentence with `…` for the value: the same for all events that break this rule in this way."""
        return msgspec.structs.replace(self, value=None if self.value is None else _ANY_VALUE).text


def help_command(rule: str) -> str:
    """The command that explains a rule, without a network: `svctoolkit docs MP.missing.userId`."""
    return f"svctoolkit docs {shlex.quote(rule)}"


class CodeError(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="cause", tag="code"):
    """An error of the user's code.

    `name` is the error's class (`TypeError`), `kind` as in `TransformationError`. `file`, `line`, `column`
    and `function` are where it was raised, as far as known; lines and columns count from 1.
    """

    name: str
    message: str
    kind: str = "error"
    file: str = ""
    line: int = 0
    column: int = 0
    function: str = ""

    @property
    def where(self) -> str:
        """`file:line:column`, as far as known."""
        return ":".join(map(str, filter(None, (self.file, self.line, self.line and self.column))))

    def rule(self, type: str) -> str:  # noqa: ARG002 - signature shared by all causes
        """The id of this kind of failure: file, function and error class, but not the line, which moves with edits."""
        return ".".join(part for part in ("code", self.file, self.function, self.name) if part)

    @property
    def text(self) -> str:
        """The error as the runtime prints it: `TypeError: ... (clean.js:8:29)`."""
        return f"{self.name}: {self.message}" + (f" ({self.where})" if self.where else "")

    @property
    def template(self) -> str:
        """The text without its position, and with `…` for numbers and quoted texts.

        In errors of the runtime, quoted names come from the code: `reading 'price'` and `reading 'sku'` are two faults.
        """
        text = f"{self.name}: {self.message}"
        if self.name not in _RUNTIME_ERRORS:
            return text_template(text)
        return _PARTICULAR.sub(lambda found: found[0] if _NAME.fullmatch(found[0]) else "…", text)


class Rejection(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="cause", tag="rejection"):
    """An error response of the destination, or no response: then `code` is the cause, such as `ECONNREFUSED`.

    `status` is the HTTP status, `code` the vendor's own error code if the response has one, `message` its text.
    """

    status: int
    code: str = ""
    message: str = ""

    def rule(self, type: str) -> str:
        """The id of this kind of answer: `MP.http-400`, with the vendor's code if there is one."""
        return ".".join(part for part in (type, f"http-{self.status}", _slug(self.code)) if part)

    @property
    def text(self) -> str:
        """The answer as a sentence, for users."""
        return f"the destination answered {self.status}" + (f": {self.message}" if self.message else "")

    @property
    def template(self) -> str:
        """The sentence with `…` for numbers and quoted texts of the vendor's message."""
        return f"the destination answered {self.status}" + (f": {text_template(self.message)}" if self.message else "")


Cause: TypeAlias = Refusal | CodeError | Rejection


def cause_to_json(cause: Cause) -> dict[str, Json]:
    """A cause as a JSON object; its key `cause` names the class."""
    return msgspec.to_builtins(cause)  # type: ignore[no-any-return]


def cause_from_json(value: Mapping[str, Json]) -> Cause:
    """The cause that `cause_to_json` wrote. Raises `msgspec.ValidationError`."""
    return msgspec.convert(value, Refusal | CodeError | Rejection)


def map_texts(cause: Cause, change: Callable[[str], str]) -> Cause:
    """A copy with `change` applied to every text that may contain user data, for example to mask secrets."""
    members: dict[str, Any] = {}
    for name in _DATA:
        old = getattr(cause, name, None)
        if old and (new := change(old)) != old:
            members[name] = new
    return msgspec.structs.replace(cause, **members) if members else cause


def json_value(value: Json) -> str:
    """A value as JSON text of at most 200 characters, for `Refusal.value`."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError):  # a lone surrogate, more than 64 bits
        import json

        text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…"


def text_template(text: str) -> str:
    """The common form of similar messages: `…` in place of numbers and quoted texts."""
    return _PARTICULAR.sub("…", text)


_DATA = ("value", "why", "subject", "message", "code")
_ANY_VALUE = "…"
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|(?<![A-Za-z_])\d+(?:\.\d+)?(?![A-Za-z_])")
_RUNTIME_ERRORS = ("TypeError", "ReferenceError", "AttributeError", "KeyError", "NameError")
_NAME = re.compile(r"'[A-Za-z_$]+'")  # without digits: 'u1' may be a key in the data


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[\w.$*]+", _INDEX.sub("", text)))


def _quote(value: str) -> str:
    """JSON text for users, with texts in single quotes."""
    if value[:1] != '"':
        return value
    try:
        return repr(msgspec.json.decode(value))
    except msgspec.DecodeError:  # truncated
        return f"'{value[1:]}"


def _missing(refusal: Refusal) -> str:
    return f"needs {refusal.expected} at {refusal.field}" + _clause("; ", refusal.why)


def _misfit(refusal: Refusal) -> str:
    got = "" if refusal.value is None else f", got {_quote(refusal.value)}"
    return f"{refusal.field}: expected {refusal.expected}{got}" + _clause("; ", refusal.why)


def _not_configured(refusal: Refusal) -> str:
    value = "" if refusal.value is None else f" for {_quote(refusal.value)}"
    return f"{refusal.field}: {refusal.setting} has no entry{value}" + _clause("; ", refusal.why)


def _unsupported(refusal: Refusal) -> str:
    if refusal.setting:
        return f"{refusal.subject} are sent only with {refusal.setting}" + _clause("; ", refusal.why)
    return f"{refusal.subject}, only {refusal.expected}" + _clause("; ", refusal.why)


def _misconfigured(refusal: Refusal) -> str:
    at = "" if refusal.value is None else f", at {_quote(refusal.value)}"
    return f"{refusal.setting}: {refusal.why}{at}"


def _not_found(refusal: Refusal) -> str:
    value = "" if refusal.value is None else f" matches {_quote(refusal.value)}"
    place = f"{refusal.setting or refusal.field}: "
    return f"{place}no {refusal.expected}{value or ' was found'}" + _clause("; ", refusal.why)


def _depends(refusal: Refusal) -> str:
    """What else decides, unless the sentence says it: an account is named, a failed lookup is quoted."""
    if refusal.kind == "not-found":
        return "depends on a lookup in the destination's account"
    return "depends on the current time" if refusal.needs == "clock" else ""


def _because(refusal: Refusal) -> str:
    return refusal.why + (f" ({refusal.where})" if refusal.where else "")


def _clause(separator: str, text: str) -> str:
    return f"{separator}{text}" if text else ""


_TEXTS: dict[RefusalKind, Callable[[Refusal], str]] = {
    "missing": _missing,
    "misfit": _misfit,
    "not-configured": _not_configured,
    "unsupported": _unsupported,
    "misconfigured": _misconfigured,
    "not-found": _not_found,
    "lookup-failed": _because,
    "fault": _because,
}
