"""`svctoolkit definitions`: list destination types and their configuration variables."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli._terminal import table
from svctoolkit.errors import UsageError

if TYPE_CHECKING:
    from svctoolkit.destinations import Example
    from svctoolkit.destinations.definitions import Definition, Variable
    from svctoolkit.simulations import Level, Rule, Simulation


#: What refusals may depend on besides event and settings.
_NEEDS: dict[str, str] = {
    "account": "the secrets of the connected account",
    "lookup": "lookups in the destination's account",
    "clock": "the current time",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="one destination type, such as WEBHOOK")
    parser.add_argument("--sources", action="store_true", help="show webhook source types instead, such as Shopify")
    which = parser.add_argument_group("filters")
    which.add_argument("--search", default="", metavar="WORDS", help="types with these words in their name: hubspot")
    which.add_argument(
        "--takes",
        action="append",
        default=[],
        metavar="EVENT",
        help="types that accept this event type; may be repeated",
    )
    which.add_argument(
        "--category",
        default="",
        metavar="KIND",
        help="types of this category: warehouse, streaming, object-storage, ...",
    )
    which.add_argument(
        "--mode", default="", metavar="MODE", help="types with this connection mode: cloud, device or hybrid"
    )
    which.add_argument("--batches", action="store_true", help="types that send several events in one request")
    which.add_argument("--mapped", action="store_true", help="types that can be tested here")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument(
        "--json",
        action="store_true",
        help="print the response of GET /destination-definitions; with NAME also `fidelity`",
    )
    forms.add_argument(
        "--markdown", action="store_true", help="print NAME, or a table of the types that can be tested, as Markdown"
    )
    forms.add_argument("--rules", action="store_true", help="print the rules by which the server of NAME is simulated")
    forms.add_argument("--example", metavar="TEXT", help="print the examples of NAME with TEXT in their name")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.destinations import definitions

    if args.sources:
        text = _sources(args)
    elif args.markdown and args.name is not None:
        text = "\n".join(_markdown_of(definitions.get(args.name.upper())))
    elif args.markdown:
        text = "\n".join(_markdown())
    elif args.rules and args.name is None:
        raise UsageError("--rules needs a type: `svctoolkit definitions MP --rules`")
    elif args.rules:
        text = "\n".join(_rules(args.name.upper()))
    elif args.name is None and args.example is not None:
        raise UsageError("--example needs a type: `svctoolkit definitions MP --example revenue`")
    elif args.example is not None:
        text = "\n\n".join(_examples(args.name.upper(), args.example))
    elif args.name is None:
        types = _select(args)
        if not types:
            raise UsageError(
                f"no destination type matches {args.search!r}.{definitions.suggestion(args.search)}"
                if args.search
                else "no destination type matches these filters"
            )
        text = json.dumps([d.to_dict() for d in types], indent=2) if args.json else "\n".join(_list_types(types))
    else:
        name = args.name.upper()
        definition = definitions.get(name if name in definitions.names() else args.name)
        text = (
            json.dumps(definition.to_dict() | _trust(definition.name), ensure_ascii=False, indent=2)
            if args.json
            else "\n".join(_describe(definition))
        )
    _terminal.out(text)
    return Exit.OK


def _sources(args: argparse.Namespace) -> str:
    from svctoolkit.cli import _source_types

    for option in ("search", "takes", "category", "mode", "batches", "mapped", "rules", "example"):
        if getattr(args, option):
            raise UsageError(f"--{option} is about destination types; --sources lists webhook source types")
    return _source_types.page(args.name, "markdown" if args.markdown else "json" if args.json else "text")


def _select(args: argparse.Namespace) -> list[Definition]:
    from svctoolkit.destinations import definitions

    return definitions.find(
        args.search,
        takes=args.takes,
        category=args.category,
        mode=args.mode,
        batches=args.batches or None,
        mapped=args.mapped or None,
    )


def _list_types(types: list[Definition]) -> Iterator[str]:
    from svctoolkit.cli._terminal import style

    rows = [(d.name, d.display_name, ", ".join(d.modes), _supports(d)) for d in types]
    yield from table(("type", "name", "modes", "tests"), rows)
    yield ""
    can = sum(_supports(d) == "yes" for d in types)
    yield style(f"{len(types)} types, {can} can be tested. `svctoolkit definitions NAME` shows one.", "dim")


def _supports(definition: Definition) -> str:
    from svctoolkit.destinations import CATALOGUE
    from svctoolkit.events import EVENT_TYPES

    if definition.sent_by_server:
        return f"no: {definition.sent_by_server}"
    if definition.name in CATALOGUE and CATALOGUE[definition.name].handlers:
        return "yes"
    if "cloud" not in definition.modes:
        return "no: device mode only"
    takes = (definition.supported_message_types or {}).get("cloud")
    if isinstance(takes, list) and takes and not set(takes) & set(EVENT_TYPES):
        return f"no: {', '.join(takes)} only"
    return "no mapping"


def _describe(definition: Definition) -> Iterator[str]:
    from svctoolkit.cli._terminal import style, width
    from svctoolkit.destinations import CATALOGUE, examples
    from svctoolkit.destinations.effects import variables_without_effect

    marks = [mark for mark, is_so in (("beta", definition.is_beta), ("deprecated", definition.deprecated)) if is_so]
    yield " ".join([style(definition.name, "bold"), definition.display_name, *(f"({mark})" for mark in marks)])
    for name, text in _facts(definition):
        yield textwrap.fill(text, width(), initial_indent=f"  {name:<7}  ", subsequent_indent=" " * 11)
    yield ""
    head = ("variable", "kind", "required", "default", "label")
    yield from table(head, [_row(name, variable, definition) for name, variable in definition.variables.items()])
    if idle := [name for name in definition.variables if name in variables_without_effect(definition.name)]:
        yield ""
        text = f"no effect on events in cloud mode: {', '.join(idle)}"
        yield textwrap.fill(text, width(), subsequent_indent="  ")
    if definition.name in CATALOGUE and examples(definition.name):
        yield ""
        outcomes = [(e.event.get("type", ""), _outcome(e), e.name) for e in examples(definition.name)]
        yield from table(("event", "gives", "example"), outcomes)
        yield ""
        hint = f"`svctoolkit definitions {definition.name} --example TEXT` shows an example in full."
        yield style(textwrap.fill(hint, width()), "dim")


def _facts(definition: Definition) -> list[tuple[str, str]]:
    """What the type and its mapping support, as names and texts; some names repeat."""
    from svctoolkit.destinations import CATALOGUE
    from svctoolkit.simulations import SIMULATIONS, is_simulated

    facts = [("tests", _supports(definition)), ("modes", ", ".join(definition.modes))]
    facts += [
        ("sources", ", ".join(definition.supported_source_types)),
        *(("events", line) for line in _event_types(definition)),
    ]
    if definition.name in CATALOGUE:
        mapping = CATALOGUE[definition.name]
        facts += [("mapping", ", ".join(mapping.handlers) or "none"), ("docs", mapping.docs)]
        facts += [("answers", ", ".join(dict.fromkeys(answer.name for answer in mapping.answers)))]
        facts += [("needs", ", ".join(_NEEDS[need] for need in mapping.needs))]
        facts += [("deletes users", "yes" if mapping.can_delete else "no")]
        facts += [("quirk", quirk) for quirk in mapping.quirks]
        facts += _agreement(definition.name)
    if is_simulated(definition.name):
        facts += _simulated(SIMULATIONS[definition.name])
    return [(name, text) for name, text in facts if text]


def _agreement(name: str) -> Iterator[tuple[str, str]]:
    """How far the mapping agrees with RudderStack, and what is known to differ."""
    from svctoolkit.destinations.fidelity import fidelity, known_differences, measured, service

    figures = fidelity(name)
    counts = {
        "cases": figures.cases,
        "observations": figures.observations,
        "shared requests": figures.calls,
        "answers": figures.answers,
    }
    texts = [f"{count} {column}" for column, count in counts.items() if count.total]
    yield "agrees", f"{', '.join(texts)}; compared with {service()} on {measured()}" if texts else "never compared"
    if figures.differing:
        fields = ", ".join(f"{field} ({count})" for field, count in figures.differing.items())
        yield "differs", f"in observations: {fields}"
    yield from (("differs", sentence) for sentence in known_differences(name))


def _trust(name: str) -> dict[str, Any]:
    """The same as JSON, and what refusals depend on, for types with a mapping; not in the Test API's response."""
    from svctoolkit.destinations import CATALOGUE
    from svctoolkit.destinations.fidelity import fidelity, known_differences, measured, service

    if name not in CATALOGUE:
        return {}
    about = {"service": service(), "measured": measured()}
    needs = list(CATALOGUE[name].needs)
    return {
        "needs": needs,
        "fidelity": {**about, **fidelity(name).to_dict(), "knownDifferences": list(known_differences(name))},
    }


def _outcome(example: Example) -> str:
    if example.error:
        return "refusal"
    return f"{len(example.payloads)} payload{'' if len(example.payloads) == 1 else 's'}"


def _examples(name: str, text: str) -> Iterator[str]:
    """Each example with `text` in its name as JSON: event, configuration and expected payloads."""
    import msgspec

    from svctoolkit.destinations import examples
    from svctoolkit.errors import UnknownName

    all_examples = examples(name)
    matches = [example for example in all_examples if text.lower() in example.name.lower()]
    if not matches:
        raise UnknownName(f"example of {name}", text, [example.name for example in all_examples])
    for example in matches:
        members = {key: value for key, value in msgspec.to_builtins(example).items() if value}
        yield json.dumps(members, ensure_ascii=False, indent=2)


def _simulated(simulation: Simulation) -> Iterator[tuple[str, str]]:
    """What a simulation holds, and its rules by level and effect."""
    yield "holds", f"{', '.join(simulation.tables)}, with `simulate: simulated`"
    levels = Counter((_level(rule), rule.effect) for rule in simulation.rules.values())
    for level, text in (("simulated", "simulated"), ("strict", "strict adds"), ("", "without effect")):
        counts = ", ".join(f"{count} {effect}" for (of, effect), count in levels.items() if of == level)
        if counts:
            yield "rules", f"{text}: {counts}"


def _level(rule: Rule) -> str:
    """The level from which a rule has an effect; empty for none."""
    levels: tuple[Level, ...] = ("simulated", "strict")
    return next((level for level in levels if rule.is_active(level)), "")


def _rules(name: str) -> Iterator[str]:
    """The rules of a simulation, one a paragraph: effect, level, limit, and where and when it was read."""
    from svctoolkit.cli._terminal import style, width
    from svctoolkit.simulations import SIMULATIONS

    for rule in SIMULATIONS[name].rules.values():
        limit = "" if rule.limit is None else f", limit {json.dumps(rule.limit)}"
        yield style(f"{rule.id}  {rule.effect}, {_level(rule) or 'without effect'}{limit}", "bold")
        text = f"{rule.says} ({SIMULATIONS[name].rules.source_of(rule)})"
        yield textwrap.fill(text, width(), initial_indent="  ", subsequent_indent="  ")


def _markdown() -> Iterator[str]:
    """The page of all types with a mapping: accepted events, which events share a request, quirks."""
    from svctoolkit.destinations import CATALOGUE, examples
    from svctoolkit.events import EVENT_TYPES

    types = [(name, CATALOGUE[name]) for name in CATALOGUE.names()]
    yield "# Destination types"
    yield ""
    yield "Generated by `svctoolkit definitions --markdown`. `svctoolkit definitions NAME` shows one type in full."
    yield ""
    yield "*depends on*: what else decides whether an event is refused. `account` stands for the secrets of the"
    yield "connected account, `lookup` for questions to the destination, `clock` for the current time."
    yield ""
    yield "| type | name | events | shares requests | checks answers | deletes users | depends on | examples |"
    yield "|---|---|---|---|---|---|---|---:|"
    for name, kind in types:
        title = f"[{kind.title}]({kind.docs})" if kind.docs else kind.title
        event_types = ", ".join(event for event in EVENT_TYPES if event in kind.handlers) or f"none, only {kind.takes}"
        judges = "yes" if kind.judges else ""
        deletes = "yes" if kind.can_delete else ""
        last = f"{', '.join(kind.needs)} | {len(examples(name))} |"
        yield f"| {name} | {title} | {event_types} | {kind.sharing} | {judges} | {deletes} | {last}"
    yield from _unmapped_markdown()
    yield ""
    yield "## Quirks"
    yield ""
    yield "Where RudderStack does not do what the destination's documentation requires, or what users expect."
    for name, kind in types:
        if kind.quirks:
            yield ""
            yield f"**{name}**"
            yield ""
            yield from (f"- {quirk}" for quirk in kind.quirks)


def _unmapped_markdown() -> Iterator[str]:
    """The other types, and why no mapping makes requests for them: readers look for these, too."""
    from svctoolkit.destinations import CATALOGUE, definitions

    yield ""
    yield "## Known types without a mapping"
    yield ""
    yield "Workspaces may have destinations of these types. Their events are `unmapped`: they run through the user"
    yield "transformation, and nothing is sent. [Warehouses](warehouse.md) have tables instead."
    yield ""
    yield "| type | name | why |"
    yield "|---|---|---|"
    for definition in definitions.all():
        if definition.name not in CATALOGUE:
            yield f"| {definition.name} | {definition.display_name} | {definitions.reason_unmapped(definition.name)} |"


def _markdown_of(definition: Definition) -> Iterator[str]:
    """One type: facts as a list, and its variables as a table."""
    yield f"# {definition.display_name} ({definition.name})"
    yield ""
    yield from (f"- {name}: {text}" for name, text in _facts(definition))
    yield ""
    yield "| variable | kind | required | default | label |"
    yield "|---|---|---|---|---|"
    for name, variable in definition.variables.items():
        cells = (cell.replace("|", "\\|") for cell in _row(name, variable, definition))
        yield f"| {' | '.join(cells)} |"


def _event_types(definition: Definition) -> Iterator[str]:
    """One line per connection mode: a list of event types, or a list for each source type."""
    from svctoolkit.events import EVENT_TYPES

    for mode, types in (definition.supported_message_types or {"all modes": EVENT_TYPES}).items():
        by_source = types if isinstance(types, dict) else {"": types}
        lists = (f"{source}: {', '.join(names)}" if source else ", ".join(names) for source, names in by_source.items())
        yield f"{mode}: {'; '.join(lists)}"


def _row(name: str, variable: Variable, definition: Definition) -> tuple[str, ...]:
    secret = variable.secret or any(key.split(".")[0] == name for key in definition.secret_keys)
    kind = f"{variable.kind}, secret" if secret else variable.kind
    default = "" if variable.default is None else json.dumps(variable.default, ensure_ascii=False)
    label = f"{variable.label}: {' | '.join(variable.options)}" if variable.options else variable.label
    return (name, kind, "yes" if variable.required else "", default, label)


command = Command(
    help="list destination types, or the variables of one",
    description="""
        List the destination types, and which of them can be tested here. With NAME, show its configuration variables
        (as used by `--config` and in workspace files), the events that its mapping accepts, how closely the mapping
        agrees with RudderStack, and its examples.
    """,
    examples=(
        "svctoolkit definitions",
        "svctoolkit definitions --takes group --batches",
        "svctoolkit definitions --search google",
        "svctoolkit definitions WEBHOOK",
        "svctoolkit definitions MP --example revenue",
        "svctoolkit definitions MP --rules",
        "svctoolkit definitions --json | jq '.[].name'",
        "svctoolkit definitions --sources Shopify",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
