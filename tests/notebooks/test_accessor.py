"""`df.svc` and `flatten` show events and results as flat frames."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import svctoolkit.accessor
from svctoolkit import Pipeline, Secret, Workspace, events
from svctoolkit.errors import UnknownName
from svctoolkit.results import flatten
from tests.benchmarks.flatten import event
from tests.examples import up_to
from tests.pace import within

HOOK = {"webhookUrl": "https://hook.example/in"}
SAMPLES = [events.sample(name) for name in ("track", "page", "identify")]


def shop(config: dict[str, Any] = HOOK) -> Workspace:
    workspace = Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config=config)
    return workspace


def test_flatten_equals_json_normalize_for_plain_data() -> None:
    """The same columns and values; the dtypes are nullable ones."""
    plain = [event(number) for number in range(100)]

    made, expected = flatten(plain), pd.json_normalize(plain)
    bare = [frame.astype(object).where(frame.notna(), None) for frame in (made, expected)]
    pd.testing.assert_frame_equal(*bare, check_like=True)
    assert {str(made[name].dtype) for name in ("userId", "properties.total", "properties.quantity")} == {
        *("string", "Float64", "Int64")
    }


KEYS = st.text("a.\\", max_size=3)
OBJECTS = st.dictionaries(
    KEYS, st.recursive(st.integers(0, 9), lambda v: st.dictionaries(KEYS, v, max_size=2), max_leaves=6), max_size=3
)


@given(st.lists(OBJECTS, max_size=3))
def test_flattening_loses_nothing(objects: list[dict[str, Any]]) -> None:
    """For any keys, even with dots and backslashes, the objects can be restored from the frame."""
    frame = flatten(objects)

    again: list[dict[str, Any]] = [{} for _ in objects]
    for name in frame.columns:
        *path, last = keys(name)
        for made, value in zip(again, frame[name].tolist(), strict=True):
            if isinstance(value, dict) or not pd.isna(value):
                for key in path:
                    made = made.setdefault(key, {})
                made[last] = value
    assert again == objects


@settings(max_examples=up_to(50))
@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from([0, 1, 511, 600]))
def test_columns_are_in_order_of_appearance(objects: list[dict[str, Any]], times: int) -> None:
    """Even if hundreds of rows of one shape come before those of another."""
    rows = [objects[0]] * times + objects
    frame = flatten(rows)

    order = dict.fromkeys(name for row in rows for name, _ in names(row, ""))
    leaves = {name for row in rows for name, is_leaf in names(row, "") if is_leaf}
    assert list(frame.columns) == [name for name in order if name in leaves]


def names(members: dict[str, Any], prefix: str) -> Iterator[tuple[str, bool]]:
    """The dotted names of an object in order, and whether they are leaves."""
    for key, value in members.items():
        name = prefix + key.replace("\\", "\\\\").replace(".", "\\.")
        is_leaf = not (isinstance(value, dict) and value)
        yield name, is_leaf
        if not is_leaf:
            yield from names(value, f"{name}.")


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (["a", None], "string"),
        ([True, None], "boolean"),
        ([1, None], "Int64"),
        ([-(2**63), 2**63 - 1], "Int64"),
        ([2**63], "object"),
        ([-(2**63) - 1], "object"),
        ([1, 2.5, None], "Float64"),
        ([2.5, 2**53], "object"),
        ([1, float("nan")], "object"),
        ([1, "1"], "object"),
        ([[1], None], "object"),
        ([None], "object"),
    ],
)
@pytest.mark.parametrize("beside", [0, 1])
def test_a_columns_dtype_holds_all_its_values(values: list[Any], dtype: str, beside: int) -> None:
    """With and without a row that lacks the field; no value is ever rounded."""
    column = flatten([{"n": value} for value in values] + [{}] * beside)["n"]

    assert str(column.dtype) == dtype
    cells = [None if cell is pd.NA else cell for cell in column]
    assert str(cells) == str([*values, *[None] * beside]) or cells[: len(values)] == values


def test_lone_surrogates_are_replaced() -> None:
    """JSON can have them, columns of texts and their names cannot: values get a question mark, names their number."""
    frame = flatten([{"emoji": "\ud83d", "e\ud83d": 1, "mixed": "\ud83d"}, {"emoji": "é", "mixed": ["\ud83d"]}, {}])

    assert list(frame.columns) == ["emoji", "e\\ud83d", "mixed"]
    assert frame["emoji"].tolist() == ["?", "é", pd.NA]
    assert frame.svc.to_arrow()["mixed"].to_pylist() == ["?", '["?"]', None]


def keys(name: str) -> list[str]:
    """The keys of a dotted name."""
    found, escaped = [""], False
    for character in name:
        if not escaped and character == ".":
            found.append("")
        elif not escaped and character == "\\":
            escaped = True
            continue
        else:
            found[-1] += character
        escaped = False
    return found


@pytest.mark.slow
def test_a_hundred_thousand_events_are_flattened_fast() -> None:
    """46 MB of JSON in under 1 s of CPU, three times that on a machine under load."""
    many = [event(number) for number in range(100_000)]
    flatten(many[:10])
    with within(3):
        table = flatten(many)

    assert (len(table), "context.device.model" in table) == (100_000, True)


def test_columns_of_objects_are_expanded() -> None:
    """`flatten` of a frame leaves other columns and the index unchanged."""
    frame = pd.DataFrame({"id": [1, 2], "event": [{"a": {"b.c": 1}}, None]}, index=["x", "y"])
    flat = frame.svc.flatten()

    assert list(flat.columns) == ["id", r"event.a.b\.c"]
    assert list(flat.index) == ["x", "y"]
    assert flat.loc["x", r"event.a.b\.c"] == 1


@pytest.mark.parametrize("frame", [pd.DataFrame(SAMPLES), flatten(SAMPLES), pd.DataFrame({"event": SAMPLES})])
def test_rows_can_be_run_through_a_destination(frame: pd.DataFrame) -> None:
    """Rows of objects, of flat columns, or of whole events: one row per event and stage, with the payload's columns."""
    result = frame.svc.run("hook", workspace=shop())

    assert len(result) == 2 * len(SAMPLES)
    payloads = result[result["stage"] == "dest_transform"]
    assert set(payloads["output.endpoint"]) == {"https://hook.example/in"}
    assert list(payloads["output.body.JSON.type"]) == ["track", "page", "identify"]


def test_a_type_needs_no_workspace() -> None:
    """The configuration is passed instead; secrets are masked in the result."""
    headers = [{"from": "x-key", "to": Secret("s3cr3t-t0ken")}]
    result = pd.DataFrame(SAMPLES).svc.run("WEBHOOK", config={**HOOK, "headers": headers})

    assert set(result["destination"]) == {"WEBHOOK"}
    assert "s3cr3t" not in result.to_csv()
    assert "••••" in result.to_csv()


def test_invalid_rows_are_reported() -> None:
    """They are left out, and a warning says how many, and why the first."""
    frame = pd.DataFrame([*SAMPLES, {"type": "trak"}])

    with pytest.warns(UserWarning, match=r"1 of 4 rows are not events; the first is .*message type is unsupported"):
        result = frame.svc.run("hook", workspace=shop())
    assert len(result) == 2 * len(SAMPLES)


def test_an_unknown_destination_is_an_error() -> None:
    """With the nearest name, as everywhere."""
    with pytest.raises(UnknownName, match="Did you mean 'hook'"):
        pd.DataFrame(SAMPLES).svc.run("hok", workspace=shop())


def test_two_results_are_compared_cell_by_cell() -> None:
    """Rows are matched by event, destination, stage and part; times are not compared."""
    frame = pd.DataFrame(SAMPLES)
    before = frame.svc.run("hook", workspace=shop())
    after = frame.iloc[::-1].svc.run("hook", workspace=shop({**HOOK, "webhookMethod": "PUT"}))

    found = before.svc.diff(after)
    assert list(found.columns) == ["event_id", "destination_id", "stage", "part", "column", "before", "after"]
    assert set(map(tuple, found[["column", "before", "after"]].values)) == {("output.method", "POST", "PUT")}
    assert len(found) == len(SAMPLES)
    assert len(before.svc.diff(before)) == 0


def test_results_of_a_pipeline_can_be_compared() -> None:
    """`frame()` of results has the same keys."""
    first, second = (
        Pipeline(shop({"webhookUrl": f"https://{host}.example/in"})).test_destination("hook", SAMPLES[0]).frame()
        for host in ("one", "two")
    )

    assert list(first.svc.diff(second)["column"]) == ["output.endpoint"]


def test_rows_on_one_side_are_reported_once() -> None:
    """Not once for each of their columns."""
    frame = flatten(SAMPLES)
    found = frame.iloc[:2].svc.diff(frame.iloc[1:])

    assert list(found["messageId"]) == [SAMPLES[0]["messageId"], SAMPLES[2]["messageId"]]
    assert list(found["before"]) == ["only here", None]
    assert list(found["after"]) == [None, "only here"]


def test_frames_without_a_key_are_compared_by_position() -> None:
    """Row by row; missing values of every kind are equal; lists are values."""
    before = pd.DataFrame({"a": [1, 2, None], "b": [[1], [2], pd.NA]})
    after = pd.DataFrame({"a": [1, 3, float("nan")], "b": [[1], [2, 3], None]})

    found = before.svc.diff(after)
    assert found.to_dict("records") == [
        {"row": 1, "column": "a", "before": 2.0, "after": 3.0},
        {"row": 1, "column": "b", "before": [2], "after": [2, 3]},
    ]


def test_only_the_package_registers_the_accessor() -> None:
    """Frames of other programs have no `svc` until they ask for it; importing the package does not load pandas."""
    code = (
        "import sys, svctoolkit.results; assert 'pandas' not in sys.modules\n"
        "import pandas as pd; print(hasattr(pd.DataFrame, 'svc')); import svctoolkit.accessor\n"
        "print(hasattr(pd.DataFrame, 'svc'))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout

    assert out.split() == ["False", "True"]
    assert svctoolkit.accessor.__all__ == ["FrameAccessor"]
