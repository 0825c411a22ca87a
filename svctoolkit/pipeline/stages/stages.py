"""Which stages run, the placeholder results of stages that could not run, and how long each took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import msgspec

from svctoolkit.errors import RequestError, did_you_mean
from svctoolkit.json_types import Json

USER_ABORT = "error encountered in user_transformation stage. Aborting."
DEST_ABORT = "error encountered in dest_transformation stage. Aborting."
NOTHING_TO_SEND = "nothing to send: dest_transform is off, so there is no payload"


@dataclass(frozen=True, slots=True)
class Stages:
    """Which stages run. By default nothing is sent: `send_to_destination` is off.

    Raises `RequestError` for a flag that is not `True` or `False`: the text "false" must not send.
    """

    user_transform: bool = True
    dest_transform: bool = True
    send_to_destination: bool = False

    def __post_init__(self) -> None:
        for name in Stages.__slots__:
            check_flag(f"stage.{name}", getattr(self, name))

    @classmethod
    def from_json(cls, value: object) -> Stages:
        """Return the stages that the member `stage` of a request switches on or off. Raises `RequestError`."""
        if isinstance(value, Stages):
            return value
        if not isinstance(value, Mapping):
            raise RequestError(400, {"message": "stage must be an object"})
        for name in value:
            if name not in cls.__slots__:
                hint = did_you_mean(str(name), cls.__slots__)
                raise RequestError(400, {"message": f"stage has no member {str(name)[:100]!r}.{hint}"})
        return cls(**value)

    @classmethod
    def of(cls, *names: str) -> Stages:
        """Return stages with only the named ones enabled: `Stages.of("dest_transform")`."""
        unknown = set(names) - set(cls.__slots__)
        if unknown:
            raise ValueError(f"unknown stage {sorted(unknown)[0]!r}; the stages are {', '.join(cls.__slots__)}")
        return cls(**{name: name in names for name in cls.__slots__})


def check_flag(name: str, value: object, expected: str = "a boolean") -> bool:
    """Return a flag of a test. Raises `RequestError` for anything but `True` and `False`."""
    if not isinstance(value, bool):
        raise RequestError(400, {"message": f"{name} must be {expected}"})
    return value


def check_config(value: object) -> Mapping[str, Json]:
    """Return the overrides of a configuration. Raises `RequestError` for anything but an object."""
    if not isinstance(value, Mapping):
        raise RequestError(400, {"message": "destinationConfig must be an object"})
    return value


class Timer(msgspec.Struct):
    """Adds up the milliseconds of each stage."""

    into: dict[str, float] = {}

    def stop(self, stage: str, started: float) -> None:
        self.into[stage] = self.into.get(stage, 0.0) + (perf_counter() - started) * 1000
