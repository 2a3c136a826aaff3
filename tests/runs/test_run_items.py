"""What a step is made of, item by item, on traces of a few slices: it adds up to the ledger."""

from __future__ import annotations

from contextlib import closing
from itertools import combinations

import duckdb
import pytest
from builder import TraceBuilder
from handmade_runs import MS, run
from msgspec.structs import replace
from random_slices import Worlds

from traceq.database.query import ask
from traceq.database.sql import statement
from traceq.runs.compare.compare import compare
from traceq.runs.read import _read_items, _read_settings, _read_steps, read_runs


def steps_of(trace, *lengths, ts=0):
    for number, length in enumerate(lengths):
        trace.annotation(f"ProfilerStep#{number}", ts, length)
        ts += length
    return trace


def read(trace, folder):
    """Steps and items as read_runs has them, without the time that the rules take."""
    connection = trace.build(folder)._connection
    devices = [device for (device,) in trace.rows("select distinct device from time_ledger order by all")]
    device = devices[0] if devices else -2
    steps = ask(connection, statement("runs/sql/step.sql"), trace_id=1, device=device)
    return replace(
        run(), steps=tuple(_read_steps(steps)), items=_read_items(connection, 1, device if devices else None)
    )


def table(found, which="every"):
    """A line per item that is there: category, name, shape, operator, count, ns, bytes."""
    lines = []
    for each in found.items:
        amount = getattr(each, which)
        if amount.count or amount.dur:
            words = (each.category, each.name, each.shape, each.operator, amount.count, amount.dur, amount.bytes)
            lines.append(" ".join("-" if word is None else str(word) for word in words))
    return "\n".join(sorted(lines))


def sums(found, which, steps):
    """Time by category of the items and of the ledgers."""
    items, ledgers = {}, {}
    for each in found.items:
        items[each.category] = items.get(each.category, 0) + getattr(each, which).dur
    for step in steps:
        for category, dur in step.ledger.items():
            ledgers[category] = ledgers.get(category, 0) + dur
    return [{category: dur for category, dur in each.items() if dur} for each in (items, ledgers)]


def adds_up(found):
    for which, steps in (("every", found.counted), ("typical", found.typical)):
        items, ledgers = sums(found, which, steps)
        assert items == ledgers, which


def test_kernels_by_name_shape_and_operator(tmp_path):
    trace = steps_of(TraceBuilder(), 1000, 1000)
    grid = dict(zip(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), (8, 2, 1, 256, 1, 1), strict=True))
    for ts in (0, 1000):
        trace.op("aten::mm", ts + 10, 90)
        trace.kernel("gemm", ts + 100, 300, launched=(ts + 20, 5), **grid)
        trace.kernel("gemm", ts + 400, 100, launched=(ts + 30, 5), **grid | {"grid_x": 4})
        trace.kernel("add", ts + 500, 50, launched=(ts + 150, 5))
    found = read(trace, tmp_path)
    assert table(found).splitlines()[:3] == [
        "compute add - - 2 100 0",
        "compute gemm 4x2x1 of 256x1x1 aten::mm 2 200 0",
        "compute gemm 8x2x1 of 256x1x1 aten::mm 2 600 0",
    ]
    adds_up(found)


@pytest.mark.parametrize(
    ("args", "settings"),
    [
        (
            '{"z": 1, "b": 1.0, "c": true, "d": null, "e": "x\\u00e9", "f": [1], "g": 1e5, "h": {}, "a": -2, "z": 3}',
            {"z": "3", "b": "1.0", "c": "True", "e": "xé", "g": "100000.0", "a": "-2"},
        ),
        ('{"a": ' + "[" * 50_000 + "]" * 50_000 + ', "b": 1}', {"b": "1"}),
        ('{"a": ' + "9" * 6000 + ', "b": 1}', {"b": "1"}),
        ("[1]", {}),
        ("5", {}),
        (None, {}),
    ],
)
def test_settings_are_words_and_numbers_of_whatever_the_source_says(args, settings):
    with closing(duckdb.connect()) as connection:
        connection.execute("create table trace as select 1 as trace_id, ?::varchar as args", [args])
        assert _read_settings(connection, 1) == settings


def test_copies_by_kind_and_size(tmp_path):
    trace = steps_of(TraceBuilder(), 1000)
    pinned, pageable = (
        {"src_memory": memory, "dst_memory": "device", "bytes": 4096} for memory in ("pinned", "pageable")
    )
    trace.memcpy("h2d", 100, 50, launched=(20, 5), **pinned)
    trace.memcpy("h2d", 200, 60, launched=(30, 5), **pageable)
    trace.gpu("memset", "Memset", 300, 10, launched=(40, 5), bytes=64)
    trace.kernel("last", 900, 100, launched=(50, 5))
    found = read(trace, tmp_path)
    assert [line for line in table(found).splitlines() if not line.startswith("idle")] == [
        "compute last - - 1 100 0",
        "copy_h2d h2d 4096 B - 1 50 4096",
        "copy_h2d h2d 4096 B pageable - 1 60 4096",
        "memset memset 64 B - 1 10 64",
    ]
    adds_up(found)


def test_a_kernel_that_lasts_into_the_next_step_is_split_and_counts_where_it_was_launched(tmp_path):
    trace = steps_of(TraceBuilder(), *[1000] * 5)
    for number in range(4):
        trace.kernel("long", 1000 * number + 900, 400, launched=(1000 * number + 10, 5))
    trace.kernel("last", 4900, 100, launched=(4010, 5))
    found = read(trace, tmp_path)
    assert [step.ledger.get("compute") for step in found.counted] == [100, 400, 400, 400, 400]
    # Steps 1 to 3 are typical: all last the same.
    assert [step.step for step in found.typical] == [1, 2, 3]
    assert "compute long - - 4 1600 0" in table(found)
    assert "compute long - - 3 1200 0" in table(found, "typical")
    adds_up(found)


def test_a_kernel_that_is_launched_in_one_step_and_runs_in_the_next(tmp_path):
    """Its time is where it ran; as one kernel it counts where it was launched."""
    trace = steps_of(TraceBuilder(), *[1000] * 4)
    trace.kernel("a", 1100, 200, launched=(900, 5))
    trace.kernel("b", 3100, 200, launched=(2990, 5))
    found = read(trace, tmp_path)
    adds_up(found)
    assert [step.step for step in found.typical] == [1, 2]
    assert table(found, "typical").splitlines()[:2] == ["compute a - - 0 200 0", "compute b - - 1 0 0"]


def test_a_kernel_over_three_steps(tmp_path):
    """Every step holds the part of it that elapsed there."""
    trace = steps_of(TraceBuilder(), *[1000] * 6)
    trace.kernel("endless", 3500, 2000, launched=(3010, 5))
    trace.kernel("last", 5900, 100, launched=(5010, 5))
    found = read(trace, tmp_path)
    assert [step.ledger.get("compute", 0) for step in found.counted] == [0, 0, 0, 500, 1000, 600]
    assert [step.step for step in found.typical] == [1, 2, 3, 4]
    adds_up(found)


def test_kernels_side_by_side_share_the_time(tmp_path):
    trace = steps_of(TraceBuilder(), 1000)
    trace.kernel("a", 100, 400, launched=(10, 5))
    trace.kernel("b", 300, 400, launched=(20, 5), stream=8)
    found = read(trace, tmp_path)
    adds_up(found)
    assert found.steps[0].ledger["compute"] == 600


def test_warm_up_is_in_no_item(tmp_path):
    trace = steps_of(TraceBuilder(), 9000, *[1000] * 6)
    starts = [0, *range(9000, 15_000, 1000)]
    for ts in starts:
        trace.kernel("gemm", ts + 100, 300, launched=(ts + 10, 5))
    found = read(trace, tmp_path)
    assert len(found.steps) == 7
    adds_up(found)
    (gemm,) = (each for each in found.items if each.name == "gemm")
    assert gemm.every.count == len(found.counted)
    assert gemm.typical.count == len(found.typical)


def test_idle_time_by_what_the_host_did(tmp_path):
    trace = steps_of(TraceBuilder(), *[1000] * 4)
    for ts in range(0, 4000, 1000):
        trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", ts + 10, 500)
        trace.kernel("gemm", ts + 600, 400, launched=(ts + 550, 5))
    found = read(trace, tmp_path)
    adds_up(found)
    (waits,) = (each for each in found.items if each.category == "idle_data")
    assert waits.name == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert waits.every.dur == sum(step.ledger["idle_data"] for step in found.counted)


def test_without_a_gpu_the_ledger_is_that_of_the_training_thread(tmp_path):
    trace = steps_of(TraceBuilder(), 1000, 1000)
    trace.op("aten::mm", 10, 50)
    (found,) = read_runs(trace.build(tmp_path)._connection, "made up").values()
    assert (found.source, found.file, found.device) == ("made up", "made-up-1.json", None)
    assert [(step.name, step.dur, dict(step.ledger), dict(step.gpu_ledger)) for step in found.steps] == [
        ("ProfilerStep#0", 1000, {"host_annotation": 950, "host_operator": 50}, {}),
        ("ProfilerStep#1", 1000, {"host_annotation": 1000}, {}),
    ]
    assert found.step_source == "profiler_step"


def test_without_a_gpu_the_items_are_host_slices_and_a_fetch_is_one(tmp_path):
    trace = steps_of(TraceBuilder(), 1000, 1000, 1000, 1000)
    for number, ts in enumerate((0, 1000, 2000, 3000)):
        trace.annotation("enumerate(DataLoader)#_Single.__next__", ts + 10, 100 + 50 * number)
        trace.op("aten::randn", ts + 20, 40)
        trace.op("aten::mm", ts + 400, 300)
        trace.op("aten::add", ts + 450, 50)
    trace.cpu("python", "train.py(30): log_metrics", 800, 100)
    found = read(trace, tmp_path)
    assert (
        table(found)
        == """\
host_annotation ProfilerStep# - - 4 2000 0
host_data enumerate(DataLoader)#_Single.__next__ - - 4 700 0
host_operator aten::add - - 4 200 0
host_operator aten::mm - - 4 1000 0
host_python train.py(30): log_metrics - - 1 100 0"""
    )
    adds_up(found)


def test_slices_of_no_length(tmp_path):
    trace = steps_of(TraceBuilder(), 1000, 1000)
    trace.kernel("nothing", 1000, 0, launched=(10, 5))
    trace.kernel("nothing", 1999, 0, launched=(1010, 5))
    trace.kernel("gemm", 100, 300, launched=(20, 5))
    found = read(trace, tmp_path)
    adds_up(found)


def test_names_are_kept_as_they_are(tmp_path):
    name = "<script>alert('x')</script>\n\x1b[31m; drop table step --" + "é" * 10_000
    trace = steps_of(TraceBuilder(), 1000)
    trace.kernel(name, 100, 300, launched=(20, 5))
    found = read(trace, tmp_path)
    assert name in {each.name for each in found.items}


def test_the_many_small_ones_are_one_item(tmp_path):
    trace = steps_of(TraceBuilder(), 100 * MS, 100 * MS)
    for number in range(700):
        trace.kernel(f"kernel {number}", 1000 * number + 500, 10 + number // 100, launched=(1000 * number + 10, 5))
    found = read(trace, tmp_path)
    adds_up(found)
    unnamed = [each for each in found.items if each.name is None and each.category == "compute"]
    assert len(unnamed) == 1
    assert sum(each.every.count for each in found.items if each.category == "compute") == 700


def test_random_traces_add_up_and_compare(tmp_path):
    """Whatever a trace holds, causes and their parts add up."""
    runs = []
    for seed in (0, 1, 3, 6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        runs.append(replace(read(Worlds(seed, 6).trace, folder), sha256=str(seed)))
    for base, new in combinations(runs, 2):
        found = compare([base], [new], anyway=True)
        assert sum(cause.delta_ns for cause in found.causes) == found.change.delta_ns
        for cause in found.causes:
            assert not cause.parts or sum(part.delta_ns for part in cause.parts) == cause.delta_ns
