"""A long text is masked before it is cut: a part of a secret would not be recognised."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import DataPlane, Pipeline, Workspace
from svctoolkit.cli import main
from svctoolkit.delivery import Answer, HttpResponse
from svctoolkit.events import track
from svctoolkit.pipeline import Stages
from svctoolkit.secrets import Masker
from svctoolkit.server.batches import judge

SECRET = "".join(chr(ord("A") + (7 * n + n // 5) % 26) + str((3 * n) % 10) for n in range(60))
BEGINNING = SECRET[:12]
#: Answers that repeat the credential across each place where a text is cut.
ANSWERS = ["x" * length + " " + SECRET for length in (90, 150, 190, 250, 290)]


def workspace(limit: int = 1_000_000) -> Workspace:
    made = Workspace.loads(f"dataPlane: {{limits: {{answer: {limit}}}}}")
    headers = [{"from": "Authorization", "to": f"Bearer {SECRET}"}]
    made.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in", "headers": headers})
    made.source("web", destinations=["hook"])
    return made


@pytest.mark.parametrize("text", ANSWERS)
def test_of_an_answer_that_repeats_a_secret_no_part_is_shown(text: str) -> None:
    """As text and as JSON: in fates, deliveries, results, and their frames."""
    with DataPlane(workspace()) as plane:
        plane.script("hook", Answer(status=401, body=text), Answer(status=401, body={"error": {"message": text}}))
        plane.send([track(name, user_id="u") for name in "AB"], source="web")
        plane.drain(120)
        shown = [repr([*plane.fates]), repr([*plane.deliveries]), plane.fates.frame().to_csv()]
        shown += [str(fate.cause) for fate in plane.fates]
        assert {fate.status for fate in plane.fates} == {"failed"}

    pipeline = Pipeline(workspace())
    pipeline.recorder.script("hook", Answer(status=401, body={"error": {"message": text}}))
    result = pipeline.test_destination("hook", track("A", user_id="u"), stages=Stages(send_to_destination=True))
    shown += [str(result), repr(result), result.frame().to_csv(), str(result._repr_mimebundle_())]

    assert any("xxx" in one for one in shown)
    assert not [one for one in shown if BEGINNING in one]


def test_the_start_of_an_answer_that_is_too_large_shows_no_part_of_a_secret() -> None:
    with DataPlane(workspace(limit=1_000)) as plane:
        plane.script("hook", Answer(status=200, body="x" * 980 + SECRET + "y" * 2_000))
        plane.send(track("A", user_id="u"), source="web")
        plane.drain(120)
        (delivery,) = plane.deliveries

        assert "the first 1,000 are kept" in str(delivery.response)
        assert BEGINNING not in str(delivery.response)


def test_the_reason_of_another_data_plane_shows_no_part_of_a_secret() -> None:
    for status, headers in ((400, {}), (301, {"location": "https://x.example/" + "x" * 170 + SECRET})):
        answer = HttpResponse(status, headers, b"x" * 190 + SECRET.encode())
        verdict = judge(answer, 0.0, Masker([SECRET]).text)

        assert "xxx" in verdict.reason
        assert SECRET[:3] not in verdict.reason


def test_the_excerpt_of_a_long_line_shows_no_part_of_a_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Left and right of the caret, and at it; the caret is below the difference."""
    (tmp_path / "a.suite.yaml").write_text(f"""
suite: A
destinations:
  hook:
    type: WEBHOOK
    config: {{webhookUrl: "https://hook.example/in", headers: [{{from: Authorization, to: "Bearer {SECRET}"}}]}}
sources: {{web: {{destinations: [hook]}}}}
scenarios:
  - name: a
    send: {{type: track, event: A, userId: u1}}
    expect: {{delivered: [{{headers: {{X: "{SECRET}", Y: "{SECRET}"}}, body: {{event: B, userId: {SECRET}}}}}]}}
""")

    assert main(["run", str(tmp_path)]) == 1

    shown = capsys.readouterr().out
    assert not [start for start in range(len(SECRET) - 8) if SECRET[start : start + 8] in shown]
    line, caret = shown[shown.index('event: expected "B"') :].splitlines()[2:4]
    assert line[caret.index("^") :].startswith("B,")
