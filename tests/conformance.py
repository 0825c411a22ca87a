"""The workspace that has every state of the Test API specification, and its IDs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from svctoolkit import Workspace
from svctoolkit.client.conformance import Targets, conform
from svctoolkit.delivery import Answer
from svctoolkit.server import Running, running
from svctoolkit.workspace import Person

LOGIN = ("dev@example.com", "a-personal-access-token")
OURS = Targets(
    "dst-hook",
    source="source-web",
    transformed="dst-clean",
    failing="dst-broken",
    rejecting="dst-rejecting",
    disabled_destination="dst-paused",
    disabled_source="source-off",
    unsupported="dst-s3",
    send=True,
)
#: sections of the specification that say something about answers
PARTS = {
    "Request body", "Destination result", "Entry of data", "Element of dest_transformed_payload", "Stage rules",
    "Errors", "States", "Endpoints", "Unsupported destinations", "Authentication", "Destination definitions",
}  # fmt: skip


@contextmanager
def served() -> Iterator[Running]:
    """Serve the workspace. Nothing leaves the machine: a recorder answers, with 404 for the rejecting destination."""
    with running(_workspace()) as server:
        server.pipeline.recorder.answer("rejecting.example", Answer(404, {"success": False}))
        yield server


def table() -> Iterator[str]:
    """Yield the Markdown of the rows of our own server."""
    with served() as server:
        report = conform(server.url, *LOGIN, OURS)
    counts = report.counts
    yield "### Test API"
    yield ""
    same = f"{counts['same']} of {len(report.rows)} rows of the specification are the same"
    yield f"{same} (`svctoolkit conform` on `svctoolkit serve`)."
    yield ""
    yield "| row | section | what is specified | verdict |"
    yield "|---|---|---|---|"
    for row in report.rows:
        yield f"| {row.row} | {row.section} | {row.rule} | {row.verdict}{': ' * bool(row.difference)}{row.difference} |"


def _workspace() -> Workspace:
    made = Workspace("specification", users=[Person.with_token(*LOGIN)])
    made.transformation("clean", lambda event: event)
    made.transformation("broken", lambda event: event["missing"])
    config = {"webhookUrl": "https://hook.example/in"}
    made.destination("hook", "WEBHOOK", id="dst-hook", config=config)
    made.destination("clean", "WEBHOOK", id="dst-clean", config=config, transformation="clean")
    made.destination("broken", "WEBHOOK", id="dst-broken", config=config, transformation="broken")
    made.destination("rejecting", "WEBHOOK", id="dst-rejecting", config={"webhookUrl": "https://rejecting.example/"})
    made.destination("paused", "WEBHOOK", id="dst-paused", config=config, enabled=False)
    made.destination("s3", "S3", id="dst-s3")
    made.source("web", id="source-web", destinations=["hook", "clean", "paused"])
    made.source("off", id="source-off", destinations=["hook"], enabled=False)
    return made
