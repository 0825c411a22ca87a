"""Inputs of commands: events, settings, `KEY=VALUE`."""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.errors import ConfigError, UsageError, did_you_mean
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.conditions import Words
    from svctoolkit.replay.records.record import Reject

_MOST_REJECTS = 10  # that are printed


def event(file: str | None, sample: str | None) -> dict[str, Json]:
    """The event from `--event FILE` or `--sample NAME`. Raises `ConfigError`."""
    given = events(file, sample)
    if len(given) > 1:
        raise ConfigError(f"has {len(given):,} events; this command runs one", where=_name(file))
    return given[0]


def events(file: str | None, sample: str | None) -> list[dict[str, Json]]:
    """The events from `--event FILE` (an object, a list of objects, or one in each line) or `--sample NAME`.

    Raises `ConfigError`.
    """
    if (file is None) == (sample is None):
        raise UsageError("exactly one event is required: --event FILE (- for standard input), or --sample track")
    if sample is not None:
        from svctoolkit import events

        return [events.sample(sample, at=datetime.now(UTC))]
    name, text = _name(file), _stdin() if file == "-" else file_text(str(file))
    found = _json_values(text, name)
    for number, value in enumerate(found, 1):
        if not isinstance(value, dict):
            of = f" (number {number})" if len(found) > 1 else ""
            raise ConfigError(f"an event must be a JSON object, {{...}}{of}", where=name)
    if not found:
        raise ConfigError("an event must be a JSON object, {...}, and this is an empty list", where=name)
    return found


def _name(file: str | None) -> str:
    return "standard input" if file == "-" else str(file)


def _json_values(text: str, name: str) -> list[Any]:
    """The values of a JSON list, of one value, or of one in each line. Raises `ConfigError`."""
    from svctoolkit.json_codec import is_json  # loads msgspec, which help does not need

    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and is_json(lines[0][1].encode("utf-8", "replace")):  # a value that has ended
        return [parse_json("\n" * (number - 1) + line, name) for number, line in lines]
    value = parse_json(text, name)
    return value if isinstance(value, list) else [value]


def report_unread(rejects: Iterable[Reject]) -> bool:
    """Print where files are damaged, and return whether one is: an unknown number of events is missing then."""
    from svctoolkit.cli import _terminal

    unread = [reject for reject in rejects if reject.rest_unread]
    for reject in unread:
        _terminal.err(f"{reject.place}: {reject.reason}")
    return bool(unread)


def report_rejects(rejects: Sequence[Reject]) -> bool:
    """Print the records that are not events, and where files are damaged; return whether one is damaged."""
    from svctoolkit.cli import _terminal

    left_out = [reject for reject in rejects if not reject.rest_unread]
    for reject in left_out[:_MOST_REJECTS]:
        _terminal.err(f"{reject.place}: {reject.reason}")
    if len(left_out) > _MOST_REJECTS:
        _terminal.err(f"{len(left_out) - _MOST_REJECTS:,} more records are not events")
    return report_unread(rejects)


def report_added(names: Sequence[str], *, in_output: bool = True) -> None:
    """Print what was added to an event: before the result, or to standard error if that is for programs."""
    if names:
        from svctoolkit.cli import _terminal

        text = f"added to the event, as an SDK and the gateway do: {', '.join(names)}"
        if in_output:
            _terminal.out(_terminal.style("\n".join(textwrap.wrap(text, _terminal.width())), "dim"))
        else:
            _terminal.err(text)


def settings(assignments: Sequence[str]) -> dict[str, Json]:
    """The configuration in `KEY=VALUE` (text) and `KEY:=JSON` options. Raises `ConfigError`."""
    values = {}
    for text in assignments:
        key, value = assignment("--config", text, "KEY=VALUE")
        values[key.removesuffix(":")] = parse_json(value, f"--config {key}=") if key.endswith(":") else value
    return values


def report_met(text: str, words: Words, numbers: Mapping[str, int]) -> bool:
    """Print the conditions that numbers meet, and return whether one is met. Raises `ConfigError` for invalid ones."""
    from svctoolkit.cli import _terminal
    from svctoolkit.conditions import met, parse

    found = met(parse(text, words), {"": numbers})
    for each in found:
        _terminal.err(f"{each.condition}: {each.text}")
    return bool(found)


class ConditionText(argparse.Action):
    """Failure conditions. An empty text, such as that of a variable that is not set, would never fail a check."""

    # Any: as argparse declares it
    def __call__(self, _parser: object, namespace: argparse.Namespace, values: Any, _option: object = None) -> None:
        """Store the text. Raises `ArgumentError` if it is empty."""
        if not values.strip():
            raise argparse.ArgumentError(self, "no condition. Write one, such as 'lost>0', or leave out the option")
        setattr(namespace, self.dest, values)


def assignment(option: str, text: str, form: str, names: Sequence[str] = ()) -> tuple[str, str]:
    """The two sides of `NAME=VALUE`. Raises `UsageError`."""
    name, equals, value = text.partition("=")
    if not name.rstrip(":") or not equals:
        raise UsageError(f"{option} {text}: expected {form}")
    if names and name not in names:
        raise UsageError(f"{option}: unknown stage {name!r}.{did_you_mean(name, names)}")
    return name, value


def parse_json(text: str, name: str) -> Json:
    """The JSON in `text`. Raises `ConfigError` with the position of the error."""
    from svctoolkit.events import MAX_DEPTH, too_deep

    too_much = f"is nested too deeply; at most {MAX_DEPTH} levels are allowed"
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        reason = error.msg.replace("Expecting", "expected")
        raise ConfigError(f"invalid JSON: {reason}", where=f"{name}:{error.lineno}:{error.colno}") from error
    except ValueError as error:
        raise ConfigError(f"invalid JSON: {error}", where=name) from error
    except RecursionError:
        raise ConfigError(too_much, where=name) from None
    if too_deep(value):
        raise ConfigError(too_much, where=name)
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _float(text: str) -> float:
    if math.isinf(float(text)):
        raise ValueError(f"the number {text[:40]} is out of range")
    return float(text)


def _stdin() -> str:
    if sys.stdin is None:
        raise ConfigError("is closed", where="standard input")
    return _text(sys.stdin.buffer.read(), "standard input")


def file_text(path: str) -> str:
    """The text of a file. Raises `ConfigError`."""
    try:
        return _text(Path(path).read_bytes(), path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot be read: {why}", where=path) from error


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}", where=name) from error
