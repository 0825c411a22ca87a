"""Building blocks of settings classes, and the conversion of a configuration to settings."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from svctoolkit.causes import Refusal
from svctoolkit.destinations._problems import config_problem
from svctoolkit.errors import InvalidConfig, MappingError, Problem
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import dynamic, javascript_text, text
from svctoolkit.secrets import Secret, is_credential, is_secret_header, reveal


class Rows(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """One row of a two-column form: `{"from": ..., "to": ...}`, as RudderStack stores it."""

    from_: str = ""
    to: str = ""


class SecretRows(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    """One row of a two-column form whose right column may be secret: the headers of a request.

    `is_secret` says whether name or value look like a credential.
    """

    from_: str = ""
    to: Secret = Secret("")

    @property
    def is_secret(self) -> bool:
        return is_secret_header(self.from_) or is_credential(self.to.reveal())


class Tags(tuple[str, ...]):
    """A list of texts, stored as one-member objects: `[{"property": "plan"}]`. Empty ones are omitted."""

    __slots__ = ()


class Unquoted(str):
    """The text of a number or boolean in a setting that is a string.

    In a template, an address or a comparison it is that text. Where it is a whole header, parameter or member of a
    body, RudderStack sends `value`: `"app_token": true`.
    """

    __slots__ = ("value",)

    def __new__(cls, value: bool | int | float) -> Unquoted:
        made = super().__new__(cls, javascript_text(value))
        made.value = value
        return made

    value: bool | int | float


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", dict=True):
    """Base class of settings: `webhook_url` here is `webhookUrl` in a configuration. Secrets are masked in `repr`.

    Use `functools.cached_property` for values derived from settings: they are computed once, not for every event.
    """

    def secrets(self) -> list[str]:
        """Return the text of every secret in these settings, also inside rows, for masking: unique, longest first."""
        return sorted({secret for secret in _secrets(self) if secret}, key=lambda secret: (-len(secret), secret))

    @property
    def has_unquoted(self) -> bool:
        """Whether a string of these settings is a number or a boolean in the configuration."""
        return "unquoted" in self.__dict__


S = TypeVar("S", bound=Settings)


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, Secret):
        yield value.reveal()
    elif isinstance(value, SecretRows) and not value.is_secret:
        return
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets(item)


class Parsed:
    """Base class of settings that are parsed from a string once, such as a JSON path or a template.

    The constructor is called with the text when a configuration is read. If it raises `ValueError` (saying what was
    expected), this becomes an `InvalidConfig` that names the variable.
    """

    def __init__(self, written: str) -> None:
        self.written = written

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.written!r})"


class DynamicSettings:
    """Settings with values that depend on the event, such as `{{ event.properties.key || "default" }}`.

    `settings` are those for an event without any of these values.
    """

    def __init__(self, title: str, kind: type[Settings], config: Mapping[str, Json]) -> None:
        self._title, self._kind, self._config = title, kind, config
        self.settings = settings_from(title, kind, dynamic.with_defaults(config))

    def secrets(self) -> list[str]:
        """Return the secrets that do not depend on the event."""
        return self.settings.secrets()

    def for_event(self, event: Event) -> tuple[Settings, Event]:
        """Return the settings for this event, and the event without the values that were used in them.

        Raises `MappingError` if a value of the event does not fit its variable.
        """
        config, raw = dynamic.resolve(self._config, event.raw)
        try:
            return settings_from(self._title, self._kind, config), Event(raw)
        except InvalidConfig as error:
            why = f"{error} (the value came from the event)"
            raise MappingError(Refusal("misconfigured", setting="config", why=why)) from error


def settings_from(title: str, kind: type[S], config: Mapping[str, Json]) -> S:
    """Return the typed settings. Raises `InvalidConfig`.

    A variable that is null or an empty string is not set, but an optional string (`str | None`) may be empty.
    A number, true or false where a string is expected becomes `Unquoted`: `pixelId: 123` is "123" in texts. Only the
    variables of addresses (`webhookUrl`) must be strings.
    """
    may_be_empty = _optional_strings(kind)
    values = {k: v for k, v in config.items() if v is not None and (v != "" or k in may_be_empty)}
    try:
        return _with_unquoted(_convert(values, kind), values)
    except msgspec.ValidationError:
        pass  # the usual configuration has strings already, and pays nothing for the rare case
    except UnicodeEncodeError as error:
        raise InvalidConfig(Problem("a string ends in a lone surrogate", where=f"{title} config")) from error
    try:
        return _with_unquoted(_convert(_with_strings(values, kind), kind), values)
    except msgspec.ValidationError as error:
        problem = config_problem(str(error), kind, values)
        raise InvalidConfig(Problem(problem, where=f"{title} config")) from error
    except UnicodeEncodeError as error:
        raise InvalidConfig(Problem("a string ends in a lone surrogate", where=f"{title} config")) from error


@functools.cache
def _optional_strings(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names in configurations of the variables for which empty and missing differ."""
    hints = get_type_hints(kind)
    fields = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    optional = ({str, type(None)}, {Secret, type(None)})
    return frozenset(name for name, field in fields if set(get_args(hints[field])) in optional)


@functools.cache
def without_text(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the names in configurations of the variables that cannot be a text: numbers, lists, objects."""
    hints = get_type_hints(kind)
    fields = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    texts = {str, Secret, Any}
    return frozenset(name for name, field in fields if texts.isdisjoint(get_args(hints[field]) or (hints[field],)))


def _convert(values: Mapping[str, Json], kind: type[S]) -> S:
    return msgspec.convert(values, kind, strict=False, dec_hook=_decode)


def _with_unquoted(settings: S, values: Mapping[str, Json]) -> S:
    """Keep the numbers and booleans of strings. A number in a secret stays a string, so that it is masked."""
    if not any(type(value) in (bool, int, float) for value in values.values()):
        return settings
    for name, field in zip(settings.__struct_encode_fields__, settings.__struct_fields__, strict=True):
        value, found = values.get(name), getattr(settings, field)
        if type(value) is bool and isinstance(found, Secret):
            msgspec.structs.force_setattr(settings, field, Secret(Unquoted(value)))
        elif isinstance(value, (bool, int, float)) and type(found) is str:
            msgspec.structs.force_setattr(settings, field, Unquoted(value))
        else:
            continue
        settings.__dict__["unquoted"] = True
    return settings


def _with_strings(values: Mapping[str, Json], kind: type[msgspec.Struct]) -> dict[str, Json]:
    """Return the values with strings in place of numbers and booleans where a string is expected, also in rows."""
    hints = get_type_hints(kind)
    fields = zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True)
    # a number as an ID is only unquoted, but as an address it is a mistake
    named = [(name, field) for name, field in fields if name in values and not name.lower().endswith("url")]
    texts = {name: _as_string(values[name], hints[field]) for name, field in named}
    return {**values, **texts}


def _as_string(value: Json, hint: Any) -> Json:
    kinds = get_args(hint) or (hint,)
    if isinstance(value, (bool, int, float)):
        return javascript_text(value) if str in kinds and type(value) not in kinds else value
    rows = kinds[0]
    if isinstance(value, list) and isinstance(rows, type) and issubclass(rows, msgspec.Struct):
        return [_with_strings(row, rows) if isinstance(row, dict) else row for row in value]
    return value


def configure(
    title: str, kind: type[Settings], config: Mapping[str, Json], environ: Mapping[str, str]
) -> Settings | DynamicSettings:
    """Return the settings of a stored configuration. Raises `InvalidConfig`."""
    config = reveal(config)
    if environ:
        config = dynamic.with_environment(config, environ)
    if dynamic.is_dynamic(config):
        return DynamicSettings(title, kind, config)
    return settings_from(title, kind, config)


def _decode(kind: type[Any], value: Any) -> Any:
    if kind is Tags:
        return Tags(_tags(value))
    if not isinstance(value, (str, int, float, type(None))):
        raise ValueError(f"expected a string, got {'a list' if isinstance(value, list) else 'an object'}")
    return kind("" if value is None else text(value))


def _tags(value: Any) -> Iterator[str]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {'an object' if isinstance(value, dict) else 'a string'}")
    for item in value:
        tag = next(iter(item.values()), "") if isinstance(item, dict) else item
        if not isinstance(tag, str):
            raise ValueError("expected a list of strings")
        if tag.strip():
            yield tag.strip()
