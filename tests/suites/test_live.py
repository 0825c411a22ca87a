"""Live scenarios really send the requests of one destination, and then query the service behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from svctoolkit.cli import main
from tests.suites.service import SUITE, Service


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    """A service that returns these states one by one, and a suite for it in the working directory."""
    monkeypatch.chdir(tmp_path)
    running: list[Service] = []

    def made(*states: str) -> Service:
        service = Service(*states).__enter__()
        running.append(service)
        Path("s.suite.yaml").write_text(SUITE.format(url=service.url), encoding="utf-8")
        return service

    yield made
    for service in running:
        service.__exit__()


def test_a_live_scenario_reaches_the_service(served: Callable[..., Service]) -> None:
    """The event arrives once, only at the live destination; the service is queried until it has the order."""
    service = served("new", "new", "active")

    assert main(["run", "--live"]) == 0
    assert [(path, event["event"]) for path, event in service.received] == [("/orders", "Order")]
    assert service.states == ["active"]


def test_without_live_nothing_is_sent(served: Callable[..., Service], capsys: pytest.CaptureFixture[str]) -> None:
    """The scenario is skipped, and the console says why and how to run it."""
    service = served("active")

    assert main(["run"]) == 0
    assert service.received == []
    assert "skipped: live: only runs with --live (s.suite.yaml::an-order-arrives-at-the-service)" in (
        capsys.readouterr().out
    )


def test_a_lost_order_ends_the_waiting(served: Callable[..., Service], capsys: pytest.CaptureFixture[str]) -> None:
    """`fail_when` ends the wait before the 30 seconds; the position is that of the expectation in the suite."""
    service = served("new", "lost", "active")

    assert main(["run", "--live"]) == 1
    assert "a response that matches" in capsys.readouterr().out
    assert service.states == ["active"]


def test_a_service_that_cannot_be_queried_fails_the_scenario(
    served: Callable[..., Service], capsys: pytest.CaptureFixture[str]
) -> None:
    """The status is 0, and the body says why; `fail_when` can match that."""
    served("active")
    suite, query = Path("s.suite.yaml"), "ftp://127.0.0.1/orders/1"
    text = re.sub(r'get: "[^"]*"', f'get: "{query}"', suite.read_text())
    suite.write_text(text.replace("within: 30s", "within: 1ms"))
    assert main(["run", "--live"]) == 1
    assert "status: expected 200, got 0 after 0.001 s" in capsys.readouterr().out

    suite.write_text(text.replace("{body: {status: lost}}", "{status: 0}"))
    assert main(["run", "--live"]) == 1
    assert "a response that matches: {'status': 0, 'body': " in capsys.readouterr().out
