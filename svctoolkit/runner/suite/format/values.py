"""Values that several parts of a suite file contain."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, UnsetType

from svctoolkit.durations import parse_duration

Text: TypeAlias = Annotated[str, Meta(min_length=1)]


Tag: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", description="a word for selecting scenarios")
]


Id: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*\Z", description="stable id of the test")]


OptionalJson: TypeAlias = Any | UnsetType


Duration: TypeAlias = (
    Annotated[str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?(ms|s|m|h)\Z", description="500ms, 20s, 2m, 1h")]
    | Annotated[float, Meta(ge=0, description="seconds")]
)


def seconds(duration: Duration) -> float:
    """Return a duration in seconds.

    >>> seconds("500ms"), seconds("20s"), seconds("2m"), seconds("1h"), seconds(3)
    (0.5, 20.0, 120.0, 3600.0, 3.0)
    """
    return parse_duration(duration) if isinstance(duration, str) else float(duration)
