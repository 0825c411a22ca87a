"""Interrupted replays and how they resume."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from svctoolkit.errors import ConfigError
from svctoolkit.replay import compare, replay
from tests.replay.shops import ndjson, order, orders, shop

STOP_AT: list[str] = []


def clean(event: dict[str, Any]) -> Any:
    """A transformation that is interrupted by Ctrl-C."""
    if event["messageId"] in STOP_AT:
        raise KeyboardInterrupt
    event["properties"]["revenue"] = f"{event['properties']['revenue']}"
    return event


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Five files of three events, one of them with a bad line."""
    for number in range(5):
        ndjson(tmp_path / "in" / f"{number}.ndjson", [order(3 * number + n) for n in range(3)])
    with (tmp_path / "in" / "1.ndjson").open("a") as file:
        file.write("oops\n")
    return tmp_path / "in"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "in").mkdir()
    yield
    STOP_AT.clear()


def test_an_interrupted_replay_is_usable_and_resumes_exactly(files: Path, tmp_path: Path) -> None:
    """Results before Ctrl-C can be read; after resuming, the result equals that of an uninterrupted run."""
    STOP_AT.append("m7")
    partial = replay(files, shop(clean), out=tmp_path / "out")
    seen = list(partial.frame().event_id[::2])
    STOP_AT.clear()
    resumed = replay(files, shop(clean), out=tmp_path / "out", resume=True)
    whole = replay(files, shop(clean), out=tmp_path / "whole")

    assert (partial.complete, seen) == (False, [f"m{n}" for n in range(6)])
    assert "interrupted: the results cover only a part of the events" in repr(partial).splitlines()
    assert resumed.complete
    pd.testing.assert_frame_equal(resumed.frame(), whole.frame())
    left, right = resumed.to_dict(), whole.to_dict()
    for timing in ("elapsed", "seconds"):
        del left[timing], right[timing]
    assert left == right
    rejects = [(tmp_path / name / "rejects.ndjson").read_text() for name in ("out", "whole")]
    assert rejects[0] == rejects[1]
    assert json.loads(rejects[0])["place"].endswith("1.ndjson:4")


def test_an_interrupted_comparison_resumes_exactly(files: Path, tmp_path: Path) -> None:
    """Groups and their examples equal those of an uninterrupted run."""
    STOP_AT.append("m7")
    compare(files, shop(), shop(clean), out=tmp_path / "out")
    STOP_AT.clear()
    resumed = compare(files, shop(), shop(clean), out=tmp_path / "out", resume=True)
    whole = compare(files, shop(), shop(clean))

    assert resumed.groups == whole.groups
    assert resumed.groups[0].count == 15
    pd.testing.assert_frame_equal(resumed.frame(), whole.frame())


def test_a_finished_replay_is_not_run_again(files: Path, tmp_path: Path) -> None:
    """Resuming a complete replay reads the parts, and runs no event."""
    replay(files, shop(clean), out=tmp_path / "out")
    STOP_AT.extend(f"m{n}" for n in range(15))
    again = replay(files, shop(clean), out=tmp_path / "out", resume=True)

    assert (again.complete, again.events) == (True, 15)


def test_an_unfinished_part_is_run_again(files: Path, tmp_path: Path) -> None:
    """Rows without their numbers do not count: they are written again."""
    whole = replay(files, shop(clean), out=tmp_path / "out").frame()
    (tmp_path / "out" / "done" / "000002.json").unlink()
    (tmp_path / "out" / "rows" / "part-000002.parquet").write_bytes(b"half")
    again = replay(files, shop(clean), out=tmp_path / "out", resume=True)

    pd.testing.assert_frame_equal(again.frame(), whole)


def test_a_folder_of_another_replay_is_refused(files: Path, tmp_path: Path) -> None:
    """A folder with a replay, another replay or other files is refused with the reason."""
    replay(files, shop(clean), out=tmp_path / "out")

    with pytest.raises(ConfigError, match=r"contains a replay: resume it"):
        replay(files, shop(clean), out=tmp_path / "out")
    with pytest.raises(ConfigError, match="cannot be resumed: the workspace has changed"):
        replay(files, shop(), out=tmp_path / "out", resume=True)
    with pytest.raises(ConfigError, match="cannot be resumed: an option"):
        replay(files, shop(clean), out=tmp_path / "out", resume=True, batch=7)
    other = ndjson(tmp_path / "other.ndjson", orders(1))
    with pytest.raises(ConfigError, match="cannot be resumed: the input has changed"):
        replay(other, shop(clean), out=tmp_path / "out", resume=True)
    with pytest.raises(ConfigError, match="contains files that are not from a replay"):
        replay(files, shop(clean), out=files)


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_only_changed_inputs_are_run_again(files: Path, tmp_path: Path, workers: int) -> None:
    """After a new, a grown and a removed file, the result equals that of a new replay."""
    replay(files, shop(clean), out=tmp_path / "out")
    ndjson(files / "0a.ndjson", [order(100), order(101)])
    with (files / "2.ndjson").open("a") as file:
        file.write(json.dumps(order(102)) + "\n")
    (files / "3.ndjson").unlink()
    whole = replay(files, shop(clean), out=tmp_path / "whole")
    STOP_AT.extend(f"m{n}" for n in (0, 1, 2, 3, 4, 5, 12, 13, 14))  # code that fails if these run again
    grown = replay(files, shop(clean), out=tmp_path / "out", resume=True, workers=workers)

    assert grown.complete
    pd.testing.assert_frame_equal(grown.frame(), whole.frame())
    assert (grown.counts, grown.rejects) == (whole.counts, whole.rejects)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "rows"), pd.read_parquet(tmp_path / "whole/rows"))
    again = replay(files, shop(clean), out=tmp_path / "out", resume=True)
    assert again.events == 15


def test_only_the_end_of_a_grown_file_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The earlier pieces are equal, also in a compressed file."""
    monkeypatch.setattr("svctoolkit.replay.formats.ndjson.PIECE_BYTES", 1000)
    file = tmp_path / "in" / "day.ndjson.gz"
    lines = [f"{json.dumps(order(n))}\n".encode() for n in range(40)]
    file.write_bytes(gzip.compress(b"".join(lines[:30])))
    replay(file, shop(clean), out=tmp_path / "out")
    with file.open("ab") as end:
        end.write(gzip.compress(b"".join(lines[30:])))
    STOP_AT.extend(f"m{n}" for n in range(20))
    grown = replay(file, shop(clean), out=tmp_path / "out", resume=True)

    assert (grown.complete, list(grown.frame().event_id[::2])) == (True, [f"m{n}" for n in range(40)])


def test_a_stream_cannot_be_resumed(tmp_path: Path) -> None:
    """An input that can be read only once is refused at once."""
    with pytest.raises(ConfigError, match="can be read only once"):
        replay(iter(orders(1)), shop(), out=tmp_path / "out", resume=True)
