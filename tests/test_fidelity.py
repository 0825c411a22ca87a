"""How far mappings agree with RudderStack is data, and every place that shows it shows the same."""

from __future__ import annotations

import json

import pytest

from svctoolkit import CATALOGUE
from svctoolkit.cli import main
from svctoolkit.destinations.fidelity import fidelity, known_differences, measured, service
from tests.fidelity import PAGE, explanations, field_name, page_text


@pytest.fixture(autouse=True)
def only_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without types that other tests registered."""
    monkeypatch.setattr(CATALOGUE, "_added", {})


def test_the_table_in_the_documentation_is_that_of_the_data() -> None:
    """The page is generated from `fidelity.json` and the mappings' known differences."""
    page = PAGE.read_text(encoding="utf-8")

    assert page_text(page) == page, "run `python -m tests.fidelity`"
    assert f"Compared on {measured()} with recordings of {service()}." in page


#: what all types together reach at least
LEAST = {"cases": 0.98, "observations": 0.99, "calls": 0.97, "answers": 0.99}
#: no recordings exist
NEVER_COMPARED = ["BRAZE_AUDIENCE", "KAFKA"]


def test_every_other_type_that_takes_events_was_compared() -> None:
    """A mapping without figures says so; a new one is measured or listed here."""
    figures = {name: fidelity(name) for name in CATALOGUE.names() if CATALOGUE[name].handlers}
    columns = {name: (f.cases, f.observations, f.calls, f.answers) for name, f in figures.items()}

    assert [name for name, counts in columns.items() if not any(total for _, total in counts)] == NEVER_COMPARED
    assert all(0 <= equal <= total for counts in columns.values() for equal, total in counts)


def test_every_recording_that_differs_is_explained() -> None:
    """By a known difference of its type: each case, call and answer; observations may also differ in odd values."""
    missing = {}
    for name in CATALOGUE.names():
        f = fidelity(name)
        missing[name] = sum(column.total - column.equal for column in (f.cases, f.calls, f.answers))
    explained = explanations()

    assert {name: len(ids) for name, ids in explained.items()} == {name: n for name, n in missing.items() if n}
    unexplained = [
        id
        for name, ids in explained.items()
        for id, why in ids.items()
        if not why or not any(sentence.startswith(why) for sentence in known_differences(name))
    ]
    assert unexplained == [], "write the beginning of one of the type's `differences` into tests/unequal.json"


def test_no_type_agrees_in_less_than_97_percent_of_its_observations() -> None:
    """And all together in 99%, with 97% of the shared requests and 99% of the answers."""
    every = {name: fidelity(name) for name in CATALOGUE.names()}

    def share(column: str) -> float:
        counts = [getattr(f, column) for f in every.values()]
        return sum(one.equal for one in counts) / sum(one.total for one in counts)

    assert [name for name, f in every.items() if f.observations.share < 0.97] == []
    assert {column: share(column) > least for column, least in LEAST.items()} == dict.fromkeys(LEAST, True)


@pytest.mark.parametrize("name", ["MARKETO", "GA4"])
def test_the_command_line_shows_how_far_a_type_can_be_trusted(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """As text, Markdown and JSON: the counts, the day, the version, and what is known to differ."""

    def run(*form: str) -> str:
        assert main(("definitions", name, *form)) == 0
        return capsys.readouterr().out

    figures = fidelity(name)
    text, markdown = (" ".join(run(*form).split()) for form in ((), ("--markdown",)))
    shown = json.loads(run("--json"))["fidelity"]

    for output in (text, markdown):
        assert f"{figures.observations} observations" in output
        assert f"{service()} on {measured()}" in output
        assert all(" ".join(sentence.split()) in output for sentence in known_differences(name))
    assert shown["observations"] == {"equal": figures.observations.equal, "total": figures.observations.total}
    assert shown["knownDifferences"] == list(known_differences(name))
    assert known_differences(name)


def test_fields_are_named_without_places_in_lists() -> None:
    """So that the same field of several products is one entry."""
    assert field_name("0.body.JSON.events.3.params.items.0.price") == "events.*.params.items.*.price"
    assert field_name("1.body.FORM.data.0.<json>.user_data.em") == "data.*.user_data.em"
    assert field_name("") == "number of requests"
