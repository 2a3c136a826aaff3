"""NVTX_EVENTS of nsys exports."""

from __future__ import annotations

import json

import pytest
from nsys_export import RUNTIME, count_notes, global_id, pick_columns, read, write

PUSH_POP, START_END, MARK, CATEGORY, DOMAIN, DOMAIN_END, THREAD = 59, 60, 34, 33, 75, 76, 39


def make_nvtx_row(start, end=None, kind=PUSH_POP, **more):
    return {"start": start, "end": end, "eventType": kind, "globalTid": global_id(), "domainId": 0, **more}


def list_slices(tmp_path, *rows, strings=None, **tables):
    return read(write(tmp_path / "a.sqlite", strings, NVTX_EVENTS=list(rows), **tables))


def test_text_or_registered_string(tmp_path):
    rows = [make_nvtx_row(0, 5, text="own"), make_nvtx_row(5, 9, textId=1), make_nvtx_row(9, 10, textId=2)]
    tables = list_slices(tmp_path, *rows, strings={1: "registered"})
    assert pick_columns(tables["cpu_slice"], "kind name ts dur is_async category args") == [
        ("annotation", "own", 0, 5, False, None, None),
        ("annotation", "registered", 5, 4, False, None, None),
        ("annotation", "unknown", 9, 1, False, None, None),
    ]
    assert count_notes(tables) == {"missing_string": 1}


@pytest.mark.parametrize(("kind", "is_async"), [(59, False), (70, False), (60, True), (71, True)])
def test_ranges_that_need_not_nest(tmp_path, kind, is_async):
    tables = list_slices(tmp_path, make_nvtx_row(1, 3, kind, text="r"))
    assert pick_columns(tables["cpu_slice"], "name dur is_async") == [("r", 2, is_async)]


def test_range_ended_on_another_thread(tmp_path):
    rows = [
        make_nvtx_row(1, 3, START_END, text="a", endGlobalTid=global_id(9)),
        make_nvtx_row(1, 3, START_END, endGlobalTid=global_id()),
    ]
    tables = list_slices(tmp_path, *rows)
    assert pick_columns(tables["cpu_slice"], "args") == [('{"end_tid":9}',), (None,)]


def test_mark_has_no_duration(tmp_path):
    tables = list_slices(tmp_path, make_nvtx_row(4, None, MARK, text="now"))
    assert pick_columns(tables["cpu_slice"], "kind name ts dur is_async") == [("annotation", "now", 4, 0, False)]
    assert count_notes(tables) == {}


def test_open_range_ends_with_the_trace(tmp_path):
    call = {"start": 2, "end": 40, "globalTid": global_id(), "nameId": 1}
    tables = list_slices(
        tmp_path, make_nvtx_row(1, text="open"), make_nvtx_row(3, 9, text="b"), strings={1: "x"}, **{RUNTIME: [call]}
    )
    assert pick_columns(tables["cpu_slice"], "name ts dur") == [("x", 2, 38), ("open", 1, 39), ("b", 3, 6)]
    assert count_notes(tables) == {"unclosed_range": 1}


def test_open_range_where_no_column_says_when_ranges_end(tmp_path):
    rows = [{"start": start, "eventType": PUSH_POP, "globalTid": global_id(), "text": f"r{start}"} for start in (1, 7)]
    tables = read(write(tmp_path / "a.sqlite", NVTX_EVENTS=rows))
    assert pick_columns(tables["cpu_slice"], "name ts dur") == [("r1", 1, 6), ("r7", 7, 0)]


def test_open_range_when_nvtx_itself_ends_last(tmp_path):
    tables = list_slices(
        tmp_path, make_nvtx_row(1, text="open"), make_nvtx_row(3, 9, text="b"), make_nvtx_row(11, None, MARK, text="m")
    )
    assert pick_columns(tables["cpu_slice"], "name dur") == [("open", 10), ("b", 6), ("m", 0)]


def test_domains_and_categories_belong_to_a_process(tmp_path):
    other = global_id(1, pid=500)
    tables = list_slices(
        tmp_path,
        make_nvtx_row(1, 2, text="a", domainId=1, category=7),
        make_nvtx_row(3, 4, text="b", domainId=1, category=7, globalTid=other),
        make_nvtx_row(5, 6, text="c", category=8),
        make_nvtx_row(0, None, DOMAIN, text="NCCL", domainId=1),
        make_nvtx_row(0, None, CATEGORY, textId=1, domainId=1, category=7),
        make_nvtx_row(9, None, DOMAIN_END, domainId=1),
        strings={1: 'say "hi"'},
    )
    assert pick_columns(tables["cpu_slice"], "name category") == [("a", "NCCL"), ("b", None), ("c", None)]
    assert [json.loads(row["args"]) for row in tables["cpu_slice"]] == [
        {"category": 'say "hi"'},
        {"domain_id": 1, "category": 7},
        {"category": 8},
    ]


def test_marks_of_traceq_come_as_they_were_made(tmp_path):
    strings = {1: "traceq.phase#forward", 2: "traceq.payload#samples=32,loss=0.5"}
    tables = list_slices(
        tmp_path,
        make_nvtx_row(0, None, DOMAIN, text="traceq", domainId=2),
        make_nvtx_row(1, 9, text="traceq.step#12", domainId=2),
        make_nvtx_row(2, None, MARK, textId=2, domainId=2),
        make_nvtx_row(3, 8, textId=1, domainId=2),
        strings=strings,
    )
    assert pick_columns(tables["cpu_slice"], "kind category name ts dur") == [
        ("annotation", "traceq", "traceq.step#12", 1, 8),
        ("annotation", "traceq", strings[2], 2, 0),
        ("annotation", "traceq", strings[1], 3, 5),
    ]


def test_thread_name_from_nvtx_and_rank_from_it(tmp_path):
    tables = list_slices(tmp_path, make_nvtx_row(0, None, THREAD, text="MPI Rank 3"), make_nvtx_row(1, 2, text="a"))
    assert pick_columns(tables["thread"], "thread_name") == [("MPI Rank 3",)]
    assert pick_columns(tables["trace"], "rank") == [(3,)]
    assert len(tables["cpu_slice"]) == 1


def test_payloads(tmp_path):
    rows = [
        make_nvtx_row(0, 1, text="a", uint64Value=-1),
        make_nvtx_row(1, 2, text="b", int64Value=-7),
        make_nvtx_row(2, 3, text="c", doubleValue=1.5),
        make_nvtx_row(3, 4, text="d", doubleValue=float("inf")),
        make_nvtx_row(4, 5, text="e", int32Value=0),
        make_nvtx_row(5, 6, text="f", jsonText='{"bytes": 8}'),
        make_nvtx_row(6, 7, text="g", jsonTextId=1),
        make_nvtx_row(7, 8, text="h"),
    ]
    tables = list_slices(tmp_path, *rows, strings={1: "not json"})
    assert [json.loads(row["args"]) if row["args"] else None for row in tables["cpu_slice"]] == [
        {"payload": (1 << 64) - 1},
        {"payload": -7},
        {"payload": 1.5},
        {"payload": None},
        {"payload": 0},
        {"json": {"bytes": 8}},
        {"json": "not json"},
        None,
    ]


def test_unknown_kind_is_counted(tmp_path):
    tables = list_slices(tmp_path, make_nvtx_row(0, 1, 4711, text="a"), make_nvtx_row(0, 1, text="b"))
    assert pick_columns(tables["cpu_slice"], "name") == [("b",)]
    assert count_notes(tables) == {"nvtx_kind_unknown": 1}


def test_hostile_names_stay_as_they_are(tmp_path):
    names = ["<script>alert(1)</script>", "tab\tnewline\n\u202e", "'; drop table x --", "\U0001f40d" * 200]
    tables = list_slices(tmp_path, *(make_nvtx_row(n, n + 1, text=name) for n, name in enumerate(names)))
    assert [row["name"] for row in tables["cpu_slice"]] == names


OPERATORS = """
aten::addmm, seq = 7, op_id = 5 | op aten::addmm 7 5
aten::to | op aten::to - -
aten::item, op_id = 12 | op aten::item - 12
FlashAttnFunc, seq = 3, op_id = 9 | op FlashAttnFunc 3 9
flash_attn::_flash_attn_forward, op_id = 10 | op flash_attn::_flash_attn_forward - 10
record_param_comms, op_id = 11 | op record_param_comms - 11
detach, op_id = 11 | op detach - 11
AddmmBackward0, seq = 7, op_id = 13 | op AddmmBackward0 7 13
autograd::engine::evaluate_function: AddmmBackward0, op_id = 14 | op autograd::engine::evaluate_function: AddmmBackward0 - 14
torch::autograd::AccumulateGrad | op torch::autograd::AccumulateGrad - -
AddmmBackward, stashed seq=7 | op AddmmBackward 7 -
nccl:all_to_all, op_id = 15 | annotation nccl:all_to_all - 15
FSDP::pre_forward (block.3), op_id = 16 | annotation FSDP::pre_forward (block.3) - 16
forward, op_id = 17 | annotation forward - 17
forward | annotation forward - -
cub::DeviceReduce::Sum | annotation cub::DeviceReduce::Sum - -
batch, seq = 4 | annotation batch, seq = 4 - -
traceq.payload#samples=32 | annotation traceq.payload#samples=32 - -
"""


def add_operators(*names):
    return [make_nvtx_row(number, number + 1, text=name) for number, name in enumerate(names)]


def test_operators_of_emit_nvtx(tmp_path):
    """As PyTorch's getNvtxStr writes them; ranges of record_function stay annotations."""
    lines = [line.split(" | ") for line in OPERATORS.strip().split("\n")]
    found = []
    for row in list_slices(tmp_path, *add_operators(*(name for name, _ in lines)))["cpu_slice"]:
        args = json.loads(row["args"] or "{}")
        found.append(f"{row['kind']} {row['name']} {args.get('Sequence number', '-')} {args.get('op_id', '-')}")
    assert found == [expected for _, expected in lines]


def test_shapes_of_emit_nvtx(tmp_path):
    (row,) = list_slices(
        tmp_path,
        *add_operators("aten::mm, seq = 1, op_id = 2, sizes = [[2, 3], [3, 4], []], input_op_ids = [(1,0), (1,1)]"),
    )["cpu_slice"]
    assert (row["name"], json.loads(row["args"])["Input Dims"]) == ("aten::mm", [[2, 3], [3, 4], []])


@pytest.mark.parametrize("kind", [START_END, MARK])
def test_only_ranges_that_nest_are_operators(tmp_path, kind):
    tables = list_slices(tmp_path, make_nvtx_row(1, 3, kind, text="aten::mm, op_id = 2"))
    assert pick_columns(tables["cpu_slice"], "kind name") == [("annotation", "aten::mm")]
