"""Odd values in suites: each is a mistake with its place, and none is an internal error."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit.cli import main

WORKSPACE = """
sources: {web: {destinations: [hook]}, shop: {type: webhook, destinations: [hook]}, sim: {destinations: [mp]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  mp: {type: MP, config: {token: t, dataResidency: us}, simulate: simulated}
scenarios:
"""
SENT = "source: sim, send: {type: identify, userId: u}"


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("{" + SENT + ", expect: {holds: {counts: 1}}}", "must be the numbers of rows by table, such as {profiles: 1}"),
        (
            "{source: shop, send: {webhook: shop, body: {}, headers: {x: [1]}}, expect: {delivered: [{}]}}",
            "invalid header: the value must be a text or a number",
        ),
        (
            "{request: {path: /v1/track, json: {}, auth: {source: wbe}}, expect: {status: 400}}",
            "unknown source 'wbe'. Did you mean 'web'? For other credentials, use `headers`.",
        ),
    ],
)
def test_a_mistake_is_found_before_anything_runs(
    scenario: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With file, line and column. The scenario was broken while it ran, with the exit code of an internal error."""
    suite = tmp_path / "odd.suite.yaml"
    suite.write_text(WORKSPACE + f"- {{name: x, {scenario[1:]}")

    assert main(["run", str(suite)]) == 4
    assert "odd.suite.yaml:7:" in (said := capsys.readouterr().err)
    assert message in said


def test_headers_of_a_webhook_may_be_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`true` and 1 are sent as texts; they crashed the data plane."""
    suite = tmp_path / "numbers.suite.yaml"
    suite.write_text(
        WORKSPACE
        + "- {name: x, source: shop, send: {webhook: shop, body: {id: 1}, headers: {x-retry: 1, x-test: true}},"
        " expect: {delivered: [{}]}}"
    )

    assert main(["run", str(suite)]) == 0, capsys.readouterr().out
