"""A step that calls a function of an installed package."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import UNSET

from svctoolkit.errors import StillWaiting
from svctoolkit.expect.difference import Difference
from svctoolkit.json_types import Json
from svctoolkit.runner.attempts.causes import Cause
from svctoolkit.runner.steps import Context, run_step
from svctoolkit.runner.suite.model import Step


@dataclass(frozen=True, slots=True)
class PythonResult:
    """What a Python step returned, or how it failed."""

    value: Json
    failure: str = ""
    answer: None = None
    everywhere: None = None

    def results(self, expected: Mapping[str, Json]) -> dict[str, Json]:  # noqa: ARG002 - of the protocol
        return {} if self.failure else {"result": self.value}

    def request_counts(self) -> dict[str, int]:
        return {}

    def arrived(self) -> frozenset[str]:
        return frozenset()

    def default_expectation(self, expected: Mapping[str, Json]) -> dict[str, Json]:  # noqa: ARG002 - of the protocol
        """Return nothing: `unexpected_failures` reports an exception."""
        return {}

    def causes(self) -> Sequence[Cause]:
        return ()

    def unexpected_failures(self, expected: Mapping[str, Json]) -> Iterator[Difference]:  # noqa: ARG002 - of the protocol
        """Yield a difference if the function raised an exception."""
        if self.failure:
            yield Difference(("..", "python"), ("python",), "a result", self.failure, text=self.failure)


def perform(step: Step, context: Context, limit: float) -> PythonResult:
    """Call the function, for at most `limit` seconds. Raises `StillWaiting`."""
    name, arguments = str(step.spec.python), step.spec.arguments
    try:
        value = run_step(name, context, {} if arguments is UNSET else arguments, limit=limit)
        return PythonResult(msgspec.to_builtins(value))
    except StillWaiting:
        raise
    except TypeError as error:
        return PythonResult(None, f"{name}: {error}{_place(error)}")
    except Exception as error:  # noqa: BLE001 - an assertion, or whatever else the function raises
        return PythonResult(None, f"{name}: {_text(error)}{_place(error)}")


def _text(error: Exception) -> str:
    text = str(error).strip()
    return text if isinstance(error, AssertionError) and text else f"{type(error).__name__}: {text}"


def _place(error: Exception) -> str:
    """Return where the function raised it; nothing if it was never entered."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(_HERE)]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


_HERE = str(Path(__file__).parent.parent)
