"""Page faults on unified memory, of GPUs and of the CPU; their addresses are not kept."""

from __future__ import annotations

import pyarrow as pa

from traceq.importers.nsys.columns import constant, durations, labelled, within
from traceq.importers.nsys.context import Job, Rows, batch_of
from traceq.importers.nsys.threads import pids

GPU = "CUDA_UM_GPU_PAGE_FAULT_EVENTS"
CPU = "CUDA_UM_CPU_PAGE_FAULT_EVENTS"
TABLES = (GPU, CPU)

_ACCESS = {1: "read", 2: "write", 3: "atomic", 4: "prefetch"}
_MOST_FAULTS = 1 << 40


def read_page_faults(job: Job) -> Rows:
    """All rows of page_fault."""
    wanted = ["start", "end", "globalPid", "deviceId", "numberOfPageFaults", "faultAccessType"]
    for rows in job.timed(GPU, wanted):
        yield "page_fault", _of_gpu(job, rows)
    for rows in job.timed(CPU, ["start", "globalPid", "CpuInstruction"]):
        yield "page_fault", _of_cpu(job, rows)


def _of_gpu(job: Job, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Groups of faults on one page; a group of unknown size is at least one fault."""
    process_ids = pids(rows.column("globalPid"))
    sizes = within(rows.column("numberOfPageFaults"), 1, _MOST_FAULTS, "numberOfPageFaults", job.notes)
    return batch_of(
        {
            "processor": constant("gpu", rows.num_rows),
            "device": job.devices.numbers(rows.column("deviceId"), process_ids),
            "pid": process_ids,
            "ts": rows.column("start"),
            "dur": durations(rows.column("start"), rows.column("end"), GPU, job.notes),
            "faults": sizes.fill_null(1),
            "access": labelled(rows.column("faultAccessType"), _ACCESS),
        }
    )


def _of_cpu(job: Job, rows: pa.RecordBatch) -> pa.RecordBatch:
    return batch_of(
        {
            "processor": constant("cpu", rows.num_rows),
            "pid": pids(rows.column("globalPid")),
            "ts": rows.column("start"),
            "faults": pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows),
            "function": job.strings.optional(rows.column("CpuInstruction")),
        }
    )
