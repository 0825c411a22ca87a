"""Policies from a file: their options, severity, owner, and the breaches that were accepted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, Problem, did_you_mean
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Check, Finding, Proof, Reach, ScreenedCheck, Whole, WholeCheck
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.breach import PolicyBreach, Severity
from svctoolkit.policies.items import Flaw, Source, kinds, make_check, names_of, odd_keys, schema
from svctoolkit.policies.paths import ends_with, leaves, without_indexes
from svctoolkit.policies.tables import EVENT_COLUMNS, reads_of

if TYPE_CHECKING:
    from svctoolkit.workspace import Workspace


_SEARCHED = 20  # events of a batch, for the paths that a misspelt one may mean


@dataclass(frozen=True, slots=True)
class _Accepted:
    """Breaches that were reviewed: at a destination, the end of a path, of an event name; each may be empty for any."""

    destination: str
    path: str
    event: str
    expires: date

    def takes(self, finding: Finding, event: str) -> bool:
        pairs = (self.destination, finding.destination), (self.event, event)
        return all(wanted in ("", found) for wanted, found in pairs) and (
            not self.path or ends_with(finding.path, self.path)
        )


@dataclass(frozen=True, slots=True)
class _Policy:
    name: str
    kind: str
    check: Check | ScreenedCheck | WholeCheck
    severity: Severity
    owner: str
    accepted: Sequence[_Accepted]
    destinations: Sequence[str]
    source: Source | None = None

    def place(self, *steps: str | int) -> str:
        """Return the place in a file of the policy, or of what is at these steps of it; empty without a file."""
        return self.source.place(*steps) if self.source is not None else ""

    def unknown(self, destinations: Collection[str], *, misspelt_only: bool = False) -> Iterator[str]:
        """Yield an error for each unknown destination."""
        for key in dict.fromkeys([*self.destinations, *(one.destination for one in self.accepted if one.destination)]):
            near = did_you_mean(key, destinations)
            if key not in destinations and (near or not misspelt_only):
                known = near or f" The workspace has: {', '.join(sorted(destinations))}"
                yield f"policy {self.name!r}: unknown destination {key!r}.{known}"


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Policies:
    """Policies, in the order of their file, with `items` as they are written there.

    `today` decides which accepted breaches have expired.
    """

    items: Sequence[Mapping[str, Json]]
    _policies: Sequence[_Policy]
    today: Callable[[], date] = field(default=_today)

    @classmethod
    def load(cls, path: Path | str) -> Policies:
        """Return the policies of a YAML file. Raises `ConfigError` with the line and column of every mistake."""
        document = yamlfile.load(Path(path))
        yamlfile.check(document, schema(), ConfigError)
        items = document.data["policies"]
        if problems := [document.problem(flaw.path, flaw.text, key=flaw.at_key) for flaw in _flaws(items)]:
            raise ConfigError(problems)
        return cls.of(items)._from(Path(path))

    @classmethod
    def of(cls, items: Sequence[Mapping[str, Json]]) -> Policies:
        """Return the policies of a list as in a file. Raises `ConfigError`."""
        if flaws := _flaws(items):
            raise ConfigError([Problem(f"{'.'.join(map(str, flaw.path))}: {flaw.text}") for flaw in flaws])
        return cls(items, [_policy(item, name) for item, name in zip(items, names_of(items), strict=True)])

    @classmethod
    def of_workspace(cls, workspace: Workspace) -> Policies:
        """Return the policies of a workspace. Raises `ConfigError`, also for unknown destinations.

        If the workspace was loaded from a file, the error has the line and column of every mistake.
        """
        items = workspace.policies
        flaws = _flaws(items)
        if not flaws:
            policies = cls.of(items)
            for number, policy in enumerate(policies._policies):
                flaws += [Flaw(("policies", number), text) for text in policy.unknown(workspace.destinations)]
        if flaws:
            raise ConfigError(_placed(flaws, workspace))
        return policies if workspace.file is None else policies._from(workspace.file)

    def _from(self, file: Path) -> Policies:
        """Return these policies as those that are written in a file."""
        numbered = enumerate(zip(self._policies, self.items, strict=True))
        policies = [replace(policy, source=Source(file, number, item)) for number, (policy, item) in numbered]
        return replace(self, _policies=policies)

    def __add__(self, others: Policies) -> Policies:
        """Return the policies of both: all of them must hold."""
        items, policies = [*self.items, *others.items], [*self._policies, *others._policies]
        named = [replace(policy, name=name) for policy, name in zip(policies, names_of(items), strict=True)]
        return Policies(items, named, self.today)

    @property
    def listed(self) -> list[tuple[str, str, Severity, str]]:
        """The name, kind, severity and owner of each policy."""
        return [(policy.name, policy.kind, policy.severity, policy.owner) for policy in self._policies]

    @property
    def strict(self) -> set[str]:
        """The names of the policies whose breaches fail a check: those of severity `error`."""
        return {policy.name for policy in self._policies if policy.severity == "error"}

    @property
    def needs_history(self) -> bool:
        """Whether a policy compares with earlier days."""
        return any(isinstance(one.check, WholeCheck) and one.check.needs_history for one in self._policies)

    @property
    def reads(self) -> dict[str, frozenset[str]]:
        """The columns that queries need, by table: see `svctoolkit.policies.tables.Sheets`."""
        return reads_of(one.check.reads for one in self._policies if isinstance(one.check, WholeCheck))

    def columns(self, name: str) -> Mapping[str, frozenset[str]]:
        """Return the members of payloads that a policy's query reads, by destination; empty for other policies."""
        checks = (one.check for one in self._policies if one.name == name)
        reads = reads_of(check.reads for check in checks if isinstance(check, WholeCheck))
        return {key: names - {*EVENT_COLUMNS} for key, names in reads.items()}

    def require(self, destinations: Collection[str], *, misspelt_only: bool = False) -> None:
        """Raise `ConfigError` for a policy about a destination that does not exist: it would hold for any event.

        `misspelt_only`: several workspaces share these policies, so only a name that looks misspelt is an error.
        """
        unknown = [
            Problem(text, policy.place())
            for policy in self._policies
            for text in policy.unknown(destinations, misspelt_only=misspelt_only)
        ]
        if unknown:
            raise ConfigError(unknown)

    def check(
        self,
        event: Mapping[str, Json],
        arrivals: Sequence[Arrival],
        mask: Callable[[Json], Json] = lambda value: value,
    ) -> Iterator[PolicyBreach]:
        """Yield the policies that do not hold for an event and what arrived of it. `mask` hides secrets in values."""
        for policy in self._policies:
            yield from self._broken(policy, event, arrivals, mask)

    def check_batch(
        self,
        events: Sequence[Mapping[str, Json]],
        sent: Mapping[str, Sent],
        whole: Callable[[int], Mapping[str, Json]] | None = None,
    ) -> Iterator[tuple[int, PolicyBreach]]:
        """Yield what `check` yields for each of several events, with the event's position, policy by policy.

        `sent` is what arrived of them, by destination. Nearly all events are only searched. If `events` have no members
        but their type and names, `whole` returns one by its position.
        """
        event_at = whole or events.__getitem__
        for policy in self._policies:
            check = policy.check
            everything = range(len(events))
            found = check.screen(events, sent) if isinstance(check, ScreenedCheck) else everything
            for position in sorted({*found}) if not isinstance(check, WholeCheck) else ():
                arrivals = [arrival for of in sent.values() if (arrival := of.arrival(position)) is not None]
                for breach in self._broken(policy, event_at(position), arrivals):
                    yield position, breach

    def prove(
        self,
        event_at: Callable[[int], Mapping[str, Json]],
        events: int,
        sent: Mapping[str, Sent],
        reached: Mapping[str, int],
    ) -> dict[str, int]:
        """Return how far checks get with the events of a batch, for `check_reach`.

        `event_at` returns one of the `events` by its position. `reached` is how far checks got with earlier events:
        the first event of its kind is enough.
        """
        furthest = dict[str, int]()
        for number, proof in self._proofs:
            far = reached.get(number, Reach.NOTHING)
            for position in range(events):
                if far == Reach.VALUES:
                    break
                arrivals = [arrival for of in sent.values() if (arrival := of.arrival(position)) is not None]
                far = max(far, proof.reach(event_at(position), arrivals))
            furthest[number] = far
        return furthest

    def paths(
        self,
        event_at: Callable[[int], Mapping[str, Json]],
        events: int,
        sent: Mapping[str, Sent],
        reached: Mapping[str, int],
    ) -> dict[str, set[str]]:
        """Return the paths of a few events and of what was sent of them, for `check_reach`: see `Whole.paths`.

        Only those that a check without a result needs; `reached` is what `prove` returned for these events.
        """
        needed = {key for n, proof in self._proofs if reached.get(n, 0) < Reach.VALUES for key in proof.paths}
        found: dict[str, set[str]] = {key: set() for key in sorted(needed) if key in sent or not key}
        for key, paths in found.items():
            for position in range(min(events, _SEARCHED)):
                arrival = sent[key].arrival(position) if key else Arrival("", [event_at(position)])
                if arrival is not None:
                    paths.update(without_indexes(path) for path, _ in leaves(arrival.opened))
        return found

    @property
    def _proofs(self) -> list[tuple[str, Proof]]:
        checks = ((str(number), one.check) for number, one in enumerate(self._policies))
        return [(n, check.proof) for n, check in checks if isinstance(check, ScreenedCheck) and check.proof is not None]

    def check_reach(self, reached: Mapping[str, int], whole: Whole) -> Iterator[tuple[PolicyBreach, Finding]]:
        """Yield the policies that cannot have found anything in a run, as `check_whole` does.

        `reached` has the largest numbers that `prove` returned.
        """
        for number, proof in self._proofs:
            policy = self._policies[int(number)]
            for finding in proof.doubts(Reach(reached.get(number, Reach.NOTHING)), whole):
                if not self._is_accepted(policy, finding, finding.event):
                    place = policy.place(policy.kind, *finding.option) if finding.option else ""
                    placed = replace(finding, text=f"{finding.text} ({place})") if place else finding
                    yield self._breach(policy, placed, finding.event, finding.event_id), placed

    def search(self, destination: str, sent: Sent) -> None:
        """Search what was sent to a destination for `check_batch`: right after the mapping, this is much faster."""
        for policy in self._policies:
            if isinstance(policy.check, ScreenedCheck):
                policy.check.early(destination, sent)

    def searches(self, destination: str) -> bool:
        """Return whether a policy searches the JSON of nearly all that is sent to a destination."""
        checks = (policy.check for policy in self._policies)
        return any(isinstance(check, ScreenedCheck) and check.searches(destination) for check in checks)

    def about(self, destination: str) -> bool:
        """Return whether a policy needs to see what is sent to a destination."""
        of_events = (policy for policy in self._policies if not isinstance(policy.check, WholeCheck))
        return destination in self.reads or any(
            not policy.destinations or destination in policy.destinations for policy in of_events
        )

    def _broken(
        self,
        policy: _Policy,
        event: Mapping[str, Json],
        arrivals: Sequence[Arrival],
        mask: Callable[[Json], Json] = lambda value: value,
    ) -> Iterator[PolicyBreach]:
        check = policy.check.check if isinstance(policy.check, ScreenedCheck) else policy.check
        if isinstance(check, WholeCheck):
            return
        of = Event(event)
        name = of.name or of.type
        # What was dropped, filtered or refused did not arrive.
        for finding in check(event, [arrival for arrival in arrivals if arrival.payloads or arrival.losses]):
            if not self._is_accepted(policy, finding, name):
                yield self._breach(policy, finding, name, of.id, mask)

    def check_whole(
        self, whole: Whole, mask: Callable[[Json], Json] = lambda value: value
    ) -> Iterator[tuple[PolicyBreach, Finding]]:
        """Yield the policies about all events together that do not hold, with where they do not."""
        for policy in self._policies:
            check = policy.check
            if isinstance(check, WholeCheck) and (whole.days or not check.needs_history):
                for finding in check.check(whole):
                    if not self._is_accepted(policy, finding, finding.event):
                        yield self._breach(policy, finding, finding.event, finding.event_id, mask), finding

    def _is_accepted(self, policy: _Policy, finding: Finding, event: str) -> bool:
        today = self.today() if policy.accepted else date.max
        return any(entry.expires >= today and entry.takes(finding, event) for entry in policy.accepted)

    def _breach(
        self,
        policy: _Policy,
        finding: Finding,
        event: str,
        event_id: str,
        mask: Callable[[Json], Json] = lambda value: value,
    ) -> PolicyBreach:
        expired = max((entry.expires for entry in policy.accepted if entry.takes(finding, event)), default=None)
        until = f" (was accepted until {expired})" if expired is not None else ""
        return PolicyBreach(
            policy=policy.name,
            kind=policy.kind,
            destination=finding.destination,
            path=finding.path,
            text=f"{mask(finding.text)}{until}",
            value=mask(finding.value),
            event=event,
            event_id=event_id,
            severity=policy.severity,
            owner=policy.owner,
        )


def _flaws(items: Sequence[Mapping[str, Json]]) -> list[Flaw]:
    """Return every mistake of policies as in a file."""
    if not items:  # the schema needs all kinds of policies, also those of other packages, which takes time to find
        return []
    if odd := [flaw for number, item in enumerate(items) for flaw in odd_keys(item, ("policies", number))]:
        return odd
    misfits = yamlfile.misfits({"policies": list(items)}, schema())
    if misfits:
        return [Flaw(misfit.path, misfit.message, misfit.at_key) for misfit in misfits]
    flaws = []
    for number, item in enumerate(items):
        named = [name for name in item if name in kinds()]
        if len(named) != 1:
            none = f"has no kind: add one of {', '.join(kinds())}"
            two = f"is of two kinds, {' and '.join(named)}: write one policy for each"
            flaws.append(Flaw(("policies", number), f"the policy {two if named else none}"))
            continue
        try:
            _policy(item, "")
        except ConfigError as error:
            flaws.append(Flaw(("policies", number), str(error)))
    return flaws


def _placed(flaws: Sequence[Flaw], workspace: Workspace) -> list[Problem]:
    """Return the mistakes with their places in the workspace's file, if the policies are written there."""
    if workspace.file is not None:
        document = yamlfile.load(workspace.file)
        if document.data.get("policies") == workspace.policies:
            return yamlfile.cap(document.problem(flaw.path, flaw.text, key=flaw.at_key) for flaw in flaws)
    where = str(workspace.file or workspace.name)
    return [Problem(f"{'.'.join(map(str, flaw.path))}: {flaw.text}", where) for flaw in flaws]


def _policy(item: Mapping[str, Any], name: str) -> _Policy:
    of_kind = kinds()
    kind = next(name for name in item if name in of_kind)
    return _Policy(
        name=name,
        kind=kind,
        check=make_check(of_kind[kind], item[kind], name),
        severity=item.get("severity", "error"),
        owner=item.get("owner", ""),
        accepted=[_accepted(entry) for entry in item.get("accepted", ())],
        destinations=[*of_kind[kind].destinations(item[kind])],
    )


def _accepted(entry: Mapping[str, str]) -> _Accepted:
    try:
        expires = date.fromisoformat(entry["expires"])
    except ValueError as error:
        raise ConfigError(f"{entry['expires']!r} is not a valid date: {error}") from None
    return _Accepted(entry.get("destination", ""), entry.get("path", ""), entry.get("event", ""), expires)
