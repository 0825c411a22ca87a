"""Mask the workspace's secrets in errors, logs and losses of the user's code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec
from msgspec.structs import replace

from svctoolkit.errors import TransformationError
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker
from svctoolkit.transformations import Metadata, Output, Runnable


class MaskedCode:
    """The user's code, with secrets masked in its errors, logs and losses.

    Events are unchanged, because they are sent.
    """

    def __init__(
        self,
        code: Runnable,
        masker: Callable[[], Masker],
        keep: Callable[[Sequence[Mapping[str, Json]], Sequence[Output]], None],
    ) -> None:
        """`keep` gets the events and the outputs of each call that has logged, failed or lost values."""
        self._code, self._masker, self._keep = code, masker, keep
        self.wants_metadata = code.wants_metadata

    def run(self, events: Sequence[Mapping[str, Json]], metadata: Sequence[Metadata]) -> list[Output]:
        outputs = self._code.run(events, metadata)
        if not any(output.error is not None or output.logs or output.losses for output in outputs):
            return outputs
        masker = self._masker()
        cut_text = cache(masker.cut_text)  # code logs the same texts for many events
        outputs = [mask_output(output, masker, cut_text) for output in outputs]
        self._keep(events, outputs)
        return outputs


def mask_output(output: Output, masker: Masker, cut_text: Callable[[str], str]) -> Output:
    """Return `output` with the secrets in its error, its log and its losses masked. `cut_text` is the masker's."""
    if output.error is None and not output.logs and not output.losses:
        return output
    losses = tuple(tuple(loss.masked(masker.text) for loss in of_event) for of_event in output.losses)
    logs = tuple(replace(log, text=cut_text(log.text)) for log in output.logs)
    error = output.error and mask_error(output.error, masker)
    return msgspec.structs.replace(output, error=error, logs=logs, losses=losses)


def mask_error(error: TransformationError, masker: Masker) -> TransformationError:
    """Return `error` with the secrets in its texts masked."""
    texts = (error.message, error.name, error.function, error.source_line)
    masked = tuple(map(masker.cut_text, texts))
    if masked == texts:
        return error
    message, name, function, line = masked
    return TransformationError(
        message,
        name=name,
        at=error.at,
        function=function,
        source_line=line,
        kind=error.kind,
        event_id=error.event_id,
    )
