"""What each kind of event of a Chrome trace becomes."""

from __future__ import annotations

import json

import pytest
from chrome_trace import args_of, count_notes, make_event, make_kernel, make_op, name_of, pick_columns, tables_of

SLICE = "kind category name ts dur"


def rows_of(tmp_path, *events, table="cpu_slice", lost=0, **around):
    """Rows of one table; the trace must give no note but that on values `lost` to their columns."""
    tables = tables_of(tmp_path, *events, **around)
    assert count_notes(tables) == ({"number_out_of_range": lost} if lost else {})
    return tables[table]


# ---- host slices


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("cpu_op", "op"),
        ("hpu_op", "op"),
        ("user_annotation", "annotation"),
        ("cuda_runtime", "runtime"),
        ("cuda_driver", "runtime"),
        ("xpu_runtime", "runtime"),
        ("privateuse1_driver", "runtime"),
        ("python_function", "python"),
        ("overhead", "overhead"),
        ("Trace", "other"),
        ("made up tomorrow", "other"),
        (None, "other"),
    ],
)
def test_category_decides_the_kind(tmp_path, category, kind):
    assert pick_columns(rows_of(tmp_path, make_event(category, "a", 5, 2)), SLICE) == [
        (kind, category, "a", 5_000, 2_000)
    ]


MARKS = ["traceq.step#3", "traceq.phase#a b", "traceq.fetch#loader", "traceq.module#0.1", "traceq.payload#samples=1"]


@pytest.mark.parametrize("category", ["cpu_op", "Operator", "user_annotation", "python_function", "new", None])
def test_marks_of_traceq_are_annotations_of_any_category(tmp_path, category):
    events = [make_event(category, name, 5, 2) for name in MARKS]
    assert pick_columns(rows_of(tmp_path, *events), "kind category name") == [
        ("annotation", category, name) for name in MARKS
    ]


@pytest.mark.parametrize(
    ("category", "kind"),
    [("cpu_op", "op"), ("user_annotation", "annotation"), ("cuda_runtime", "runtime"), ("python_function", "python")],
)
def test_halves_of_a_slice_are_what_the_whole_one_would_be(category, kind, tmp_path):
    args = {"correlation": 7, "External id": 9}
    (whole,) = rows_of(tmp_path, make_event(category, "cudaLaunchKernel", 1, 3, args))
    (halves,) = rows_of(
        tmp_path,
        make_event(category, "cudaLaunchKernel", 1, None, args, ph="B"),
        make_event(None, None, 4, None, ph="E"),
    )
    same = ("kind", "category", "name", "ts", "dur", "correlation_id", "external_id")
    assert halves["kind"] == kind
    assert {key: halves[key] for key in same} == {key: whole[key] for key in same}


def test_marks_of_traceq_as_begin_and_end_are_annotations(tmp_path):
    rows = rows_of(
        tmp_path, make_op("traceq.phase#a", 1, None, ph="B"), make_op("a", 2, 1), make_op("", 4, None, ph="E")
    )
    assert sorted(pick_columns(rows, "kind name dur")) == [("annotation", "traceq.phase#a", 3_000), ("op", "a", 1_000)]


@pytest.mark.parametrize(
    "name", ["traceq.phase", "traceq.phases#a", "traceq.new#a", "a traceq.step#1", "traceq_step#1", ""]
)
def test_names_that_only_look_like_marks_are_operators(tmp_path, name):
    rows = rows_of(tmp_path, make_op(name, 1, 1), make_op("traceq.step#1", 2, 1), make_op("b", 3, 1))
    assert pick_columns(rows, "kind name") == [("op", name), ("annotation", "traceq.step#1"), ("op", "b")]


def test_operator_keeps_what_no_column_holds(tmp_path):
    args = {"External id": 3, "Sequence number": 8, "Fwd thread id": 1, "Input Dims": [[2, 3], []], "Ev Idx": 0}
    (row,) = rows_of(tmp_path, make_op("aten::mm", 5, 2, args))
    assert row["external_id"] == 3
    assert args_of(row) == {"Sequence number": 8, "Fwd thread id": 1, "Input Dims": [[2, 3], []], "Ev Idx": 0}


def test_arguments_nobody_has_heard_of_are_kept(tmp_path):
    events = [
        make_op("a", 1, 1, {"External id": 1, "new": {"deep": [1, {"b": None}]}}),
        make_op("b", 2, 1, {"newer": "x\ny"}),
    ]
    events += [make_op("c", 3, 1, {"External id": 3}), make_op("d", 4, 1)]
    rows = rows_of(tmp_path, *events)
    assert [args_of(row) for row in rows] == [{"new": {"deep": [1, {"b": None}]}}, {"newer": "x\ny"}, None, None]
    assert pick_columns(rows, "external_id") == [(1,), (None,), (3,), (None,)]


def test_a_new_argument_is_learned_without_losing_it(tmp_path):
    for number in range(3):
        (row,) = rows_of(tmp_path, make_op("a", 1, 1, {"never seen before": number, "Ev Idx": 2}))
        assert args_of(row) == {"never seen before": number, "Ev Idx": 2}


@pytest.mark.parametrize("key", ['quote " inside', "back\\slash", "line\nbreak", "", "\u4e16", "kept_0", "x" * 10_000])
def test_a_new_argument_may_have_any_name(tmp_path, key):
    for number in range(2):
        (row,) = rows_of(tmp_path, make_op("a", 1, 1, {key: number}))
        assert args_of(row) == {key: number}


def test_an_argument_that_looks_like_a_key_is_text(tmp_path):
    args = {"Call stack": 'f("a":1, \\"b\\": {"c":2})', "External id": 4}
    (row,) = rows_of(tmp_path, make_op("a", 1, 1, args))
    assert (row["external_id"], args_of(row)) == (4, {"Call stack": args["Call stack"]})


@pytest.mark.parametrize(
    ("value", "column", "kept"),
    [
        (7, 7, None),
        ("7", 7, None),
        (7.0, 7, None),
        (None, None, None),
        ("seven", None, {"correlation": "seven"}),
        ([7], None, {"correlation": [7]}),
        (1 << 64, None, {"correlation": 1 << 64}),
        (str(1 << 64), None, {"correlation": str(1 << 64)}),
        (1e30, None, {"correlation": 1e30}),
    ],
)
def test_a_number_is_taken_as_written_or_kept_as_it_is(tmp_path, value, column, kept):
    event = make_event("cuda_runtime", "cudaLaunchKernel", 1, 1, {"correlation": value})
    (row,) = rows_of(tmp_path, event, lost=int(kept is not None))
    assert (row["correlation_id"], args_of(row)) == (column, kept)


@pytest.mark.parametrize("args", [None, "null", "{}"])
def test_no_arguments(tmp_path, args):
    event = '{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1' + (f', "args": {args}' if args else "")
    (row,) = rows_of(tmp_path, event + "}")
    assert row["args"] is None


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaMemcpyAsync_ptsz", "cudaMemcpyAsync"),
        ("cudaLaunchKernelExC_v11060_ptsz", "cudaLaunchKernelExC"),
        ("cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2"),
        ("hipLaunchKernel", "hipLaunchKernel"),
    ],
)
def test_calls_lose_their_version(tmp_path, written, name):
    (row,) = rows_of(
        tmp_path, make_event("cuda_runtime", written, 1, 1, {"cbid": 211, "correlation": 5, "External id": 2})
    )
    assert (row["name"], row["correlation_id"], row["external_id"]) == (name, 5, 2)
    assert args_of(row) == {"cbid": 211}


def test_operators_keep_a_name_that_looks_versioned(tmp_path):
    assert pick_columns(rows_of(tmp_path, make_op("my_op_v2", 1, 1)), "name") == [("my_op_v2",)]


def test_python_stack(tmp_path):
    outer = make_event("python_function", "train.py(10): <module>", 0, 9, {"Python id": 1, "Python parent id": None})
    inner = make_event("python_function", "nn.Module: Linear_0", 1, 3, {"Python id": 2, "Python parent id": 1})
    rows = rows_of(tmp_path, outer, inner)
    assert pick_columns(rows, "kind name") == [("python", "train.py(10): <module>"), ("python", "nn.Module: Linear_0")]
    assert args_of(rows[1]) == {"Python id": 2, "Python parent id": 1}


@pytest.mark.parametrize(("name", "stored"), [(12, "12"), (None, "unknown"), (True, "True"), ("", "")])
def test_a_name_that_is_no_text(tmp_path, name, stored):
    assert pick_columns(rows_of(tmp_path, make_op("a", 0, 1), make_op(name, 1, 1)), "name") == [("a",), (stored,)]


def test_slice_ids_are_the_numbers_of_the_events(tmp_path):
    tables = tables_of(
        tmp_path, make_op("a", 0, 1), make_kernel("k", 1, 1), name_of("thread_name", "main"), make_op("b", 2, 1)
    )
    assert pick_columns(tables["cpu_slice"], "slice_id name") == [(0, "a"), (3, "b")]
    assert pick_columns(tables["gpu_slice"], "slice_id name") == [(1, "k")]


# ---- begin and end


def add_ends(*letters):
    """`B a`, `E` ... a microsecond apart, on the main thread."""
    return [
        {"ph": phase, "pid": 1, "tid": 1, "ts": 10 + ts} | ({"name": name[0]} if name else {})
        for ts, (phase, *name) in enumerate(each.split() for each in letters)
    ]


def test_begin_and_end_nest(tmp_path):
    rows = rows_of(tmp_path, *add_ends("B a", "B b", "E b", "B c", "E", "E a"))
    assert pick_columns(rows, "name ts dur") == [("a", 10_000, 5_000), ("b", 11_000, 1_000), ("c", 13_000, 1_000)]


def test_begin_and_end_pair_per_thread(tmp_path):
    events = add_ends("B a", "B b", "E", "E")
    events[1]["tid"] = events[2]["tid"] = 2
    tables = tables_of(tmp_path, *events)
    assert pick_columns(tables["cpu_slice"], "name thread_id dur") == [("a", 0, 3_000), ("b", 1, 1_000)]
    assert pick_columns(tables["thread"], "thread_id tid") == [(0, 1), (1, 2)]


def test_arguments_of_begin_and_end_are_merged(tmp_path):
    begin, end = add_ends("B a", "E")
    (row,) = rows_of(tmp_path, begin | {"args": {"x": 1, "y": 1}}, end | {"args": {"y": 2}})
    assert args_of(row) == {"x": 1, "y": 2}


def test_begin_and_end_in_any_order_of_the_file(tmp_path):
    rows = rows_of(tmp_path, *reversed(add_ends("B a", "B b", "E", "E")))
    assert sorted(pick_columns(rows, "name ts dur")) == [("a", 10_000, 3_000), ("b", 11_000, 1_000)]


def test_an_end_without_begin_is_counted(tmp_path):
    tables = tables_of(tmp_path, *add_ends("E a", "B b", "E"))
    assert pick_columns(tables["cpu_slice"], "name dur") == [("b", 1_000)]
    assert count_notes(tables) == {"unmatched_end": 1}


def test_a_begin_without_end_lasts_to_the_end_of_the_trace(tmp_path):
    tables = tables_of(tmp_path, *add_ends("B a", "B b", "E"), make_op("c", 15, 5))
    assert sorted(pick_columns(tables["cpu_slice"], "name ts dur")) == [
        ("a", 10_000, 10_000),
        ("b", 11_000, 1_000),
        ("c", 15_000, 5_000),
    ]
    assert count_notes(tables) == {"unclosed_range": 1}


# ---- instants, counters, arrows, names


def test_instants_last_no_time(tmp_path):
    start = {"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "Trace", "ts": 3}
    end = {"ph": "I", "name": "Record Window End", "pid": "", "tid": "", "ts": 9}
    tables = tables_of(tmp_path, start, end)
    assert pick_columns(tables["cpu_slice"], "kind name ts dur") == [
        ("other", "Iteration Start: PyTorch Profiler", 3_000, 0),
        ("other", "Record Window End", 9_000, 0),
    ]
    assert pick_columns(tables["thread"], "pid tid process_name thread_name") == [
        (None, None, "Traces", "Trace"),
        (None, None, "", ""),
    ]


def make_memory(ts, size, allocated, device=0, kind=1):
    names = ("Addr", "Bytes", "Total Allocated", "Total Reserved", "Device Type", "Device Id")
    args = dict(zip(names, (1 << 40, size, allocated, 2048, kind, device), strict=True))
    return make_event("cpu_instant_event", "[memory]", ts, None, args, ph="i", s="t")


def test_memory_instants_are_slices_and_counters(tmp_path):
    tables = tables_of(
        tmp_path, make_memory(1, 512, 512), make_memory(2, -512, 0, device=1), make_memory(3, 8, 8, device=-1, kind=0)
    )
    assert pick_columns(tables["counter"], "device name unit ts value") == [
        (0, "memory_allocated", "bytes", 1_000, 512),
        (0, "memory_reserved", "bytes", 1_000, 2048),
        (1, "memory_allocated", "bytes", 2_000, 0),
        (1, "memory_reserved", "bytes", 2_000, 2048),
        (None, "memory_allocated", "bytes", 3_000, 8),
        (None, "memory_reserved", "bytes", 3_000, 2048),
    ]
    assert pick_columns(tables["cpu_slice"], "kind name dur") == [("other", "[memory]", 0)] * 3
    assert args_of(tables["cpu_slice"][1])["Bytes"] == -512


def make_counter(ts, args, pid=1, name="loader"):
    return {"ph": "C", "name": name, "pid": pid, "tid": 1, "ts": ts, "args": args}


def test_a_counter_event_is_a_row_per_series(tmp_path):
    rows = rows_of(tmp_path, make_counter(1, {"busy": 3, "idle": 1.5}), make_counter(2, {"busy": "4"}), table="counter")
    assert pick_columns(rows, "device name unit ts value") == [
        (None, "loader.busy", None, 1_000, 3),
        (None, "loader.idle", None, 1_000, 1.5),
        (None, "loader.busy", None, 2_000, 4),
    ]


def test_hardware_counters_belong_to_their_gpu(tmp_path):
    rows = rows_of(tmp_path, make_counter(1, {"": 37.5}, "GPU 3 Counters", "sm__throughput"), table="counter")
    assert pick_columns(rows, "device name value") == [(3, "sm__throughput", 37.5)]


@pytest.mark.parametrize("value", ["null", '"many"', "[1]", "1" + "0" * 400])
def test_a_counter_without_number_is_counted(tmp_path, value):
    event = json.dumps(make_counter(1, {"good": 1, "bad": 2})).replace("2", value)
    tables = tables_of(tmp_path, event)
    assert pick_columns(tables["counter"], "name value") == [("loader.good", 1)]
    assert count_notes(tables) == {"not_a_number": 1}


def test_arrows_are_counted(tmp_path):
    arrows = [make_event("ac2g", "ac2g", 1, None, ph=phase, id=5) for phase in "stff"]
    tables = tables_of(tmp_path, make_op("a", 1, 1), *arrows)
    assert len(tables["cpu_slice"]) == 1
    assert count_notes(tables) == {"flow_not_stored": 4}


def test_what_no_table_holds_is_counted(tmp_path):
    events = [make_event("async", "a", 1, None, ph=phase, id="0x1") for phase in ("P", "N", "O", "D", "c")]
    assert count_notes(tables_of(tmp_path, make_op("a", 1, 1), *events, "{}")) == {
        "phase_not_stored": 5,
        "empty_event": 1,
    }


def make_half(phase, name, ts, tid=1, cat="net", **more):
    return {"ph": phase, "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, **more}


ASYNC = "name ts dur is_async"


def test_asynchronous_ranges_need_not_nest(tmp_path):
    events = [
        make_half("b", "first", 1, id="0x1", args={"url": "a"}),
        make_half("b", "second", 2, id="0x2"),
        make_half("e", "first", 3, tid=7, id="0x1", args={"bytes": 5}),
        make_half("e", "second", 4, id="0x2"),
    ]
    rows = tables_of(tmp_path, *events)["cpu_slice"]
    assert pick_columns(rows, ASYNC) == [("first", 1_000, 2_000, True), ("second", 2_000, 2_000, True)]
    assert json.loads(rows[0]["args"]) == {"url": "a", "bytes": 5}
    assert pick_columns(rows, "thread_id kind category") == [(0, "other", "net")] * 2


def test_asynchronous_ranges_of_one_id_are_nested(tmp_path):
    events = [make_half(phase, "x", n, id=1) for n, phase in enumerate("bbnee", 1)]
    assert pick_columns(tables_of(tmp_path, *events)["cpu_slice"], "ts dur") == [
        (1_000, 4_000),
        (2_000, 2_000),
        (3_000, 0),
    ]


def test_older_asynchronous_ranges_belong_together_by_name(tmp_path):
    events = [
        make_half("S", "a", 1, id=1),
        make_half("S", "b", 2, id=1),
        make_half("T", "a", 3, id=1),
        make_half("F", "a", 4, id=1),
        make_half("F", "b", 6, id=1),
    ]
    rows = tables_of(tmp_path, *events)["cpu_slice"]
    assert pick_columns(rows, ASYNC) == [("a", 1_000, 3_000, True), ("b", 2_000, 4_000, True), ("a", 3_000, 0, True)]


def test_ids_may_be_of_a_process_or_of_a_scope(tmp_path):
    ids = (
        {"id2": {"local": "0x1"}},
        {"id2": {"global": "0x1"}},
        {"id": "0x1", "scope": "s"},
        {"id": "0x2", "scope": "t"},
    )
    events = [make_half("b", str(n), n, **each) for n, each in enumerate(ids)]
    events += [make_half("e", str(n), 10 * n + 10, **each) for n, each in enumerate(ids)]
    assert pick_columns(tables_of(tmp_path, *events)["cpu_slice"], "name dur") == [
        ("0", 10_000),
        ("1", 19_000),
        ("2", 28_000),
        ("3", 37_000),
    ]


def test_halves_of_asynchronous_ranges_without_the_other(tmp_path):
    tables = tables_of(
        tmp_path, make_op("a", 1, 9), make_half("b", "open", 2, id=1), make_half("e", "never begun", 3, id=2)
    )
    assert ("open", 2_000, 8_000, True) in pick_columns(tables["cpu_slice"], ASYNC)
    assert count_notes(tables) == {"unclosed_range": 1, "unmatched_end": 1}


def test_arrows_of_other_tools_are_told_as_theirs(tmp_path):
    arrows = [make_event("flow", "f", 1, None, ph=phase, id=5) for phase in "stf"]
    assert count_notes(tables_of(tmp_path, make_event("generic", "a", 1, 1), *arrows)) == {"arrow_not_stored": 3}


@pytest.mark.parametrize(
    ("process", "code"),
    [("/device:TPU:0", "tpu_not_measured"), ("Ascend Hardware", "npu_not_measured"), ("CANN", None)],
)
def test_lanes_of_other_devices_are_told_as_what_they_are(tmp_path, process, code):
    lanes = [make_event(None, "MatMul", n, 1, tid=5, pid=4) for n in range(3)]
    tables = tables_of(tmp_path, make_op("a", 1, 1), name_of("process_name", process, tid=0) | {"pid": 4}, *lanes)
    assert count_notes(tables) == ({code: 1} if code else {})


def test_work_of_mtia_is_told_as_what_it_is(tmp_path):
    work = [make_event("mtia_ccp_events", "k", n, 1) for n in range(3)]
    assert count_notes(tables_of(tmp_path, make_op("a", 1, 1), *work)) == {"mtia_not_measured": 3}


def test_names_of_threads_and_processes(tmp_path):
    events = [
        make_op("a", 1, 1, tid=7),
        make_op("b", 1, 1, tid=8),
        make_op("c", 1, 1, tid=9),
        name_of("process_name", "/home/user/bin/python3.11 train.py --secret", tid=0),
        name_of("process_labels", "CPU"),
        name_of("thread_name", "thread 7 (pt_main_thread)", tid=7),
        name_of("thread_name", "loader 0", tid=8),
        name_of("thread_name", "never used", tid=55),
    ]
    rows = rows_of(tmp_path, *events, table="thread")
    assert pick_columns(rows, "thread_id pid tid process_name thread_name") == [
        (0, 100, 7, "python3.11", "pt_main_thread"),
        (1, 100, 8, "python3.11", "loader 0"),
        (2, 100, 9, "python3.11", None),
    ]


def test_threads_are_numbered_in_the_order_of_the_file(tmp_path):
    events = [
        make_op("a", 1, 1, tid=1),
        make_event("cuda_runtime", "b", 1, 1, tid=2),
        make_op("c", 1, 1, tid=3),
        *add_ends("B d", "E"),
    ]
    tables = tables_of(tmp_path, *events)
    assert pick_columns(tables["thread"], "thread_id pid tid") == [(0, 100, 1), (1, 100, 2), (2, 100, 3), (3, 1, 1)]
    assert sorted(pick_columns(tables["cpu_slice"], "name thread_id")) == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]


def test_equal_thread_ids_of_two_processes_are_two_threads(tmp_path):
    rows = rows_of(tmp_path, make_op("a", 1, 1), make_op("b", 1, 1, pid=200), table="thread")
    assert pick_columns(rows, "pid tid") == [(100, 100), (200, 100)]
