"""The cause of a failure is data: it survives JSON and pickling, and its rule does not depend on its wording."""

from __future__ import annotations

import pickle
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import mapping
from svctoolkit.causes import Cause, CodeError, Refusal, Rejection, cause_from_json, cause_to_json, map_texts
from svctoolkit.errors import ConfigError, InvalidConfig, MappingError, UnknownName

PATHS = st.lists(st.text(string.ascii_letters, min_size=1, max_size=8), min_size=1, max_size=3).map(".".join)
SENTENCES = st.text(max_size=40)
REFUSALS = st.builds(
    Refusal,
    st.sampled_from(["missing", "misfit", "not-configured", "unsupported", "misconfigured", "not-found"]),
    field=PATHS,
    setting=PATHS,
    expected=SENTENCES,
    value=st.none() | SENTENCES,
    why=SENTENCES,
)
CAUSES = (
    REFUSALS
    | st.builds(CodeError, SENTENCES, SENTENCES, file=SENTENCES, line=st.integers(0, 9999), function=SENTENCES)
    | st.builds(Rejection, st.integers(100, 599), SENTENCES, SENTENCES)
)
KINDS = [
    mapping.Missing("userId", "anonymousId", wants="an ID", setting="useId", why="it is the key", case="id"),
    mapping.Misfit("traits.age", "a number", "old"),
    mapping.NotConfigured("event", "Room Booked", setting="eventsMap"),
    mapping.Unsupported("page events", setting="trackPages"),
    mapping.Misconfigured("eventsMap", "has two rows for it", at="Room Booked"),
    mapping.NotFound("list", 7, field="groupId"),
    mapping.LookupFailed("userId", "the answer has no ID", status=503),
]


@given(CAUSES)
def test_a_cause_survives_json(cause: Cause) -> None:
    """`cause_from_json` reads what `cause_to_json` writes."""
    assert cause_from_json(cause_to_json(cause)) == cause


@given(REFUSALS, SENTENCES, SENTENCES, st.none() | SENTENCES)
def test_a_rule_does_not_depend_on_words_or_values(
    refusal: Refusal, expected: str, why: str, value: str | None
) -> None:
    """Only kind, place and case are part of the id."""
    reworded = Refusal(
        refusal.kind, field=refusal.field, setting=refusal.setting, expected=expected, value=value, why=why
    )

    assert reworded.rule("HARBOR") == refusal.rule("HARBOR")


@given(REFUSALS, SENTENCES)
def test_the_template_is_the_same_for_all_values(refusal: Refusal, value: str) -> None:
    """Whatever was found instead of the expected value."""
    one = Refusal("misfit", field=refusal.field, expected=refusal.expected, value="1")
    other = Refusal("misfit", field=refusal.field, expected=refusal.expected, value=value)

    assert one.template == other.template


@pytest.mark.parametrize("error", KINDS, ids=lambda error: type(error).__name__)
def test_a_refusal_survives_pickling(error: MappingError) -> None:
    """It is sent from worker processes with its class, data and text."""
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert copy.refusal == error.refusal
    assert str(copy) == str(error)


@pytest.mark.parametrize(
    "error",
    [InvalidConfig("is required", where="apiKey"), UnknownName("type", "mixpanl", {"mixpanel": 1}.keys())],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_the_input_survives_pickling(error: ConfigError) -> None:
    """Whatever parameters its class has."""
    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert copy.problems == error.problems
    assert str(copy) == str(error)


def test_texts_are_derived_from_the_data() -> None:
    """One sentence for each kind."""
    assert [str(error) for error in KINDS] == [
        "needs an ID at userId or anonymousId; it is the key",
        "traits.age: expected a number, got 'old'",
        "event: eventsMap has no entry for 'Room Booked'",
        "page events are sent only with trackPages",
        "eventsMap: has two rows for it, at 'Room Booked'",
        "groupId: no list matches 7; depends on a lookup in the destination's account",
        "the answer has no ID",
    ]
    assert [error.refusal.rule("HARBOR") for error in KINDS] == [
        "HARBOR.missing.userId-or-anonymousId.id",
        "HARBOR.misfit.traits.age",
        "HARBOR.not-configured.eventsMap",
        "HARBOR.unsupported.trackPages",
        "HARBOR.misconfigured.eventsMap",
        "HARBOR.not-found.groupId",
        "HARBOR.lookup-failed.userId",
    ]


def test_list_indexes_are_not_part_of_a_rule() -> None:
    """The first product and the second have the same rule."""
    rules = {mapping.Missing(f"properties.products.{at}.name").refusal.rule("HARBOR") for at in (0, 1, 12)}

    assert rules == {"HARBOR.missing.properties.products.name"}


def test_secrets_in_causes_can_be_masked() -> None:
    """In values, reasons, subjects, messages and vendor codes; not in fields and settings, which are names."""
    refusal = Refusal("misfit", field="traits.k3y", expected="a number", value='"k3y"', why="k3y is a text")
    rejection = Rejection(401, code="k3y", message="bad key k3y")

    def mask(text: str) -> str:
        return text.replace("k3y", "***")

    assert map_texts(refusal, mask).text == "traits.k3y: expected a number, got '***'; *** is a text"
    assert map_texts(rejection, mask) == Rejection(401, code="***", message="bad key ***")


def test_a_code_error_is_identified_by_function_not_line() -> None:
    """Lines move with every edit above them."""
    rules = {CodeError("TypeError", "x", file="clean.js", line=at, function="names").rule("") for at in (3, 8)}

    assert rules == {"code.clean.js.names.TypeError"}
    assert CodeError("TypeError", "no x", file="clean.js", line=8, column=29).text == "TypeError: no x (clean.js:8:29)"
