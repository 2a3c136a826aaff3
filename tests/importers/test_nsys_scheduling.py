"""When threads were on a CPU, in nsys exports."""

from __future__ import annotations

from nsys_export import RUNTIME, count_notes, global_id, pick_columns, read, write

TABLE = "SCHED_EVENTS"
COLUMNS = "thread_id ts on_cpu cpu reason"
CALLS = [{"start": 1, "end": 2, "globalTid": global_id(), "nameId": 1, "correlationId": 1}]


def import_rows(tmp_path, *rows):
    return read(write(tmp_path / "a.sqlite", {1: "cudaLaunchKernel"}, **{RUNTIME: CALLS, TABLE: list(rows)}))


def test_exports_until_2023_have_times_and_directions(tmp_path):
    tables = import_rows(
        tmp_path,
        {"start": 10, "cpu": 3, "isSchedIn": 1, "globalTid": global_id()},
        {"start": 20, "cpu": 3, "isSchedIn": 0, "globalTid": global_id()},
    )
    assert pick_columns(tables["thread_switch"], COLUMNS) == [(0, 10, True, 3, None), (0, 20, False, 3, None)]
    assert count_notes(tables) == {}


def test_newer_ones_may_say_why_a_thread_was_taken_off(tmp_path):
    """Linux writes 0 for unknown, and 5 at the end of a thread; other systems also what it waits for."""
    states = [(0, None), (0, 0), (5, None), (1, None), (2, 0), (0, 44), (7, 17), (7, 6)]
    rows = [
        {"start": at, "cpu": 0, "isSchedIn": 0, "globalTid": global_id(), "threadState": state, "threadBlock": block}
        for at, (state, block) in enumerate(states)
    ]
    tables = import_rows(tmp_path, *rows, {**rows[5], "start": 9, "isSchedIn": 1})
    reasons = [row.get("reason") for row in tables["thread_switch"]]
    assert reasons == [None, None, "ended", "preempted", "waiting", "preempted", "page_fault", "waiting", None]


def test_threads_of_which_nothing_else_is_known_are_left_out(tmp_path):
    tables = import_rows(
        tmp_path,
        {"start": 10, "cpu": 3, "isSchedIn": 1, "globalTid": global_id(999)},
        {"start": 11, "cpu": 3, "isSchedIn": 1, "globalTid": None},
        {"start": None, "cpu": 3, "isSchedIn": 1, "globalTid": global_id()},
        {"start": 12, "cpu": None, "isSchedIn": None, "globalTid": global_id()},
    )
    assert pick_columns(tables["thread_switch"], COLUMNS) == [(0, 12, False, None, None)]
    assert count_notes(tables) == {"no_start_time": 1}
    assert len(tables["thread"]) == 1
