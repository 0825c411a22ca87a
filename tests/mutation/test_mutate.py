"""`svctoolkit mutate` lists the changes of a project that no scenario notices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from svctoolkit.cli import main
from tests.examples import some_by_default

JAVASCRIPT = """\
export async function transformEvent(event, metadata) {
  const p = event.properties || {};
  if (p.total > 100) {
    p.large = true;
  }
  p.cents = await Promise.resolve(Math.round(p.total * 100));
  event.properties = p;
  return event;
}
"""
PYTHON = """\
def transformEvent(event, metadata):
    context = event.get("context") or {}
    if context.get("ip") == "10.0.0.1":
        return None
    context["office"] = False
    event["context"] = context
    return event
"""
WORKSPACE = """\
sources:
  web: {destinations: [hook, other]}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}, transformation: cents}
  other: {type: WEBHOOK, config: {webhookUrl: https://other.example/in}, transformation: clean}
transformations:
  cents: {language: javascript, file: cents.js}
  clean: {language: python, file: clean.py}
"""
SUITE = """\
workspace: ../workspace.yaml
scenarios:
  - name: a total is rounded
    transformation: cents
    event: {type: track, event: Order Completed, userId: u1, properties: {total: 200}}
    expect: {user_transform: {properties: {$exact: {total: 200, cents: 20000, large: true}}}}
  - name: a small total
    transformation: cents
    event: {type: track, event: Order Completed, userId: u1, properties: {total: 50}}
    expect: {user_transform: {properties: {$exact: {total: 50, cents: 5000}}}}
  - name: the office is dropped
    transformation: clean
    event: {type: track, event: Order Completed, userId: u1, context: {ip: 10.0.0.1}}
    expect: {user_transform: []}
  - name: others are sent
    transformation: clean
    event: {type: track, event: Order Completed, userId: u1, context: {ip: 10.0.0.2}}
    expect: {user_transform: {context: {office: false}}}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a transformation in each language."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "orders.suite.yaml").write_text(SUITE)
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    (tmp_path / "cents.js").write_text(JAVASCRIPT)
    (tmp_path / "clean.py").write_text(PYTHON)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_no_scenario_notices_is_listed_with_its_place(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A boundary that no event is at, and rounding that no total needs; what is checked is noticed.

    No file is changed.
    """
    before = {file: file.read_bytes() for file in shop.rglob("*.*")}

    code = main(["mutate", "--all", "--jobs", "1"])
    missed, _, noticed = capsys.readouterr().out.partition("\nnoticed:\n")

    assert code == 0
    assert (
        "cents.js:3  boundary: p.total > 100 -> p.total >= 100\n      2 scenarios run this line, none fails" in missed
    )
    assert "cents.js:6  operation: Math.round -> Math.floor" in missed
    assert "cents.js:4  removed statement: p.large = true; -> removed" in noticed
    assert "cents.js:6  property: p.total -> p.total_x" in noticed
    assert 'clean.py:5  removed statement: context["office"] = False -> removed' in noticed
    assert {file: file.read_bytes() for file in before} == before


WITHOUT_EFFECT = """\
export function transformEvent(event, metadata) {
  const unused = event.total * 2;
  let left = 60;
  while (left > 40) { left -= 1; }
  event.large = event.total > 100;
  return event;
}
"""
WITH_METADATA = """\
def transformEvent(event, metadata):
    if metadata(event).get("sourceId") == "shop":
        event["large"] = True
    return event
"""
EFFECT_SUITE = """\
transformations:
  clean: {language: javascript, file: clean.js}
  known: {language: python, file: known.py}
scenarios:
  - name: a large order
    transformation: clean
    event: {type: track, event: Order Completed, total: 200}
    expect: {user_transform: {large: true}}
  - name: a small order
    transformation: clean
    event: {type: track, event: Order Completed, total: 20}
    expect: {user_transform: {large: false}}
  - name: an order of another source
    transformation: known
    event: {type: track, event: Order Completed}
    expect: {user_transform: {event: Order Completed}}
"""


def test_changes_without_effect_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No scenario could notice them. What an event shows counts."""
    monkeypatch.chdir(tmp_path)
    unused = "export function transformEvent(event) {\n  const unused = event.total * 2;\n  return event;\n}\n"
    Path("clean.js").write_text(unused)
    Path("orders.suite.yaml").write_text("""\
transformations: {clean: {language: javascript, file: clean.js}}
scenarios:
  - {name: a, transformation: clean, event: {type: track, total: 2}, expect: {user_transform: {type: track}}}
""")

    assert main(["mutate", "--jobs", "1", "--report", "html=page.html"]) == 0
    shown = capsys.readouterr().out
    missed, _, without = shown.partition("\nwithout effect on any event that was tried, so they do not count:\n")

    assert "clean.js:2  arithmetic: event.total * 2 -> event.total / 2" in without
    assert "clean.js:2" not in missed, "not even as an unchecked line"
    assert "clean.js:3" not in without
    assert re.search(r"\d+ changes without effect", Path("page.html").read_text())


@pytest.mark.slow
def test_changes_of_code_without_effect_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No scenario could notice them. What an event shows, or what may depend on metadata, counts."""
    monkeypatch.chdir(tmp_path)
    Path("clean.js").write_text(WITHOUT_EFFECT)
    Path("known.py").write_text(WITH_METADATA)
    Path("orders.suite.yaml").write_text(EFFECT_SUITE)

    assert main(["mutate", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    missed, _, without = shown.partition("\nwithout effect on any event that was tried, so they do not count:\n")

    assert "clean.js:2  arithmetic: event.total * 2 -> event.total / 2" in without
    assert "clean.js:4  literal: left > 40 -> left > 4\n" in without
    assert "events have the same result" in without
    assert "clean.js:5" not in without
    assert "clean.js:5  boundary: event.total > 100 -> event.total >= 100" in missed
    assert 'known.py:2  literal: "shop" -> ""' in missed
    assert "clean.js:2" not in missed, "not even as an unchecked line"

    main(["mutate", "--report", "html=page.html"])
    assert re.search(r"\d+ changes without effect", Path("page.html").read_text())

    main(["mutate", "--write", "clean.js:2", "--jobs", "1"])
    assert "changes without effect" in capsys.readouterr().err


UNTRIED = {
    "together": """\
export function transformEvent(event) {
  if (event.total > 100 && event.currency === "EUR") return null;
  return event;
}
""",
    "pattern": """\
export function transformEvent(event) {
  if (/^\\d{5}$/.test(event.zip) && event.total === 2) return null;
  return event;
}
""",
    "together_python": """\
def transformEvent(event, metadata):
    if event["total"] >= 100 and event["currency"] == "EUR":
        return None
    return event
""",
}


@pytest.mark.parametrize("name", some_by_default(["together_python", "together", "pattern"], 1))
def test_changes_that_only_an_unusual_event_shows_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Neither an event of the suite nor a sample shows them: several members have a value together, or a form."""
    monkeypatch.chdir(tmp_path)
    Path("clean").write_text(UNTRIED[name])
    language = "python" if name.endswith("python") else "javascript"
    Path("orders.suite.yaml").write_text(f"""\
transformations: {{clean: {{language: {language}, file: clean}}}}
scenarios:
  - name: an order
    transformation: clean
    event: {{type: track, event: Order Completed, currency: USD, total: 1}}
    expect: {{user_transform: {{event: Order Completed}}}}
""")

    main(["mutate", "--jobs", "1"])
    shown = capsys.readouterr().out

    assert len(re.findall(r"  clean:\d+  [a-z ]+: ", shown)) > 5
    assert "without effect on any event" not in shown


def test_changes_of_code_with_too_many_values_to_try_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A selection of the made-up events would show nothing about most of the boundaries."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(f"  if (event.total > {n}) event.over{n} = true;\n" for n in range(100, 160))
    Path("clean.js").write_text(f"export function transformEvent(event) {{\n{lines}  return event;\n}}\n")
    Path("orders.suite.yaml").write_text("""\
transformations: {clean: {language: javascript, file: clean.js}}
scenarios:
  - name: an order
    transformation: clean
    event: {type: track, event: Order Completed, total: 500}
    expect: {user_transform: {over100: true}}
""")

    assert main(["mutate", "--jobs", "1", "--sample", "20"]) == 0
    assert "without effect on any event" not in capsys.readouterr().out


LOOP = """\
limits: {time: 1}
transformations:
  loop:
    language: python
    code: |
      def transformEvent(event, metadata):
          while event["tries"] < 3:
              event["tries"] += 1
          return event
"""
LOOP_SUITE = """\
workspace: workspace.yaml
scenarios:
  - name: three tries
    transformation: loop
    event: {type: track, tries: 1}
    expect: {user_transform: {tries: 3}}
"""


def test_code_that_hangs_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The loop never ends when its only statement is removed: the sandbox stops it, and the run goes on."""
    monkeypatch.chdir(tmp_path)
    Path("workspace.yaml").write_text(LOOP)
    Path("loop.suite.yaml").write_text(LOOP_SUITE)

    code = main(["mutate", "--all"])
    shown = capsys.readouterr().out.partition("\nnoticed:\n")[2]

    assert code == 0
    assert 'workspace.yaml:8  removed statement: event["tries"] += 1 -> removed\n      loop.suite.yaml::three' in shown
    assert shown.index("workspace.yaml:7 ") < shown.index("workspace.yaml:8 ")


GROWTH = """\
limits: {memory: 100}
transformations:
  grow:
    language: python
    code: |
      def transformEvent(event, metadata):
          text = "x" * (1 if event["n"] < 5 else 400_000_000)
          event["size"] = len(text)
          return event
"""
GROWTH_SUITE = """\
workspace: workspace.yaml
scenarios:
  - name: sizes
    transformation: grow
    event: {type: track, n: 3}
    expect: {user_transform: {size: 1}}
"""


def test_code_that_exhausts_memory_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the other branch a text of 400 MB is built: the sandbox ends it, and the run goes on."""
    monkeypatch.chdir(tmp_path)
    Path("workspace.yaml").write_text(GROWTH)
    Path("grow.suite.yaml").write_text(GROWTH_SUITE)

    code = main(["mutate", "--all"])
    shown = capsys.readouterr().out.partition("\nnoticed:\n")[2]

    assert code == 0
    assert 'event["n"] < 5 -> ' in shown
    assert "workspace.yaml:8 " in shown


def test_red_suites_are_reported_and_nothing_is_changed(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The failing scenario is named with its position."""
    suite = shop / "suites" / "orders.suite.yaml"
    suite.write_text(SUITE.replace("cents: 5000", "cents: 5001"))

    code = main(["mutate"])
    shown = capsys.readouterr()

    assert (code, shown.out) == (1, "")
    assert "nothing was changed: 1 scenario fails already. Fix the suites first: svctoolkit run" in shown.err
    assert "suites/orders.suite.yaml:10:" in shown.err


def test_a_line_that_no_scenario_runs_is_not_noticed(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its changes are listed with the reason, without running anything for them."""
    suite = shop / "suites" / "orders.suite.yaml"
    suite.write_text(SUITE.partition("  - name: the office")[0])

    code = main(["mutate", "--fail-under", "90"])
    shown = capsys.readouterr()

    assert code == 1
    assert 'clean.py:6  removed statement: event["context"] = context -> removed\n      no scenario' in shown.out
    assert "are noticed, below --fail-under 90 %" in shown.err


def test_several_processes_give_the_same_verdicts(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--jobs` changes the time, nothing else."""
    texts = []
    for jobs in ("1", "2"):
        main(["mutate", "--all", "--jobs", jobs])
        texts.append(capsys.readouterr().out.partition("\n")[2])

    assert texts[0] == texts[1]
    assert "not noticed" in texts[0]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--jobs", "0"], "--jobs 0: must be at least 1"),
        (["--fail-under", "101"], "--fail-under 101: expected a percentage from 0 to 100"),
    ],
)
def test_wrong_options_are_refused(options: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is loaded."""
    assert main(["mutate", *options]) == 4
    assert error in capsys.readouterr().err
