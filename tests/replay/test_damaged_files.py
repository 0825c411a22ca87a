"""Truncated and otherwise damaged exports fail in every command that reads events, with the place of the damage."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.history import History
from svctoolkit.profile import profile
from svctoolkit.replay import replay
from tests.examples import some_by_default
from tests.replay.shops import order, shop

WORKSPACE = """
workspace: shop
sources: {web: {destinations: [hook, pg]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/PATH"}}
  pg: {type: POSTGRES, config: {}}
"""
EVENTS = "".join(f"{json.dumps(order(number))}\n" for number in range(400)).encode()
HALF = EVENTS.index(b"\n", len(EVENTS) // 2) + 1
WHOLE = gzip.compress(EVENTS, mtime=0)
MEMBERS = gzip.compress(EVENTS[:HALF], mtime=0) + gzip.compress(EVENTS[HALF:], mtime=0)
DAMAGED = {
    "cut in the middle": WHOLE[: len(WHOLE) // 2],
    "cut in the trailer": WHOLE[:-4],
    "without its trailer": WHOLE[:-8],
    "with another checksum": WHOLE[:-6] + bytes([WHOLE[-6] ^ 255]) + WHOLE[-5:],
    "second member cut": MEMBERS[:-20],
    "second member only begun": MEMBERS[: len(gzip.compress(EVENTS[:HALF], mtime=0)) + 5],
    "followed by something else": WHOLE + b"-- end of export --",
    "cut in the header": WHOLE[:5],
    "empty": b"",
}
COMMANDS = (
    "replay FILE --workspace after.yaml",
    "replay FILE --workspace after.yaml --fail-on failed>2%",
    "replay FILE --workspace after.yaml --sample 0.1",
    "replay FILE --workspace after.yaml --history new.duckdb",
    "replay FILE --before before.yaml --after after.yaml",
    "profile FILE",
    "profile FILE --history new.duckdb",
    "profile good.ndjson --against FILE",
    "plan check FILE --plan tracking",
    "plan infer FILE",
    "trend FILE",
    "lost FILE --to mp",
    "warehouse show --events FILE --workspace after.yaml",
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Run a command in a folder with two workspaces, a plan and intact events; return its exit code."""
    monkeypatch.chdir(tmp_path)
    Path("good.ndjson").write_bytes(EVENTS)
    for name in ("before", "after"):
        Path(f"{name}.yaml").write_text(WORKSPACE.replace("PATH", name))
    assert main(["plan", "infer", "good.ndjson", "-o", "tracking"]) == 0
    return lambda command: main(command.split())


@pytest.mark.parametrize("damage", some_by_default(DAMAGED, 2))
def test_a_damaged_file_fails_with_its_place(
    damage: str, run: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.ndjson.gz").write_bytes(DAMAGED[damage])
    for command in COMMANDS:
        capsys.readouterr()
        code, said = run(command.replace("FILE", "bad.ndjson.gz")), capsys.readouterr()

        assert code in {1, 4}, command
        text = said.out + said.err
        assert "bad.ndjson.gz:" in text, command
        assert "the file is damaged" in text, command


CSV = "type,event,userId,properties.total\n" + "".join(f"track,Order,u{n},{n}\n" for n in range(40))


@pytest.mark.parametrize(
    ("name", "content"), [("cut.ndjson", EVENTS + EVENTS[:30]), ("cut.csv", CSV.encode() + b"track,Or")]
)
def test_a_file_that_ends_within_a_record_is_truncated(
    name: str, content: bytes, run: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A download that broke off: every command that reads events fails, whatever its conditions."""
    Path(name).write_bytes(content)
    for command in (*COMMANDS, "replay FILE --workspace after.yaml --fail-on failed>100 --workers 2"):
        capsys.readouterr()
        code, said = run(command.replace("FILE", name)), capsys.readouterr()

        assert code in {1, 4}, command
        assert f"{name}:{content.count(10) + 1}" in said.out + said.err, command
        assert "the file ends within a record: it is truncated" in said.out + said.err, command


def test_a_recording_of_a_truncated_file_is_refused(
    run: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """A complete last line needs no end, and other lines that are not JSON are only skipped."""
    Path("cut.ndjson").write_bytes(EVENTS[:HALF] + EVENTS[:30])
    Path("whole.ndjson").write_bytes(b"no event\n" + EVENTS[:HALF].rstrip(b"\n"))

    assert run("record cut.ndjson --workspace after.yaml --source web -o a.suite.yaml") == 4
    assert "the file ends within a record: it is truncated" in capsys.readouterr().err
    assert run("record whole.ndjson --workspace after.yaml --source web -o a.suite.yaml") == 0
    assert run("replay whole.ndjson --workspace after.yaml --fail-on failed") == 0


@pytest.mark.parametrize("intact", some_by_default([MEMBERS + bytes(512), WHOLE, MEMBERS, WHOLE + bytes(512)], 1))
def test_several_members_and_padding_with_zeros_are_intact(intact: bytes, run: Callable[[str], int]) -> None:
    """Exports are often concatenated, and tapes and object stores pad with zeros (RFC 1952, gzip's manual)."""
    Path("good.ndjson.gz").write_bytes(intact)
    for command in COMMANDS:
        assert run(command.replace("FILE", "good.ndjson.gz")) == 0, command
    assert replay("good.ndjson.gz", shop()).events == 400


@pytest.mark.parametrize("name", ["events.ndjson", "events.json", "events.csv", "events.ndjson.gz"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_a_file_in_another_encoding_names_it(tmp_path: Path, name: str, encoding: str) -> None:
    """PowerShell's `>` writes UTF-16. Each line of it was "invalid JSON"."""
    text = ("type,userId\ntrack,u1\n" if "csv" in name else f"{json.dumps(order(1))}\n").encode(encoding)
    file = tmp_path / name
    file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    result = replay(file, shop())

    said = f"the file is {encoding.upper().replace('-LE', 'LE').replace('-BE', 'BE')}, not UTF-8. Convert it"
    assert [(each.place, each.reason.startswith(said)) for each in result.unread] == [(f"{file}:1", True)]
    assert (result.events, result.rejected) == (0, 1)


def test_a_damaged_file_never_gets_into_a_profile_history(tmp_path: Path) -> None:
    """Half a day in a history would look like a drop on that day, and like news on the next one."""
    bad, history = tmp_path / "bad.ndjson.gz", tmp_path / "history.duckdb"
    bad.write_bytes(DAMAGED["cut in the middle"])

    with pytest.raises(ConfigError, match=r"bad\.ndjson\.gz:\d+: the file is damaged from here on"):
        profile(bad, history=history)
    assert not history.exists() or not History.load(history).events
    assert [reject.reason[:19] for reject in profile(bad).unread] == ["the file is damaged"]


def test_all_events_before_the_damage_are_read(tmp_path: Path) -> None:
    (tmp_path / "bad.ndjson.gz").write_bytes(DAMAGED["cut in the trailer"])
    result = replay(tmp_path / "bad.ndjson.gz", shop())

    assert result.events == 400
    assert [reject.place for reject in result.unread] == [f"{tmp_path / 'bad.ndjson.gz'}:401"]


def test_damage_is_reported_after_any_number_of_invalid_lines(
    run: Callable[[str], int], capsys: pytest.CaptureFixture[str]
) -> None:
    whole = gzip.compress(b"no event\n" * 1500 + EVENTS, mtime=0)
    Path("bad.ndjson.gz").write_bytes(whole[:-4])
    for command in COMMANDS:
        capsys.readouterr()
        assert run(command.replace("FILE", "bad.ndjson.gz")) in {1, 4}, command
        assert "the file is damaged" in capsys.readouterr().err, command


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_a_json_file_in_another_encoding_is_named_as_such(
    run: Callable[[str], int], capsys: pytest.CaptureFixture[str], encoding: str
) -> None:
    """An export from Windows; "invalid JSON" alone would have its reader look for a bracket."""
    Path("wide.json").write_text(json.dumps([order(1)]), encoding=encoding)
    capsys.readouterr()

    assert run("lost wide.json --to mp") == 4
    assert (
        f"wide.json:1: the file is {encoding.upper().replace('-LE', 'LE')}, not UTF-8. Convert it"
        in capsys.readouterr().err
    )
