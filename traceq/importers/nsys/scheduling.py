"""When threads were put on a CPU and taken off it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from traceq.importers.nsys.columns import int32, labelled
from traceq.importers.nsys.context import Job, Rows, batch_of

TABLE = "SCHED_EVENTS"
TABLES = (TABLE,)

# threadState when it was taken off (ENUM_SAMPLING_THREAD_STATE); Linux exports have 0, or 5 at the thread's end.
_STATES = {1: "preempted", 2: "waiting", 3: "waiting", 4: "stopped", 5: "ended", 7: "waiting", 8: "waiting"}
# threadBlock says more (ENUM_SCHEDULING_THREAD_BLOCK), on Windows and QNX; what is not listed waits for something.
_BLOCKS = {
    **dict.fromkeys((42, 43, 44, 45, 49, 51), "preempted"),
    **dict.fromkeys((17, 20, 21, 30, 31, 52), "page_fault"),
    **dict.fromkeys((3, 24), "stopped"),
    34: "ended",
}
_NO_BLOCK = (0, 1)


def read_scheduling(job: Job) -> Rows:
    """Rows of thread_switch for threads of which something else was recorded, too: the program's, not the machine's."""
    for rows in job.timed(TABLE, ["start", "globalTid", "cpu", "isSchedIn", "threadState", "threadBlock"]):
        known = rows.filter(job.threads.are_known(rows.column("globalTid")))
        if known.num_rows:
            yield "thread_switch", _switches(job, known)


def _switches(job: Job, rows: pa.RecordBatch) -> pa.RecordBatch:
    on_cpu = pc.not_equal(rows.column("isSchedIn").fill_null(0), 0)
    reasons = pc.coalesce(_blocked(rows.column("threadBlock")), _words(rows.column("threadState"), _STATES))
    return batch_of(
        {
            "thread_id": job.threads.numbers(rows.column("globalTid")),
            "ts": rows.column("start"),
            "on_cpu": on_cpu,
            "cpu": int32(rows.column("cpu"), "cpu", job.notes),
            "reason": pc.if_else(on_cpu, pa.scalar(None, pa.string()), reasons),
        }
    )


def _blocked(blocks: pa.Array) -> pa.Array:
    says_nothing = pc.or_kleene(blocks.is_null(), pc.is_in(blocks, value_set=pa.array(_NO_BLOCK, pa.int64())))
    words = pc.coalesce(_words(blocks, _BLOCKS), pa.scalar("waiting"))
    return pc.if_else(says_nothing, pa.scalar(None, pa.string()), words)


def _words(codes: pa.Array, words: dict[int, str]) -> pa.Array:
    return labelled(codes, words).cast(pa.string())
