"""The rules of one simulation, compiled: checks by kind of record and level, and forms of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from svctoolkit.simulations.answers import Values
from svctoolkit.simulations.checks import ReadyCheck, Words
from svctoolkit.simulations.levels import Level
from svctoolkit.simulations.messages import Response
from svctoolkit.simulations.rules import Rules, bound_of


class Rulebook:
    """What the requests of a simulation share. A kind of record that no check names has none."""

    def __init__(self, rules: Rules, words: Words) -> None:
        self.rules = rules
        self.forms: Mapping[str, Callable[[Values], Response]] = {n: form.compile() for n, form in rules.forms.items()}
        self._all = [
            (rule, ReadyCheck(rule.id, rule.effect, check, bound_of(check, rule, rules), words))
            for rule in rules.values()
            for check in rule.checks
        ]
        self._active: dict[tuple[str, Level], list[ReadyCheck]] = {}

    def checks(self, kind: str, level: Level) -> list[ReadyCheck]:
        """Return the checks of a kind of record that have an effect at this level, in the order of the file."""
        active = self._active.get((kind, level))
        if active is None:
            active = [
                ready
                for rule, ready in self._all
                if kind in ready.check.kinds and rule.is_active(level, ready.check.confidence)
            ]
            self._active[kind, level] = active
        return active
