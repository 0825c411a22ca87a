"""What a step may expect."""

# No `annotations` from `__future__`: msgspec would compile each of them again at every start, which takes 10 ms.
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from svctoolkit.runner.suite.format.values import OptionalJson


class Expect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The expected results. Objects match as subsets, lists exactly; use `$operators` for anything else."""

    status: Annotated[
        OptionalJson, Meta(description="HTTP status of the response; 200 unless this or `error` is set")
    ] = UNSET
    headers: Annotated[dict[str, Any] | UnsetType, Meta(description="headers of the response, names in any case")] = (
        UNSET
    )
    body: Annotated[OptionalJson, Meta(description="the entire response body")] = UNSET
    error: Annotated[
        OptionalJson, Meta(description="why the request was rejected, or the destination cannot be tested")
    ] = UNSET
    user_transform: Annotated[OptionalJson, Meta(description="the resulting events; a single one needs no list")] = (
        UNSET
    )
    dest_transform: Annotated[OptionalJson, Meta(description="the resulting payloads; a single one needs no list")] = (
        UNSET
    )
    send_to_destination: Annotated[OptionalJson, Meta(description="the responses, each {status, response}")] = UNSET
    response: Annotated[
        OptionalJson,
        Meta(description="the data plane's response: {status, headers, body}; status 200 by default"),
    ] = UNSET
    received: Annotated[
        OptionalJson,
        Meta(
            description="the events that the data plane accepted, in order, such as those that a webhook became; a "
            "single one needs no list"
        ),
    ] = UNSET
    delivered: Annotated[
        OptionalJson,
        Meta(
            description="the requests that arrived, in order, each {method, url, query, headers, body, events}; "
            "an empty list: nothing may arrive. By destination if the source has several"
        ),
    ] = UNSET
    dropped: Annotated[
        OptionalJson,
        Meta(description="the dropped events, each {by, reason, destination, fate}"),
    ] = UNSET
    failed: Annotated[
        OptionalJson,
        Meta(
            description="the failed events, each {by, error, status, fate}; none by default. "
            "`any`: failures do not matter"
        ),
    ] = UNSET
    attempts: Annotated[
        OptionalJson,
        Meta(
            description="number of requests to a destination; or a list of the tries, each "
            "{status, after, body, headers, response, error}. By destination if there are several"
        ),
    ] = UNSET
    warehouse: Annotated[
        OptionalJson,
        Meta(
            description="the tables of a warehouse destination: rows by table, in any order; and "
            "`columns`, `discards`, `losses`, `sql: {query, rows}`. By destination if there are several"
        ),
    ] = UNSET
    violations: Annotated[
        OptionalJson,
        Meta(
            description="the events' violations of the source's tracking plan, in order, each {type, property, path, "
            "message, event, place, dropped}; an empty list: none"
        ),
    ] = UNSET
    holds: Annotated[
        OptionalJson,
        Meta(
            description="what a simulated destination holds after the step: rows by table, in any order, such as "
            "`profiles: [{ids, attributes}]` and `events: [{name, under}]`; `counts` of rows by table; `nobody`: ids "
            "that no profile has. By destination if several are simulated"
        ),
    ] = UNSET
    lost: Annotated[
        OptionalJson,
        Meta(
            description="what simulated destinations lost in the step although it may be delivered, in any order, each "
            "{what, rule, destination, table, place, value, events}; an empty list: nothing. By destination if several "
            "are simulated"
        ),
    ] = UNSET
    result: Annotated[OptionalJson, Meta(description="what a Python step returns")] = UNSET
    deleted: Annotated[
        OptionalJson,
        Meta(
            description="the deletion at a destination: {status, error, tries, requests}; `complete` by default. By "
            "destination if there are several"
        ),
    ] = UNSET
    fetched: Annotated[
        OptionalJson,
        Meta(
            description="the requests of user code (fetch, fetchV2, geolocation), in order, each {method, url, path, "
            "query, headers, body, status, response, transformation}; an empty list: none. By destination if there are "
            "several"
        ),
    ] = UNSET
    logs: Annotated[
        OptionalJson,
        Meta(
            description="the lines that user code logged, in order: texts, or {level, text, event, transformation}. By "
            "destination if there are several"
        ),
    ] = UNSET
    losses: Annotated[
        OptionalJson,
        Meta(
            description="the values that user code returned and JSON cannot represent (NaN, Infinity, undefined, Set, "
            "Map), in order, each {path, value, becomes, event, transformation}; an empty list: none. By destination "
            "if there are several"
        ),
    ] = UNSET
    capture: Annotated[
        dict[str, str] | UnsetType,
        Meta(description="variables for later steps, from paths of the result: {oid: delivered.0.body.order_id}"),
    ] = UNSET
