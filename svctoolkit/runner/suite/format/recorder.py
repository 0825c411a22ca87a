"""What destinations answer, and what simulated ones hold before a scenario."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta

from svctoolkit.runner.suite.format.values import Duration, OptionalJson


class RecorderAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the recorder responds to one request."""

    status: Annotated[int, Meta(ge=100, le=599)] = 200
    headers: dict[str, str | int] = {}
    body: OptionalJson = UNSET
    delay: Duration = 0.0
    close: Annotated[
        bool | Literal["after"],
        Meta(
            description="close the connection instead of responding; after: a simulated destination takes the request"
        ),
    ] = False
    truncate: Annotated[bool, Meta(description="close the connection in the middle of the response")] = False
    times: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="number of times in a row: once by default; the last one repeats"),
    ] = None
    failed: Annotated[
        list[Annotated[int, Meta(ge=0)]],
        Meta(description="indexes of the batch's events that are rejected, in the destination's format"),
    ] = []
    when: Annotated[
        OptionalJson,
        Meta(
            description="only for requests that match: an expectation with some of method, url, path, query, headers "
            "and body. Responses with the same condition form their own sequence"
        ),
    ] = UNSET


RecorderScript: TypeAlias = Annotated[
    dict[str, RecorderAnswer | Annotated[list[RecorderAnswer], Meta(min_length=1)]],
    Meta(
        description="responses by destination, or by the URL prefix that user code requests, in order; the last one "
        "repeats"
    ),
]


Given: TypeAlias = Annotated[
    dict[str, dict[str, Any]],
    Meta(
        description="what simulated destinations hold before the scenario, by destination: rows by table as in "
        "`holds`, and what else the account has, such as `lists: [news]`"
    ),
]
