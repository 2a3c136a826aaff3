"""Damaged Chrome traces: every defect has a code of its own and costs nothing but what is damaged."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from chrome_trace import (
    args_of,
    count_notes,
    make_event,
    make_kernel,
    make_op,
    pick_columns,
    read_tables,
    render_text,
    tables_of,
    write_text,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from traceq.importers.chrome import args
from traceq.importers.chrome.args import COLLECTIVE_COLUMNS, GPU_COLUMNS, HOST_COLUMNS, MEMORY_COLUMNS, SYNC_COLUMNS
from traceq.importers.chrome.header import NOTES

BEFORE, BAD, AFTER = make_op("before", 1, 1), make_op("bad", 2, 1, {"External id": 7}), make_op("after", 3, 1)
AROUND = {"after": {"distributedInfo": {"rank": 3, "world_size": 8}}}


def damage_file(tmp_path, old, new, event=BAD):
    """Tables of a trace of three events; in the text of the second one `old` is replaced."""
    bad = json.dumps(event).replace(old, new)
    assert bad != json.dumps(event)
    return tables_of(tmp_path, BEFORE, bad, AFTER, **AROUND)


def list_names(tables):
    """Names of the host slices, in the order of the file. The frame of the trace must have been read as well."""
    assert pick_columns(tables["trace"], "rank world_size") == [(3, 8)]
    return [row["name"] for row in sorted(tables["cpu_slice"], key=lambda row: row["slice_id"])]


@pytest.mark.parametrize("token", ["NaN", "nan", "-nan", "inf", "-inf", "Infinity", "-Infinity", "N/A", "+inf"])
def test_words_that_stand_for_a_number_are_null(tmp_path, token):
    tables = damage_file(tmp_path, "7", token)
    assert list_names(tables) == ["before", "bad", "after"]
    assert pick_columns(tables["cpu_slice"], "external_id")[1] == (None,)
    assert count_notes(tables) == {"not_a_number": 1}


def test_words_in_lists_and_several_in_one_event(tmp_path):
    event = make_kernel("k", 2, 1, {"grid": [88, 1, 1], "blocks per SM": 88, "note": "inf, nan: N/A"})
    tables = damage_file(tmp_path, "88,", "inf,", event)
    (row,) = tables["gpu_slice"]
    assert row["grid_x"] is None
    assert args_of(row) == {"grid": [None, 1, 1], "blocks per SM": None, "note": "inf, nan: N/A"}
    assert count_notes(tables) == {"not_a_number": 2, "number_out_of_range": 1}


def test_text_that_only_looks_like_a_bare_word_is_left_alone(tmp_path):
    stack = 'f(x): inf, "a": nan, N/A'
    tables = tables_of(tmp_path, make_op("inf", 1, 1, {"Call stack": stack}), json.dumps(BAD).replace("7", "nan"))
    assert args_of(tables["cpu_slice"][0]) == {"Call stack": stack}
    assert count_notes(tables) == {"not_a_number": 1}


@pytest.mark.parametrize(
    ("name", "stored"),
    [("b\x01d", "b d"), ("b\nd", "b d"), ("b\r\td", "b  d"), ("b\x00d\x1f", "b d ")],
)
def test_raw_control_characters_are_blanks(tmp_path, name, stored):
    tables = damage_file(tmp_path, '"bad"', f'"{name}"')
    assert list_names(tables) == ["before", stored, "after"]
    assert count_notes(tables) == {"control_character": sum(character < " " for character in name)}


def test_escaped_control_characters_are_text(tmp_path):
    tables = tables_of(tmp_path, make_op("a\x01\n\x1b[31m\x00", 1, 1))
    assert pick_columns(tables["cpu_slice"], "name") == [("a\x01\n\x1b[31m\x00",)]
    assert count_notes(tables) == {}


@pytest.mark.parametrize(
    ("raw", "stored"), [(b"b\xffd", "b\ufffdd"), (b"b\xc3", "b\ufffd"), (b"\xfe\xff", "\ufffd\ufffd")]
)
def test_bytes_that_are_no_utf8_are_replaced(tmp_path, raw, stored):
    content = render_text(BEFORE, make_op("NAME", 2, 1), make_op("\ufffd \u00e9", 3, 1), **AROUND).encode()
    # the replacement character stands in the file itself as well, and is not counted
    content = content.replace(b"NAME", raw).replace(b"\\ufffd", "\ufffd".encode())
    tables = read_tables(write_text(tmp_path, content))
    assert list_names(tables) == ["before", stored, "\ufffd \u00e9"]
    assert count_notes(tables) == {"invalid_utf8": stored.count("\ufffd")}


@pytest.mark.parametrize("escape", ["\\ud800", "\\uDBFF", "\\udc00", "\\ud800\\ud800"])
def test_half_a_surrogate_pair_is_replaced(tmp_path, escape):
    tables = damage_file(tmp_path, '"bad"', f'"b{escape}d \\ud83d\\ude00"')
    halves = escape.count("\\")
    assert list_names(tables) == ["before", "b" + "\ufffd" * halves + "d \U0001f600", "after"]
    assert count_notes(tables) == {"invalid_utf8": halves}


def test_half_a_surrogate_pair_in_arguments(tmp_path):
    tables = damage_file(tmp_path, "7", '7, "text": "\\ud800"')
    assert args_of(tables["cpu_slice"][1]) == {"text": "\ufffd"}
    assert count_notes(tables) == {"invalid_utf8": 1}


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ('torch.load("weights.pt")', {"malformed_event": 1}),  # before 2026-07 Kineto did not escape quotes
        ('say "hi', {"malformed_event": 1}),
        ('"', {"malformed_event": 1}),
        ('"quoted"', {"malformed_event": 1}),
        ('{"', {"malformed_event": 1}),
        ('a "}, {" b', {"invalid_timestamp": 1, "malformed_event": 1}),  # two halves, of which the first is JSON
    ],
)
def test_an_unescaped_quote_costs_one_event(tmp_path, name, note):
    tables = damage_file(tmp_path, '"bad"', f'"{name}"')
    assert list_names(tables) == ["before", "after"]
    assert count_notes(tables) == note


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("is_bare", [False, True])
def test_an_unescaped_quote_costs_no_other_event_wherever_it_stands(tmp_path, position, is_bare):
    events = [json.dumps(make_op(name, 1, 1, {"list": [{"x": 1}, {"y": [{}]}]})) for name in "abc"]
    events[position] = events[position].replace(f'"{"abc"[position]}"', '"say "hi"')
    content = f"[{','.join(events)}]" if is_bare else render_text(*events, **AROUND)
    tables = read_tables(write_text(tmp_path, content))
    assert pick_columns(tables["trace"], "rank") == [(None if is_bare else 3,)]
    assert [row["name"] for row in tables["cpu_slice"]] == [name for name in "abc" if name != "abc"[position]]
    assert count_notes(tables) == {"malformed_event": 1}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), count=st.integers(1, 12))
def test_a_missing_quote_costs_its_own_event_only(data, count):
    """Any quote of any events may be missing: all others are read, and those are counted, wherever strings seem to end."""
    arguments = {"list": [{"name": "x"}, {"ts": 1}], "text": "a, b: {c}"}
    events = [json.dumps(make_op(f"op {number}", number, 1, arguments)) for number in range(count)]
    damaged = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1))
    for number in sorted(damaged):
        quotes = [position for position, letter in enumerate(events[number]) if letter == '"']
        position = data.draw(st.sampled_from(quotes))
        events[number] = events[number][:position] + events[number][position + 1 :]
    with tempfile.TemporaryDirectory() as folder:
        tables = tables_of(Path(folder), *events, **AROUND)
    # read in one piece, the trailer included
    assert list_names(tables) == [f"op {number}" for number in range(count) if number not in damaged]
    assert count_notes(tables) == ({"malformed_event": len(damaged)} if damaged else {})


def test_arrows_that_lack_a_quote_cost_no_slice(tmp_path):
    """Read all slices of a file of torch.autograd.profiler of 2020 (pytorch#33961), whose arrows lack a quote."""
    events = []
    for number in range(20):
        lanes = {"cat": None, "pid": "CPU functions", "tid": 1}, {"cat": None, "pid": "CUDA functions", "tid": 0}
        host, gpu = (make_event(None, "mm", number, 1, {}, **lane) for lane in lanes)
        arrow = json.dumps(gpu | {"ph": "f", "id": number, "cat": "cpu_to_cuda"})
        events += [json.dumps(host), arrow.replace('"tid"', 'tid"'), json.dumps(gpu)]
    tables = read_tables(write_text(tmp_path, f"[{', '.join(events)}]"))
    assert {row["kind"] for row in tables["cpu_slice"]} == {"op"}
    assert pick_columns(tables["gpu_slice"], "kind device name dur") == [("kernel", 0, "mm", 1000)] * 20
    assert (len(tables["cpu_slice"]), count_notes(tables)) == (20, {"malformed_event": 20})


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (r"torch\nn\modules\module.py(1501): _call_impl", "torch/nn/modules/module.py(1501): _call_impl"),
        (r"torch\random.py(40): manual_seed", "torch/random.py(40): manual_seed"),
        (r"C:\users\bin\train.py(3): <lambda>", "C:/users/bin/train.py(3): <lambda>"),
        (r"C:\\Users\\anna\\fit.py(3): step", "C:/Users/anna/fit.py(3): step"),
        (r"<built-in method \\>", "<built-in method \\>"),
    ],
)
@pytest.mark.parametrize("kernels", [1, 3000])
def test_paths_of_windows_in_frames_have_slashes(tmp_path, written, stored, kernels):
    """Single backslashes in a string are no escapes (pytorch#98432), in the last block of a file and in earlier ones."""
    frame = json.dumps(make_event("python_function", "@", 2, 1)).replace("@", written)
    tables = tables_of(tmp_path, BEFORE, frame, AFTER, *[make_kernel("k", 1, 1)] * kernels, **AROUND)
    assert list_names(tables) == ["before", stored, "after"]
    assert count_notes(tables).keys() <= {"unescaped_backslash"}


@pytest.mark.parametrize(
    ("old", "new"),
    [('"name":', '"name"'), ('"ts": 2', '"ts": 2.5.1'), ('"ph": "X",', '"ph": "X",,'), ('"X"', "X"), ("7", "07")],
)
def test_an_event_that_is_no_json_costs_one_event(tmp_path, old, new):
    tables = damage_file(tmp_path, old, new)
    assert list_names(tables) == ["before", "after"]
    assert count_notes(tables) == {"malformed_event": 1}


def test_a_bracket_too_many(tmp_path):
    tables = damage_file(tmp_path, "7}}", "7}}}")
    assert list_names(tables) == ["before", "bad", "after"]
    assert count_notes(tables) == {"malformed_event": 1}


@pytest.mark.parametrize("between", [",,", ", ,\n", " ", ", 5,", ', "text",', ", null,"])
def test_what_is_no_event_between_two_events(tmp_path, between):
    content = render_text(BEFORE, AFTER, **AROUND).replace(",\n{", f"{between}{{")
    tables = read_tables(write_text(tmp_path, content))
    assert list_names(tables) == ["before", "after"]


def test_arguments_too_deep_to_read(tmp_path):
    tables = damage_file(tmp_path, "7", "[" * 100_000 + "]" * 100_000)
    assert list_names(tables) == ["before", "after"]
    assert count_notes(tables) == {"malformed_event": 1}


# Deeper than some of the places can go that read it, and not than others: how far each can go depends on who calls it.
@pytest.mark.sample(5)
@pytest.mark.parametrize("member", ["name", "tid", "ts", "args", "id"])
def test_nested_about_as_deep_as_can_be_read(tmp_path, member):
    for depth in range(sys.getrecursionlimit() - 90, sys.getrecursionlimit(), 6):
        deep = json.dumps(make_op("bad", 2, 1, ph="b") | {member: "@"}).replace('"@"', "[" * depth + "]" * depth)
        slices = json.dumps(make_op("bad", 2, 1) | {member: "@"}).replace('"@"', "[" * depth + "]" * depth)
        assert {"before", "after"} <= {
            *list_names(read_tables(write_text(tmp_path, render_text(BEFORE, deep, slices, AFTER, **AROUND))))
        }


def test_a_key_twice_means_its_last_value(tmp_path):
    tables = damage_file(tmp_path, '"External id": 7', '"External id": 7, "x": 1, "External id": 8, "x": 2')
    (row,) = (row for row in tables["cpu_slice"] if row["name"] == "bad")
    assert row["external_id"] == 8
    assert args_of(row) == {"x": 2}
    assert count_notes(tables) == {"duplicate_key": 2}


def test_trailing_comma(tmp_path):
    tables = read_tables(write_text(tmp_path, render_text(BEFORE, AFTER, **AROUND).replace("\n]", ",\n]")))
    assert list_names(tables) == ["before", "after"]
    assert count_notes(tables) == {"trailing_comma": 1}


def test_an_empty_event_is_counted(tmp_path):
    tables = tables_of(tmp_path, BEFORE, "{}", AFTER, "{}", **AROUND)
    assert list_names(tables) == ["before", "after"]
    assert count_notes(tables) == {"empty_event": 2}


def test_gpu_work_that_overlaps_on_one_stream_is_kept(tmp_path):
    tables = tables_of(
        tmp_path,
        make_kernel("a", 1, 5),
        make_kernel("b", 2, 5),
        make_event("gpu_memcpy", "c", 2, 1, {"device": 0}, pid=0),
    )
    assert pick_columns(tables["gpu_slice"], "name ts dur") == [("a", 1000, 5000), ("b", 2000, 5000), ("c", 2000, 1000)]


def test_every_note_has_a_severity_and_a_way_out():
    for code, (severity, words) in NOTES.items():
        assert severity in {"info", "data_loss", "error"}, code
        assert words, code


ANYTHING = (1 << 40, -1, (1 << 63) - 1, 1 << 63, 1.5, 1e300, "x", "7", "", None, True, [], {}, [1 << 40] * 3)


@pytest.mark.parametrize("value", ANYTHING, ids=repr)
def test_no_value_of_a_member_or_argument_stops_the_reading(tmp_path, value):
    """Every argument that has a column, and every member, with this value, in events of every kind."""
    categories = ("cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_user_annotation", "cuda_sync", "cuda_event")
    columns = HOST_COLUMNS + GPU_COLUMNS + SYNC_COLUMNS + COLLECTIVE_COLUMNS + MEMORY_COLUMNS
    name = {"cpu_op": "record_param_comms", "gpu_memcpy": "Memcpy HtoD (Pinned -> Device)"}
    usual = {"device": 0, "Collective name": "send", "dtype": "Float", "In msg nelems": 1, "Total Allocated": 1}
    events = [
        make_event(category, name.get(category, "a"), 1, 1, usual | {key: value}, pid=0)
        for category in categories
        for key, *_ in columns
    ]
    events += [
        make_event("cpu_instant_event", "[memory]", 1, None, usual | {key: value}, ph="i") for key, *_ in columns
    ]
    events += [
        {"ph": phase, "cat": category, "name": "a", "pid": 1, "tid": 1, "ts": 1, "args": {"a": 1}} | {member: value}
        for member in ("cat", "name", "pid", "tid", "ts", "dur", "args")
        for phase in "XBEiCM"
        for category in ("cpu_op", "kernel")
    ]
    tables = tables_of(tmp_path, *events)
    assert len(tables["gpu_slice"]) >= 2 * len(columns) - 2
    assert len(tables["cpu_slice"]) >= 3 * len(columns)


def test_arguments_too_deep_to_read_are_counted():
    notes = Counter()
    assert args.loads_pairs(b'{"k":' + b"[" * 100_000 + b"]" * 100_000 + b"}", notes) == {}
    assert notes == {"malformed_arguments": 1}
