"""Run the rules, and the report with a verdict for each."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from svctoolkit.client._server import Server
from svctoolkit.client.conformance._api import Api, Targets
from svctoolkit.client.conformance._rules import RULES, Rule
from svctoolkit.displayed import Displayed
from svctoolkit.errors import DeliveryError
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker, Secret

if TYPE_CHECKING:
    import httpx

_SIGNS = {"same": "✓", "differs": "✗", "skipped": "–"}


class Row(NamedTuple):
    """A row of the specification, and whether the server does the same."""

    row: str
    section: str
    rule: str
    verdict: Literal["same", "differs", "skipped"]
    difference: str  # what was expected and found; for a skipped row the reason


@dataclass(frozen=True, slots=True)
class Conformance(Displayed):
    """The rows of the specification for one server. `ok`: no row differs."""

    base_url: str
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        return not any(row.verdict == "differs" for row in self.rows)

    @property
    def counts(self) -> dict[str, int]:
        """The number of rows with each verdict."""
        found = Counter(row.verdict for row in self.rows)
        return {"same": found["same"], "differs": found["differs"], "skipped": found["skipped"]}

    def to_dict(self) -> dict[str, Json]:
        """The report as JSON."""
        return {
            "url": self.base_url,
            "ok": self.ok,
            "counts": self.counts,
            "rows": [row._asdict() for row in self.rows],
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def display_text(self) -> str:
        return str(self)

    def _lines(self) -> Iterator[str]:
        width = max((len(row.row) for row in self.rows), default=0)
        for row in self.rows:
            yield f"{_SIGNS[row.verdict]} {row.row:<{width}}  {row.rule}"
            if row.difference:
                yield f"  {'':<{width}}  {row.verdict}: {row.difference}"
        same, differs, skipped = self.counts.values()
        yield f"\n{len(self.rows)} rows: {same} same, {differs} different, {skipped} skipped"


def conform(
    base_url: str,
    email: str,
    token: str | Secret,
    targets: Targets,
    *,
    transport: httpx.BaseTransport | None = None,
    timeout: float = 30.0,
    limit: float = 300.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Conformance:
    """Check a server against each row of the Test API specification.

    `timeout` is in seconds per response. After `limit` seconds no request starts, and the remaining rows differ. Each
    row sends at most two requests. Nothing is sent to destinations unless `targets.send`. Raises `DeliveryError` if
    the server cannot be reached, and `RequestError` if it rejects the login or does not have the destination.
    """
    secret = token if isinstance(token, Secret) else Secret(token)

    end = clock() + limit

    def pause(seconds: float) -> None:
        sleep(min(seconds, max(0.0, end - clock())))  # a server may ask for a minute before a retry

    def server(credential: Secret) -> Server:
        return Server(base_url, email, credential, transport=transport, timeout=timeout, sleep=pause)

    known, stranger = server(secret), server(Secret(f"{secret.reveal()}-wrong"))
    api = Api(known, stranger, targets, Masker({secret.reveal()}), lambda: clock() > end)
    try:
        api.check_access()
        return Conformance(known.base_url, tuple(_row(rule, api) for rule in RULES))
    finally:
        known.close()
        stranger.close()


def _row(rule: Rule, api: Api) -> Row:
    missing = [name for name in rule.needs if not getattr(api.targets, name)]
    if missing:
        options = " and ".join(f"--{name.replace('_', '-')}" for name in missing)
        return Row(rule.id, rule.section, rule.text, "skipped", f"requires {options}")
    try:
        reason = rule.check(api)
    except ValueError as error:
        return Row(rule.id, rule.section, rule.text, "differs", api.masker.mask(str(error)))
    except DeliveryError as error:
        return Row(rule.id, rule.section, rule.text, "differs", f"no usable answer: {api.masker.mask(str(error))}")
    return Row(rule.id, rule.section, rule.text, "skipped" if reason else "same", reason or "")
