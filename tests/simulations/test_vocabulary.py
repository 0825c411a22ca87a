"""The vocabulary of simulations: operations on properties, identities, folding, limits and rules."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.simulations import SIMULATIONS, Account, Alias, Fold, Request, load_rules
from svctoolkit.simulations import open as open_simulation
from svctoolkit.simulations import operations as op
from svctoolkit.simulations.formats import is_email, is_phone, time_of
from svctoolkit.simulations.measures import cut_texts, depth, json_size, longest
from svctoolkit.simulations.rates import Rates
from svctoolkit.simulations.tables.rows import Row, TableType
from svctoolkit.simulations.tables.table import Table

NOW = datetime(2026, 8, 6, 10, tzinfo=UTC)
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
SETTING = [
    op.set_value, op.set_or_clear, op.set_once, op.union, op.remove, op.unset, op.move_to_end, op.merge_object,
]  # fmt: skip
OBJECTS = st.fixed_dictionaries(
    {}, optional={"n": st.integers(), "inner": st.fixed_dictionaries({}, optional={"x": SCALARS, "y": SCALARS})}
)
few = settings(max_examples=30)
PROPERTIES = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)


def changed(operation: op.Operation, before: dict[str, Any], value: Any, times: int = 1) -> dict[str, Any]:
    properties = dict(before)
    for _ in range(times):
        operation(properties, "a", value)
    return properties


# --- operations


@pytest.mark.parametrize("operation", SETTING)
@few
@given(before=PROPERTIES, value=VALUES)
def test_operations_that_set_are_idempotent(operation: op.Operation, before: dict[str, Any], value: Any) -> None:
    """A repeated request leaves the same properties."""
    assert changed(operation, before, value, times=2) == changed(operation, before, value)


@pytest.mark.parametrize("operation", [*SETTING, op.add, op.append, op.append_one])
@few
@given(before=PROPERTIES, value=VALUES)
def test_operations_touch_only_their_property(operation: op.Operation, before: dict[str, Any], value: Any) -> None:
    """The other properties stay, and values that requests share are never changed in place."""
    copy = {name: repr(item) for name, item in before.items()}
    after = changed(operation, before, value)

    assert {name: item for name, item in after.items() if name != "a"} == {n: i for n, i in before.items() if n != "a"}
    assert {name: repr(item) for name, item in before.items()} == copy


@few
@given(before=st.lists(SCALARS, max_size=5), value=st.lists(SCALARS, max_size=5))
def test_removing_what_was_appended_leaves_nothing_of_it(before: list[Any], value: list[Any]) -> None:
    """`remove` undoes `append` and `union`."""
    for operation in (op.append, op.union):
        properties: dict[str, Any] = {"a": before}
        operation(properties, "a", value)
        op.remove(properties, "a", value)
        assert not any(item in value for item in properties["a"])


@few
@given(first=st.integers(-99, 99), second=st.integers(-99, 99))
def test_adding_does_not_depend_on_the_order(first: int, second: int) -> None:
    """Two increments give the same sum in either order, from nothing too."""
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for value in (first, second):
        op.add(one, "a", value)
    for value in (second, first):
        op.add(other, "a", value)
    assert one == other == {"a": first + second}


@few
@given(one=OBJECTS, two=OBJECTS, three=OBJECTS)
def test_merging_is_associative(one: Any, two: Any, three: Any) -> None:
    """Deep merges of objects can be grouped in any way."""
    objects = [{"x": value} for value in (one, two, three)]
    left = op.merged(op.merged(objects[0], objects[1]), objects[2])
    assert left == op.merged(objects[0], op.merged(objects[1], objects[2]))
    assert op.merged(left, objects[2]) == left


@few
@given(before=PROPERTIES, others=PROPERTIES)
def test_filling_keeps_what_is_there(before: dict[str, Any], others: dict[str, Any]) -> None:
    """`fill` adds missing properties and overwrites none."""
    properties = dict(before)
    op.fill(properties, others)
    assert properties == {**others, **before}


# --- tables


def profiles(**more: Any) -> Table:
    return Table(TableType("profiles", ("id", Alias("aliases", "label", "name")), weak=("email",)), 1000, **more)


IDS = st.sampled_from(["u1", "u2", "u3", "u4"])


@few
@given(pairs=st.lists(st.tuples(IDS, IDS), max_size=8))
def test_joined_ids_find_one_row_in_any_order_of_joins(pairs: list[tuple[str, str]]) -> None:
    """After any joins, two ids find the same row exactly if a chain of joins connects them; their rows follow."""
    table = profiles()
    rows = {id: table.add({"id": id}, {"attributes": {}}, at=NOW) for id in ("u1", "u2", "u3", "u4")}
    numbers = {id: row.number for id, row in rows.items()}
    groups = {id: {id} for id in rows}
    for first, second in pairs:
        source, target = table.find({"id": second}), table.find({"id": first})
        assert source is not None
        assert target is not None
        if source is not target:
            table.merge(source, target)
        union = groups[first] | groups[second]
        groups.update(dict.fromkeys(union, union))

    found = {id: table.find({"id": id}) for id in rows}
    for one in rows:
        for other in rows:
            assert (found[one] is found[other]) == (other in groups[one])
            assert (table.canonical(numbers[one]) == table.canonical(numbers[other])) == (other in groups[one])
    assert len(table.rows) == len({frozenset(group) for group in groups.values()})


def test_a_merge_keeps_one_alias_of_a_label() -> None:
    """The alias that does not fit still finds the profile, but is not shown."""
    table = profiles()
    target = table.add({"id": "u1", "aliases": [{"label": "device", "name": "phone"}]}, {"attributes": {}}, at=NOW)
    source = table.add(
        {"aliases": [{"label": "device", "name": "laptop"}, {"label": "crm", "name": "7"}]}, {"attributes": {}}, at=NOW
    )
    table.merge(source, target)

    assert target.ids["aliases"] == [{"label": "device", "name": "phone"}, {"label": "crm", "name": "7"}]
    assert table.find({"aliases": [{"label": "device", "name": "laptop"}]}) is target


@few
@given(claims=st.lists(st.tuples(st.integers(0, 3), IDS), max_size=12))
def test_an_id_that_is_claimed_belongs_to_the_last_claimant_alone(claims: list[tuple[int, str]]) -> None:
    """In any order of claims: each ID finds the row that claimed it last, and no other row lists it."""
    table = Table(TableType("devices", ("id",)), 100)
    rows = [table.add({}, {"attributes": {}}, at=NOW) for _ in range(4)]
    last: dict[str, int] = {}
    for number, id in claims:
        table.claim(rows[number], {"id": id})
        last = {other: owner for other, owner in last.items() if owner != number}  # a row has one id
        last[id] = number

    for number, row in enumerate(rows):
        assert [id for id, owner in last.items() if owner == number] == [row.ids[name] for name in row.ids]
    found = {id: table.find({"id": id}) for id in ("u1", "u2", "u3", "u4")}
    assert {id: rows.index(row) for id, row in found.items() if row is not None} == last


@few
@given(arrivals=st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab"), st.integers(1, 3)), max_size=12))
def test_a_rate_counts_a_key_within_its_window(arrivals: list[tuple[int, str, int]]) -> None:
    """A window begins with its first record and ends after its seconds; other keys have their own windows."""
    rates, arrivals = Rates(), sorted(arrivals)
    windows: dict[str, tuple[int, int]] = {}
    for second, key, count in arrivals:
        start, total = windows.get(key, (second, 0))
        start, total = (second, count) if second - start >= 10 else (start, total + count)
        windows[key] = start, total
        assert rates.add((key,), count, 10, second) == total


def test_weak_ids_follow_the_attributes() -> None:
    """An address finds all rows that have it now."""
    table = profiles()
    rows = [table.add({"id": f"u{n}"}, {"attributes": {"email": "a@b.example"}}, at=NOW) for n in range(2)]
    assert table.find_weak("email", "a@b.example") == rows

    rows[0].values["attributes"]["email"] = "c@d.example"
    table.touch(rows[0])

    assert table.find_weak("email", "a@b.example") == rows[1:]
    assert table.find_weak("email", "c@d.example") == rows[:1]


def test_the_oldest_rows_are_forgotten_and_counted() -> None:
    """A table is bounded; ids of forgotten rows find nothing."""
    table = Table(TableType("profiles", ("id",)), 2)
    for number in range(5):
        table.add({"id": str(number)}, {"attributes": {}}, at=NOW)

    assert [row.ids["id"] for row in table.rows.values()] == ["3", "4"]
    assert table.forgotten == 3
    assert table.find({"id": "0"}) is None


@few
@given(seconds=st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_a_window_folds_only_what_is_close(seconds: list[int]) -> None:
    """Rows fold into the last one that was kept if it is at most `within` seconds older."""
    table = Table(TableType("events", folds=(Fold("r", ("name",), "first", within=10),)), 100)
    kept: list[int] = []
    for second in sorted(seconds):
        at = NOW + timedelta(seconds=second)
        row = Row(0, {}, {"name": "A"})
        keys = table.fold_keys(row, 0)
        folded = table.fold(keys, at)
        assert (folded is not None) == (bool(kept) and second - kept[-1] <= 10)
        if folded is None:
            added = table.add({}, row.values, at=at)
            table.refold(keys, added)
            kept.append(second)


# --- limits


@few
@given(VALUES)
def test_measures_agree_with_json(value: Any) -> None:
    """Size, depth and texts of a value are those of its JSON."""
    import json

    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert json_size(value) == len(text.encode())
    assert depth([value]) == 1 + depth(value)
    assert longest(cut_texts(value, 2)) <= 2
    assert cut_texts(cut_texts(value, 2), 2) == cut_texts(value, 2)


def test_only_what_every_vendor_refuses_is_no_address() -> None:
    """Unusual addresses and numbers are accepted."""
    assert all(map(is_email, ["a@b.example", "O'Brien+x@sub.b.co", "ü@b.example"]))
    assert not any(map(is_email, ["", "a", "a@b", "a b@c.de", "@b.de", 5, None]))
    assert all(map(is_phone, ["+15005550006", "+49 (30) 123-456"]))
    assert not any(map(is_phone, ["15005550006", "+0123", "phone", 5, None]))
    assert time_of("2026-08-06") == datetime(2026, 8, 6, tzinfo=UTC)
    assert time_of("2026-08-06T09:00:00+0530") == datetime(2026, 8, 6, 3, 30, tzinfo=UTC)
    assert [time_of(text) for text in ("", "now", "2026-13-40", 5)] == [None] * 4


# --- rules and accounts


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{id: x.a, effect: refused, says: s, confidence: doc}", "needs 'source'"),
        ("{id: x.a, effect: refused, says: s, confidence: doc, source: other}", "names source 'other'"),
        ("{id: x.a, effect: gone, says: s, confidence: doc, source: page}", "effect"),
        ("{id: x.a, effect: refused, says: s, confidence: sure, source: page}", "confidence"),
        ("\n  - ".join(["{id: x.a, effect: kept, says: s, confidence: doc, source: page}"] * 2), "twice"),
    ],
)
def test_a_rule_without_its_source_does_not_load(tmp_path: Path, rule: str, message: str) -> None:
    """Each rule has an effect, a confidence and a source with a date; the error names the place."""
    file = tmp_path / "facts.yaml"
    file.write_text(f"sources:\n  page: {{title: t, checked: 2026-11-01}}\nrules:\n  - {rule}\n")

    with pytest.raises(ConfigError, match=message) as error:
        load_rules(file)
    assert "facts.yaml:" in str(error.value)


def test_a_source_without_a_date_does_not_load(tmp_path: Path) -> None:
    """A rule ages: nothing is known about one that was read at no time."""
    file = tmp_path / "facts.yaml"
    file.write_text("sources:\n  page: {title: t}\nrules: []\n")
    with pytest.raises(ConfigError, match="checked"):
        load_rules(file)


@pytest.mark.parametrize("type", SIMULATIONS)
def test_levels_apply_rules_by_their_confidence(type: str) -> None:
    """`simulated` applies documented, recorded and validated rules, `strict` also inferred ones, and none others."""
    for rule in SIMULATIONS[type].rules.values():
        certain, inferred = rule.confidence in ("doc", "rec", "val"), rule.confidence == "inf"
        active = [rule.is_active("answers"), rule.is_active("simulated"), rule.is_active("strict")]
        assert active == [False, certain, certain or inferred], rule.id


def test_an_unknown_rule_is_named() -> None:
    """A handler that misspells a rule fails at once."""
    with pytest.raises(UnknownName, match=r"mp.import.tme_past.*mp.import.time_past"):
        SIMULATIONS["MP"].rules["mp.import.tme_past"]


def test_an_undeclared_account_has_everything() -> None:
    """Only what is declared can be missing."""
    assert Account({}).entry("lists", "news") == {}
    assert Account({"lists": ["news"]}).entry("lists", "deals") is None
    assert Account({"lists": [{"id": "news", "opt_in": "double"}]}).entry("lists", "news") == {
        "id": "news",
        "opt_in": "double",
    }
    assert Account({}).is_new
    assert not Account({"history": "existing"}).is_new


# --- bounds in memory


def test_merges_are_followed_in_bounded_memory() -> None:
    """Many merges into one profile: the table that follows them is bounded, and no event loses its owner."""
    people, events = profiles(), Table(TableType("events", owner="profiles"), 1000)
    target = people.add({"id": "ada"}, {"attributes": {}}, at=NOW)
    most = 0
    for number in range(5000):
        source = people.add({"id": f"device {number}"}, {"attributes": {}}, at=NOW)
        events.add({}, {"name": "A"}, owner=source.number, at=NOW)
        people.merge(source, target)
        people.forget_merges([events])
        most = max(most, len(people.moved))

    assert most <= 2 * people.limit + 1
    assert len(people.rows) == 1
    assert len(events.rows_of(people, [target.number])) == len(events.rows) == 1000
    assert len(target.also) <= 1000
    assert people.find({"id": "device 4999"}) is target


def test_a_device_that_passes_its_events_on_is_not_forgotten() -> None:
    """Rows that still exist pass on what arrives later, after the others are dropped."""
    people, events = Table(TableType("profiles", ("id",)), 5), Table(TableType("events", owner="profiles"), 100)
    user, device = (people.add({"id": id}, {"attributes": {}}, at=NOW) for id in ("user", "device"))
    people.move_rows(device, user)
    for number in range(50):
        source = people.add({"id": f"other {number}"}, {"attributes": {}}, at=NOW)
        people.merge(source, user)
        people.forget_merges([events])
    late = events.add({}, {"name": "A"}, owner=people.owner_of(device), at=NOW)

    assert events.rows_of(people, [user.number]) == [late]


def test_addresses_that_nobody_has_any_more_are_forgotten() -> None:
    """A profile that changes its address often takes the memory of one address."""
    table = profiles()
    row = table.add({"id": "ada"}, {"attributes": {}}, at=NOW)
    for number in range(100):
        row.values["attributes"]["email"] = f"{number}@shop.example"
        table.touch(row)

    assert len(table._weak) == 1


def test_unknown_endpoints_are_counted_in_bounded_memory() -> None:
    """Paths with ids do not fill the memory."""
    server = open_simulation("KLAVIYO", {"privateApiKey": "k"})
    for number in range(1100):
        server.answer("GET", f"https://a.klaviyo.com/api/other/{number}")

    assert len(server.unknown) == 1001
    assert server.unknown.total() == 1100
    assert server.unknown["others"] == 100


CHANGES = st.lists(st.tuples(st.integers(0, 3), st.lists(st.sampled_from("abcde"), max_size=3), st.booleans()))


@few
@given(changes=CHANGES)
def test_rows_are_found_by_what_an_attribute_lists_now(changes: list[tuple[int, list[str], bool]]) -> None:
    """Further values of an id find the row that lists them first, and no row after they or the row are removed."""
    table = Table(TableType("profiles", ("id",), more={"id": "others"}), 1000)
    rows = [table.add({"id": f"u{n}"}, {"attributes": {}}, at=NOW) for n in range(4)]
    for number, others, removes in changes:
        row = rows[number]
        row.values["attributes"]["others"] = ";".join(others)
        if removes:
            table.remove(row)
        elif row.number in table.rows:
            table.touch(row)
    kept = list(table.rows.values())

    for value in "abcde":
        found = table.find({"id": value})
        listing = [row for row in kept if value in row.values["attributes"].get("others", "").split(";")]
        assert found is None or found in listing
    assert all(table.find({"id": f"u{n}"}) is (row if row in kept else None) for n, row in enumerate(rows))


@few
@given(changes=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.sampled_from("xy")), max_size=40))
def test_any_attribute_finds_its_rows(changes: list[tuple[int, int, str]]) -> None:
    """Rows are found by attributes that nobody declared, also by more of them than there are indexes."""
    table = Table(TableType("profiles", ("id",)), 1000)
    rows = [table.add({"id": f"u{n}"}, {"attributes": {}}, at=NOW) for n in range(4)]
    for number, attribute, value in changes:
        rows[number].values["attributes"][f"a{attribute}"] = value
        table.touch(rows[number])
        found = table.find_by(f"a{attribute}", value)
        assert set(found) == {row for row in rows if row.values["attributes"].get(f"a{attribute}") == value}


def test_the_objects_of_an_account_are_there_at_the_start() -> None:
    """They are rows of their tables, with the ids that these have; what was stored replaces them."""
    account = {"objects": [{"type": "contacts", "id": 7, "properties": {"email": "a@b.example", "plan": "x"}}]}
    server = open_simulation("HS", {}, account={**account, "history": "new"})
    rows = [{"ids": {"id": "7", "email": "a@b.example"}, "attributes": {"email": "a@b.example", "plan": "x"}}]
    assert server.held()["profiles"] == rows

    server.answer("DELETE", "https://api.hubapi.com/crm/v3/objects/contacts/7")
    assert server.held()["profiles"] == []
    server.give({"profiles": [{"ids": {"email": "c@d.example"}}]})
    _, stored, _ = server.handle(read("GET", "https://api.hubapi.com/crm/v3/properties/contacts"), stored=True)
    other = open_simulation("HS", {}, account=account)
    other.restore(stored, [])
    assert [row["ids"]["email"] for row in other.held()["profiles"]] == ["c@d.example"]


def test_given_rows_have_the_ids_that_follow_from_theirs() -> None:
    """A member that is given by its address is found by the hash of it, and a given company by the vendor's ID."""
    server = open_simulation("MAILCHIMP", {"apiKey": "k1"})
    server.give({"profiles": [{"ids": {"email": "Ada@b.example"}, "lists": ["aud1"]}]})
    member = hashlib.md5(b"ada@b.example").hexdigest()
    url = f"https://us20.api.mailchimp.com/3.0/lists/aud1/members/{member}"
    assert server.answer("GET", url)[2]["email_address"] == "Ada@b.example"

    server = open_simulation("INTERCOM", {"apiKey": "k1"})
    server.give({"groups": [{"id": "g1", "attributes": {}}]})
    company = server.answer("GET", "https://api.intercom.io/companies?company_id=g1")[2]
    assert company["id"] == server.held()["groups"][0]["key"]


def read(method: str, url: str) -> Request:
    return Request(method, url, {}, None)
