"""YAML files: their meaning, the positions of values, and the messages about mistakes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, InvalidSuite
from svctoolkit.yamlfile import REMOVED
from tests.examples import up_to
from tests.pace import within

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def problems(text: str) -> str:
    with pytest.raises(InvalidSuite) as error:
        yamlfile.load(text, name="f.yaml", error=InvalidSuite)
    return str(error.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("NO", "NO"),
        ("on", "on"),
        ("yes", "yes"),
        ("2026-01-01", "2026-01-01"),
        ("12:30:45", "12:30:45"),
        ("0123", "0123"),
        ("0x1f", "0x1f"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("+1", "+1"),
        ("1.", "1."),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("$(env:A:-b)", "$(env:A:-b)"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("-12", -12),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("[a, 1, {b: c}]", ["a", 1, {"b": "c"}]),
    ],
)
def test_scalars_are_those_of_yaml_1_2(written: str, meant: Any):
    """Only JSON's numbers are numbers, and NO is a text."""
    found = yamlfile.load(f"x: {written}").data["x"]

    assert found == meant
    assert type(found) is type(meant)


def test_keys_are_text():
    """Whatever they look like."""
    assert yamlfile.load("on: 1\n200: 2\ntrue: 3\n2026-01-01: 4").data == {
        "on": 1,
        "200": 2,
        "true": 3,
        "2026-01-01": 4,
    }


@given(json_values)
def test_json_is_read_exactly(value: Any):
    """With escapes or without, and as part of YAML."""
    assert yamlfile.load(json.dumps({"x": value})).data == {"x": value}
    if "\\ud" not in (text := json.dumps(value)):
        assert yamlfile.load(f"- {text}").data == [value]


def test_merge_keys_add_fields():
    """`<<`: own fields take precedence, then those of earlier objects."""
    document = yamlfile.load("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 0\n", name="f")

    assert document.data["c"] == {"x": 0, "y": 1, "z": 2}
    assert document.where(["c", "z"]) == "f:2:17"
    assert document.where(["c", "x"], key=True) == "f:5:3"


TEXT = "\ufeffa:\r\n  - b: é\r\n    ключ: x # c\r\n  - {d: 1, e: [1, 2]}\r\n"


@pytest.mark.parametrize(
    ("path", "key", "place"),
    [
        ([], False, (1, 1)),
        (["a"], False, (2, 3)),
        (["a"], True, (1, 1)),
        (["a", 0, "b"], False, (2, 8)),
        (["a", 0, "ключ"], False, (3, 11)),
        (["a", 0, "ключ"], True, (3, 5)),
        (["a", 1, "e", 1], False, (4, 19)),
        (["a", 1, "e", 7], False, (4, 15)),
        (["a", 1, "nope"], True, (4, 5)),
        (["nope", "x"], False, (1, 1)),
        (["a", "b"], False, (2, 3)),
    ],
)
def test_values_have_positions(path: list[str | int], key: bool, place: tuple[int, int]):
    """Lines and columns count characters from 1; a missing value has the position of the nearest one above."""
    document = yamlfile.load(TEXT, name="f.yaml")

    assert document.position(path, key=key) == place
    assert document.where(path, key=key) == f"f.yaml:{place[0]}:{place[1]}"


def test_values_in_json_have_positions():
    """Even after escapes that YAML does not support."""
    document = yamlfile.load('{"a": "\\ud83d\\ude00 \x7f",\n\t"b": [1, {"c": 3}]}', name="c.json")

    assert document.data["a"] == "😀 \x7f"
    assert document.where(["b", 1, "c"]) == "c.json:2:17"


def test_an_excerpt_points_to_the_value():
    """The source line with a caret under the value, cut if the line is long."""
    assert yamlfile.load("a: 1\nb: [x, y]").excerpt(["b", 1]) == "    b: [x, y]\n           ^"

    line, caret = yamlfile.load(f"a: [{'x' * 500}, here, {'y' * 500}]").excerpt(["a", 1]).split("\n")

    assert line[caret.index("^") :].startswith("here")
    assert len(line) <= 104
    assert (line.strip()[:2], line[-2:]) == ("…x", "y…"), "a reader sees that the line goes on"

    first = yamlfile.load(f"a: {'x' * 500}").excerpt(["a"])
    last = yamlfile.load(f"a: [{'x' * 500}, here]").excerpt(["a", 1])
    assert (first.count("…"), first.split("\n")[0].endswith("…")) == (1, True)
    assert (last.count("…"), last.strip().startswith("…")) == (1, True)


def test_a_part_keeps_its_positions():
    """They are relative to the whole document."""
    document = yamlfile.load("suite: x\nsources:\n  web: {}\n", name="f")

    part = document.part({"sources": document.data["sources"]})

    assert part.where(["sources", "web"], key=True) == "f:3:3"
    assert list(part.data) == ["sources"]


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("a: b: c", "1:5", "a ':' is wrong here"),
        ("a:\n\t- b", "2:1", "a tab in the indentation"),
        ("a: [1, 2", "1:9", "the closing bracket"),
        ("a: 'x\nb: 3", "2:5", "a quote is never closed (opened in line 1)"),
        ("a: @x", "1:4", "text that starts with '@' needs quotes"),
        ("a: *y", "1:4", "no anchor"),
        ("a: 1\n---\nb: 2", "2:1", "put it in its own file"),
        ("- a\nb: c", "2:1", "an item ('- ...') is expected here"),
        ("a:\n  b: 1\n c: 2", "3:2", "check the indentation"),
        ('a: "\\d"', "1:5", "unknown escape"),
        ("a: \x00", "1:4", "U+0000"),
        ("a: \ud83d", "1:4", "U+D83D"),
        ("a: 1e999", "1:4", "too large"),
        ("a: " + "9" * 5000, "1:4", "too large"),
        ("a: !python/object x", "1:4", "unknown tag '!python/object'"),
        ("a: !!int 3", "1:4", "unknown tag '!!int'"),
        ("a: !x {b: 1}", "1:4", "unknown tag '!x'"),
        ("? [a]\n: 1", "1:3", "a key must be a string"),
        ("{a: 1, ? : 2}", "1:10", "a key is missing"),
        ("<<: 3", "1:5", "'<<' can only merge objects"),
        ("a: &x [*x]", "1:4", "100 levels"),
        ("[" * 101 + "]" * 101, "1:101", "100 levels"),
        ("a: " + "[" * 100_000, "1:103", "100 levels"),
        ("- " * 100_000, "1:201", "100 levels"),
        ('{"a": ' * 5000, "1:601", "100 levels"),
        ('{"a": 1, "a": 2}', "1:10", "duplicate key 'a'"),
        ('{"a": "\\ud83d"}', "1:8", "half of a surrogate pair"),
        ('{"a": "\\ud83d\\ude00 \\\\ud83d",\n "b": "\\ud83d"}', "2:8", "half of a surrogate pair"),
        ('a: "\\U00110000"', "1:7", "not a character"),
        ('{"a": 1,\n "b" 2}', "2:6", "is missing"),
    ],
)
def test_mistakes_have_a_position_and_an_excerpt(text: str, where: str, says: str):
    """Each deviation from plain YAML is one problem."""
    said = problems(text)

    assert said.startswith(f"f.yaml:{where}: ")
    assert says in said
    assert said.endswith("^")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: {token: s3cret, b: [s3cret", "a: {token: ••••••, b: [••••••"),
        ('token: "s3cret: s3cret\nb: 1', "b: •"),
        ("list:\n- token: s3cret\n  'b c': s3cret\n d: s3cret", " d: ••••••"),
        ("token: s3cret+/=x: s3cret", "token: ••••••+/=•: ••••••"),
        ("token: @s3cret", "token: @••••••"),
        ("name: {{ .TITLE | s3cret }}", "name: {{ .TITLE | •••••• }}"),
        ("a: {b: $(env:TITLE:-s3cret), [}", "a: {b: $(env:TITLE:-••••••), [}"),
        ("token: s3cret\ntoken: s3cret", "token: ••••••"),
    ],
)
def test_the_excerpt_of_a_mistake_shows_no_values(text: str, line: str) -> None:
    """An unreadable file may have its secrets anywhere."""
    said = problems(text)

    assert said.splitlines()[1] == f"    {line}"
    assert "s3cret" not in said


def test_mistakes_are_reported_together():
    """Duplicate keys, tags, and keys that are not text."""
    said = problems("a: 1\na: 2\nb: !x 3\nc: {d: 1, d: 2}\n{e: f}: 3\n")

    places = [line.partition(": ")[0] for line in said.splitlines() if line.startswith("f.yaml")]
    assert places == ["f.yaml:2:1", "f.yaml:3:4", "f.yaml:4:11", "f.yaml:5:1"]
    assert "duplicate key 'a': it is already defined in line 1\n    a: •\n    ^" in said


def test_a_hundred_levels_are_allowed():
    """Values may nest 100 levels deep, as YAML and as JSON."""
    assert yamlfile.load("[" * 100 + "]" * 100).data
    assert yamlfile.load('{"a":' * 99 + "[]" + "}" * 99).data


def test_an_alias_bomb_is_rejected_quickly():
    """Aliases that expand to billions of values are not expanded."""
    lines = ["a: &a [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefghi", "bcdefghij", strict=True)]

    with within(2):
        said = problems("\n".join(lines))

    assert "aliases" in said


def test_large_files_are_read_quickly():
    """100,000 lines take less than two seconds, and problems are limited."""
    text = "".join(f"s{i}:\n  id: x{i}\n  name: Name {i}\n  list: [a, b]\n  on: true\n" for i in range(20_000))
    with within(2):
        document = yamlfile.load(text)

    with pytest.raises(InvalidSuite) as error:
        yamlfile.check(document, {"additionalProperties": {"required": ["q"]}}, InvalidSuite)

    assert len(error.value.problems) == yamlfile.MAX_PROBLEMS + 1
    assert error.value.problems[0].where == "<text>:1:1"


def test_files_are_named_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An unreadable one is a problem that names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "ok.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2")
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: é".encode("latin-1"))

    assert yamlfile.load(tmp_path / "folder" / "ok.yaml").where(["b"]) == "folder/ok.yaml:2:4"
    for path, says in {
        "nope.yaml": "nope.yaml: cannot be read: No such file or directory",
        "folder": "folder: cannot be read: Is a directory",
        "latin.yaml": "latin.yaml:2:4: not UTF-8: byte 0xe9",
        "a\0b": "cannot be read: embedded null byte",
    }.items():
        with pytest.raises(InvalidSuite) as error:
            yamlfile.load(tmp_path / path, error=InvalidSuite)
        assert says in str(error.value)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no endless file here")
def test_an_endless_file_is_rejected():
    """It is not read until memory is full."""
    with pytest.raises(ConfigError, match="larger than 32 MB"):
        yamlfile.load(Path("/dev/zero"))


@settings(max_examples=up_to(300))
@given(st.text() | st.text(alphabet="ab:-?,[]{}&*!|>'\"%@`# \t\n<~01\\u", max_size=40))
def test_any_text_is_a_document_or_a_problem(text: str):
    """Plain JSON values, or a problem with a position."""
    places, data = ["f:1:1"], None
    try:
        data = yamlfile.load(text, name="f").data
    except ConfigError as error:
        places = [problem.where for problem in error.problems]

    assert all(re.fullmatch(r"f:\d+:\d+", place) for place in places)
    assert json.loads(json.dumps(data)) == data


def test_without_libyaml_the_result_is_the_same():
    """If PyYAML has no C parser, the values and positions are the same."""
    program = """
import sys
sys.modules["yaml._yaml"] = None
from svctoolkit import yamlfile
import yaml
assert not yaml.__with_libyaml__
document = yamlfile.load("a: [NO, 1, {b: &x é}]\\nc: *x\\n", name="f")
print(document.data, document.where(["a", 2, "b"]))
for text in ("a: b: c", "a: 1\\na: 2", "[" * 5000, "a: [1, 2", "a:\\n\\t- b", "a: @x"):
    try:
        yamlfile.load(text, name="f")
    except yamlfile._load.ConfigError as error:
        print(error.problems[0].message.split("\\n")[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "{'a': ['NO', 1, {'b': 'é'}], 'c': 'é'} f:1:16",
        "a ':' is wrong here: check the indentation, and quote text with ': ' in it",
        "duplicate key 'a': it is already defined in line 1",
        "values nest more than 100 levels deep, or aliases (*name) expand without end",
        "a ',' is missing here, or the closing bracket",
        "a tab in the indentation: YAML allows spaces only",
        "text that starts with '@' needs quotes",
    ]


class Link(msgspec.Struct, forbid_unknown_fields=True):
    to: str
    enabled: bool = True


class Thing(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """A thing to check."""

    thing_id: Annotated[str, msgspec.Meta(min_length=1)]
    token: Annotated[str, msgspec.Meta(extra_json_schema={"writeOnly": True})] = ""
    links: list[str | Link] = []
    mode: Literal["record", "live"] | None = None
    things: dict[str, Link] = {}
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 1.0
    count: int = 0
    tag: Annotated[str, msgspec.Meta(pattern="^[a-z]+$", description="a small word")] = "a"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{thingId: 3}", ["1:11: 'thingId' must be a string, not 3 (put it in quotes)"]),
        ("{thingId: ''}", ["1:11: 'thingId' must not be empty"]),
        ("{thingid: x}", ["1:2: unknown key 'thingid'. Did you mean 'thingId'"]),
        ("{}", ["1:1: the file needs 'thingId'"]),
        ("[]", ["1:1: the file must be an object, not a list"]),
        ("{thingId: x, token: 12}", ["1:21: 'token' must be a string"]),
        ("{thingId: x, links: {}}", ["1:21: 'links' must be a list, not an object"]),
        (
            "{thingId: x, links: [a, 1]}",
            ["1:25: item 2 of 'links' must be a string or an object, not 1 (put it in quotes)"],
        ),
        ("{thingId: x, links: [{}]}", ["1:22: item 1 of 'links' needs 'to'"]),
        ("{thingId: x, links: [{toe: a}]}", ["1:23: unknown key 'toe'. Did you mean 'to'?"]),
        (
            "{thingId: x, mode: lve}",
            ["1:20: 'mode' must be one of live, record, not 'lve'. Did you mean 'live'?"],
        ),
        (
            "{thingId: x, things: {a: {to: b, enabled: yes}}}",
            ["1:43: 'enabled' must be true or false, not 'yes'"],
        ),
        ("{thingId: x, things: {a: }}", ["1:26: 'a' must be an object, not empty"]),
        ("{thingId: x, timeout: 0}", ["1:23: 'timeout' must be more than 0, not 0"]),
        ("{thingId: x, count: 1.5}", ["1:21: 'count' must be a whole number, not 1.5"]),
        (
            "{thingId: x, tag: A b}",
            ["1:19: 'tag' must match the pattern ^[a-z]+$ (a small word), not 'A b'"],
        ),
        ("{links: [1], thingId: x, zzz: 1}", ["1:10: item 1", "1:26: unknown key 'zzz'. Known keys: thingId, token, "]),
    ],
)
def test_all_mistakes_are_reported_in_plain_words(text: str, said: list[str]):
    """Together, in file order, and none twice."""
    with pytest.raises(InvalidSuite) as error:
        yamlfile.check(yamlfile.load(text, name="f"), yamlfile.schema(Thing), InvalidSuite)

    lines = str(error.value).splitlines()
    assert len(lines) == len(said)
    assert all(line.startswith(f"f:{start}") for line, start in zip(lines, said, strict=True))


def test_valid_values_raise_nothing():
    """Everything that matches the type."""
    text = "{thingId: x, links: [a, {to: b}], mode: live, timeout: 2, things: {a: {to: b, enabled: false}}}"

    assert yamlfile.check(yamlfile.load(text), yamlfile.schema(Thing), InvalidSuite) is None
    assert yamlfile.misfits({"thingId": "x"}, yamlfile.schema(Thing)) == []


def test_the_schema_is_closed():
    """It is JSON Schema 2020-12 and allows no unknown fields where the type forbids them."""
    made = yamlfile.schema(Thing)

    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert made["$defs"]["Thing"]["additionalProperties"] is False
    assert made["$defs"]["Thing"]["required"] == ["thingId"]


_KEY = st.sampled_from(["a", "b", "no", "x y", "1"])
_VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["NO", "on: x", "# x", "", "two\nlines", "$(env:A)"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEY, inner, max_size=3),
    max_leaves=8,
)


@given(
    data=st.dictionaries(_KEY, _VALUE, min_size=1, max_size=4),
    path=st.lists(_KEY, min_size=1, max_size=3).map(tuple),
    value=_VALUE | st.just(REMOVED),
)
def test_an_edit_changes_one_value_and_nothing_else(data: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    """As if the value was set in the data; a path through something else than an object is refused."""
    text = yamlfile.dump(data)
    expected = owner = json.loads(json.dumps(data))
    for step in path[:-1]:
        if owner.get(step) is None and value is not REMOVED:
            owner[step] = {}
        owner = owner.get(step) or {} if owner.get(step) in (None, {}) and value is REMOVED else owner[step]
        if not isinstance(owner, dict):
            with pytest.raises(ConfigError):
                yamlfile.edit(text, {path: value})
            return
    if value is REMOVED:
        owner.pop(path[-1], None)
    else:
        owner[path[-1]] = value

    edited = yamlfile.load(yamlfile.edit(text, {path: value})).data or {}
    assert _without_empty(edited) == _without_empty(expected)


def _without_empty(value: Any) -> Any:
    """An object that loses its last member may disappear."""
    if not isinstance(value, dict):
        return value
    members = {key: _without_empty(inner) for key, inner in value.items()}
    return {key: inner for key, inner in members.items() if inner != {}}
