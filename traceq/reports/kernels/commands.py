"""The command lines that run a kernel profiler on the hot kernels of a trace, and export what it finds as CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from shlex import quote
from typing import NamedTuple

from traceq.common.kernel_names import LONGEST_WORD, kernel_word
from traceq.reports.kernels.model import HotKernel, ProfilerCommand

# What traceq reads of a report: fewer passes over each launch than --set full.
_SECTIONS = ("SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "SchedulerStats", "MemoryWorkloadAnalysis")
_NVTX_SPECIAL = re.compile(r"([@,\[\]/*+\\])")
_PLACEHOLDER = "PROGRAM"


class SteadyStep(NamedTuple):
    """Place of a steady step: `skipped` steps are before it; `range_name` is the NVTX range of one alone, None without."""

    skipped: int
    range_name: str | None


def write_ncu_commands(
    kernels: Sequence[HotKernel], steady: SteadyStep, program: str = _PLACEHOLDER
) -> tuple[ProfilerCommand, ...]:
    """Return the command of Nsight Compute that measures a launch of each kernel and geometry, and the export as CSV.

    It applies its filter to each kernel and launch geometry apart.
    """
    words = list_words(kernels)
    if not words:
        return ()
    command = _write_ncu(words, count_skipped(kernels, steady), steady, program)
    export = "ncu --import hot_kernels.ncu-rep --csv --page raw --print-units base > hot_kernels.csv"
    return (ProfilerCommand("Measure them", command), ProfilerCommand("Export it as CSV", export))


def list_words(kernels: Sequence[HotKernel]) -> list[str]:
    """Return the names by which profilers know the kernels, once each; without those whose name holds none."""
    return list(dict.fromkeys(word for kernel in kernels if (word := kernel_word(kernel.name)) is not None))


def count_skipped(kernels: Sequence[HotKernel], steady: SteadyStep) -> int:
    """Return how many launches of each kernel to skip, so that all of them are in steady steps."""
    if steady.range_name is not None:
        return 0
    return max((math.ceil(steady.skipped * kernel.kernels_per_step) for kernel in kernels), default=0)


def count_needed_steps(kernels: Sequence[HotKernel], steady: SteadyStep) -> int:
    """Return how many steps the program must run for each kernel to be launched once more than is skipped."""
    least = min((kernel.kernels_per_step for kernel in kernels if kernel.kernels_per_step), default=1.0)
    return math.ceil((count_skipped(kernels, steady) + 1) / least)


def _write_ncu(words: Sequence[str], skip: int, steady: SteadyStep, program: str) -> str:
    """Return a command of Nsight Compute for kernels with these words as names."""
    # a word that was cut is the beginning of a name
    names = "|".join(re.escape(word) + ("$" if len(word) < LONGEST_WORD else "") for word in words)
    parts = [
        "ncu --target-processes all",
        *(f"--section {section}" for section in _SECTIONS),
        "--kernel-name-base function",
        f"--kernel-name {quote(f'regex:^({names})')}",
        "--filter-mode per-launch-config",
        *([f"--launch-skip {skip}"] if skip else []),
        "--launch-count 1",
    ]
    if steady.range_name is not None:
        include = f"{_NVTX_SPECIAL.sub(_ESCAPED, steady.range_name)}/"
        parts += ["--nvtx", f"--nvtx-include {quote(include)}"]
    return " ".join([*parts, "-f -o hot_kernels", program])


_ESCAPED = r"\\\1"


def write_rocprof_commands(kernels: Sequence[HotKernel], program: str = _PLACEHOLDER) -> tuple[ProfilerCommand, ...]:
    """Return commands of rocprof-compute: one that measures the kernels, and for each one that writes its tables as CSV."""
    words = list_words(kernels)
    if not words:
        return ()
    measure = f"rocprof-compute profile -n hot_kernels -k {' '.join(words)} -- {program}"
    tables = [
        ProfilerCommand(
            f"Tables of kernel {number}",
            f"rocprof-compute analyze -p workloads/hot_kernels/* -k {number} --save-dfs hot_kernels/{number}",
        )
        for number in range(len(words))
    ]
    return (ProfilerCommand("Measure them", measure), *tables)


def write_report_command(source: str, profiler: str) -> ProfilerCommand:
    """Return the command that reports on the trace together with what the profiler found."""
    found = "hot_kernels.csv" if profiler == "ncu" else "hot_kernels"
    return ProfilerCommand("Bring it back", f"traceq report {quote(source)} --with {found}")
