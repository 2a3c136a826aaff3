"""Samples of Python stacks in a trace's metadata: which time they name, and by which functions."""

from __future__ import annotations

import random
from contextlib import closing

import pytest
from chrome_trace import PID, TID, make_event, make_op, write
from chrome_trace import tables_of as read_tables

import traceq

ORIGIN = 1_775_078_550_000_000_000
MAIN, STEP, LOG, HELP = "train.py(1): <module>", "train.py(5): step", "train.py(20): log", "train.py(30): render"
TORCH, JSON, DUMPS = "torch/_tensor.py(5): backward", "json/__init__.py(183): dumps", "<built-in function encode>"
FETCH, ITEM = "torch/utils/data/_utils/fetch.py(49): fetch", "train.py(40): __getitem__"
FUNCTIONS = [MAIN, STEP, LOG, HELP, TORCH, JSON, DUMPS, FETCH, ITEM]
OWN = [FUNCTIONS.index(name) for name in (MAIN, STEP, LOG, HELP, ITEM)]
# Milliseconds of a program's steps; each sample is (time in ms, stack).
PERIOD = 20


def metadata(*samples, collections=(), thread=TID, threads=None):
    """The member that traceq writes, of samples (ms, names from the outermost on); times are relative to the trace's zero."""
    stacks = [[FUNCTIONS.index(name) for name in names] for _, names in samples]
    rows = [[thread, number, ORIGIN + ms * 10**6] for number, (ms, _) in enumerate(samples)]
    noted = [[thread, ORIGIN + begin * 10**6, ORIGIN + end * 10**6, 2] for begin, end in collections]
    return {
        "pid": PID,
        "period_ns": PERIOD * 10**6,
        "functions": FUNCTIONS,
        "own": OWN,
        "stacks": stacks,
        "samples": rows,
        "collections": noted,
        "threads": {str(TID): "MainThread"} if threads is None else threads,
    }


def steps(count=3):
    """Steps of 100 ms: an operator, a gap of 50 ms, another operator."""
    for number in range(count):
        ts = 100_000 * number
        yield make_event("user_annotation", f"ProfilerStep#{number}", ts, 100_000)
        yield make_op("aten::mm", ts, 30_000)
        yield make_op("aten::add", ts + 80_000, 20_000)


def frames_of(folder, *events, **samples):
    """Sampled frames as text, a line each: thread, begin and length in ms, name."""
    members = {"baseTimeNanoseconds": ORIGIN, "traceq_samples": metadata(*samples.pop("samples", ()), **samples)}
    path = write(folder, *events, after=members)
    traceq.ingest([path], folder / "x.duckdb")
    with traceq.open(folder / "x.duckdb") as traces:
        rows = traces.sql(
            "select thread_id, ts // 1000000, dur // 1000000, name from cpu_slice where category = 'sampled'"
            " order by thread_id, ts, depth"
        ).fetchall()
    return ["  ".join(map(str, row)) for row in rows]


def test_a_sample_names_the_gap_it_was_taken_in(tmp_path):
    """Samples in operators say nothing of gaps. STEP is around all of it, as most of its time is PyTorch's."""
    samples = [
        (10, [MAIN, STEP, TORCH]),
        (50, [MAIN, STEP, LOG]),
        (90, [MAIN, STEP, TORCH]),
        (110, [MAIN, STEP, TORCH]),
    ]
    assert frames_of(tmp_path, *steps(1), samples=samples) == [f"0  30  50  {LOG}"]


def test_a_gap_without_a_sample_is_named_by_the_same_gap_of_other_steps(tmp_path):
    samples = [(50, [MAIN, STEP, LOG]), (190, [MAIN, STEP, TORCH]), (210, [MAIN, STEP, TORCH])]
    assert frames_of(tmp_path, *steps(3), samples=samples) == [f"0  {ts}  50  {LOG}" for ts in (30, 130, 230)]


def test_between_two_samples_of_a_gap_names_change_half_way(tmp_path):
    samples = [(40, [MAIN, LOG]), (60, [MAIN, HELP]), (90, [MAIN, TORCH]), (10, [MAIN, TORCH])]
    assert frames_of(tmp_path, *steps(1), samples=sorted(samples)) == [f"0  30  20  {LOG}", f"0  50  30  {HELP}"]


def test_a_thread_that_was_elsewhere_between_equal_samples_is_not_taken_to_have_stayed(tmp_path):
    """LOG in the gaps of both steps, and HELP in between: in the gap without a sample."""
    events = [
        make_op("aten::mm", 0, 30_000),
        make_op("aten::mm", 80_000, 20_000),
        make_op("aten::add", 150_000, 10_000),
    ]
    events += [make_op("aten::mm", 210_000, 10_000)]
    samples = [(50, [MAIN, LOG]), (90, [MAIN, TORCH]), (180, [MAIN, LOG])]
    assert frames_of(tmp_path, *events, samples=samples) == [f"0  30  50  {LOG}", f"0  160  50  {LOG}"]


def test_the_outermost_function_of_the_program_the_library_and_the_c_function_are_kept(tmp_path):
    samples = [(10, [MAIN, TORCH]), (50, [MAIN, LOG, HELP, JSON, DUMPS]), (90, [MAIN, TORCH])]
    assert frames_of(tmp_path, *steps(1), samples=samples) == [f"0  30  50  {name}" for name in (LOG, JSON, DUMPS)]


def test_in_a_fetch_the_innermost_function_of_the_program_is_kept_too(tmp_path):
    samples = [(50, [MAIN, FETCH, ITEM, HELP, DUMPS])]
    assert frames_of(tmp_path, *steps(1), samples=samples) == [f"0  30  50  {name}" for name in (ITEM, HELP, DUMPS)]


def test_collections_of_garbage_are_inside_and_to_the_microsecond(tmp_path):
    samples = [(10, [MAIN, TORCH]), (50, [MAIN, LOG]), (90, [MAIN, TORCH])]
    assert frames_of(tmp_path, *steps(1), samples=samples, collections=[(55, 65)]) == [
        f"0  30  25  {LOG}",
        f"0  55  10  {LOG}",
        "0  55  10  Python GC",
        f"0  65  15  {LOG}",
    ]


def test_a_thread_without_operators_is_shown_while_it_does_something(tmp_path):
    waiting = "<built-in method queue.acquire>"
    FUNCTIONS.append(waiting)
    try:
        samples = [(50, [MAIN, LOG]), (60, [MAIN, HELP, waiting])]
        found = frames_of(tmp_path, *steps(1), samples=samples, thread=7, threads={"7": "writer"})
    finally:
        FUNCTIONS.remove(waiting)
    assert found == [f"1  0  55  {LOG}"]


@pytest.mark.parametrize(
    "damage",
    [
        {"stacks": [[99]]},
        {"samples": [[TID, 5, 1]]},
        {"own": [-1]},
        {"functions": None},
        {"samples": "x"},
        {"collections": [[TID, 1, 2, 1 << 70]]},
        {"period_ns": 0},
        {"samples": [[TID, 0, 1 << 70]]},
    ],
)
def test_damaged_samples_are_left_out_with_a_note(tmp_path, damage):
    members = {"baseTimeNanoseconds": ORIGIN, "traceq_samples": metadata((50, [MAIN, LOG])) | damage}
    traceq.ingest([write(tmp_path, *steps(1), after=members)], tmp_path / "x.duckdb")
    with traceq.open(tmp_path / "x.duckdb") as traces:
        assert traces.sql("select count(*) from cpu_slice where category = 'sampled'").fetchall() == [(0,)]
        codes = {code for (code,) in traces.sql("select code from import_note").fetchall()}
    assert "metadata_damaged" in codes


def test_without_the_zero_of_its_clock_a_trace_has_no_samples(tmp_path):
    tables = read_tables(tmp_path, *steps(1), after={"traceq_samples": metadata((50, [MAIN, LOG]))})
    assert "python_sample" not in tables


@pytest.mark.parametrize("seed", range(5))
def test_sampled_frames_overlap_nothing_that_was_recorded(tmp_path, seed):
    """Whatever was sampled: frames lie in gaps, and those of one level do not overlap."""
    chance = random.Random(seed)  # noqa: S311
    ts, events = 0, []
    while ts < 400_000:
        length = chance.choice([200, 3_000, 20_000])
        events.append(make_op(f"aten::op{chance.randrange(3)}", ts, length))
        ts += length + chance.choice([0, 100, 1_500, 30_000])
    names = [[MAIN, LOG], [MAIN, LOG, JSON, DUMPS], [MAIN, STEP, TORCH], [MAIN, FETCH, ITEM]]
    samples = sorted((chance.randrange(-20, 430), chance.choice(names)) for _ in range(60))
    collections = [(begin, begin + chance.randrange(1, 30)) for begin in (20, 90, 200, 390)]
    members = {"baseTimeNanoseconds": ORIGIN, "traceq_samples": metadata(*samples, collections=collections)}
    traceq.ingest([write(tmp_path, *events, after=members)], tmp_path / "x.duckdb")
    with closing(traceq.open(tmp_path / "x.duckdb")) as traces:
        ((count, overlaps),) = traces.sql(
            "select count(*), count(*) filter (o.slice_id is not null) from cpu_slice as s left join cpu_slice as o"
            " on o.thread_id = s.thread_id and o.kind = 'op' and o.ts < s.ts_end and o.ts_end > s.ts"
            " where s.category = 'sampled'"
        ).fetchall()
        ((twice,),) = traces.sql(
            "select count(*) from (select ts, lag(ts_end) over (partition by thread_id, depth order by ts) as before"
            " from cpu_slice where category = 'sampled') where ts < before"
        ).fetchall()
    assert count > 0
    assert (overlaps, twice) == (0, 0)
