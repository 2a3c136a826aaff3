"""Inputs of rules, how many a trace has, and the words for one that lacks them. traceq.formats says how to record them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from traceq.database.query import ask
from traceq.database.sql import statement

if TYPE_CHECKING:
    import duckdb

_SEVERAL_STEPS = 3


class CannotTell(Exception):
    """Raised by a rule whose input the trace lacks; the text says which input, and how to get it."""


class NothingThere(Exception):
    """Raised by a rule that has its input, but what it is about did not happen in the trace; the text says so."""


class Need(NamedTuple):
    """An input of rules: the column of diagnosis/sql/present.sql that counts it, and words that say that a trace lacks it."""

    column: str
    lacking: str


NEEDS = {
    "gpu": Need("gpu_slices", "no GPU activity was traced"),
    "steps": Need("steps", "no step is left to count"),
    "several_steps": Need("several_steps", "fewer than three counted steps"),
    "launches": Need("launches", "the trace has no launch calls"),
    "calls": Need("calls", "the trace has no runtime calls"),
    "operators": Need("operators", "the trace has no PyTorch operators"),
    "annotations": Need("annotations", "the trace has no ranges"),
    "phases": Need("phases", "nothing marks forward, backward and optimizer"),
    "os_calls": Need("os_calls", "system calls were not traced"),
    "scheduling": Need("scheduling", "the trace does not show when threads were on a CPU"),
    "python_frames": Need("python_frames", "Python frames were not traced"),
    "fetches": Need("fetches", "nothing marks the fetching of input"),
    "synchronizations": Need(
        "synchronizations", "there are no synchronization records, so what streams waited for is not known"
    ),
    "copy_memory": Need("copy_memory", "the kinds of memory in copies are not known"),
    "kernel_geometry": Need("kernel_geometry", "no kernel has its grid and block"),
    "occupancy": Need("occupancy", "occupancy is not known: the limits of the GPU or the launch geometry are missing"),
    "shapes": Need("shapes", "no shapes of operators were recorded"),
    "types": Need("types", "the types of operators' tensors were not recorded"),
    "flops": Need("flops", "floating-point operations are not known"),
    "peaks": Need("peaks", "the GPU's peak, or the type of the arithmetic, is not known"),
    "message_sizes": Need("message_sizes", "message sizes of collectives are not known"),
    "host_alone": Need("host_alone", "this program uses a GPU, whose work was not captured"),
    "memory_samples": Need("memory_samples", "there are no samples of allocated memory"),
    "allocations": Need("allocations", "no memory snapshot shows what was allocated where"),
    "gpu_clocks": Need("gpu_clocks", "no monitor logged the GPU's clock during the trace"),
    "throttle_reasons": Need("throttle_reasons", "no monitor logged what keeps the GPU's clock down"),
    "disk_samples": Need("disk_samples", "no monitor logged the disks during the trace"),
    "cpu_samples_logged": Need("cpu_samples_logged", "no monitor logged the host's run queue or steal time"),
    "cpu_count": Need("cpu_count", "no log says how many CPUs the host has"),
    "steal": Need("steal", "no monitor logged the host's steal time"),
    "swap_samples": Need("swap_samples", "no monitor logged the host's swapping"),
}


class Present(Mapping[str, int]):
    """The counts of a trace and its critical device (-2 for none) by name: those of diagnosis/sql/present.sql, and its steps.

    They are read when the first is asked for: a report on cached judgements asks for none. Reading them raises
    ValueError where present.sql lacks a column of NEEDS.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, trace_id: int, device: int, steps: int) -> None:
        self._connection = connection
        self._values = {"trace_id": trace_id, "device": device}
        self._steps = steps

    @cached_property
    def _count_by_name(self) -> dict[str, int]:
        (found,) = ask(self._connection, statement("diagnosis/sql/present.sql"), **self._values)
        found |= {"steps": self._steps, "several_steps": int(self._steps >= _SEVERAL_STEPS)}
        unknown = {need.column for need in NEEDS.values()} - set(found)
        if unknown:
            raise ValueError(f"diagnosis/sql/present.sql does not count {', '.join(sorted(unknown))}")
        return found

    def __getitem__(self, name: str) -> int:
        return self._count_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._count_by_name)

    def __len__(self) -> int:
        return len(self._count_by_name)
