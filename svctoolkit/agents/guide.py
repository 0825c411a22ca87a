"""The file `AGENTS.md` of a project: what coding agents should know before they change something."""

from __future__ import annotations

from typing import Final

AGENTS_FILE: Final = """\
# For coding agents

This project describes a customer-event pipeline. svctoolkit runs it on this machine: events go through user
transformations and destination mappings, and a recorder answers in place of each destination. Nothing is sent.

| file | contents |
|---|---|
| `workspace.yaml` | sources, destinations with their settings, transformations, policies |
| `clean.py` | a user transformation: `transformEvent(event, metadata)` runs in a sandbox for each event |
| `suites/*.suite.yaml` | tests: an event, and what destinations must get |

## Commands

```sh
svctoolkit check                                              # mistakes in workspace.yaml and suites
svctoolkit run                                                # all suites; run this before and after each change
svctoolkit run -k order                                       # some of them
svctoolkit test destination hook --sample track               # the request for one event
svctoolkit test destination hook --sample track --lineage     # where each of its fields comes from
svctoolkit definitions MP                                     # settings, events and quirks of a destination type
```

`svctoolkit mcp` offers the same as tools: `list_destinations`, `explain_destination`, `run_event`, `lineage`,
`find_failures`, `run_suites`, `explain_failure`, `replay`, `query_replay`, `write_scenario`.
`svctoolkit docs` lists the pages of the documentation, `svctoolkit docs suites` prints one.

## Rules

- Change a transformation and its tests together. A new behavior needs a scenario that fails without it.
- If a scenario fails, find out which stage differs first. Change its expectation only if the new result is intended.
- Do not write secrets into files: `token: $(env:MY_TOKEN)` reads one from the environment.
- Leave `delivery: {mode: record}` as it is. `live` sends real requests.
- A destination that refuses an event says why: the rule, the field and its value. Do not guess; run the event.
- After a change of a transformation, `svctoolkit replay FILE --before HEAD` shows what it changes in recorded events.
"""
