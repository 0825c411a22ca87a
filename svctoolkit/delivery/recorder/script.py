"""Answers in the order in which requests get them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from svctoolkit import patterns
from svctoolkit.delivery.recorder.answer import Answer
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json

#: CPU seconds for the conditions of a script, per request; then the remaining ones count as not met.
CONDITION_SECONDS = 2.0
MOST_CONDITIONS = 100


class Script:
    """Answers in order, each used `times` times. Those with the same condition (`when`) are a sequence of their own.

    A request gets the next answer of the first sequence whose condition it meets, and else of the sequence without one.
    Raises `UsageError` for anything but valid answers.
    """

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._lock = Lock()
        self._sequences: list[_Sequence] = []
        self._answers, self._given = tuple(answers), set[int]()  # by identity: equal answers are different ones
        for answer in answers:
            _check(answer)
            same = [sequence for sequence in self._sequences if sequence.when == answer.when]
            if same:
                same[0].answers.append(answer)
            else:
                self._sequences.append(_Sequence(answer))
        self._sequences.sort(key=lambda sequence: sequence.when is None)  # stable: the one without a condition is last
        if len(self._sequences) > MOST_CONDITIONS:
            raise UsageError(f"a script may have {MOST_CONDITIONS} conditions, not {len(self._sequences)}")

    def remaining(self) -> tuple[Answer, ...]:
        return tuple(answer for sequence in self._sequences for answer in sequence.answers)

    @property
    def unused(self) -> int:
        return sum(sequence.unused for sequence in self._sequences)

    @property
    def idle(self) -> list[int]:
        """The positions, from 0, of the answers that no request has got."""
        return [place for place, answer in enumerate(self._answers) if id(answer) not in self._given]

    def next(self, view: Callable[[], Mapping[str, Json]], *, conditional: bool | None = None) -> Answer | None:
        """Return the next answer for a request, or None if all that it could get are used up.

        `conditional`: only one with a condition, or only one without.
        """
        with patterns.budget(CONDITION_SECONDS):
            fitting = [
                sequence
                for sequence in self._sequences
                if conditional in (None, sequence.when is not None) and sequence.answers and sequence.is_for(view)
            ]
        with self._lock:  # not while patterns are searched: other requests need not wait for them
            answer = next((sequence.next() for sequence in fitting if sequence.answers), None)
            self._given.add(id(answer))
            return answer


class _Sequence:
    def __init__(self, first: Answer) -> None:
        self.when, self.answers, self._uses = first.when, deque([first]), 0

    def is_for(self, view: Callable[[], Mapping[str, Json]]) -> bool:
        if self.when is None:
            return True
        from svctoolkit.delivery.recorder.condition import matches  # most scripts have no conditions

        return matches(self.when, view())

    @property
    def unused(self) -> int:
        return max(0, sum(answer.times or 1 for answer in self.answers) - self._uses)

    def next(self) -> Answer:
        answer = self.answers[0]
        self._uses += 1
        endless = answer.times is None and len(self.answers) == 1 and answer.close != "after"
        if not endless and self._uses >= (answer.times or 1):
            self.answers.popleft()
            self._uses = 0
        return answer


def _check(answer: Answer) -> None:
    """Raise `UsageError` for what is not an answer, or has a condition with a mistake."""
    if not isinstance(answer, Answer):
        raise UsageError(f"a recorder's answer must be an Answer, such as Answer(503), not {answer!r}")
    if answer.when is not None:
        from svctoolkit.delivery.recorder.condition import condition_problems

        for path, problem in condition_problems(answer.when):
            raise UsageError(f"{'.'.join(map(str, ('when', *path)))}: {problem}")
