"""SuiteExplorer: choose scenarios, run them, and see why one failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.widgets import SuiteExplorer
from tests.notebooks.controls import click, control, fill, grid, lines, pick, search, shown, words
from tests.notebooks.scripts import without_tools

ORDERS = """\
suite: Orders
tags: [orders]
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://h.example/, headers: [{from: key, to: "$(env:KEY:-sup3rs3cret)"}]}}
defaults: {destination: hook}
scenarios:
  - name: the event goes out
    event: {type: track, event: Order Completed}
    expect: {dest_transform: {body: {JSON: {event: Order Completed}}}}
  - name: revenue is a number
    tags: [money]
    event: {type: track, event: Order Completed, properties: {revenue: "10"}}
    expect:
      dest_transform:
        body: {JSON: {properties: {revenue: 10}}}
  - name: pages in $(language)
    cases: [{id: en, language: English}, {id: de, language: German}]
    event: {type: page, name: $(language)}
    expect: {dest_transform: {body: {JSON: {name: $(language)}}}}
  - name: later
    skip: waits for the CRM
    event: {type: page}
    expect: {dest_transform: [{}]}
"""
REFUNDS = """\
suite: Refunds
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://h.example/}}}
scenarios:
  - name: a refund goes out
    destination: hook
    event: {type: track, event: Order Refunded}
    expect: {dest_transform: {body: {JSON: {event: Order Refunded}}}}
"""
ALL_OF_ORDERS = "1 failed, 3 passed, 1 skipped"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.suite.yaml").write_text(ORDERS)
    (tmp_path / "refunds.suite.yaml").write_text(REFUNDS)
    return tmp_path


@pytest.fixture
def explorers() -> Iterator[Any]:
    """A factory for explorers, which closes them."""
    made = []

    def explorer(*paths: Any) -> SuiteExplorer:
        made.append(SuiteExplorer(*paths))
        assert made[-1].wait()
        return made[-1]

    yield explorer
    for one in made:
        one.close()


def listed(explorer: SuiteExplorer) -> list[str]:
    """The rows of suites, then the outcome and title of each listed scenario."""
    scenarios = [f"{cells[0]}: {cells[1]}" for cells in grid(explorer, "Scenarios").page["cells"]]
    return [*lines(explorer, "Suites"), *scenarios]


def ran(explorer: SuiteExplorer, button: str) -> str:
    """The display after a button was pressed and the run has finished."""
    click(explorer, button)
    assert explorer.wait()
    return words(shown(explorer))


def chosen(explorer: SuiteExplorer, title: str) -> str:
    """The display after the row with this title was selected."""
    for label, column in (("Suites", 0), ("Scenarios", 1)):
        page = grid(explorer, label).page
        for number, cells in zip(page["numbers"], page["cells"], strict=True):
            if cells[column] == title:
                pick(explorer, label, number)
                assert explorer.wait()
                return words(shown(explorer))
    raise AssertionError(f"no row has the title {title!r}")


def test_it_lists_suites_and_scenarios(explorers: Any, folder: Path) -> None:
    """Every suite of a folder with its scenarios, one for each row of cases; nothing has run."""
    explorer = explorers(folder)

    assert listed(explorer) == [
        "All suites  0  6 not run",
        "Orders  0  5 not run",
        "Refunds  0  1 not run",
        "○ not run: the event goes out",
        "○ not run: revenue is a number",
        "○ not run: pages in English",
        "○ not run: pages in German",
        "○ not run: later",
        "○ not run: a refund goes out",
    ]
    assert "nothing has run yet" in words(shown(explorer))


def test_all_scenarios_can_be_run(explorers: Any, folder: Path) -> None:
    """The list shows each outcome by sign and word, the summary the numbers and the time."""
    explorer = explorers(folder)
    text = ran(explorer, "Run all")

    assert "✗ 1 failed ✓ 4 passed 1 skipped in 0." in text
    assert listed(explorer)[:5] == [
        "All suites  1  1 failed, 4 passed, 1 skipped",
        f"Orders  1  {ALL_OF_ORDERS}",
        "Refunds  0  1 passed",
        "✓ passed: the event goes out",
        "✗ failed: revenue is a number",
    ]
    assert "– skipped: later" in listed(explorer)


def test_a_difference_is_shown_at_its_line_of_yaml(explorers: Any, folder: Path) -> None:
    """A failure has file, line and column, the YAML around the marked line, the expected and the actual value."""
    explorer = explorers(folder)
    text = ran(explorer, "Run all")

    assert "orders.suite.yaml:15:45" in text
    assert "<mark>▶  15 │         body: {JSON: {properties: {revenue: 10}}}</mark>" in shown(explorer)
    assert 'dest_transform.body.JSON.properties.revenue : expected 10 , got "10"' in text


def test_a_failure_shows_the_payloads_of_its_stages(explorers: Any, folder: Path) -> None:
    """Input and result of each stage can be opened; the one that differs is open."""
    explorer = explorers(folder)
    ran(explorer, "Run all")
    text = chosen(explorer, "revenue is a number")

    assert "given" in text
    assert 'endpoint : "https://h.example/"' in text
    assert '<details class="more" open><summary>dest_transform</summary>' in shown(explorer)


def test_one_scenario_can_be_run(explorers: Any, folder: Path) -> None:
    """Only the chosen one runs; it is shown in full although it passed."""
    explorer = explorers(folder)
    chosen(explorer, "pages in German")
    text = ran(explorer, "Run chosen")

    assert "All suites  0  1 passed, 5 not run" in listed(explorer)
    assert "✓ passed pages in German orders.suite.yaml:17" in text
    assert 'name : "German"' in text


def test_one_suite_can_be_run(explorers: Any, folder: Path) -> None:
    """Choosing a suite means its scenarios."""
    explorer = explorers(folder)
    chosen(explorer, "Refunds")
    ran(explorer, "Run chosen")

    assert listed(explorer)[0] == "All suites  0  1 passed, 5 not run"
    assert listed(explorer)[3:] == ["✓ passed: a refund goes out"]
    assert grid(explorer, "Suites").picked == grid(explorer, "Suites").page["numbers"][2]


@pytest.mark.parametrize("text", ["revenue", "tags: money", "line = 10"])
def test_a_search_limits_the_list_and_the_chosen_scenarios(explorers: Any, folder: Path, text: str) -> None:
    """Text in titles and tags, or a line."""
    explorer = explorers(folder)
    search(explorer, "Scenarios", text)
    found = listed(explorer)
    ran(explorer, "Run chosen")
    search(explorer, "Scenarios", "")

    assert found[3:] == ["○ not run: revenue is a number"]
    assert listed(explorer)[0] == "All suites  1  1 failed, 5 not run"


def test_only_failed_scenarios_can_be_run_again(explorers: Any, folder: Path) -> None:
    """After a fix in the file, the failed one runs alone and passes: every run reads the files again."""
    explorer = explorers(folder)
    ran(explorer, "Run all")
    search(explorer, "Scenarios", "outcome: failed")
    failed = listed(explorer)
    (folder / "orders.suite.yaml").write_text(ORDERS.replace("revenue: 10}", 'revenue: "10"}'))
    ran(explorer, "Run failed")

    assert failed[3:] == ["✗ failed: revenue is a number"]
    assert listed(explorer) == [
        "All suites  0  5 passed, 1 skipped", "Orders  0  4 passed, 1 skipped", "Refunds  0  1 passed"
    ]  # fmt: skip


def test_a_scenario_that_is_removed_is_no_longer_selected(explorers: Any, folder: Path) -> None:
    """The next run reads the file, and selects everything."""
    explorer = explorers(folder)
    chosen(explorer, "later")
    (folder / "orders.suite.yaml").write_text(ORDERS.partition("  - name: later")[0])
    ran(explorer, "Run all")

    assert listed(explorer)[0] == "All suites  1  1 failed, 4 passed"
    assert (grid(explorer, "Suites").picked, grid(explorer, "Scenarios").picked) == (0, -1)


def test_coverage_is_shown_on_request(explorers: Any, folder: Path) -> None:
    """What scenarios touch and miss, in a table."""
    explorer = explorers(folder / "refunds.suite.yaml")
    without = ran(explorer, "Run all")
    fill(explorer, "With coverage", True)
    text = ran(explorer, "Run all")

    assert "coverage" not in without.replace("With coverage", "")
    assert "destinations 1 of 1" in text
    assert "event types 1 of 6 hook alias" in text


def test_a_long_run_shows_its_progress_and_can_be_cancelled(explorers: Any, folder: Path) -> None:
    """A progress bar takes the place of the summary; after cancelling, the summary says how many have not run."""
    rows = "".join(f"      - {{id: c{number}}}\n" for number in range(2000))
    suite = REFUNDS.replace("a refund goes out\n", f"a refund goes out\n    cases:\n{rows}")
    busy = "const end = Date.now() + 20; while (Date.now() < end); return e"
    slow = (
        f'transformations: {{slow: {{language: javascript, code: "export function transformEvent(e) {{ {busy} }}"}}}}\n'
    )
    suite = slow + suite.replace("WEBHOOK,", "WEBHOOK, transformation: slow,")
    (folder / "many.suite.yaml").write_text(suite)
    explorer = explorers(folder / "many.suite.yaml")
    click(explorer, "Run all")
    while " of 2000 finished" not in shown(explorer):
        assert not explorer.wait(0.01)
    progress = shown(explorer)
    click(explorer, "Cancel")
    assert explorer.wait()

    assert '<progress max="2000" value="' in progress
    assert 0 < explorer.state.results.done < 2000
    assert "not run in" in words(shown(explorer))
    assert "<progress" not in shown(explorer)
    assert control(explorer, "Cancel").disabled
    assert not control(explorer, "Run all").disabled


def test_an_invalid_file_is_a_message_until_it_is_fixed(explorers: Any, folder: Path) -> None:
    """All problems with their lines instead of a traceback; the next run reads the fixed file."""
    file = folder / "refunds.suite.yaml"
    file.write_text(REFUNDS.replace("destination: hook", "destnation: hook"))
    explorer = explorers(file)
    told = words(shown(explorer))
    file.write_text(REFUNDS)
    text = ran(explorer, "Run all")

    assert "refunds.suite.yaml:5:5: unknown key 'destnation'. Did you mean 'destination'" in told
    assert "✓ 1 passed" in text
    assert "unknown key" not in text


@pytest.mark.parametrize(
    ("path", "says"), [("nowhere", "no such file or folder"), ("empty", "no *.suite.yaml file in empty")]
)
def test_missing_files_are_a_message(explorers: Any, folder: Path, path: str, says: str) -> None:
    """The explorer shows the wrong path."""
    (folder / "empty").mkdir()
    explorer = explorers(path)

    assert says in words(shown(explorer))


def test_a_secret_never_shows(explorers: Any, folder: Path) -> None:
    """A header with a secret is masked in stages, differences and lines of YAML."""
    file = folder / "orders.suite.yaml"
    file.write_text(
        ORDERS.replace("{JSON: {properties: {revenue: 10}}}", "{JSON: {properties: {revenue: sup3rs3cret}}}")
    )
    explorer = explorers(file)
    ran(explorer, "Run all")
    chosen(explorer, "the event goes out")
    bundle = explorer._repr_mimebundle_()

    assert "sup3rs3cret" not in shown(explorer) + repr(explorer) + str(bundle)
    assert "••••" in shown(explorer)


def test_the_display_without_widgets(explorers: Any, folder: Path) -> None:
    """A saved notebook has the results as HTML without scripts, a terminal has text."""
    explorer = explorers(folder)
    ran(explorer, "Run all")
    bundle = explorer._repr_mimebundle_()

    assert "revenue is a number" in words(bundle["text/html"])
    assert "<script" not in without_tools(bundle["text/html"])
    assert "failed: revenue is a number\n  orders.suite.yaml:15:45" in bundle["text/plain"]


def test_results_are_a_frame(explorers: Any, folder: Path) -> None:
    """One row per scenario."""
    explorer = explorers(folder)
    ran(explorer, "Run all")
    frame = explorer.state.results.frame()

    assert list(frame["status"]) == ["passed", "failed", "passed", "passed", "skipped", "passed"]
    assert frame["differences"].sum() == 1


def test_every_control_is_labelled(explorers: Any, folder: Path) -> None:
    """Screen readers and keyboards find each control by its own label."""
    explorer = explorers(folder)
    labels = ["Run all", "Run chosen", "Run failed", "Cancel", "With coverage"]

    assert [label for label in labels if not control(explorer, label)] == []
    assert grid(explorer, "Scenarios").label == "Scenarios"
