"""The entry of the documentation for a rule: `MP.missing.userId`, `MP.http-429`, `ECONNREFUSED`, `mp.import.count`."""

from __future__ import annotations

import re

from svctoolkit.cli._site.sections import Section

_STATUS = re.compile(r"http-(\d{3})")


def explanation(rule: str, entries: dict[str, Section]) -> str | None:
    """What `svctoolkit docs RULE` prints: a section of troubleshooting, or the rule of a simulated vendor.

    `entries` are the sections of troubleshooting by heading. None if no rule is called so.
    """
    section = _section(rule, entries)
    return section.markdown if section else _simulated(rule)


def _section(rule: str, entries: dict[str, Section]) -> Section | None:
    if rule in entries:
        return entries[rule]
    parts = rule.split(".")
    if parts[0] == "code" and len(parts) > 1:  # `code.lost.NaN`, `code.clean.js.transformEvent.TypeError`
        return entries["lost" if parts[1] == "lost" else "error"]
    kind = parts[1] if len(parts) > 1 else rule
    status = _STATUS.fullmatch(kind)
    if status:
        return next(
            (s for heading, s in entries.items() if heading.startswith("Status") and status[1] in heading), None
        )
    return entries.get(kind)


def _simulated(rule: str) -> str | None:
    """The rule of a vendor's simulation, with its source."""
    from svctoolkit.simulations import SIMULATIONS

    # Rules have their own prefixes (`cio.` for CUSTOMERIO), so all simulations are asked; only names like a rule's.
    type = next((name for name in SIMULATIONS if rule in SIMULATIONS[name].rules), "") if "." in rule else ""
    if not type:
        return None
    rules = SIMULATIONS[type].rules
    limit = "" if rules[rule].limit is None else f" Limit: {rules[rule].limit}."
    return (
        f"### {rule}\n\nA rule of the simulated {type} ({rules[rule].effect}): {rules[rule].says}.{limit}\n\n"
        f"Source: {rules.source_of(rules[rule])}. `svctoolkit definitions {type} --rules` lists all of them."
    )
