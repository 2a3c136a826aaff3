"""Call stacks of CUDA and system calls in nsys exports."""

from __future__ import annotations

from nsys_export import RUNTIME, count_notes, global_id, pick_columns, read, write

STRINGS = {
    1: "cudaMalloc",
    2: "poll",
    3: "main",
    4: "train(int)",
    5: "/home/me/a.out",
    6: "/usr/lib/libc-2.31.so",
    7: "0x7f881a6f3a60",
    8: "/usr/lib/libcuda.so.1",
    9: "NSYS_OSRT_poll_1",
    10: "/opt/nsys/libToolsInjection64.so",
    11: "__libc_start_main",
    12: "f" * 300,
    14: "cudaFree",
}
COLUMNS = "slice_id stack caller"


def make_call(start, name, **columns):
    return {"start": start, "end": start + 5, "globalTid": global_id(), "nameId": name, **columns}


def make_chain(number, *frames):
    """Entries (symbol, module) from the innermost on."""
    return [
        {"id": number, "symbol": symbol, "module": module, "unresolved": None, "stackDepth": depth}
        for depth, (symbol, module) in enumerate(frames)
    ]


def import_rows(tmp_path, **tables):
    return read(write(tmp_path / "a.sqlite", STRINGS, **tables))


def test_a_system_call_has_its_stack_without_the_profiler(tmp_path):
    calls = [make_call(0, 2, callchainId=7), make_call(10, 2, callchainId=8), make_call(20, 2, callchainId=7)]
    chain = make_chain(7, (9, 10), (2, 6), (4, 5), (3, 5), (11, 6))
    tables = import_rows(tmp_path, OSRT_API=calls, OSRT_CALLCHAINS=chain)
    stack = "__libc_start_main > main > train(int) > poll"
    assert pick_columns(tables["backtrace"], COLUMNS) == [(0, stack, "train(int)"), (2, stack, "train(int)")]
    assert count_notes(tables) == {}


def test_a_cuda_call_has_the_stack_of_the_row_that_repeats_it(tmp_path):
    other = global_id(9)
    calls = [
        make_call(0, 1, eventClass=67, correlationId=1, callchainId=0),
        make_call(1, 1, eventClass=0, correlationId=1),
        make_call(20, 1, eventClass=0, correlationId=2),
        make_call(30, 1, eventClass=0, correlationId=1) | {"globalTid": other},
    ]
    tables = import_rows(tmp_path, **{RUNTIME: calls}, CUDA_CALLCHAINS=make_chain(0, (1, 5), (3, 5)))
    assert len(tables["cpu_slice"]) == 3
    assert pick_columns(tables["backtrace"], COLUMNS) == [(0, "main > cudaMalloc", "main")]
    assert count_notes(tables) == {"cuda_backtrace_not_imported": 1}


def test_stacks_numbered_from_1_where_calls_number_them_from_0(tmp_path):
    calls, chains = [], []
    for number, (name, caller) in enumerate([(1, 3), (1, 4), (14, 3), (14, 4)]):
        calls += [
            make_call(10 * number, name, eventClass=67, correlationId=number + 1, callchainId=number),
            make_call(10 * number + 1, name, eventClass=0, correlationId=number + 1),
        ]
        chains += make_chain(number + 1, (name, 5), (caller, 5))
    tables = import_rows(tmp_path, **{RUNTIME: calls}, CUDA_CALLCHAINS=chains)
    assert pick_columns(tables["backtrace"], "slice_id stack") == [
        (0, "main > cudaMalloc"),
        (1, "train(int) > cudaMalloc"),
        (2, "main > cudaFree"),
        (3, "train(int) > cudaFree"),
    ]


def test_functions_without_names_are_their_file_once(tmp_path):
    chain = make_chain(1, (2, 6), (7, 8), (7, 8), (3, 5), (7, 8))
    tables = import_rows(tmp_path, OSRT_API=[make_call(0, 2, callchainId=1)], OSRT_CALLCHAINS=chain)
    assert pick_columns(tables["backtrace"], COLUMNS) == [
        (0, "[libcuda.so.1] > main > [libcuda.so.1] > poll", "main"),
    ]


def test_a_function_that_calls_itself_is_there_each_time(tmp_path):
    chain = make_chain(1, (2, 6), (4, 5), (4, 5), (3, 5))
    tables = import_rows(tmp_path, OSRT_API=[make_call(0, 2, callchainId=1)], OSRT_CALLCHAINS=chain)
    assert pick_columns(tables["backtrace"], "stack") == [("main > train(int) > train(int) > poll",)]


def test_long_stacks_lose_their_outer_frames_and_long_names_their_end(tmp_path):
    chain = make_chain(1, (2, 6), *[(4, 5)] * 70, (3, 5)) + make_chain(2, (12, 5))
    calls = [make_call(0, 2, callchainId=1), make_call(10, 2, callchainId=2)]
    tables = import_rows(tmp_path, OSRT_API=calls, OSRT_CALLCHAINS=chain)
    (deep,), (long,) = pick_columns(tables["backtrace"], "stack")
    assert deep == " > ".join(["train(int)"] * 63 + ["poll"])
    assert len(long) == 120


def test_the_order_of_entries_does_not_matter(tmp_path):
    chain = make_chain(1, (2, 6), (4, 5), (3, 5))
    mixed = [chain[1], *make_chain(2, (2, 6)), chain[2], chain[0]]
    tables = import_rows(tmp_path, OSRT_API=[make_call(0, 2, callchainId=1)], OSRT_CALLCHAINS=mixed)
    assert pick_columns(tables["backtrace"], "stack") == [("main > train(int) > poll",)]


def test_a_stack_of_the_profiler_alone_is_none(tmp_path):
    chain = make_chain(5, (9, 10))
    assert "backtrace" not in import_rows(tmp_path, OSRT_API=[make_call(0, 2, callchainId=5)], OSRT_CALLCHAINS=chain)


def test_without_stacks_there_are_no_rows(tmp_path):
    assert "backtrace" not in import_rows(tmp_path, OSRT_API=[make_call(0, 2, callchainId=5)])
