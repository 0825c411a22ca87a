"""Seeded mistakes: the changes of `mutate`, and slips in suites, workspaces, policies, code and fixtures."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from svctoolkit.mutation.change import Change
from tests.wrong_greens.checking import (
    GATE,
    Example,
    Verdict,
    judge_change,
    judge_condition,
    judge_files,
    judge_policies,
)
from tests.wrong_greens.projects import POLICIES

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_]{3,}")
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.-])")
_COMMENT = re.compile(r"(^|\s)(#|//).*$")
_LIST = re.compile(r"(?<=: )(\[[^\[\]{}]+\]|\{[^\[\]{}]+\})")
#: Lines that only people read.
_PROSE = re.compile(r"^\s*(- )?(name|suite|description|tags|id|version):")
#: The share of mistakes that `mutate` makes; the others are slips in files.
_CHANGES = 0.6


class Mistake(NamedTuple):
    """One mistake: a `change` of `mutate`, edited `files`, or other `policies` or `conditions`; `text` names it."""

    example: Example
    kind: str
    text: str
    change: Change | None = None
    files: tuple[tuple[Path, str | None], ...] = ()
    policies: str = ""
    conditions: str = ""

    def judge(self) -> Verdict:
        if self.change is not None:
            return judge_change(self.example, self.change)
        if self.policies:
            return judge_policies(self.example, self.policies)
        if self.conditions:
            return judge_condition(self.example, self.conditions)
        return judge_files(self.example, dict(self.files))

    def __str__(self) -> str:
        return f"{self.example.name}: {self.kind}: {self.text}"


def mistakes(examples: Sequence[Example], count: int, seed: int) -> Iterator[Mistake]:
    """Yield `count` different mistakes, of all kinds in turn."""
    generator = random.Random(seed)
    changes = [(example, change) for example in examples for change in example.project.changes]
    picked = generator.sample(changes, k=min(len(changes), int(count * _CHANGES)))
    seen: set[tuple[object, ...]] = set()
    while len(seen) < count:
        if picked and generator.random() < _CHANGES:
            example, change = picked.pop()
            mistake: Mistake | None = Mistake(example, change.kind, str(change), change=change)
        else:
            mistake = _slip(generator.choice(examples), generator)
        if mistake is not None and (key := (mistake.example.name, str(mistake.change or ""), *mistake[4:])) not in seen:
            seen.add(key)
            yield mistake


def _slip(example: Example, generator: random.Random) -> Mistake | None:
    """Return a slip in a file of a project; None if the file has no place for the kind that was drawn."""
    suites = sorted((example.folder / "suites").rglob("*.suite.yaml"))
    fixtures = sorted((example.folder / "suites").glob("*.json")) + sorted((example.folder / "suites/events").glob("*"))
    code = [f for f in sorted(example.folder.rglob("*")) if f.suffix in (".js", ".py") and "types" not in f.parts]
    draw = generator.random()
    if draw < 0.03:
        return _other_conditions(example, generator)
    if draw < 0.1:
        return _other_policies(example, generator)
    if draw < 0.15:
        return _renamed(example, generator.choice(suites), generator)
    if draw < 0.6:
        path = generator.choice(suites)
        kinds = [_misspelt, _misspelt, _misspelt, _emptied, _renumbered, _dropped, _other_destination]
    elif draw < 0.8:
        path, kinds = example.folder / "workspace.yaml", [_misspelt, _misspelt, _without_line, _renumbered]
    elif draw < 0.9 and fixtures:
        path, kinds = generator.choice(fixtures), [_misspelt, _truncated, _renumbered]
    else:
        path, kinds = generator.choice(code), [_misspelt, _truncated]
    kind = generator.choice(kinds)
    text = path.read_text(encoding="utf-8")
    edited = kind(text, generator, example)
    if edited is None or edited == text:
        return None
    name = kind.__name__.strip("_").replace("_", " ")
    shown = _first_difference(text, edited)
    return Mistake(example, name, f"{path.relative_to(example.folder)}: {shown}", files=((path, edited),))


def _other_policies(example: Example, generator: random.Random) -> Mistake | None:
    text = POLICIES[example.name]
    edited = generator.choice([_misspelt, _misspelt, _without_line, _emptied])(text, generator, example)
    if edited is None or edited == text:
        return None
    return Mistake(example, "policies", _first_difference(text, edited), policies=edited)


def _other_conditions(example: Example, generator: random.Random) -> Mistake:
    clauses = GATE.split(" or ")
    place = generator.randrange(len(clauses))
    word = clauses[place].removesuffix(">0")
    clauses[place] = generator.choice([f"{_typo(word, generator)}>0", f"{word}>100%", f"{word}<0", f"{word}>5%"])
    text = " or ".join(clauses)
    return Mistake(example, "conditions", text, conditions=text)


def _first_difference(before: str, after: str) -> str:
    for number, (old, new) in enumerate(zip(before.splitlines(), [*after.splitlines(), ""], strict=False), 1):
        if old != new:
            return f"line {number}: {old.strip()[:100]} -> {new.strip()[:100]}"
    return "the end is missing"


def _renamed(example: Example, path: Path, generator: random.Random) -> Mistake:
    name = generator.choice([".yaml", ".suites.yaml", ".suite.yml", ".test.yaml"])
    other = path.with_name(path.name.removesuffix(".suite.yaml") + name)
    files = ((path, None), (other, path.read_text(encoding="utf-8")))
    return Mistake(example, "renamed", f"{path.relative_to(example.folder)} -> {other.name}", files=files)


_Edit = Callable[[str, random.Random, Example], str | None]


def _places(text: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    """Return the places of a pattern outside of comments and prose."""
    found, start = [], 0
    for line in text.splitlines(keepends=True):
        comment = _COMMENT.search(line)
        end = start + (comment.start() if comment else len(line))
        if not _PROSE.match(line):
            found += list(pattern.finditer(text, start, end))
        start += len(line)
    return found


def _replaced(text: str, pattern: re.Pattern[str], generator: random.Random, new: Callable[[str], str]) -> str | None:
    places = _places(text, pattern)
    if not places:
        return None
    place = generator.choice(places)
    return text[: place.start()] + new(place[0]) + text[place.end() :]


def _misspelt(text: str, generator: random.Random, _: Example) -> str | None:
    return _replaced(text, _WORD, generator, lambda word: _typo(word, generator))


def _typo(word: str, generator: random.Random) -> str:
    place = generator.randrange(1, len(word) - 1)
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    dropped, doubled = word[:place] + word[place + 1 :], word[:place] + word[place] + word[place:]
    return generator.choice([swapped, dropped, doubled, word.swapcase() if word.islower() else word.lower()])


def _emptied(text: str, generator: random.Random, _: Example) -> str | None:
    return _replaced(text, _LIST, generator, lambda found: "[]" if found[0] == "[" else "{}")


def _renumbered(text: str, generator: random.Random, _: Example) -> str | None:
    return _replaced(
        text, _NUMBER, generator, lambda n: generator.choice([f"{n}0", str(float(n) + 1).removesuffix(".0")])
    )


def _dropped(text: str, generator: random.Random, _: Example) -> str | None:
    """The event of a user whom the code, or the vendor, drops."""
    return _replaced(
        text, re.compile(r"(?<=userId: )[\w-]+"), generator, lambda _: generator.choice(["bot", "anonymous"])
    )


def _other_destination(text: str, generator: random.Random, example: Example) -> str | None:
    keys = sorted(example.workspace.destinations)
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, keys))})(?=[:\]}},\s])")
    return _replaced(text, pattern, generator, lambda key: generator.choice([k for k in keys if k != key]))


def _without_line(text: str, generator: random.Random, _: Example) -> str | None:
    lines = text.splitlines(keepends=True)
    places = [n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
    place = generator.choice(places)
    return "".join(lines[:place] + lines[place + 1 :])


def _truncated(text: str, generator: random.Random, _: Example) -> str | None:
    return text[: generator.randrange(len(text) // 2, len(text))].rstrip()
