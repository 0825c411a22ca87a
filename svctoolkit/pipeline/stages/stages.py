"""Which stages run, the placeholder results of stages that could not run, and how long each took."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

USER_ABORT = "error encountered in user_transformation stage. Aborting."
DEST_ABORT = "error encountered in dest_transformation stage. Aborting."
NOTHING_TO_SEND = "nothing to send: dest_transform is off, so there is no payload"


@dataclass(frozen=True, slots=True)
class Stages:
    """Which stages run. By default nothing is sent: `send_to_destination` is off."""

    user_transform: bool = True
    dest_transform: bool = True
    send_to_destination: bool = False

    @classmethod
    def of(cls, *names: str) -> Stages:
        """Return stages with only the named ones enabled: `Stages.of("dest_transform")`."""
        unknown = set(names) - set(cls.__slots__)
        if unknown:
            raise ValueError(f"unknown stage {sorted(unknown)[0]!r}; the stages are {', '.join(cls.__slots__)}")
        return cls(**{name: name in names for name in cls.__slots__})


@dataclass(slots=True)
class Timer:
    """Adds up the milliseconds of each stage."""

    into: dict[str, float] = field(default_factory=dict)

    def stop(self, stage: str, started: float) -> None:
        self.into[stage] = self.into.get(stage, 0.0) + (perf_counter() - started) * 1000
