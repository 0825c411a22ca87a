"""A forecast estimates time and size before a run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.replay import forecast, replay
from tests.replay.shops import ndjson, orders, shop
from tests.replay.test_cli_replay import project

__all__ = ["project"]  # a fixture


def test_a_forecast_estimates_the_whole_run(tmp_path: Path) -> None:
    """Number of events, time, disk and requests from a sample; more workers take less time."""
    given = orders(9000)
    files = [ndjson(tmp_path / f"{n}.ndjson", given[3000 * n : 3000 * n + 3000]) for n in range(3)]
    told = forecast(files, shop(), out=tmp_path / "out")
    done = replay(files, shop(), out=tmp_path / "done")
    size = sum(file.stat().st_size for file in (tmp_path / "done" / "rows").iterdir())

    assert told.events == pytest.approx(9000, rel=0.05)
    assert told.looked_at <= 2000
    assert 0.1 * size < (told.bytes or 0) < 10 * size
    assert told.requests == {"hook": told.events}
    assert (told.seconds or 0) > 0
    assert done.events == 9000
    assert not (tmp_path / "out").exists()
    assert f"about {told.events:,} events: " in repr(told)


def test_a_forecast_of_compressed_and_unbounded_inputs(tmp_path: Path) -> None:
    """By bytes of the compressed file; an input that can be read only once has no forecast."""
    file = tmp_path / "a.ndjson.gz"
    file.write_bytes(gzip.compress("".join(f"{json.dumps(event)}\n" for event in orders(2500)).encode()))

    assert forecast(str(file), shop()).events == pytest.approx(2500, rel=0.05)
    assert forecast(orders(5000), shop(), shop()).events == 5000
    assert forecast([], shop()).events == 0
    with pytest.raises(ConfigError, match="a forecast reads the events before"):
        forecast(iter(orders(3)), shop())


def test_the_command_prints_a_forecast_without_a_run(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, a line for each destination after the total, and no file is written."""
    assert main(["replay", "events.ndjson", "--trust-code", "--forecast", "--out", "out"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("about 5 events: ")
    assert any(line.endswith(" requests") and "about" in line for line in lines[1:])
    assert not (project / "out").exists()
