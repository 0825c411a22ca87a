"""Fault profiles: how slow and how unreliable a destination, or the ingestion of a source, is."""

# No `annotations` from `__future__`, as in the shapes of the workspace file: msgspec would compile them at every start.
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

MOST_SECONDS = 3600.0
_Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=MOST_SECONDS)]
_Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
_Path: TypeAlias = tuple[str | int, ...]


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    pass


class Normal(_Part, frozen=True, kw_only=True):
    """A normal distribution; negative values become 0."""

    mean: _Seconds
    deviation: _Seconds


class Lognormal(_Part, frozen=True, kw_only=True):
    """A lognormal distribution by its median and the value that 95% do not exceed."""

    median: Annotated[float, Meta(gt=0, le=MOST_SECONDS)]
    p95: Annotated[float, Meta(gt=0, le=MOST_SECONDS)]


class Latency(_Part, frozen=True, kw_only=True):
    """A distribution of seconds: exactly one of the members. No value exceeds one hour.

    `percentiles`, such as `{p50: 0.1, p99: 3}`, are connected by straight lines; outside of them values are constant.
    """

    uniform: tuple[_Seconds, _Seconds] | UnsetType = UNSET
    normal: Normal | UnsetType = UNSET
    lognormal: Lognormal | UnsetType = UNSET
    percentiles: (
        Annotated[
            dict[Annotated[str, Meta(pattern=r"^p[0-9]{1,2}(\.[0-9]{1,3})?$")], _Seconds],
            Meta(min_length=1, max_length=20),
        ]
        | UnsetType
    ) = UNSET

    def draw(self, random: Random) -> float:
        """Return one value, in seconds."""
        if self.uniform is not UNSET:
            seconds = random.uniform(*self.uniform)
        elif self.normal is not UNSET:
            seconds = random.normalvariate(self.normal.mean, self.normal.deviation)
        elif self.lognormal is not UNSET:
            sigma = math.log(self.lognormal.p95 / self.lognormal.median) / 1.6448536269514722  # the normal p95
            seconds = self.lognormal.median * math.exp(sigma * random.normalvariate(0, 1))
        else:
            seconds = _interpolate(self._points(), random.random() * 100)
        return min(max(seconds, 0.0), MOST_SECONDS)

    def problems(self) -> Iterator[tuple[_Path, str]]:
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET]
        if len(given) != 1:
            yield (), f"must have exactly one of {', '.join(self.__struct_fields__)}"
        if self.uniform is not UNSET and self.uniform[0] > self.uniform[1]:
            yield ("uniform",), "the first number must not be greater than the second"
        if self.lognormal is not UNSET and self.lognormal.p95 < self.lognormal.median:
            yield ("lognormal", "p95"), "must not be less than the median"
        values = [seconds for _, seconds in self._points()]
        if values != sorted(values):
            yield ("percentiles",), "a higher percentile must not have a lower value"

    def _points(self) -> list[tuple[float, float]]:
        named = {} if self.percentiles is UNSET else self.percentiles
        return sorted((float(name[1:]), seconds) for name, seconds in named.items())


class Errors(_Part, frozen=True, kw_only=True):
    """The share of requests that are answered with an error, one of `statuses` at random."""

    share: _Share
    statuses: Annotated[tuple[Annotated[int, Meta(ge=400, le=599)], ...], Meta(min_length=1, max_length=100)] = (503,)
    retry_after: Annotated[int, Meta(ge=0, le=86_400, description="seconds, as header `Retry-After`")] | UnsetType = (
        UNSET
    )


class Down(_Part, frozen=True, kw_only=True):
    """A period, in seconds since the profile was switched on, in which connections are closed without an answer.

    With `status`, requests get this answer instead.
    """

    since: Annotated[float, Meta(ge=0)] = 0.0
    until: Annotated[float, Meta(gt=0)]
    status: Annotated[int, Meta(ge=400, le=599)] | UnsetType = UNSET


class Faults(_Part, frozen=True, kw_only=True):
    """A fault profile.

    `latency` is in seconds, or a distribution. `errors` are answers that fail. `close` is the share of connections that
    are closed without an answer, `close_after` of those that are closed after the request was accepted: only its answer
    is lost. `bandwidth` is in bytes per second, for the bodies of request and answer. `down` are periods without
    service. With the same `seed`, the n-th request of a run meets the same fault every time.
    """

    latency: _Seconds | Latency = 0.0
    errors: Errors | UnsetType = UNSET
    close: Annotated[_Share, Meta(description="share of connections that are closed without an answer")] = 0.0
    close_after: Annotated[_Share, Meta(description="share of connections that are closed instead of an answer")] = 0.0
    bandwidth: Annotated[float, Meta(gt=0, description="bytes per second")] | UnsetType = UNSET
    down: Annotated[tuple[Down, ...], Meta(max_length=100)] = ()
    seed: Annotated[int, Meta(ge=0, le=2**53)] = 0

    def problems(self) -> Iterator[tuple[_Path, str]]:
        """Yield what is wrong although every member has the right type, each with its path."""
        if isinstance(self.latency, Latency):
            for path, message in self.latency.problems():
                yield ("latency", *path), message
        share = self.close + self.close_after + (0.0 if self.errors is UNSET else self.errors.share)
        if share > 1.000_001:
            yield (), f"the shares of `close`, `closeAfter` and `errors` are {share:g} together, more than 1"
        for index, period in enumerate(self.down):
            if period.since >= period.until:
                yield ("down", index, "until"), "must be greater than `since`"


@dataclass(slots=True)
class FaultSettings:
    """The fault profiles of a workspace by name, and the profiles of destinations and of sources by key."""

    profiles: Mapping[str, Faults] = field(default_factory=dict)
    destinations: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


def _interpolate(points: list[tuple[float, float]], at: float) -> float:
    """Return the value at a percentile; outside of `points` that of the nearest one."""
    before = max((point for point in points if point[0] <= at), default=points[0])
    after = min((point for point in points if point[0] >= at), default=points[-1])
    if after[0] <= before[0]:
        return before[1]
    return before[1] + (after[1] - before[1]) * (at - before[0]) / (after[0] - before[0])
