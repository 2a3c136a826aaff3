"""Samples of call chains in nsys exports: what is kept of each."""

from __future__ import annotations

import pytest
from nsys_export import RUNTIME, count_notes, global_id, pick_columns, read, write

from traceq.importers.nsys.samples import kind_of

SAMPLES = "COMPOSITE_EVENTS"
CHAINS = "SAMPLING_CALLCHAINS"
COLUMNS = "thread_id ts symbol module caller"

STRINGS = {
    1: "cudaLaunchKernel",
    2: "/usr/lib/libm.so.6",
    3: "/home/me/a.out",
    4: "expf",
    5: "solve(float*, int)",
    6: "main",
    7: "[Max depth]",
    8: "0x7f881a6f3a60",
    9: "std::vector<int>::resize(unsigned long)",
    10: "/opt/nsys/libToolsInjection64.so",
    11: "NSYS_OSRT_fwrite_1",
    12: "/usr/lib/libc-2.31.so",
    13: "__libc_start_main",
}
# Only threads of which something else was recorded count.
CALLS = [{"start": 1, "end": 2, "globalTid": global_id(), "nameId": 1, "correlationId": 1}]


def make_chain(sample, *frames):
    """Entries (symbol, module, unresolved) from the innermost on."""
    return [
        {"id": sample, "symbol": symbol, "module": module, "unresolved": unresolved, "stackDepth": depth}
        for depth, (symbol, module, *rest) in enumerate(frames)
        for unresolved in [rest[0] if rest else None]
    ]


def import_rows(tmp_path, *chains, samples=None):
    rows = samples or [
        {"id": number, "start": 10 * number, "globalTid": global_id(), "cpuCycles": 1}
        for number in range(1, len(chains) + 1)
    ]
    tables = {SAMPLES: rows, CHAINS: [row for each in chains for row in each]}
    return read(write(tmp_path / "a.sqlite", STRINGS, **{RUNTIME: CALLS}, **tables))


def test_the_innermost_name_and_the_programs_own_function_are_kept(tmp_path):
    tables = import_rows(
        tmp_path,
        make_chain(1, (4, 2), (9, 3), (5, 3), (6, 3), (13, 12), (7, 7)),
        make_chain(2, (5, 3), (6, 3)),
    )
    assert pick_columns(tables["cpu_sample"], COLUMNS) == [
        (0, 10, "expf", "libm.so.6", "solve(float*, int)"),
        (0, 20, "solve(float*, int)", "a.out", "solve(float*, int)"),
    ]
    assert count_notes(tables) == {}


def test_an_address_is_no_name(tmp_path):
    """Newer exports say which entries could not be resolved; of all the address is the name."""
    tables = import_rows(
        tmp_path,
        make_chain(1, (8, 2, 1), (6, 3, 0)),
        make_chain(2, (8, 2)),
        make_chain(3, (4, 2, 1)),
    )
    assert pick_columns(tables["cpu_sample"], COLUMNS) == [
        (0, 10, "main", "libm.so.6", "main"),
        (0, 20, None, "libm.so.6", None),
        (0, 30, None, "libm.so.6", None),
    ]


def test_the_profiler_and_entries_that_it_adds_are_no_part_of_the_chain(tmp_path):
    tables = import_rows(tmp_path, make_chain(1, (8, 10), (11, 10), (5, 3)), make_chain(2, (7, 7)), make_chain(3))
    assert pick_columns(tables["cpu_sample"], COLUMNS) == [
        (0, 10, "solve(float*, int)", "a.out", "solve(float*, int)"),
        (0, 20, None, None, None),
        (0, 30, None, None, None),
    ]


def test_chains_in_any_order_and_of_samples_that_are_not_there(tmp_path):
    rows = [
        {"id": 7, "start": 70, "globalTid": global_id()},
        {"id": 3, "start": 30, "globalTid": global_id()},
        {"id": 4, "start": 40, "globalTid": global_id(999)},
        {"id": 5, "start": None, "globalTid": global_id()},
        {"id": None, "start": 50, "globalTid": global_id()},
        {"id": 6, "start": 60, "globalTid": None},
    ]
    entries = [*make_chain(7, (4, 2), (5, 3)), *make_chain(99, (6, 3)), *make_chain(4, (6, 3)), *make_chain(3, (6, 3))]
    tables = import_rows(tmp_path, entries[::-1], samples=rows)
    assert pick_columns(tables["cpu_sample"], COLUMNS) == [
        (0, 30, "main", "a.out", "main"),
        (0, 70, "expf", "libm.so.6", "solve(float*, int)"),
    ]
    assert count_notes(tables) == {"no_start_time": 1}
    assert len(tables["thread"]) == 1


def test_samples_without_chains_say_when_the_thread_ran(tmp_path):
    rows = [{"id": 1, "start": 5, "globalTid": global_id()}]
    tables = read(write(tmp_path / "a.sqlite", STRINGS, **{RUNTIME: CALLS, SAMPLES: rows}))
    assert pick_columns(tables["cpu_sample"], COLUMNS) == [(0, 5, None, None, None)]


@pytest.mark.parametrize(
    ("symbol", "module", "kind"),
    [
        ("main", "a.out", 3),
        ("CLUEAlgo<Tiles, 100>::verbose(int) const", "main", 3),
        ("at::native::copy_(at::Tensor&)", "libtorch_cpu.so", 3),
        ("_start", "a.out", 2),
        ("void std::_Construct<int>(int*)", "a.out", 2),
        ("bool std::operator==<int>(int, int)", "a.out", 2),
        ("cudaMemcpy", "a.out", 2),
        ("__cudart553", "a.out", 2),
        ("expf", "libm.so.6", 2),
        ("__GI___printf_fp_l", "libc-2.28.so", 2),
        ("_PyEval_EvalFrameDefault", "python3.11", 2),
        ("PyEval_EvalCode", "libpython3.10.so.1.0", 2),
        ("cuCtxSynchronize", "libcuda.so.1.1", 2),
        ("GOMP_barrier", "libgomp.so.1", 2),
        ("0x51afdd", "python3.11", 1),
        ("", "a.out", 1),
        ("[vdso]", "[vdso]", 0),
        ("[Broken backtraces]", "[Broken backtraces]", 0),
        ("NSYS_OSRT_write_1", "libToolsInjection64.so", 0),
    ],
)
def test_whose_an_entry_is(symbol, module, kind):
    assert kind_of(symbol, module) == kind
