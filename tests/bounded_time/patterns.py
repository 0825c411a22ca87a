"""Every pattern of the package, the way it is used, and texts that make a bad one backtrack."""

from __future__ import annotations

import ast
import importlib
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeGuard

PACKAGE = Path(__file__).parent.parent.parent / "svctoolkit"
#: functions of `re` whose third argument is the flags
_WITH_FLAGS = ("match", "fullmatch", "search", "findall", "finditer")
METHODS = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")


class Use(NamedTuple):
    """A pattern, where it is, and how it is applied: `fullmatch` and `match` try one start, all others each."""

    where: str
    pattern: re.Pattern[Any]
    method: str


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package and its file. Modules of optional packages are there, too: all are installed."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if "node_modules" not in file.parts and file.name not in ("__main__.py", "hook.py"):
            name = ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
            yield name, file


def _module(name: str) -> ModuleType:
    """Import a module. The sandbox's import each other from their folder, here after the whole parser."""
    worker = name.rpartition(".")[0]
    if worker.endswith("transformations.worker"):
        importlib.import_module("tree_sitter_javascript")
        importlib.import_module("tree_sitter")
        folder = str(PACKAGE.joinpath(*worker.split(".")[1:]))
        if folder not in sys.path:
            sys.path.append(folder)
    return importlib.import_module(name)


def dynamic() -> list[str]:
    """The functions of the package that apply patterns which are not constants: `module.function`."""
    found = set()
    for name, file in modules():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                for node in ast.walk(function):
                    if _is_call(node) and _literal(node, _module(name)) is None:
                        found.add(f"{name}.{getattr(function, 'name', 'lambda')}")
    return sorted(found)


def uses() -> list[Use]:
    """Every use of a pattern. A pattern whose uses are not found counts as searched for."""
    found: list[Use] = []
    for name, file in modules():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.Name) and node.id == "re" for node in ast.walk(tree)):
            found += _of_module(name, tree)
    return list({(use.pattern, use.method): use for use in found}.values())


def _of_module(name: str, tree: ast.Module) -> Iterator[Use]:
    module = _module(name)
    text = ast.unparse(tree)
    for variable, value in vars(module).items():
        for pattern in _patterns(value):
            methods = set(re.findall(rf"\b{re.escape(variable)}(?:\[[^\]]*\])?\.(\w+)\(", text)) & {*METHODS}
            bound = getattr(value, "__name__", "") if callable(value) else ""
            for method in [bound] if bound else sorted(methods or {"search"}):
                yield Use(f"{name}.{variable}", pattern, method)
    for node in ast.walk(tree):
        if _is_call(node) and node.func.attr != "compile" and (pattern := _literal(node, module)) is not None:
            yield Use(f"{name}:{node.lineno}", pattern, node.func.attr)


def _is_call(node: ast.AST) -> TypeGuard[Any]:
    """Whether the node calls a function of `re` that accepts a pattern."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return False
    owner = node.func.value
    return isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in (*METHODS, "compile")


def _patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield value.__self__
    elif isinstance(value, dict):
        for item in value.values():
            yield from _patterns(item)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _patterns(item)


def _literal(node: Any, module: ModuleType) -> re.Pattern[Any] | None:
    """The pattern of `re.sub(PATTERN, ...)` if it is a constant of the module."""
    try:
        expression = eval(compile(ast.Expression(node.args[0]), "pattern", "eval"), vars(module))
    except (NameError, AttributeError):  # made of local values
        return None
    if isinstance(expression, re.Pattern):
        return expression
    flags = next((k.value for k in node.keywords if k.arg == "flags"), None)
    flags = flags or (node.args[2] if len(node.args) > 2 and node.func.attr in _WITH_FLAGS else None)
    number = eval(compile(ast.Expression(flags), "flags", "eval"), vars(module)) if flags else 0
    return re.compile(expression, number)


def attacks(pattern: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    """(prefix, pumped, suffix) triples: general ones, and one for each repetition in the pattern."""
    text = pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    tree = parser.parse(text, pattern.flags & ~re.DEBUG if isinstance(pattern.pattern, str) else 0)
    made = [(prefix, pump, suffix) for prefix, pump in _repeats(tree, "") for suffix in ("\x00 ", "")]
    general = [
        ("", pump, suffix)
        for pump in ("1", "a", ".", "@", " ", "[", "{", "(", "-", "/", "a1", "a.", "\n", '"')
        for suffix in ("\x00", "a")
    ]
    return list(dict.fromkeys(made + general))


def _repeats(tree: Any, prefix: str) -> Iterator[tuple[str, str]]:
    """What leads to each repetition of the pattern, and what it repeats."""
    for place, (code, argument) in enumerate(tree):
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, body = argument
            if most > 20:
                following = "".join(_one(item, 1) for item in tree[place + 1 : place + 2])
                for sample in _samples(body):
                    yield from ((prefix, pump) for pump in (sample, sample + following, following) if pump)
            yield from _repeats(body, prefix)
        elif code is codes.SUBPATTERN:
            yield from _repeats(argument[3], prefix)
        elif code is codes.BRANCH:
            for branch in argument[1]:
                yield from _repeats(branch, prefix)
        elif code is codes.ATOMIC_GROUP:
            yield from _repeats(argument, prefix)
        prefix += _one((code, argument), 0)


def _samples(body: Any) -> list[str]:
    """A few texts that the body of a repetition matches."""
    return list(dict.fromkeys("".join(_one(item, choice) for item in body) for choice in range(4)))


def _one(item: tuple[Any, Any], choice: int) -> str:
    """A text that an item of a pattern matches; `choice` picks among alternatives."""
    code, argument = item
    if code is codes.LITERAL:
        return chr(argument)
    if code is codes.NOT_LITERAL:
        return next(c for c in "a1 .\x00" if ord(c) != argument)
    if code is codes.ANY:
        return "a1. "[choice]
    if code is codes.IN:
        members = [c for c in "a1.@ -_/:ZéF\n\t,;" if _contains(argument, c)]
        members += [chr(value) for kind, value in argument if kind is codes.LITERAL and argument[0][0] != codes.NEGATE]
        return members[choice % len(members)] if members else ""
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, body = argument
        times = least or (1 if choice and most else 0)
        return "".join(_one(inner, choice) for inner in body) * int(times)
    if code is codes.SUBPATTERN:
        return "".join(_one(inner, choice) for inner in argument[3])
    if code is codes.ATOMIC_GROUP:
        return "".join(_one(inner, choice) for inner in argument)
    if code is codes.BRANCH:
        branches = argument[1]
        return "".join(_one(inner, choice) for inner in branches[choice % len(branches)])
    return ""


def _contains(members: Any, character: str) -> bool:
    negated = members[0][0] is codes.NEGATE
    inside = False
    for kind, value in members:
        if kind is codes.LITERAL:
            inside |= ord(character) == value
        elif kind is codes.RANGE:
            inside |= value[0] <= ord(character) <= value[1]
        elif kind is codes.CATEGORY:
            expression = {
                codes.CATEGORY_DIGIT: r"\d",
                codes.CATEGORY_NOT_DIGIT: r"\D",
                codes.CATEGORY_SPACE: r"\s",
                codes.CATEGORY_NOT_SPACE: r"\S",
                codes.CATEGORY_WORD: r"\w",
                codes.CATEGORY_NOT_WORD: r"\W",
            }[value]
            inside |= re.fullmatch(expression, character) is not None
    return inside is not negated
