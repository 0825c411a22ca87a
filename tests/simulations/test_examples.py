"""The payloads of each type's worked examples run through its simulation: each one that is lost is signed here.

Examples show mappings, and some show what the vendor does not accept. A new entry needs a reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from svctoolkit import simulations
from svctoolkit.delivery import request
from svctoolkit.destinations import batch_examples, examples
from svctoolkit.pipeline.simulated import read_request
from svctoolkit.simulations import SIMULATIONS

#: type and name of the example -> the rules that it breaks
SIGNED = {
    # These examples exist to show that the mapping sends what the vendor refuses: their names say so.
    ("BRAZE", "a track event without a name is sent without one, which Braze refuses"): {"bz.event.required"},
    ("BRAZE", "an event without a user is sent without one, which Braze refuses"): {"bz.id.required"},
    ("BRAZE", "a user ID among the traits is not used, but prevents the alias"): {"bz.id.required"},
    ("KLAVIYO", "an event without a name is sent without one, which Klaviyo refuses"): {"kl.event.required"},
    # Customer.io requires a name; the mapping sends a page without one, as RudderStack does.
    ("CUSTOMERIO", "a known person's page may have no name"): {"cio.event.required"},
    # Intercom requires the time of an event; a row without the column has none, as in RudderStack.
    ("INTERCOM", "reverse ETL sends events too"): {"ic.event.required"},
    # Snap's schema requires an action source, which the mapping leaves out.
    ("SNAPCHAT_CONVERSION", "an unknown conversion type gives no action source"): {"sc.required"},
    ("KLAVIYO", "a screen keeps its name, even an empty one"): {"kl.event.required"},
}


class Sent(NamedTuple):
    """The payloads of one example, with its configuration."""

    type: str
    name: str
    config: dict[str, Any]
    now: str
    payloads: list[dict[str, Any]]


def sent() -> Iterator[Sent]:
    for type in SIMULATIONS:
        for example in examples(type):
            yield Sent(type, example.name, example.config, example.now, example.payloads)
        for batch in batch_examples(type):
            payloads = [payload for result in batch.results for payload in result.payloads]
            yield Sent(type, batch.name, batch.config, batch.now, payloads)


SENT = [each for each in sent() if each.payloads]


@pytest.mark.parametrize("each", SENT, ids=lambda each: f"{each.type}: {each.name}")
def test_only_signed_examples_are_lost(each: Sent) -> None:
    """No payload that the mapping is meant to send turns red."""
    server = simulations.open(each.type, each.config, account={"history": "existing"}, now=each.now)
    statuses = [server.respond(read_request(request(payload))) for payload in each.payloads]

    assert server.faults == 0
    assert {loss.rule for loss in server.losses} == SIGNED.get((each.type, each.name), set())
    assert {response.status < 400 for response in statuses if response} == {(each.type, each.name) not in SIGNED}


def test_signed_examples_exist() -> None:
    """Entries of examples that are gone are removed."""
    assert SIGNED.keys() <= {(each.type, each.name) for each in SENT}
