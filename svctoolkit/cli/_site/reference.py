"""Reference pages as Markdown, generated from what is installed: commands, YAML keys, matchers, the Python API."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from svctoolkit.cli._command import Command
from svctoolkit.cli._site.signatures import signature
from svctoolkit.displayed import Displayed
from svctoolkit.registry import Registry


def pages(commands: Registry[Command]) -> dict[str, str]:
    """The text of each page by its name."""
    parts: dict[str, Callable[[], Iterator[str]]] = {
        "reference/commands": lambda: _commands(commands),
        "reference/yaml": _yaml,
        "reference/matchers": _matchers,
        "reference/python": _python,
    }
    return {name: "\n".join(lines()) + "\n" for name, lines in parts.items()}


def _commands(commands: Registry[Command]) -> Iterator[str]:
    yield "# Commands\n\nThe output of `svctoolkit COMMAND --help`. Exit codes: 0 ok, 1 failed, 2 interrupted,"
    yield "3 could not finish, 4 wrong usage or input, 5 nothing selected."
    for name in commands:
        yield from _command(name, commands[name])
        below = commands[name].commands
        for other in below or ():
            yield from _command(f"{name} {other}", below[other]) if below else ()


def _command(name: str, command: Command) -> Iterator[str]:
    from svctoolkit.cli import _parser

    yield f"\n## svctoolkit {name}\n"
    paragraphs = (command.description or f"{command.help}.").strip().split("\n\n")
    yield "\n\n".join(_prose(" ".join(paragraph.split())) for paragraph in paragraphs) + "\n"
    options = [a for a in _parser.of(name, command)._actions if a.help != argparse.SUPPRESS and a.dest != "help"]
    if options:
        yield "| option | |\n|---|---|"
        for option in options:
            value = option.metavar or ("" if option.nargs == 0 else option.dest.upper())
            flags = ", ".join(option.option_strings) or str(option.metavar or option.dest)
            value = f" {value}" if option.option_strings and value else ""
            text = (option.help or "").replace("%(default)s", str(option.default)).replace("%%", "%")
            yield f"| `{_cell(flags + value)}` | {_cell(_prose(text))} |"
    if command.examples:
        yield "\n```sh\n" + "\n".join(command.examples) + "\n```"


def _yaml() -> Iterator[str]:
    from svctoolkit import runner, workspace

    yield "# Keys of suites and workspaces\n\n`svctoolkit schema suite` and `svctoolkit schema workspace` print the"
    yield "same as a JSON Schema, for editors. [Suites](../suites.md) and"
    yield "[the workspace file](../workspace.md) explain what they mean."
    for name, schema in (("Suites", runner.schema()), ("Workspaces", workspace.schema())):
        yield f"\n## {name}"
        for part, shape in schema["$defs"].items():
            if shape.get("properties"):
                yield f"\n### {re.sub('Shape$', '', part)}\n\n{_prose(shape.get('description', ''))}\n"
                yield "| key | is | |\n|---|---|---|"
                required = shape.get("required", ())
                for key, value in shape["properties"].items():
                    text = _prose(str(value.get("description", ""))) + (" (required)" if key in required else "")
                    yield f"| `{key}` | {_cell(_kind(value))} | {_cell(text)} |"


def _kind(schema: Mapping[str, Any]) -> str:
    """A short description of the type of a value."""
    if "$ref" in schema:
        return re.sub("Shape$", "", str(schema["$ref"]).rpartition("/")[2])
    if "else" in schema:
        return _kind(schema["else"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(other) for other in schema["anyOf"]))
    kind = schema.get("type", "anything")
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        return f"list of {_kind(schema['items'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _matchers() -> Iterator[str]:
    from svctoolkit.expect.matchers import MATCHERS

    yield "# Matchers\n\nObjects match as subsets, lists exactly; operators check everything else."
    yield "[Suites](../suites.md) explains how they combine."
    for name in MATCHERS:
        module = inspect.getmodule(inspect.unwrap(MATCHERS[name].differences))
        yield f"\n## ${name}\n\n{_docstring(module)}"


def _python() -> Iterator[str]:
    import svctoolkit

    yield "# Python\n\nThe contents of `import svctoolkit`. In Python, `help(...)` shows the same."
    for name in sorted(n for n in svctoolkit.__all__ if not n.startswith("_")):
        value = getattr(svctoolkit, name)
        if inspect.ismodule(value):
            yield f"\n## svctoolkit.{name}\n\n{_docstring(value)}"
            names = getattr(value, "__all__", [n for n, v in vars(value).items() if _is_own(value, n, v)])
            members = [(member, getattr(value, member)) for member in names]
        else:
            parameters = "" if inspect.isclass(value) else signature(value)
            shown = f"```python\n{name}{parameters}\n```\n\n" if parameters else ""
            yield f"\n## svctoolkit.{name}\n\n{shown}{_docstring(value) or _docstring(type(value))}"
            members = list(_methods(value)) if inspect.isclass(value) else []
        for member, function in members:
            if callable(function) and inspect.getdoc(function):
                yield f"\n### {name}.{member}\n\n```python\n{member}{signature(function) or '(...)'}\n```\n"
                yield _docstring(function)


def _is_own(module: Any, name: str, value: Any) -> bool:
    return not name.startswith("_") and callable(value) and getattr(value, "__module__", "") == module.__name__


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods, also those of base classes in this package; methods with two names once."""
    own = [base for base in kind.__mro__ if base.__module__.startswith("svctoolkit.") and base is not Displayed]
    members = {name: value for base in reversed(own) for name, value in vars(base).items()}
    for name, value in sorted(members.items()):
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not name.startswith("_") and inspect.isfunction(function) and function.__name__ == name:
            yield name, function


def _docstring(value: Any) -> str:
    """A docstring as Markdown, with its examples as code blocks."""
    text = inspect.getdoc(value) or ""
    blocks = [
        block if not block.lstrip().startswith(">>>") else f"```python\n{block}\n```" for block in text.split("\n\n")
    ]
    return "\n\n".join(_prose(block) if not block.startswith(("```", "    ")) else block for block in blocks)


def _prose(text: str) -> str:
    """Escape plain text for Markdown: angle brackets and references like [word] are kept literally."""
    return text.replace("<", "&lt;").replace("[", "\\[") if "`" not in text else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
