"""Times of Chrome traces: microseconds with three decimals become integer nanoseconds without losing one."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from chrome_trace import (
    count_notes,
    make_kernel,
    make_op,
    pick_columns,
    read_tables,
    render_text,
    tables_of,
    write,
    write_text,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def make_raw_event(ts, dur="1", name="a", category="cpu_op"):
    """An event whose times are written exactly as given."""
    return f'{{"ph":"X","cat":"{category}","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur}}}'


def list_times(tables, table="cpu_slice"):
    return pick_columns(sorted(tables[table], key=lambda row: row["slice_id"]), "ts dur")


@pytest.mark.parametrize(
    ("ts", "dur", "expected"),
    [
        ("12", "3", (12_000, 3_000)),
        ("12.345", "0.001", (12_345, 1)),
        ("12.3456", "0.0004", (12_346, 0)),
        ("0", "0", (0, 0)),
        ("-0.001", "0.002", (-1, 2)),
        ("1.5e3", "2E-3", (1_500_000, 2)),
        ('"12.345"', '"3"', (12_345, 3_000)),
        ("1712195495519689", "7", (1_712_195_495_519_689_000, 7_000)),
        ("1712195495519689.123", "7.001", (1_712_195_495_519_689_123, 7_001)),
        ('"1712195495519689.123"', '"7.001"', (1_712_195_495_519_689_123, 7_001)),
        ("8796093022207.999", "0.999", (8_796_093_022_207_999, 999)),  # 2**43 us, to here doubles are enough
        ("8796093022208.000", "0.999", (8_796_093_022_208_000, 999)),
        ("8796093022208.001", "0.999", (8_796_093_022_208_001, 999)),
        ("8999999999999999.999", "1", (8_999_999_999_999_999_999, 1_000)),
    ],
)
def test_nanoseconds_are_exact(tmp_path, ts, dur, expected):
    tables = tables_of(tmp_path, make_raw_event(ts, dur))
    assert list_times(tables) == [expected]
    assert count_notes(tables) == {}


def test_kernels_that_touch_still_touch(tmp_path):
    first = make_raw_event("1712195495519689.123", "3.377", category="kernel")
    second = make_raw_event("1712195495519692.500", "0.001", category="kernel")
    third = make_raw_event("1712195495519692.501", "1.250", category="kernel")
    found = list_times(tables_of(tmp_path, first, second, third), "gpu_slice")
    assert [ts + dur for ts, dur in found[:2]] == [ts for ts, _ in found[1:]]


def test_one_absolute_time_makes_all_times_of_the_block_exact(tmp_path):
    events = (
        make_raw_event("12.345", "0.001"),
        make_raw_event("1712195495519689.123"),
        make_raw_event('"1712195495519689.124"'),
        make_raw_event("5"),
    )
    assert [ts for ts, _ in list_times(tables_of(tmp_path, *events))] == [
        12_345,
        1_712_195_495_519_689_123,
        1_712_195_495_519_689_124,
        5_000,
    ]


@pytest.mark.parametrize("word", ['"yesterday"', "null", '""', "true", "[1]", '"nan"', "1e300", '"1e999999"'])
@pytest.mark.parametrize("position", [0, 1])
def test_an_unreadable_time_costs_one_event_and_no_nanosecond_of_others(tmp_path, word, position):
    events = [make_raw_event("1712195495519689.123"), make_raw_event("1712195495519689.127", category="kernel")]
    events.insert(position, make_raw_event(word))
    tables = tables_of(tmp_path, *events)
    assert list_times(tables) == [(1_712_195_495_519_689_123, 1_000)]
    assert list_times(tables, "gpu_slice") == [(1_712_195_495_519_689_127, 1_000)]
    assert count_notes(tables) == {"invalid_timestamp": 1}


def test_an_absent_time_is_no_time(tmp_path):
    tables = tables_of(tmp_path, make_op("a", None, 1), make_op("b", 1, 1))
    assert pick_columns(tables["cpu_slice"], "name") == [("b",)]
    assert count_notes(tables) == {"invalid_timestamp": 1}


@pytest.mark.parametrize(
    ("dur", "expected", "note"),
    [
        ("null", 0, {}),
        ("-5.5", 0, {"negative_duration": 1}),
        ("9223372036854775807", 0, {"duration_overflow": 1}),
        ("1e300", 0, {"duration_overflow": 1}),
        ("604800000000", 604_800_000_000_000, {}),
        ("604800000000.001", 0, {"duration_overflow": 1}),
        ('"long"', 0, {"duration_overflow": 1}),
    ],
)
@pytest.mark.parametrize("ts", ["10.000", "1712195495519689.123"])
def test_durations_that_are_none(tmp_path, ts, dur, expected, note):
    tables = tables_of(tmp_path, make_raw_event(ts, dur), make_raw_event(ts, "2.5"))
    assert [dur for _, dur in list_times(tables)] == [expected, 2_500]
    assert count_notes(tables) == note


SHAPES = ["[]", "[1]", "[[1]]", "[1, 2]", "{}", '{"a": 1}']


def lists_as(member, shape, count):
    """Kernels of which some have this shape for a time; the others, which need no second look, do not stand beside them."""
    events = [json.dumps(make_kernel("a", 5, 1, {"correlation": 1}))] * (count + 1)
    return [events[0], *[re.sub(rf'"{member}": \d', f'"{member}": {shape}', each) for each in events[1:]]]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 2])
def test_a_list_is_no_time(tmp_path, shape, count):
    tables = tables_of(tmp_path, *lists_as("dur", shape, count))
    assert list_times(tables, "gpu_slice") == [(5_000, 1_000)] + [(5_000, 0)] * count
    assert count_notes(tables) == {"duration_overflow": count}
    tables = tables_of(tmp_path, *lists_as("ts", shape, count))
    assert list_times(tables, "gpu_slice") == [(5_000, 1_000)]
    assert count_notes(tables) == {"invalid_timestamp": count}


def test_an_event_without_duration_is_an_instant(tmp_path):
    assert list_times(tables_of(tmp_path, make_op("a", 5, None))) == [(5_000, 0)]


@pytest.mark.parametrize(
    ("members", "ts", "origin"),
    [
        ({"before": {"baseTimeNanoseconds": 1_775_078_550_000_000_000}}, 12.345, 1_775_078_550_000_000_000),
        ({"after": {"baseTimeNanoseconds": 1_775_078_550_000_000_000}}, 12.345, 1_775_078_550_000_000_000),
        ({"after": {"baseTimeNanoseconds": "17"}}, 12.345, 17),
        ({}, 12.345, None),  # some weeks of 2024: time since the process started
        ({}, 1_712_195_495_519_689, 0),  # before: time since 1970
    ],
)
def test_utc_at_zero(tmp_path, members, ts, origin):
    tables = tables_of(tmp_path, make_kernel("k", ts, 1), **members)
    assert pick_columns(tables["trace"], "utc_origin_ns") == [(origin,)]


def test_utc_is_unknown_for_other_tools(tmp_path):
    tables = tables_of(
        tmp_path, {"ph": "X", "name": "render", "pid": 1, "tid": 1, "ts": 1_712_195_495_519_689, "dur": 1}
    )
    assert pick_columns(tables["trace"], "producer utc_origin_ns") == [(None, None)]


microseconds = st.integers(-(9 * 10**18) + 1, 9 * 10**18 - 1).map(lambda ns: Decimal(ns).scaleb(-3))


# Opening the decoder takes longer than many times: few examples of many.
@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(microseconds, st.booleans()), min_size=1, max_size=30))
def test_every_time_with_three_decimals_round_trips(tmp_path, written):
    events = [make_raw_event(f'"{ts:f}"' if quoted else f"{ts:f}") for ts, quoted in written]
    found = list_times(read_tables(write_text(tmp_path, render_text(*events))))
    assert [Decimal(ts).scaleb(-3) for ts, _ in found] == [ts for ts, _ in written]


def test_times_do_not_depend_on_what_stands_in_other_blocks(tmp_path):
    near, far = make_raw_event("12.345"), make_raw_event("1712195495519689.123")
    together = list_times(read_tables(write(tmp_path, near, far)))
    assert together == list_times(tables_of(tmp_path, near)) + list_times(tables_of(tmp_path, far))
